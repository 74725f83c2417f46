"""op.at(labels): what run gives for all events that were pushed, however they were pushed."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.engines.frames import event_rows
from windrow.engines.frames.asof import with_seen_of
from windrow.engines.serving import event_records
from windrow.engines.stream.plan import EVENTS as PART
from windrow.engines.stream.snapshot import pack_snapshot, unpack_snapshot
from windrow.errors import ChangedQuery, RejectedRows
from windrow.state import MemoryStore
from windrow.testing import assert_same_results
from windrow.testing.strategies import asof_queries, labels, streams, table_of

QUERY = wr.query(time="ts", by="user").asof(5, "all").agg(total=wr.sum("v"), n=wr.count())
EVENTS = pa.table(
    {"ts": [1, 5, 5, 9, 20, 3], "user": ["a", "a", "b", "a", "b", None], "v": [1, 2, 3, 4, 5, 6]}
)
LABELS = pa.table({"who": ["b", "a", "zz", None, "a"], "at": [21, 9, 7, 4, 9], "y": [1, 0, 1, 0, 1]})
COLUMNS: Any = {"at_time": "at", "at_by": "who"}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are joined, looked through and sealed as if rows were many."""
    monkeypatch.setattr(event_rows, "_FEW", 4)
    monkeypatch.setattr(event_records, "_MOST_ROWS", 3)


def label_table(rows: list[dict[str, Any]], clock: str) -> pa.Table:
    kinds = {
        "at": pa.int64() if clock == "integer" else pa.timestamp("us", "UTC"),
        "who": pa.large_string(),
        "where": pa.int32(),
    }
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def assert_same_labels(found: pa.Table, expected: pa.Table) -> None:
    """Row by row: labels may be equal."""
    places = pa.array(range(expected.num_rows), pa.int64())
    assert found.schema == expected.schema
    assert_same_results(found.append_column("row", places), expected.append_column("row", places))


def opened(query: wr.Query, kind: str) -> Any:
    return query.open(store=MemoryStore()) if kind == "store" else query.open()


