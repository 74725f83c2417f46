"""As-of over a partition, without Spark, against the local engine on the whole tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from engines.spark.partitions import BUDGETS, batches, shuffled_table
from support.budget import examples
from windrow.engines.spark.frames import ties_matter
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type, storable
from windrow.engines.spark.worker.local_task import ARRIVAL, CLOCK, LABEL, AskedLabels, answer_batches
from windrow.testing import assert_same_results
from windrow.testing.strategies import asof_queries, labels, streams, table_of

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def answered(
    query: wr.Query,
    rows: pa.Table,
    asked: pa.Schema,
    keys: list[str],
    sizes: list[int],
    time: Any,
    budget: int,
) -> pa.Table:
    kinds = [result_type(aggregate, rows.schema) for _, aggregate in query.result_columns]
    known = AskedLabels(asked.names, time)
    found = list(answer_batches(packed(query), keys, kinds, batches(rows, sizes), known, budget))
    results = [pa.field(name, kind) for name, kind in zip(query.result_names, kinds, strict=True)]
    return pa.Table.from_batches(found, pa.schema([*asked, *results]))


def asof_rows(query: wr.Query, events: pa.Table, asked: pa.Table, by: list[str]) -> pa.Table:
    """Events and labels in one table, as they lie in a partition."""
    keys = [f"k{k}" for k in range(len(by))]
    known = events
    for key, name in zip(keys, query.by, strict=True):
        known = known.append_column(key, events.column(name))
    clock = events.column(query.time).cast(pa.int64())
    if ties_matter(query, events.schema):
        known = known.append_column(ARRIVAL, pa.array(range(len(events)), pa.int64()))
    known = known.append_column(CLOCK, clock).filter(clock.is_valid())
    points = pa.table(
        {
            **{key: asked.column(name) for key, name in zip(keys, by, strict=True)},
            CLOCK: asked.column("at").cast(pa.int64()),
            LABEL: pa.array([True] * len(asked)),
            **{f"{LABEL}{k}": column for k, column in enumerate(asked.columns)},
        }
    )
    rows = pa.concat_tables([known, points], promote_options="permissive")
    return shuffled_table(wr.query(time=CLOCK), rows)


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
    about = (keys, data.draw(SIZES), time, data.draw(BUDGETS))
    found = answered(query, together, asked.schema, *about)
    expected = query.run(events, at=asked, at_time="at", at_by=by)
    assert_same_results(found.sort_by("label"), storable_table(expected))


def storable_table(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(field.name, storable(field.type)) for field in table.schema]))
