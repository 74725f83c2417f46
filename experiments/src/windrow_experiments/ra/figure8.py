"""[RA] figure 8: tumbling windows, where nothing can be used again."""

from __future__ import annotations

import windrow as wr
from windrow_experiments.growth import growth_of
from windrow_experiments.measure import least_seconds
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import MAX, STD_DEV
from windrow_experiments.ra.firings import combines_a_tuple, firings

__all__ = ["run"]

_SIZES = [1 << k for k in range(0, 13, 2)]
_QUICK_SIZES = [4, 64, 1024]
_KINDS = {"RA": wr.swag.FlatFAT, "ISS": wr.swag.Recalc}
_CASES = [(f"{name} {o.name}", kind, o) for o in (STD_DEV, MAX) for name, kind in _KINDS.items()]
Times = dict[str, dict[int, float]]

HOW = (
    "RA is FlatFAT and ISS is Recalc, in plain Python: all n values go, n come, the result is asked for. "
    "FlatFAT's update of many leaves at once is in its plain form only."
)


def run(settings: Settings) -> Result:
    times: Times = {name: {} for name, _, _ in _CASES}
    for size in settings.pick(_SIZES, _QUICK_SIZES):
        settings.progress(f"window of {size:,}")
        tuples = max(2_000, size)
        runs = [firings(kind, o, size, size, tuples, settings.seed) for _, kind, o in _CASES]
        seconds = least_seconds([run for run, _ in runs], settings.pick(5, 3))
        for (name, _, _), taken, (_, done) in zip(_CASES, seconds, runs, strict=True):
            times[name][size] = 1e6 * taken / (done // size)
    counts = {
        name: {n: n * combines_a_tuple(kind, n, n) for n in times["RA Max"]} for name, kind in _KINDS.items()
    }
    lines = [Series(name, [(float(n), us) for n, us in of.items()]) for name, of in times.items()]
    chart = Chart("Time of a firing", "window size", "µs", lines, log_x=True, log_y=True)
    return Result([_table(times, counts)], [chart], _findings(times, counts), HOW)


def _table(times: Times, counts: Times) -> Table:
    columns = ["Window", *(f"{name}, µs" for name in times), *(f"{name}, combines" for name in counts)]
    rows: list[list[Cell]] = [
        [size, *(of[size] for of in times.values()), *(round(of[size]) for of in counts.values())]
        for size in times["RA Max"]
    ]
    return Table("A firing", columns, rows)


def _findings(times: Times, counts: Times) -> list[Finding]:
    largest = max(times["RA Max"])
    ratios = {o: times[f"RA {o}"][largest] / times[f"ISS {o}"][largest] for o in ("Max", "StdDev")}
    fits = {name: growth_of([(float(n), count) for n, count in of.items()]) for name, of in counts.items()}
    return [
        Finding.judged(
            "A firing takes about the same time with RA and with ISS.",
            max(ratios.values()) < 1.5,
            f"window of {largest:,}: RA takes "
            + " and ".join(f"{ratio:.1f} times as long for {name}" for name, ratio in ratios.items()),
            "Combines are cheap beside the interpreted code that keeps FlatFAT's leaves and lists what has "
            "changed; a fold of a list has none of that.",
        ),
        Finding.judged(
            "RA combines no more often than ISS where nothing can be used again.",
            all(counts["RA"][n] <= counts["ISS"][n] for n in counts["RA"])
            and {found.growth for found in fits.values()} == {"linear"},
            f"combines of a firing: RA {fits['RA']}; ISS {fits['ISS']}",
            "A bound of the paper is broken: this is a mistake in windrow.",
        ),
    ]