# -- as run --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")
@pytest.mark.parametrize("clock", ["integer", "timestamp"])
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_query_answers_as_run_does(clock: Any, data: st.DataObject) -> None:
    query = data.draw(asof_queries(clock))
    rows = data.draw(streams(clock, null_times=True))
    asked = label_table(data.draw(labels(rows, clock)), clock)
    by = [{"key": "who", "zone": "where"}[name] for name in query.by]
    events, cut = table_of(rows, clock), data.draw(st.integers(0, len(rows)))
    expected = query.run(events, at=asked, at_time="at", at_by=by)
    for kind in ("memory", "store"):
        op = opened(query, kind)
        op.push_parts([events.slice(0, cut // 2), events.slice(cut // 2, cut - cut // 2)])
        op = op if kind == "store" else query.restore(op.snapshot())
        op.push(events.slice(cut))
        assert_same_labels(op.at(asked, at_time="at", at_by=by), expected)


@pytest.mark.parametrize("kind", ["memory", "store"])
@pytest.mark.parametrize(
    "query",
    [
        wr.query(time="ts", by="user", watermark=4).asof(5, 9, lag=1),
        wr.query(time="ts", by="user", watermark=4, allowed_lateness=3).asof(5, closed="both"),
        wr.query(time="ts", by="user", watermark=4).asof(rows=[1, 3]),
        wr.query(time="ts", by="user", watermark=4).asof(rows=2, lag=2, closed="right"),
        wr.query(time="ts", by="user", watermark=4).asof(6, direction="forward"),
        wr.query(time="ts", by="user", watermark=4).asof(rows=2, direction="forward"),
        wr.query(time="ts", by="user", watermark=4).asof(5, "all"),
    ],
    ids=repr,
)
def test_labels_from_the_watermark_on_are_answered_whatever_was_dropped(query: wr.Query, kind: str) -> None:
    """Late events that no such label sees are dropped, and counted."""
    choose = random.Random(3)
    query = query.agg(s=wr.concat("s"), n=wr.count())
    op, pushed = opened(query, kind), []
    for step in range(60):
        times = [step + choose.randint(-12, 4) for _ in range(4)]
        users = [choose.choice("ab") for _ in times]
        rows = pa.table({"ts": times, "user": users, "s": [f"{step}." for _ in times]})
        assert op.push(rows).num_rows == 0
        pushed.append(rows)
        mark = op.metrics.watermark - (3 if query.corrects else 0)
        asked = pa.table({"ts": [mark, mark + 2, mark + 30], "user": ["a", "b", "zz"]})
        assert_same_labels(op.at(asked), query.run(pa.concat_tables(pushed), at=asked))
    metrics = op.metrics
    assert metrics.rows_in == 240 == metrics.rows_aggregated + metrics.rows_late
    if "all" not in repr(query):
        assert metrics.rows_held < 90
        with pytest.raises(ValueError, match=r"1 of 2 labels look further back .* user='a', ts=3: the"):
            op.at(pa.table({"ts": [80, 3], "user": ["b", "a"]}))


@pytest.mark.parametrize("kind", ["memory", "store"])
def test_a_month_back_on_the_last_days_of_months(kind: str) -> None:
    """A later label reaches back further than one before it: 30 March 23:00 and 31 March 1:00."""
    query = wr.query(time="ts", watermark="0s").asof("1mo").agg(s=wr.concat("s"))
    begin = datetime(2023, 2, 26)
    events = pa.table(
        {"ts": [begin + timedelta(hours=5 * k) for k in range(500)], "s": [f"{k}." for k in range(500)]}
    )
    op = opened(query, kind)
    for start in range(0, 500, 5):
        op.push(events.slice(start, 5))
        now = pa.table({"ts": [op.metrics.watermark, op.metrics.watermark + timedelta(hours=2)]})
        assert_same_labels(op.at(now), query.run(events.slice(0, start + 5), at=now))
    op.advance(op.metrics.watermark + timedelta(hours=1))
    assert op.metrics.rows_held < 400


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "duckdb"])
def test_the_result_is_the_kind_of_table_that_labels_are(kind: str) -> None:
    make: Any = {
        "arrow": lambda table: table,
        "pandas": lambda table: table.to_pandas(),
        "polars": pl.from_arrow,
        "duckdb": duckdb.from_arrow,
    }[kind]
    op = QUERY.open()
    op.push(make(EVENTS))
    found = op.at(make(LABELS), **COLUMNS)
    assert type(found) is type(make(LABELS))
    assert_same_results(found, QUERY.run(EVENTS, at=LABELS, **COLUMNS))


KEYS: list[tuple[Any, Any]] = [
    (pa.array([1, 2, None], pa.int32()), pa.array([2.0, 1.0, None], pa.float64())),
    (pa.array([1.0, -0.0, float("nan")], pa.float32()), pa.array([0.0, float("nan"), 7.5], pa.float64())),
    (pa.array([1.0, 2.0, None], pa.float64()), pa.array([2, 1, 5], pa.int64())),
    (pa.array(["a", "b", None]).dictionary_encode(), pa.array(["b", "", None], pa.large_string())),
    (pa.array([b"a", b"b", b""], pa.binary()), pa.array([b"b", b"x"], pa.large_binary())),
    (pa.array([1, 2, 3], pa.timestamp("s")), pa.array([2_000, 3_001], pa.timestamp("ms", "Europe/Berlin"))),
    (pa.array([1, 2, 3], pa.date32()), pa.array([86_400_000, 0], pa.date64())),
    (pa.array([True, False, None]), pa.array([None, True])),
    (pa.array([1, 2, 3], pa.duration("s")), pa.array([2, 5], pa.duration("s"))),
    (pa.array([1, 2, 3], pa.time32("s")), pa.array([2, 5], pa.time32("s"))),
    (
        pa.array(["1.50", "2", None]).cast(pa.decimal128(5, 2)),
        pa.array(["1.5", "2.001"]).cast(pa.decimal128(9, 3)),
    ),
    (pa.array([[1, 2], [-0.0], None]), pa.array([[0.0], [2.0, 1.0], None])),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "asked"), KEYS, ids=lambda column: str(column.type))
def test_keys_match_as_in_run(keys: Any, asked: Any) -> None:
    query = wr.query(time="t", by="k").asof(10).agg(n=wr.count())
    events = pa.table({"t": [1] * len(keys), "k": keys})
    points = pa.table({"t": [5] * len(asked), "k": asked})
    for kind in ("memory", "store"):
        op = opened(query, kind)
        op.push(events)
        assert_same_labels(op.at(points), query.run(events, at=points))


