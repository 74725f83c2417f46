"""Frames over sorted batches of any size, without Spark, against the local engine on the whole tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from engines.spark.sorted_batches import batches, sorted_table
from support.budget import examples
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type, storable
from windrow.engines.spark.worker.rolling.frames_task import (
    CLOCK,
    LABEL,
    FrameTask,
    LabelColumns,
    answer_batches,
)
from windrow.engines.spark.worker.rolling.task import CONTEXT
from windrow.testing import assert_same_results
from windrow.testing.strategies import asof_queries, labels, rolling_frame_queries, streams, table_of

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def answered(
    query: wr.Query,
    rows: pa.Table,
    own: pa.Schema,
    keys: list[str],
    sizes: list[int],
    labels: LabelColumns | None = None,
) -> pa.Table:
    kinds = [result_type(aggregate, rows.schema) for _, aggregate in query.aggregates]
    every = [kind for kind in kinds for _ in query.frames.named]
    found = list(answer_batches(packed(query), keys, kinds, batches(rows, sizes), rows=1, labels=labels))
    results = [pa.field(name, kind) for name, kind in zip(query.result_names, every, strict=True)]
    return pa.Table.from_batches(found, pa.schema([*own, *results]))


def asof_rows(query: wr.Query, events: pa.Table, asked: pa.Table, by: list[str]) -> pa.Table:
    """Events and labels in one table, as they lie in a partition."""
    keys = [f"k{k}" for k in range(len(by))]
    known = events
    for key, name in zip(keys, query.by, strict=True):
        known = known.append_column(key, events.column(name))
    known = known.append_column(CLOCK, events.column(query.time)).filter(events.column(query.time).is_valid())
    points = pa.table(
        {
            **{key: asked.column(name) for key, name in zip(keys, by, strict=True)},
            CLOCK: asked.column("at"),
            LABEL: pa.array([True] * len(asked)),
            **{f"{LABEL}{k}": column for k, column in enumerate(asked.columns)},
        }
    )
    rows = pa.concat_tables([known, points], promote_options="permissive")
    sorting = wr.query(time=CLOCK, by=keys, order=list(query.order)) if keys else wr.query(time=CLOCK)
    return sorted_table(sorting, rows)


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_asof_query_in_batches_of_any_size(clock: Any, data: st.DataObject) -> None:
    query = data.draw(asof_queries(clock))
    rows = data.draw(streams(clock, null_times=True))
    events = table_of(rows, clock)
    time = pa.int64() if clock == "integer" else pa.timestamp("us", "UTC")
    kinds = {"at": time, "who": pa.string(), "where": pa.int64(), "label": pa.int64()}
    drawn = data.draw(labels(rows, clock))
    asked = pa.table({name: pa.array([row[name] for row in drawn], kind) for name, kind in kinds.items()})
    by = [{"key": "who", "zone": "where"}[name] for name in query.by]
    together = asof_rows(query, events, asked, by)
    keys = [f"k{k}" for k in range(len(by))]
    known = LabelColumns(asked.column_names, time)
    found = answered(query, together, asked.schema, keys, data.draw(SIZES), known)
    expected = query.run(events, at=asked, at_time="at", at_by=by)
    assert_same_results(found.sort_by("label"), storable_table(expected))


def storable_table(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(field.name, storable(field.type)) for field in table.schema]))


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_rolling_frame_in_batches_of_any_size(clock: Any, data: st.DataObject) -> None:
    query = data.draw(rolling_frame_queries(clock).filter(lambda query: query.frames is not None))
    table = table_of(data.draw(streams(clock, null_times=True)), clock)
    found = answered(query, sorted_table(query, table), table.schema, list(query.by), data.draw(SIZES))
    assert_same_results(found, query.run(table))


def test_context_rows_are_seen_and_not_given_back() -> None:
    query = wr.query(time="t").rolling(2, closed="both").agg(total=wr.sum("v"))
    rows = pa.table({"t": [1, 2, 3, 4], "v": [1, 2, 4, 8], CONTEXT: [True, False, False, True]})
    found = answered(query, rows, rows.schema.remove(2), [], [3])
    assert found.to_pylist() == [{"t": 2, "v": 2, "total": 3}, {"t": 3, "v": 4, "total": 7}]


def test_a_later_point_of_a_month_may_reach_back_further() -> None:
    """30 March, 10:00 and 31 March, 09:00 are a month after 28 February, 10:00 and 09:00."""
    times = np.array(
        ["2023-02-28T09:30", "2023-03-15T00:00", "2023-03-30T10:00", "2023-03-31T09:00"], "M8[us]"
    )
    table = pa.table({"t": times, "v": [1, 2, 4, 8]})
    query = wr.query(time="t").rolling("1mo").agg(total=wr.sum("v"), all=wr.collect("v"))
    expected = query.run(table)
    assert expected["total"].to_pylist() == [1, 3, 6, 15]
    for size in (1, 2, 3, 9):
        assert_same_results(answered(query, table, table.schema, [], [size]), expected)


def test_memory_is_that_of_the_window_and_not_of_the_key() -> None:
    query = wr.query(time="t").rolling(10, 50, shift=-5).agg(n=wr.count())
    schema = pa.schema({"t": pa.int64()})
    task = FrameTask(query, [], [pa.int64()], schema)
    held = 0
    for first in range(0, 20_000, 100):
        task.push(pa.table({"t": np.arange(first, first + 100)}))
        held = max(held, task.held_rows)
    assert held <= 400
