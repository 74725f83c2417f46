"""Few rows are cut and folded as the general way cuts and folds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.arrays import START_OF_TIME
from windrow.engines.stream.plan import Plan
from windrow.rows.columns import NOWHERE
from windrow.rows.frame import build_frame
from windrow.rows.keys import Keys
from windrow.rows.times import Moments, TimeAxis
from windrow.slicing.batch import Batch, fold_batch
from windrow.slicing.few_rows import FEW_ROWS, FewRows

AGGREGATES = {"total": wr.sum("v"), "most": wr.max("n"), "mean": wr.mean("v"), "count": wr.count()}
WINDOWS: dict[str, dict[str, Any]] = {
    "tumbling": {"a": wr.Tumbling(10)},
    "sliding": {"a": wr.Sliding(20, slide=7), "b": wr.Tumbling(9, offset=4), "c": wr.Cumulative(30, step=5)},
    "many": {f"w{k}": wr.Tumbling(11 + k, offset=k % 5) for k in range(30)},
}


def plan_of(windows: str, by: str | None, aggregates: dict[str, Any] = AGGREGATES) -> Plan:
    query = wr.query(time="t", by=by, watermark=0).window(**WINDOWS[windows]).agg(**aggregates)
    return Plan.of(query)


def rows_of(count: int, keys: int, kind: str, spread: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, keys, count)
    names = {
        "short": pa.array([f"k{n}" for n in numbers]),
        "long": pa.array([f"a key of many letters {n}" for n in numbers]),
        "integer": pa.array(numbers * 1_000_003 - 7),
        "null": pa.array([None if n == 1 else f"k{n}" for n in numbers], pa.string()),
    }
    times = rng.integers(-spread, spread, count)
    columns = {"t": times, "k": names[kind], "v": rng.random(count), "n": rng.integers(-9, 9, count)}
    return pa.table(columns)


def few_of(plan: Plan, table: pa.Table) -> FewRows | None:
    return FewRows.of(plan.slicer, plan.aggregates, table.schema)


def moments_of(table: pa.Table) -> Moments:
    return Moments.of(TimeAxis(pa.int64()), table["t"].to_numpy())


def general(plan: Plan, keys: Keys, table: pa.Table) -> tuple[Keys, Batch]:
    moments = moments_of(table)
    keys, numbered, numbers = keys.with_rows(table)
    frame = build_frame(plan.query, table, moments, None, numbered)
    return keys, fold_batch(frame, numbers, plan.slicer, plan.aggregates, START_OF_TIME, ())


def check_same(found: Batch, expected: Batch, rng: np.random.Generator) -> None:
    for name in ("keys", "firsts", "lasts", "ends"):
        assert getattr(found.slices, name).tolist() == getattr(expected.slices, name).tolist(), name
    assert found.slices.partials.rows.tolist() == expected.slices.partials.rows.tolist()
    for a, b in zip(found.slices.partials.columns, expected.slices.partials.columns, strict=True):
        assert (a is None) == (b is None)
        assert a is None or [each.tobytes() for each in a.members] == [each.tobytes() for each in b.members]
    chosen = rng.random(len(found.slices)) < 0.5
    assert found.rows_of(chosen).tolist() == expected.rows_of(chosen).tolist()


@pytest.mark.parametrize("kind", ["short", "long", "integer", "null", "none"])
@pytest.mark.parametrize("windows", WINDOWS)
def test_slices_are_those_of_the_general_way(windows: str, kind: str) -> None:
    plan, rng = plan_of(windows, None if kind == "none" else "k"), np.random.default_rng(3)
    keys = others = Keys(plan.query.by)
    for seed, (count, names, spread) in enumerate(
        ((1, 1, 5), (100, 1, 5), (100, 40, 50), (700, 300, 300), (30, 60, 5))
    ):
        table = rows_of(count, names, "short" if kind == "none" else kind, spread, seed)
        few = few_of(plan, table)
        assert few is not None
        found = few.fold(keys, table, NOWHERE, moments_of(table), START_OF_TIME)
        assert found is not None
        others, expected = general(plan, others, table)
        keys, batch = found
        check_same(batch, expected, rng)
        assert (keys.values is None) == (others.values is None)
        assert keys.values is None or keys.values.equals(others.values)


def test_many_slices_of_one_key_in_disorder() -> None:
    plan, table = plan_of("tumbling", "k"), rows_of(3000, 1, "short", 50_000, 5)
    few = few_of(plan, table)
    assert few is not None
    found = few.fold(Keys(("k",)), table, NOWHERE, moments_of(table), START_OF_TIME)
    assert found is not None
    check_same(found[1], general(plan, Keys(("k",)), table)[1], np.random.default_rng(1))


def test_what_needs_the_general_way() -> None:
    table = rows_of(10, 3, "short", 50, 1)
    plan = plan_of("tumbling", "k")
    few = few_of(plan, table)
    assert few is not None

    def folded(rows: pa.Table, late_before: int = START_OF_TIME) -> Any:
        return few.fold(Keys(("k",)), rows, NOWHERE, moments_of(rows), late_before)

    assert folded(table) is not None
    assert folded(table, late_before=1_000) is None
    nulls = table.set_column(2, "v", pa.array([None, *table["v"].to_pylist()[1:]], pa.float64()))
    assert folded(nulls) is None
    assert folded(rows_of(FEW_ROWS + 1, 3, "short", 50, 1)) is None
    many, spread = plan_of("many", "k"), rows_of(700, 3, "short", 3000, 1)
    listed = few_of(many, spread)
    assert listed is not None
    assert listed.fold(Keys(("k",)), spread, NOWHERE, moments_of(spread), START_OF_TIME) is None
    large = table.set_column(3, "n", pa.array([2**62] * 10))
    sums = plan_of("tumbling", "k", {"total": wr.sum("n")})
    added = few_of(sums, large)
    assert added is not None
    assert added.fold(Keys(("k",)), large, NOWHERE, moments_of(large), START_OF_TIME) is None
    assert few_of(plan_of("tumbling", "k", {"who": wr.last("k")}), table) is None
    assert few_of(plan_of("tumbling", "k", {"paid": wr.count(where="ok")}), table) is None
    narrow = table.schema.set(3, pa.field("n", pa.int32()))
    assert FewRows.of(plan.slicer, plan.aggregates, narrow) is None