LOSSY: list[tuple[Any, Any]] = [
    (pa.array([3], pa.timestamp("s")), pa.array([3_001], pa.timestamp("ms"))),
    (pa.array([0.1], pa.float32()), pa.array([0.1], pa.float64())),
    (pa.array(["2.00"]).cast(pa.decimal128(5, 2)), pa.array(["2.001"]).cast(pa.decimal128(9, 3))),
    (pa.array([1], pa.int32()), pa.array([2**32 + 1], pa.int64())),
]


@pytest.mark.parametrize("kind", ["memory", "store"])
@pytest.mark.parametrize(("keys", "asked"), [*KEYS, *LOSSY], ids=lambda column: str(column.type))
def test_a_key_asked_alone_matches_as_in_run(keys: Any, asked: Any, kind: str) -> None:
    """Also one that would be another in the type of the events."""
    query = wr.query(time="t", by="k").asof(10).agg(n=wr.count())
    events = pa.table({"t": [1] * len(keys), "k": keys})
    op = opened(query, kind)
    op.push(events)
    for place in range(len(asked)):
        points = pa.table({"t": [5], "k": asked.slice(place, 1)})
        assert_same_labels(op.at(points), query.run(events, at=points))


def test_nanoseconds_and_order_decide_among_events_of_one_microsecond() -> None:
    times = pa.array([1_005, 1_001, 1_003, 1_003, 1_003], pa.timestamp("ns"))
    events = pa.table({"t": times, "o": [0, 0, 2, 1, 1], "s": list("abcde")})
    asked = pa.table({"t": pa.array([1_003, 1_004, 1_006], pa.timestamp("ns"))})
    start = wr.query(time="t", order="o")
    for query in (start.asof(rows=2), start.asof(rows=[1, 4], closed="right"), start.asof("1us")):
        op = (query := query.agg(s=wr.concat("s"))).open()
        for place in range(5):
            op.push(events.slice(place, 1))
        found, expected = (table.drop(["t"]) for table in (op.at(asked), query.run(events, at=asked)))
        assert_same_labels(found, expected)


def test_a_column_of_nulls_gets_its_type_later() -> None:
    query = wr.query(time="t").asof(10).agg(s=wr.concat("s"), top=wr.max("v"))
    nothing = pa.table({"t": [1], "s": pa.nulls(1), "v": pa.nulls(1)})
    events = pa.table({"t": [2], "s": ["x"], "v": [1.5]})
    asked = pa.table({"t": [2, 3]})
    for kind in ("memory", "store"):
        op = opened(query, kind)
        op.push(nothing)
        op.push(events)
        assert op.at(asked).to_pydict() == {"t": [2, 3], "s": [None, "x"], "top": [None, 1.5]}


# -- before, beside and after --------------------------------------------------------------------------------


def test_labels_before_the_first_event_see_nothing() -> None:
    assert QUERY.open().at(LABELS, **COLUMNS)["n_all"].to_pylist() == [0] * 5


def test_a_label_without_a_time_has_null_and_a_warning() -> None:
    op = QUERY.open()
    op.push(EVENTS)
    asked = pa.table({"who": ["a", "a"], "at": pa.array([None, 9], pa.int64())})
    with pytest.warns(RejectedRows, match="1 of 2 labels have no time in 'at'"):
        assert op.at(asked, **COLUMNS)["n_5"].to_pylist() == [None, 1]


def test_events_that_wait_are_seen() -> None:
    op = QUERY.open()
    op.insert(3, "a", v=7)
    assert op.at(pa.table({"user": ["a"], "ts": [4]}))["total_5"].to_pylist() == [7]


def test_a_push_that_fails_and_a_look_up_change_nothing() -> None:
    for kind in ("memory", "store"):
        op = opened(QUERY, kind)
        op.push(EVENTS)
        before = (replace(op.metrics, state_bytes=0), op.at(LABELS, **COLUMNS))
        with pytest.raises(TypeError, match="column 'v' was of type int64"):
            op.push_parts([EVENTS, EVENTS.set_column(2, "v", pa.array(list("abcdef")))])
        assert (replace(op.metrics, state_bytes=0), op.at(LABELS, **COLUMNS)) == before


