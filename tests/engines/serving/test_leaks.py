"""No engine that answers labels shows them their future: tables, operators, and operators on a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.state import MemoryStore
from windrow.testing import no_leak
from windrow.testing.strategies import asof_queries, labels, streams, table_of

COLUMNS = {"key": "who", "zone": "where"}


def on_tables(query: wr.Query, events: pa.Table, asked: pa.Table, **columns: Any) -> Any:
    return query.run(events, at=asked, **columns)


def on_an_operator(query: wr.Query, events: pa.Table, asked: pa.Table, **columns: Any) -> Any:
    op = query.open()
    for start in range(0, events.num_rows, 7):
        op.push(events.slice(start, 7))
    return op.at(asked, **columns)


def on_a_store(query: wr.Query, events: pa.Table, asked: pa.Table, **columns: Any) -> Any:
    store = MemoryStore()
    half = events.num_rows // 2
    query.open(store=store).push(events.slice(0, half))
    op = query.open(store=store)
    op.push(events.slice(half))
    return op.at(asked, **columns)


ENGINES: list[Callable[..., Any]] = [on_tables, on_an_operator, on_a_store]


@pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")
@settings(max_examples=examples(12))
@given(data=st.data())
def test_no_engine_shows_a_label_its_future(data: st.DataObject) -> None:
    query = data.draw(asof_queries("integer"))
    arguments = repr(query.asof_over.arguments if query.asof_over else "")
    assume("forward" not in arguments and "right" not in arguments and "both" not in arguments)
    rows = data.draw(streams("integer", null_times=True))
    drawn = data.draw(labels(rows, "integer", null_times=False))
    assume(rows and drawn)
    kinds = {"at": pa.int64(), "who": pa.large_string(), "where": pa.int32()}
    asked = pa.table({name: pa.array([row[name] for row in drawn], kind) for name, kind in kinds.items()})
    columns: Any = {"at_time": "at", "at_by": [COLUMNS[name] for name in query.by]}
    for engine in ENGINES:

        def run(events: Any, points: Any, engine: Any = engine) -> Any:
            return engine(query, events, points, **columns)

        no_leak(query, table_of(rows, "integer"), asked, **columns, run=run, most=2)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_forgets_keys_is_found_out(engine: Any) -> None:
    query = wr.query(time="ts", by="key").asof(20).agg(n=wr.count())
    events = pa.table({"ts": [1, 4, 9], "key": ["a", "b", "a"]})
    asked = pa.table({"ts": [12], "key": ["a"]})
    without = wr.query(time="ts").asof(20).agg(n=wr.count())
    with pytest.raises(AssertionError, match="sees events that it must not see"):
        no_leak(query, events, asked, run=lambda rows, points: engine(without, rows, points))
