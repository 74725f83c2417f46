"""[RA] figure 6: throughput of RA and ISS on small windows."""

from __future__ import annotations

import windrow as wr
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import MAX, STD_DEV
from windrow_experiments.throughput import native_rounds, round_microseconds

__all__ = ["run"]

_SIZES = [1 << k for k in range(11)]
_QUICK_SIZES = [1, 4, 16, 64, 256, 1024]
_CASES = [
    (f"{name} {operator.name}", kind, operator)
    for operator in (MAX, STD_DEV)
    for name, kind in (("ISS", wr.swag.Recalc), ("RA", wr.swag.FlatFAT))
]
Times = dict[str, dict[int, float]]

HOW = (
    "RA is FlatFAT and ISS is Recalc, both in native code through roll, one result per tuple. The paper's "
    "tuples also pass through a streaming system, which takes most of the time on small windows."
)


def run(settings: Settings) -> Result:
    times: Times = {name: {} for name, _, _ in _CASES}
    for size in settings.pick(_SIZES, _QUICK_SIZES):
        settings.progress(f"window of {size:,}")
        runs = []
        for name, kind, operator in _CASES:
            rounds = settings.pick(1 << 17, 1 << 15)
            rounds = rounds if name.startswith("RA") else max(2_000, rounds * 8 // size)
            runs.append(native_rounds(kind, operator, size, rounds, settings.seed))
        for (name, _, _), taken in zip(
            _CASES, round_microseconds(runs, 5, settings.pick(0.3, 0.05)), strict=True
        ):
            times[name][size] = taken
    lines = [Series(name, [(float(n), 1 / us) for n, us in of.items()]) for name, of in times.items()]
    chart = Chart("Throughput", "window size", "million tuples/s", lines, log_x=True, log_y=True)
    return Result([_table(times)], [chart], _findings(times), HOW)


def _table(times: Times) -> Table:
    rows: list[list[Cell]] = []
    for size in times["RA Max"]:
        rates = [1 / of[size] for of in times.values()]
        rows.append([size, *rates, rates[1] / rates[0], rates[3] / rates[2]])
    columns = ["Window", *times, "RA / ISS, Max", "RA / ISS, StdDev"]
    return Table("Million tuples a second", columns, rows)


def _findings(times: Times) -> list[Finding]:
    found = []
    for operator, slower, faster in (("Max", "10 %", 3), ("StdDev", "5 %", 10)):
        ratio = {n: times[f"ISS {operator}"][n] / us for n, us in times[f"RA {operator}"].items()}
        small = {n: value for n, value in ratio.items() if n <= 16}
        least = min(small.values())
        found += [
            Finding.judged(
                f"{operator}: RA is about {slower} slower on small windows.",
                0.8 <= least < 1.05,
                f"at worst {least:.2f} times the throughput of ISS, among windows of up to 16",
                "With no streaming system around the window, the whole cost of the tree shows.",
            ),
            Finding.judged(
                f"{operator}: RA is {'almost' if faster == 3 else 'over'} {faster} times as fast at 1,024.",
                ratio[1024] >= 0.8 * faster,
                f"{ratio[1024]:.1f} times",
                "A fold of a cheap operator is fast native code.",
            ),
        ]
    return found