def test_late_events_are_handed_back() -> None:
    query = wr.query(time="ts", by="user", watermark=0, late="return").asof(5).agg(n=wr.count())
    op = query.open()
    op.push(EVENTS)
    op.push(EVENTS.slice(0, 2))
    assert op.late_rows().to_pydict() == {
        "user": ["a", "a"], "ts": [1, 5], "v": [1, 2], "late_by": [19, 15], "late_reason": ["too_old"] * 2,
    }  # fmt: skip
    assert op.metrics.late == {"too_old": 2}


def test_advance_drops_what_no_label_can_see() -> None:
    op = wr.query(time="ts", by="user").asof(5).agg(n=wr.count()).open()
    op.push(EVENTS)
    assert op.metrics.rows_held == 6
    assert op.advance(14).num_rows == 0
    assert (op.metrics.rows_held, op.metrics.keys) == (2, 2)
    op.advance(100)
    assert (op.metrics.rows_held, op.metrics.keys) == (0, 0)
    assert op.at(pa.table({"ts": [120], "user": ["a"]}))["n"].to_pylist() == [0]


def test_a_snapshot_is_of_one_query_and_one_set_of_columns() -> None:
    op = QUERY.open()
    op.push(EVENTS)
    state = op.snapshot()
    start = wr.query(time="ts", by="user")
    more = start.asof(5, "all").agg(total=wr.sum("v"), n=wr.count(), top=wr.max("v")).restore(state)
    assert more.at(LABELS, **COLUMNS)["top_all"].to_pylist() == [5, 2, None, 6, 2]
    with pytest.raises(ChangedQuery, match=r"asof was 5, 'all', is 6, 'all'"):
        start.asof(6, "all").agg(total=wr.sum("v"), n=wr.count()).restore(state)
    with pytest.raises(ChangedQuery, match="'x' was added and reads 'w', which the events"):
        start.asof(5, "all").agg(total=wr.sum("v"), n=wr.count(), x=wr.sum("w")).restore(state)
    with pytest.raises(ChangedQuery):
        start.rolling(5).agg(total=wr.sum("v"), n=wr.count()).restore(state)


def test_a_snapshot_that_has_its_events_beside_the_state_is_read() -> None:
    """As it was before they were part of it."""
    op = QUERY.open()
    op.push(EVENTS)
    value = unpack_snapshot(op.snapshot())
    part = value["state"]["ordered"].pop(PART)
    restored = QUERY.restore(pack_snapshot(value | {"asof": part["context"]["table"]}))
    assert restored.at(LABELS, **COLUMNS).equals(op.at(LABELS, **COLUMNS))


def test_what_at_cannot_answer() -> None:
    tens = wr.query(time="ts").window(wr.Tumbling(10)).agg(n=wr.count()).open()
    with pytest.raises(TypeError, match=r"use .asof\('7d'\)"):
        tens.at(LABELS)
    op = QUERY.open()
    op.push(EVENTS)
    with pytest.raises(TypeError, match="cast one of them"):
        op.at(LABELS.set_column(1, "at", pa.array([1] * 5, pa.timestamp("s"))), **COLUMNS)
    with pytest.raises(TypeError, match="whose values cannot be compared"):
        op.at(LABELS.set_column(0, "who", pa.array([1] * 5)), **COLUMNS)
    with pytest.raises(ValueError, match="the labels have a column 'n_5' already"):
        op.at(LABELS.append_column("n_5", [[0] * 5]), **COLUMNS)
    with pytest.raises(TypeError, match="has no windows"):
        op.add_window(ten=wr.Tumbling(10))
    assert op.finish().num_rows == 0
    with pytest.raises(RuntimeError, match="finished"):
        op.at(LABELS, **COLUMNS)


def test_a_look_up_takes_no_rows_of_other_keys_or_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The events that are computed with are those of the keys asked, as far as their labels look."""
    looked_at: list[int] = []

    def counting(query: Any, events: pa.Table, *rest: Any) -> Any:
        looked_at.append(events.num_rows)
        return with_seen_of(query, events, *rest)

    monkeypatch.setattr("windrow.engines.frames.event_rows.with_seen_of", counting)
    op = wr.query(time="ts", by="user").asof(100).agg(total=wr.sum("v")).open()
    for start in range(0, 5_000, 500):
        times = np.arange(start, start + 500)
        op.push(pa.table({"ts": times, "user": times % 50, "v": times}))
    asked = pd.DataFrame({"ts": [4_000, 100], "user": [7, 0]})
    assert op.at(asked)["total"].tolist() == [3_907 + 3_957, 0 + 50]
    assert looked_at == [5]
