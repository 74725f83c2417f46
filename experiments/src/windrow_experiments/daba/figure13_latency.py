"""[DABA] figure 13, top: the cycles of each round, for FOA, IOA and DABA."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import windrow as wr
from windrow_experiments.cycles import Latency, native_latency, plain_latency
from windrow_experiments.daba.algorithms import FOUR, span
from windrow_experiments.daba.table2 import SIZE
from windrow_experiments.model import Cell, Chart, Finding, Result, Series, Settings, Table
from windrow_experiments.operators import BLOOM, GEO_MEAN, SUM, Operator

__all__ = ["run"]

#: stretches of rounds that a chart shows; the slowest round of each counts
_STRETCHES = 250
_OPERATORS = (SUM, GEO_MEAN, BLOOM)

HOW = (
    "The least of two runs over the same values, so that a spike is the algorithm's or its memory's and not "
    "another program's. A point is the slowest round of a stretch of rounds, so that no spike is lost. FOA, "
    "IOA and DABA in plain Python; Two-Stacks and DABA in native code (their Lite forms for Bloom)."
)


def run(settings: Settings) -> Result:
    charts, rows = [], []
    plain: dict[str, dict[str, Latency]] = {}
    for operator in settings.pick(_OPERATORS, (SUM, BLOOM)):
        plain[operator.name] = _plain(settings, operator)
        native = _native(settings, operator)
        charts += [
            _chart(f"{operator.name}, plain Python", plain[operator.name]),
            _chart(f"{operator.name}, native code", native),
        ]
        rows += [_row(operator, "plain", name, of) for name, of in plain[operator.name].items()]
        rows += [_row(operator, "native", name, of) for name, of in native.items()]
    columns = ["Operator", "Code", "Algorithm", "median", "99.9 %", "worst", "worst / median"]
    return Result([Table("Cycles of a round", columns, rows)], charts, _findings(plain), HOW)


def _plain(settings: Settings, operator: Operator) -> dict[str, Latency]:
    rounds = settings.pick(250_000 if operator.monoid.wide is None else 100_000, 2 * SIZE)
    rows = operator.rows(SIZE + rounds, settings.seed)
    found = {}
    for name in ("FOA", "IOA", "DABA"):
        settings.progress(f"plain Python: {name}, {operator.name}")
        found[name] = plain_latency(FOUR[name], operator.monoid, rows, SIZE, repeats=2)
    return found


def _native(settings: Settings, operator: Operator) -> dict[str, Latency]:
    is_sketch = operator.monoid.wide is not None
    kinds = {
        "Two-Stacks": wr.swag.TwoStacksLite if is_sketch else wr.swag.TwoStacks,
        "DABA": wr.swag.DABALite if is_sketch else wr.swag.DABA,
    }
    columns = operator.columns(SIZE + settings.pick(1_000_000, 100_000), settings.seed)
    found = {}
    for name, kind in kinds.items():
        settings.progress(f"native code: {name}, {operator.name}")
        latency = native_latency(kind, operator.monoid, columns, SIZE, repeats=2)
        assert latency is not None, f"{name} of {operator.name} has no native form"
        found[name] = latency
    return found


def _chart(title: str, latencies: dict[str, Latency]) -> Chart:
    lines = [Series(name, _slowest(latency)) for name, latency in latencies.items()]
    return Chart(title, "round", "cycles", lines, log_y=True, note="The slowest round of each stretch.")


def _slowest(latency: Latency) -> Sequence[tuple[float, float]]:
    stretches = np.array_split(latency.rounds, _STRETCHES)
    ends = np.cumsum([len(stretch) for stretch in stretches])
    return [(float(end), float(stretch.max())) for end, stretch in zip(ends, stretches, strict=True)]


def _row(operator: Operator, code: str, name: str, of: Latency) -> list[Cell]:
    high = float(np.percentile(of.rounds, 99.9))
    return [operator.name, code, name, of.median, high, of.worst, of.worst / of.median]


def _findings(plain: dict[str, dict[str, Latency]]) -> list[Finding]:
    typical = [of["IOA"].median / of["DABA"].median for of in plain.values()]
    same = [of["FOA"].median / of["DABA"].median for of in plain.values()]
    spikes = [float(np.percentile(of["FOA"].rounds, 99.99)) / of["FOA"].median for of in plain.values()]
    return [
        Finding.judged(
            "DABA's typical round takes about a tenth of IOA's.",
            min(typical) > 3,
            f"plain Python: IOA's median is {span(typical)} times DABA's",
            "The paper's IOA calls malloc and free for each value, DABA does not. In CPython all of them "
            "allocate objects, and IOA, which does the least besides, is the fastest of the three.",
        ),
        Finding.judged(
            "FOA's typical round is of the same order of magnitude as DABA's.",
            all(0.2 < ratio < 5 for ratio in same),
            f"plain Python: {span(same)} times DABA's median",
            "Combining dominates neither of them.",
        ),
        Finding.judged(
            "Now and then a round of FOA takes about 40 times as long, when garbage is collected.",
            max(spikes) > 20,
            f"plain Python: one round in 10,000 takes {span(spikes)} times the median",
            "CPython frees cells one by one as references go. Its cycle collector, which looks at many "
            "objects at once, runs for every algorithm that keeps its partials in tuples or cells.",
        ),
    ]
