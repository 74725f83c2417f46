"""Windows over a partition and over slices of many tasks, without Spark, against the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from engines.spark.more_aggregates import with_more
from engines.spark.partitions import BUDGETS, batches, shuffled_table
from support.budget import examples
from windrow.engines.spark.plan import plan_of, smallest_gap
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.windows.run import result_schema
from windrow.engines.spark.worker.local_task import window_batches
from windrow.engines.spark.worker.windows.assemble_task import assemble_batches
from windrow.engines.spark.worker.windows.fold_task import fold_batches
from windrow.swag import AggregateError
from windrow.testing import assert_same_results
from windrow.testing.strategies import queries, streams, table_of

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

#: the kinds of windows that may be assembled from slices
SLICED = tuple(name for name, kind in wr.windows.KINDS.items() if kind.decided_by != "data")
SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def by_rows(query: wr.Query, table: pa.Table, sizes: list[int], budget: int = 1 << 30) -> pa.Table:
    """As the plan by rows does it."""
    schema = result_schema(query, table.schema)
    timed = table.filter(table[query.time].is_valid())
    rows = batches(shuffled_table(query, timed), sizes)
    return pa.Table.from_batches(window_batches(packed(query), schema, rows, budget), schema)


def by_slices(query: wr.Query, table: pa.Table, sizes: list[int], parts: int) -> pa.Table:
    """As the plan by slices does it: rows of several tasks are folded, shuffled, sorted and assembled."""
    schema = result_schema(query, table.schema)
    timed = table.filter(table[query.time].is_valid())
    cuts = np.linspace(0, timed.num_rows, parts + 1).astype(int)
    slices = []
    for part in range(parts):
        rows = timed.slice(cuts[part], cuts[part + 1] - cuts[part])
        slices += list(fold_batches(packed(query), part, batches(rows, sizes), rows=1))
    if not slices:
        return schema.empty_table()
    found = pa.Table.from_batches(slices)
    keys = [(f"k{k}", "ascending") for k in range(len(query.by))]
    cell = "end" if smallest_gap(query) is None else "first"
    found = found.sort_by([*keys, (cell, "ascending"), ("part", "ascending")])
    out = assemble_batches(packed(query), table.schema, schema, batches(found, sizes), rows=1)
    return pa.Table.from_batches(out, schema)


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_any_mix_of_windows_by_rows(clock: Any, data: st.DataObject) -> None:
    query = data.draw(with_more(queries(clock)))
    table = table_of(data.draw(streams(clock, null_times=True)), clock)
    assert_same_results(by_rows(query, table, data.draw(SIZES), data.draw(BUDGETS)), query.run(table))


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_any_mix_of_windows_by_slices(clock: Any, data: st.DataObject) -> None:
    table = table_of(data.draw(streams(clock, null_times=True)), clock)
    asked = with_more(queries(clock, policies=False, kinds=SLICED))
    query = data.draw(asked.filter(lambda q: plan_of(q, table.schema).slices))
    found = by_slices(query, table, data.draw(SIZES), data.draw(st.integers(1, 3)))
    assert_same_results(found, query.run(table))


def test_a_picked_row_of_equal_times_is_that_which_came_first() -> None:
    table = pa.table({"ts": [7, 5, 3, 7, 7, 5], "v": [1, 2, 3, 4, 5, 6]})
    query = wr.query(time="ts").window(wr.Tumbling(10)).agg(f=wr.first("v"), l=wr.last("v"))
    assert_same_results(by_slices(query, table, [2], 2), query.run(table))


def test_integers_beyond_64_bits_go_on_in_python() -> None:
    table = pa.table({"ts": list(range(8)), "v": [1, 2, 2**62, 2**62, 2**62, 3, 4, 5]})
    query = wr.query(time="ts").window(wr.Sliding(4, slide=2)).agg(mean=wr.mean("v"))
    assert_same_results(by_slices(query, table, [4], 1), query.run(table))
    assert_same_results(by_rows(query, table, [4]), query.run(table))


@pytest.mark.parametrize("compile_", [True, False])
def test_an_aggregate_that_raises_names_itself_the_row_and_the_key(compile_: bool) -> None:
    inverse = wr.monoid(
        name="inverse",
        lift=lambda v: 1.0 / v,
        combine=lambda a, b: a + b,
        identity=0.0,
        commutative=True,
        compile=compile_,
    )
    table = pa.table({"ts": [1, 2, 11, 12], "key": ["a", "a", "b", "b"], "v": [4.0, 2.0, 8.0, 0.0]})
    query = wr.query(time="ts", by="key").window(wr.Tumbling(5)).agg(x=inverse("v"))
    message = r"'inverse' raised ZeroDivisionError at the row with ts=12 of key 'b' \(value 0\.0\)"
    with pytest.raises(AggregateError, match=message):
        by_rows(query, table, [2])
    if compile_:
        with pytest.raises(AggregateError, match=message):
            by_slices(query, table, [2], 1)
