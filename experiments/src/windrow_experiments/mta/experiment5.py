"""[MTA] experiment 5, figure 9: aggregates that share one window."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from windrow.monoids import count, last, together
from windrow.swag.amta import AMTA
from windrow_experiments.growth import Fit, fit
from windrow_experiments.measure import power
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.mta.stores import places
from windrow_experiments.mta.windows import Make, Measured, in_memory, measured, stored

__all__ = ["findings", "run"]

HOW = (
    "k counts and the maximal size are one aggregate (wr.together); windows of {n} values are filled and "
    "then slid {slides:,} times by the policy of listing 3. Besides the store of the paper there is AMTA in "
    "memory. Windows apart would take k times as long as the one with k = 1, as the paper reckons."
)

#: the name of a window: by number of counts, what an update takes
Found = dict[str, dict[int, Measured]]


def run(settings: Settings) -> Result:
    n, slides = settings.pick((1 << 15, 6_000), (1 << 10, 400))
    numbers = settings.pick([1, 2, 5, 10, 20, 30, 40, 50], [1, 10, 30, 50])
    found: Found = {}
    with places() as where:
        windows: dict[str, Make] = {"AMTA": in_memory()["AMTA"]}
        windows |= {f"AMTA on {kind}": stored(where, AMTA, kind) for kind in where.kinds()}
        for name, make in windows.items():
            for k in numbers:
                settings.progress(f"{name}, k = {k}")
                found.setdefault(name, {})[k] = _slides(make, k, n, slides)
        how = HOW.format(n=power(n), slides=slides) + where.remark
    return Result(
        tables=[_table(found), _combine_table(found), _paper()],
        charts=[_chart(found)],
        findings=findings(found),
        how=how,
    )


def _slides(make: Make, k: int, n: int, slides: int) -> Measured:
    counts = {f"count{number}": count for number in range(1, k + 1)}
    monoid = together(max_size=last, **counts)
    return measured(make, monoid, _too_large, repeat((n,), n), repeat((n,), slides))


def _too_large(total: Any, old: Any) -> bool:
    return bool(total.count1 - old.count1 >= total.max_size[1])


def _fit(of: dict[int, Measured]) -> Fit:
    return fit([(k, each.ns) for k, each in of.items()], "linear")


def _table(found: Found) -> Table:
    rows: list[list[Cell]] = []
    for k in next(iter(found.values())):
        cells = [(round(of[k].ns), round(k * of[1].ns), k * of[1].ns / of[k].ns) for of in found.values()]
        rows.append([k, *(cell for three in cells for cell in three)])
    columns = [f"{name}{what}" for name in found for what in ("", ", apart", ", apart / together")]
    return Table("Nanoseconds an update with k counts", ["k", *columns], rows)


def _combine_table(found: Found) -> Table:
    rows: list[list[Cell]] = [
        [k, *(of[k].combines for of in found.values())] for k in next(iter(found.values()))
    ]
    note = "A combine of k counts is k additions."
    return Table("Combines per update with k counts", ["k", *found], rows, note=note)


def _paper() -> Table:
    rows: list[list[Cell]] = [
        ["k = 1", "4,895 ns"],
        ["a count more", "411 ns"],
        ["shared by all", "4,158 ns"],
        ["from k = 1 to 50", "linear, far slower than k times the latency of k = 1"],
    ]
    return Table("What the paper reports, KVS AMTA", ["", "latency"], rows, source="paper")


def _chart(found: Found) -> Chart:
    lines = [Series(name, [(k, each.ns) for k, each in of.items()]) for name, of in found.items()]
    name, of = next(reversed(found.items()))
    lines.append(Series(f"{name}, apart", [(k, k * of[1].ns) for k in of]))
    return Chart("Latency of an update with k counts", "k", "nanoseconds", lines)


def findings(found: Found) -> list[Finding]:
    """What the figures say of the paper's statements."""
    return [_shared(found), *(_linear(name, of) for name, of in found.items())]


def _shared(found: Found) -> Finding:
    combines = {each.combines for of in found.values() for each in of.values()}
    return Finding.judged(
        "The structure of the window and its policy are shared by all dimensions.",
        len(combines) == 1,
        f"{min(combines):.2f} to {max(combines):.2f} combines per update for any k",
        "Expected are the same combines for any k.",
    )


def _linear(name: str, of: dict[int, Measured]) -> Finding:
    fitted = _fit(of)
    most = max(of)
    gain = most * of[1].ns / of[most].ns
    return Finding.judged(
        f"{name}: the latency grows linearly with k, and slower than that of windows apart (the paper: 411 "
        "ns a count beside 4,158 ns shared, a tenth).",
        fitted.slope < of[1].ns / 2 and gain > 2,
        f"{fitted.base:,.0f} ns shared and {fitted.slope:,.0f} ns a count (misfit {fitted.misfit:.1%}); with "
        f"{most} counts windows apart would take {gain:.1f} times as long",
        "A combine of named partials costs more in Python than the steps around it.",
    )
