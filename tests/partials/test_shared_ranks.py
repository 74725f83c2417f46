"""Several quantiles of one column sort its values once, on tables and in operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.partials.value_aggregates import ranks
from windrow.testing import assert_same_results

RNG = np.random.default_rng(7)
SIZE = 400
ROWS = pa.table(
    {
        "t": RNG.permutation(SIZE),
        "k": RNG.integers(0, 3, SIZE),
        "x": pa.array(RNG.normal(size=SIZE), mask=RNG.random(SIZE) < 0.1),
        "ok": RNG.random(SIZE) < 0.5,
    }
)
SEVERAL = {
    "half": wr.median("x"),
    "p90": wr.quantile("x", 0.9),
    "p95": wr.quantile("x", 0.95),
    "p99": wr.quantile("x", 0.99),
}
KINDS = {
    "sliding": lambda query: query.window(wr.Sliding(100, slide=7)),
    "rolling": lambda query: query.rolling(60),
    "rolling rows": lambda query: query.rolling(rows=50),
}


def pushed(query: wr.Query, table: pa.Table) -> pa.Table:
    operator = query.open()
    pieces = [operator.push(table.slice(0, SIZE // 2)), operator.push(table.slice(SIZE // 2))]
    return pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")


ENGINES: dict[str, Any] = {"table": lambda query, table: query.run(table), "operator": pushed}


@pytest.fixture
def sorts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values each sort had."""
    found: list[int] = []
    sort = ranks.order_of_floats

    def counted(values: Any) -> Any:
        found.append(len(values))
        return sort(values)

    monkeypatch.setattr(ranks, "order_of_floats", counted)
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_several_quantiles_sort_as_often_as_one(kind: str, engine: str, sorts: list[int]) -> None:
    start = KINDS[kind](wr.query(time="t", by="k", watermark=1_000))
    alone = {}
    for name, aggregate in SEVERAL.items():
        sorts.clear()
        alone[name] = ENGINES[engine](start.agg(**{name: aggregate}), ROWS)[name]
        once = list(sorts)
    assert once
    sorts.clear()
    found = ENGINES[engine](start.agg(**SEVERAL), ROWS)
    assert sorts == once
    for name, column in alone.items():
        assert_same_results(pa.table({name: found[name]}), pa.table({name: column}))


@pytest.mark.parametrize("engine", ENGINES)
def test_quantiles_of_other_values_share_nothing(engine: str, sorts: list[int]) -> None:
    start = KINDS["sliding"](wr.query(time="t", by="k", watermark=1_000))
    apart = {"a": wr.median("x"), "b": wr.median("x", where="ok"), "c": wr.median("t")}
    ENGINES[engine](start.agg(a=apart["a"]), ROWS)
    once = len(sorts)
    sorts.clear()
    found = ENGINES[engine](start.agg(**apart), ROWS)
    assert len(sorts) == 3 * once
    for name, aggregate in apart.items():
        assert found[name].equals(ENGINES[engine](start.agg(**{name: aggregate}), ROWS)[name])


def test_a_quantile_that_was_added_later_has_its_own_values(sorts: list[int]) -> None:
    start = KINDS["sliding"](wr.query(time="t", watermark=1_000))
    operator = start.agg(half=wr.median("x")).open()
    operator.push(ROWS.slice(0, 200))
    restored = start.agg(half=wr.median("x"), p90=wr.quantile("x", 0.9)).restore(operator.snapshot())
    restored.push(ROWS.slice(200))
    found = restored.finish()
    assert found["half"].equals(start.agg(half=wr.median("x")).run(ROWS)["half"])
    assert found["p90"].null_count > 0
