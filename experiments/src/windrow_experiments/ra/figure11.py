"""[RA] figure 11: FlatFAT (RA) and B-Int (AW), one change at a time and n/16 at a time."""

from __future__ import annotations

import windrow as wr
from windrow_experiments.growth import growth_of
from windrow_experiments.measure import least_seconds
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import MAX
from windrow_experiments.ra.firings import combines_a_tuple, firings
from windrow_experiments.throughput import native_rounds, round_microseconds

__all__ = ["KINDS", "run"]

KINDS = {"AW": wr.swag.BInt, "RA": wr.swag.FlatFAT}
_NATIVE = [1 << k for k in range(4, 23, 2)]
_NATIVE_QUICK = [1 << k for k in (4, 8, 12, 16)]
_PLAIN = [1 << k for k in range(4, 17, 2)]
_PLAIN_QUICK = [64, 256, 1024]
_COUNTED = [1 << k for k in range(6, 14)]
Costs = dict[str, dict[int, float]]

HOW = (
    "AW is B-Int, RA is FlatFAT. m = 1 in native code, through roll. m = n/16 in plain Python, where FlatFAT "
    "renews the nodes above many changes once."
)


def run(settings: Settings) -> Result:
    native = {f"{name}: m = 1": of for name, of in _native(settings).items()}
    plain = {f"{name}: m = n/16": of for name, of in _plain(settings).items()}
    settings.progress("combines")
    counts = {
        f"{name}: {way}": {n: combines_a_tuple(kind, n, n // part if part else 1) for n in _COUNTED}
        for way, part in (("m = 1", 0), ("m = n/16", 16))
        for name, kind in KINDS.items()
    }
    charts = [
        _chart("Max, m = 1, native code", "µs per tuple", native),
        _chart("Max, m = n/16, plain Python", "µs per tuple", plain),
        _chart("Combines", "combines per tuple", counts),
    ]
    tables = [
        _table("Native code: µs per tuple", native),
        _table("Plain Python: µs per tuple", plain),
        _table("Combines per tuple", counts),
    ]
    return Result(tables, charts, _findings(native, plain, counts), HOW)


def _native(settings: Settings) -> Costs:
    times: Costs = {name: {} for name in KINDS}
    for size in settings.pick(_NATIVE, _NATIVE_QUICK):
        settings.progress(f"native code, m = 1, window of {size:,}")
        rounds = settings.pick(1 << 18, 1 << 16)
        runs = [native_rounds(kind, MAX, size, rounds, settings.seed) for kind in KINDS.values()]
        for name, taken in zip(KINDS, round_microseconds(runs, 4, settings.pick(0.5, 0.05)), strict=True):
            times[name][size] = taken
    return times


def _plain(settings: Settings) -> Costs:
    times: Costs = {name: {} for name in KINDS}
    for size in settings.pick(_PLAIN, _PLAIN_QUICK):
        settings.progress(f"plain Python, m = n/16, window of {size:,}")
        runs = [
            firings(kind, MAX, size, size // 16, max(2_000, size), settings.seed) for kind in KINDS.values()
        ]
        seconds = least_seconds([run for run, _ in runs], settings.pick(3, 2))
        for name, taken, (_, tuples) in zip(KINDS, seconds, runs, strict=True):
            times[name][size] = 1e6 * taken / tuples
    return times


def _chart(title: str, unit: str, costs: Costs) -> Chart:
    lines = [Series(name, [(float(n), cost) for n, cost in of.items()]) for name, of in costs.items()]
    return Chart(title, "window size", unit, lines, log_x=True)


def _table(title: str, costs: Costs) -> Table:
    sizes = list(next(iter(costs.values())))
    rows: list[list[Cell]] = [[size, *(of[size] for of in costs.values())] for size in sizes]
    return Table(title, ["Window", *costs], rows)


def _findings(native: Costs, plain: Costs, counts: Costs) -> list[Finding]:
    fits = {name: growth_of([(float(n), cost) for n, cost in of.items()]) for name, of in counts.items()}
    ratios = [native["AW: m = 1"][n] / us for n, us in native["RA: m = 1"].items()]
    batches = [plain["AW: m = n/16"][n] / us for n, us in plain["RA: m = n/16"].items()]
    return [
        Finding.judged(
            "Both have the same complexity: logarithmic for m = 1, constant for m = n/16.",
            all(
                found.growth == ("logarithmic" if name[4:] == "m = 1" else "constant")
                for name, found in fits.items()
            ),
            "combines: " + "; ".join(f"{name}: {found}" for name, found in fits.items()),
            "B-Int sums an interval up once, when it is whole, and a query adds two a level: both are "
            "bounded by the logarithm.",
        ),
        Finding.judged(
            "RA is faster by a constant factor.",
            min(ratios) > 1,
            f"m = 1, native code: AW takes {min(ratios):.2f} to {max(ratios):.2f} times as long as RA; "
            f"m = n/16, plain Python: {min(batches):.2f} to {max(batches):.2f} times",
            "B-Int here lies in one flat array, like FlatFAT, and not in several; and it combines less "
            "often: an interval is summed up once, while FlatFAT renews two paths to the root at each "
            "change.",
        ),
    ]
