"""[DABA] figure 13, bottom: rounds a second against the size of the window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import windrow as wr
from windrow_experiments.cycles import cycles_per_ns, native_latency
from windrow_experiments.daba.algorithms import NATIVE, SIX, mean_and_worst
from windrow_experiments.growth import Fit, growth_of
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import BLOOM, GEO_MEAN, SUM, Operator
from windrow_experiments.throughput import native_rounds, plain_rounds, round_microseconds

__all__ = ["count_fits", "run"]

#: microseconds of a round by algorithm and window size
Times = dict[str, dict[int, float]]

_PLAIN = [1 << k for k in range(0, 19, 2)]
_PLAIN_QUICK = [1 << k for k in (0, 4, 8, 12)]
_NATIVE = [1 << k for k in range(0, 23, 2)]
_NATIVE_QUICK = [1 << k for k in (0, 2, 4, 6, 8, 12, 16)]
_SKETCH_SIZES = [1 << k for k in range(0, 17, 2)]
_COUNTED = [1 << k for k in range(4, 13, 2)]
#: beyond this, Recalc only takes time
_LONGEST_RECALC = 1 << 12
_SKETCHES: dict[str, Any] = {"Two-Stacks Lite": wr.swag.TwoStacksLite, "DABA Lite": wr.swag.DABALite}

HOW = (
    "Plain Python for all six algorithms; native code, through roll, for those that have it (Bloom: the "
    "Lite forms, whose rounds are timed one by one, without making bytes of each result). Reactive is "
    "FlatFAT. The least of interleaved runs, over at least one turnover of the window. Recalc stops where "
    "it only takes time."
)


def run(settings: Settings) -> Result:
    charts, tables = [], []
    plain, native = {}, {}
    for operator in settings.pick((SUM, GEO_MEAN, BLOOM), (SUM,)):
        plain[operator.name] = _plain(settings, operator)
        charts.append(_chart(f"{operator.name}, plain Python", plain[operator.name]))
    for operator in settings.pick((SUM, GEO_MEAN, BLOOM), (SUM,)):
        native[operator.name] = _native(settings, operator)
        charts.append(_chart(f"{operator.name}, native code", native[operator.name]))
    settings.progress("combines")
    fits = count_fits()
    tables = [_table(f"{name}, plain Python: µs a round", times) for name, times in plain.items()]
    tables += [_table(f"{name}, native code: ns per round", times, 1e3) for name, times in native.items()]
    return Result([*tables, _fit_table(fits)], charts, _findings(plain, native, fits), HOW)


def _plain(settings: Settings, operator: Operator) -> Times:
    largest = 1 << 18 if operator is SUM else 1 << 14
    largest = largest if operator.monoid.wide is None else 1 << 12
    times: Times = {name: {} for name in SIX}
    for size in settings.pick(_PLAIN, _PLAIN_QUICK):
        if size > largest:
            break
        settings.progress(f"plain Python: {operator.name}, window of {size:,}")
        names = [name for name in SIX if name != "Recalc" or size <= 1 << 10]
        runs = []
        for name in names:
            rounds = max(4_000, 2 * size) if name != "Recalc" else max(100, 40_000 // size)
            rounds = rounds if operator.monoid.wide is None else max(rounds // 4, 2 * size)
            runs.append(plain_rounds(SIX[name], operator, size, rounds, settings.seed))
        repeats = 3 if size <= 1 << 14 else 2
        for name, taken in zip(names, round_microseconds(runs, repeats), strict=True):
            times[name][size] = taken
    return times


def _native(settings: Settings, operator: Operator) -> Times:
    if operator.monoid.wide is not None:
        return _sketches(settings, operator)
    times: Times = {name: {} for name in NATIVE}
    for size in settings.pick(_NATIVE, _NATIVE_QUICK):
        settings.progress(f"native code: {operator.name}, window of {size:,}")
        names = [name for name in NATIVE if name != "Recalc" or size <= _LONGEST_RECALC]
        runs = []
        for name in names:
            rounds = max(1 << 17, 2 * size) if name != "Recalc" else max(2_000, (1 << 22) // size)
            runs.append(native_rounds(NATIVE[name], operator, size, rounds, settings.seed))
        patience = settings.pick(0.3, 0.05)
        for name, taken in zip(names, round_microseconds(runs, 4, patience), strict=True):
            times[name][size] = taken
    return times


def _sketches(settings: Settings, operator: Operator) -> Times:
    """Rounds timed one by one: roll would spend most of its time on results of 2 KiB each."""
    times: Times = {name: {} for name in _SKETCHES}
    for size in _SKETCH_SIZES:
        settings.progress(f"native code: {operator.name}, window of {size:,}")
        columns = operator.columns(size + max(8_000, 2 * size), settings.seed)
        for name, kind in _SKETCHES.items():
            latency = native_latency(kind, operator.monoid, columns, size, repeats=3)
            assert latency is not None, f"{name} of {operator.name} has no native form"
            times[name][size] = latency.mean / cycles_per_ns() / 1e3
    return times


def count_fits() -> dict[str, tuple[Fit, Fit]]:
    """How mean and worst combines of a round grow with the window, for each algorithm."""
    fits = {}
    for name, kind in SIX.items():
        sizes = _COUNTED if name != "Recalc" else _COUNTED[:-1]  # n combines for each of its rounds
        counts = {size: mean_and_worst(kind, size) for size in sizes}
        fits[name] = (
            growth_of([(size, mean) for size, (mean, _) in counts.items()]),
            growth_of([(size, worst) for size, (_, worst) in counts.items()]),
        )
    return fits


def _chart(title: str, times: Times) -> Chart:
    lines = [Series(name, [(float(n), 1 / us) for n, us in of.items()]) for name, of in times.items()]
    return Chart(title, "window size", "million rounds/s", lines, log_x=True, log_y=True)


def _table(title: str, times: Times, scale: float = 1.0) -> Table:
    sizes = list(next(iter(times.values())))
    rows: list[list[Cell]] = [
        [size, *(of[size] * scale if size in of else None for of in times.values())] for size in sizes
    ]
    return Table(title, ["Window", *times], rows)


def _fit_table(fits: dict[str, tuple[Fit, Fit]]) -> Table:
    rows: list[list[Cell]] = [[name, str(mean), str(worst)] for name, (mean, worst) in fits.items()]
    title = f"Combines of a round, fitted by least squares for windows of {_COUNTED[0]} to {_COUNTED[-1]:,}"
    return Table(title, ["Algorithm", "mean", "worst"], rows)


def _findings(
    plain: Mapping[str, Times], native: Mapping[str, Times], fits: dict[str, tuple[Fit, Fit]]
) -> list[Finding]:
    return [
        *_order(plain["Sum"], native["Sum"]),
        _improvement(native["Sum"]),
        *_flatness(native, plain["Sum"]),
        _growths(fits),
    ]


def _order(plain: Times, native: Times) -> list[Finding]:
    last = max(size for size in native["Two-Stacks"] if size <= 1 << 16)
    top = max(size for size in plain["FOA"] if size <= 1 << 16)
    mine, ours = (
        {name: times[name][n] for name in times if n in times[name]}
        for times, n in ((native, last), (plain, top))
    )
    shown = ", ".join(f"{name} {us:.3g}" for name, us in sorted(mine.items(), key=lambda item: item[1]))
    plainly = ", ".join(f"{name} {us:.3g}" for name, us in sorted(ours.items(), key=lambda item: item[1]))
    slower = all(ours["Reactive"] > ours[name] for name in ("Two-Stacks", "DABA", "FOA"))
    return [
        Finding.judged(
            "Two-Stacks has the best throughput, DABA comes next, Reactive behind them.",
            mine["Two-Stacks"] <= mine["DABA"] < mine["Reactive"],
            f"native code, window of {last:,}, Sum, µs a round: {shown}",
            "The two are within the noise of each other here.",
        ),
        Finding.judged(
            "FOA is third; Reactive is slower than Two-Stacks, DABA and FOA at all but the smallest sizes.",
            slower and ours["FOA"] > max(ours["Two-Stacks"], ours["DABA"]),
            f"plain Python, window of {top:,}, Sum, µs a round: {plainly}",
            "On Python objects the order among the constant ones is that of the interpreter's work, not of "
            "memory. Reactive is behind all of them.",
        ),
        Finding.judged(
            "IOA behaves like Reactive, although one is constant and the other logarithmic.",
            0.5 < ours["IOA"] / ours["Reactive"] < 2,
            f"plain Python: IOA takes {ours['IOA'] / ours['Reactive']:.2g} times as long as Reactive",
            "IOA's allocations, which cost it this in C++, cost no more than anything else in CPython: "
            "here it is as fast as its bound says.",
        ),
    ]


def _improvement(native: Times) -> Finding:
    sizes = [n for n in native["DABA"] if 4 <= n <= 256]
    small, large = native["DABA"][sizes[0]], native["DABA"][sizes[-1]]
    return Finding.judged(
        "For Sum, DABA gets faster up to windows of 2^8, as flips get rarer.",
        large < 0.97 * small,
        f"native code: {small * 1e3:.3g} ns per round at {sizes[0]}, {large * 1e3:.3g} ns at {sizes[-1]}",
        "A flip is a few instructions among many here.",
    )


def _flatness(native: Mapping[str, Times], plain: Times) -> list[Finding]:
    found = []
    sums = native["Sum"]
    largest = max(sums["DABA"])
    ratios = {name: sums[name][largest] / sums[name][256] for name in ("Two-Stacks", "DABA")}
    found.append(
        Finding.judged(
            "Two-Stacks and DABA have the same throughput at all sizes for Sum.",
            max(ratios.values()) < 1.5,
            f"native code: a round at {largest:,} takes "
            + ", ".join(f"{ratio:.2g} times that at 256 for {name}" for name, ratio in ratios.items()),
            "Partials are 64 bits wide here and 32 in the paper, so that the window leaves the caches "
            "earlier.",
        )
    )
    if "Bloom" in native:
        sketch = native["Bloom"]["DABA Lite"]
        fall = sketch[1 << 16] / sketch[1 << 8]
        found.append(
            Finding.judged(
                "For Bloom, throughput falls from windows of 2^12 on: 2 KiB a value leave the caches.",
                fall > 1.3,
                f"native code: a round of DABA Lite at 2^16 takes {fall:.2g} times that at 2^8",
                "The prefetcher keeps up: rows are read in order.",
            )
        )
    wide = max(plain["FOA"])
    if wide > 1 << 16:
        falls = {name: plain[name][wide] / plain[name][1 << 12] for name in ("FOA", "IOA", "DABA")}
        found.append(
            Finding.judged(
                "FOA and IOA lose throughput after 2^16, more than DABA.",
                min(falls["FOA"], falls["IOA"]) > max(1.2, falls["DABA"]),
                f"plain Python: a round at {wide:,} takes "
                + ", ".join(f"{fall:.2g} times that at 2^12 for {name}" for name, fall in falls.items()),
                "On Python objects all of them chase pointers, and the interpreter takes most of the time.",
            )
        )
    return found


def _growths(fits: dict[str, tuple[Fit, Fit]]) -> Finding:
    constant = ("Two-Stacks", "FOA", "IOA", "DABA")
    holds = (
        all(fits[name][0].growth == "constant" for name in constant)
        and all(fits[name][1].growth == "constant" for name in constant[1:])
        and fits["Two-Stacks"][1].growth == fits["Recalc"][0].growth == "linear"
        and fits["Reactive"][0].growth == fits["Reactive"][1].growth == "logarithmic"
    )
    return Finding.judged(
        "Two-Stacks is constant on average and linear at worst; FOA, IOA and DABA are constant at worst; "
        "Reactive is logarithmic; Recalc is linear.",
        holds,
        "combines of a round: "
        + "; ".join(f"{name} {mean.growth}, at worst {worst.growth}" for name, (mean, worst) in fits.items()),
        "A bound of the paper is broken: this is a mistake in windrow.",
    )
