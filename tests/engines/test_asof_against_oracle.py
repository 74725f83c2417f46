"""As-of queries and rolling frames against the oracle: random events, labels and queries."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.oracle_checks import MANY, check, table
from windrow.testing import assert_same_results, evaluate
from windrow.testing.strategies import (
    CONCATENATION,
    asof_queries,
    labels,
    rolling_frame_queries,
    streams,
    table_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")

CLOCKS = ["integer", "timestamp"]
ENDS = ["left", "right", "both", "neither"]


def label_table(rows: list[dict[str, Any]], clock: str) -> pa.Table:
    kinds = {
        "at": pa.int64() if clock == "integer" else pa.timestamp("us", "UTC"),
        "who": pa.large_string(),
        "where": pa.int32(),
        "label": pa.int64(),
    }
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def check_asof(query: wr.Query, events: pa.Table, asked: pa.Table, **columns: Any) -> pa.Table:
    found = query.run(events, at=asked, **columns)
    expected = evaluate(query, events, at=asked, **columns)
    assert found.select(asked.column_names).equals(asked)
    assert found.column_names == [*asked.column_names, *query.result_names]
    # rows may be told apart by their place alone
    numbered = found.append_column("row", pa.array(range(found.num_rows), pa.int64()))
    assert_same_results(numbered, [row | {"row": k} for k, row in enumerate(expected)])
    return found


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(80))
@given(data=st.data())
def test_any_asof_query(clock: Any, data: st.DataObject) -> None:
    query = data.draw(asof_queries(clock))
    rows = data.draw(streams(clock, null_times=True))
    asked = label_table(data.draw(labels(rows, clock)), clock)
    by = [{"key": "who", "zone": "where"}[name] for name in query.by]
    check_asof(query, table_of(rows, clock), asked, at_time="at", at_by=by)


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_rolling_frame(clock: Any, data: st.DataObject) -> None:
    query = data.draw(rolling_frame_queries(clock))
    check(query, table_of(data.draw(streams(clock, null_times=True)), clock))


@pytest.mark.parametrize("closed", ENDS)
@pytest.mark.parametrize("direction", ["backward", "forward"])
def test_ends_at_the_times_of_events(closed: Any, direction: Any) -> None:
    events = table([0, 5, 5, 10, 15, 15, 20])
    asked = pa.table({"ts": [5, 10, 15, 15, 25, -5]})
    for sizes in ([5], [10], [5, 10, "all"]):
        query = wr.query(time="ts").asof(*sizes, closed=closed, direction=direction)
        check_asof(query.agg(s=CONCATENATION("s"), m=wr.sum("n")), events, asked)
    query = wr.query(time="ts").asof(rows=[1, 2, 9], closed=closed, direction=direction)
    check_asof(query.agg(s=CONCATENATION("s"), m=wr.sum("n")), events, asked)


@pytest.mark.parametrize("times", [[], [3], [5, 5, 5], [None, 4], [None]], ids=str)
def test_events_of_any_number(times: list[int | None]) -> None:
    events = table(pa.array(times, pa.int64()), key=pa.array(["a"] * len(times), pa.string()))
    asked = pa.table({"ts": pa.array([4, 9, None], pa.int64()), "key": ["a", "b", "a"]})
    query = wr.query(time="ts", by="key").asof(5, "all")
    aggregates = {"n": wr.count(), "s": wr.concat("s"), "first": wr.first("s"), "m": wr.median("n")}
    check_asof(query.agg(**aggregates, most=wr.max("n"), all=wr.collect("n")), events, asked)
    query = wr.query(time="ts").asof(5, "all")
    check_asof(
        query.agg(**aggregates, d=wr.count_distinct("s"), top=wr.arg_max("n", value="s")), events, asked
    )


def test_no_labels_have_the_columns_of_some() -> None:
    query = wr.query(time="ts").asof(5, "all").agg(n=wr.count(), s=wr.concat("s"), x=wr.mean("n"))
    asked = pa.table({"ts": [4]})
    full, none = query.run(table(MANY), at=asked), query.run(table(MANY), at=asked.slice(0, 0))
    assert none.schema == full.schema
    assert none.num_rows == 0
