"""[RA] table 4: the time of B-Int (AW) over that of FlatFAT (RA), by operator."""

from __future__ import annotations

import windrow as wr
from windrow_experiments.model import Cell, Finding, Result, Settings, Table
from windrow_experiments.operators import MAX, SUM, Operator
from windrow_experiments.ra.figure11 import KINDS
from windrow_experiments.ra.firings import combines_a_tuple
from windrow_experiments.ra.published import RELATIVE, table4
from windrow_experiments.throughput import native_rounds, round_microseconds

__all__ = ["run"]

_OPERATORS = (
    SUM,
    MAX,
    Operator("ArithmeticMean", wr.mean),
    Operator("MinCount", wr.min_count),
    Operator("PopulationStdDev", wr.stddev(ddof=0)),
)
_SIZES = {"n = 8": 8, "n = 8K": 1 << 13, "n = 8M": 1 << 23}
_QUICK_SIZES = {"n = 8": 8, "n = 8K": 1 << 13}
_QUICK = ("Sum", "Max")
_COUNTED = (8, 1 << 10, 1 << 13)

HOW = "Both in native code, through roll, a result after each tuple; the least of interleaved runs."


def run(settings: Settings) -> Result:
    sizes = settings.pick(_SIZES, _QUICK_SIZES)
    operators = [o for o in _OPERATORS if not settings.quick or o.name in _QUICK]
    ratios = {o.name: {name: _ratio(settings, o, n) for name, n in sizes.items()} for o in operators}
    rows: list[list[Cell]] = [[name, *of.values()] for name, of in ratios.items()]
    settings.progress("combines")
    counts = {n: [combines_a_tuple(kind, n, 1) for kind in KINDS.values()] for n in _COUNTED}
    counted: list[list[Cell]] = [[n, *of, of[0] / of[1]] for n, of in counts.items()]
    tables = [
        table4(),
        Table("Native code: time of AW / time of RA", ["Operator", *sizes], rows),
        Table("Combines per tuple", ["Window", *KINDS, "AW / RA"], counted),
    ]
    return Result(tables, findings=_findings(ratios), how=HOW)


def _ratio(settings: Settings, operator: Operator, size: int) -> float:
    settings.progress(f"{operator.name}, window of {size:,}")
    rounds = settings.pick(1 << 18, 1 << 16)
    runs = [native_rounds(kind, operator, size, rounds, settings.seed) for kind in KINDS.values()]
    theirs, ours = round_microseconds(runs, 5, settings.pick(0.5, 0.1))
    return theirs / ours


def _findings(ratios: dict[str, dict[str, float]]) -> list[Finding]:
    every = [ratio for of in ratios.values() for ratio in of.values()]
    spreads = [
        max(of[name] for of in ratios.values()) / min(of[name] for of in ratios.values())
        for name in next(iter(ratios.values()))
    ]
    paper = [ratio for of in RELATIVE.values() for ratio in of]
    return [
        Finding.judged(
            f"RA is faster than AW for every operator and size: {min(paper)} to {max(paper)} times.",
            min(every) > 1,
            f"AW takes {min(every):.2f} to {max(every):.2f} times as long",
            "windrow's B-Int keeps all levels in one flat array and splits a window with shifts, so that "
            "it has none of the overheads that the paper names, and it combines about half as often as "
            "FlatFAT.",
        ),
        Finding.judged(
            "For a given window size the operator makes little difference.",
            max(spreads) < 1.5,
            f"the largest ratio of a size is at most {max(spreads):.2f} times the smallest",
            "Rounds take tens of nanoseconds here, of which combines are the larger part, so that an "
            "operator's cost shows.",
        ),
        Finding.judged(
            "AW falls further behind as windows grow.",
            all(list(of.values()) == sorted(of.values()) for of in ratios.values()),
            "; ".join(f"{name} {', '.join(f'{r:.2f}' for r in of.values())}" for name, of in ratios.items()),
            "A query of B-Int reads two intervals a level and FlatFAT's update two children a level: both "
            "touch as much memory.",
        ),
    ]
