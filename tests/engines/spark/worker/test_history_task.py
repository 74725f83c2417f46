"""The state that history leads to, as a stream of buckets goes on from it: without Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.packed_stream import PackedStream, without_delay
from windrow.engines.spark.worker.chunks import chunked
from windrow.errors import ChangedQuery
from windrow.testing import assert_same_results
from windrow.testing.strategies import pushes, stream_queries, streams, table_of
from windrow.windows import parse_duration

QUERY = wr.query(time="ts", by="key", watermark=5).window(wr.Sliding(20, slide=5)).agg(n=wr.count())


def final(results: list[Any]) -> list[Any]:
    kept = [row for row in results if row.get("is_final", True) and not row.get("retracted")]
    return [{name: value for name, value in row.items() if name != "revision"} for row in kept]


POLICY = wr.Policy(lambda total, old: total.rows - old.rows >= 3)
WINDOWS = {
    "Tumbling": wr.Tumbling(7),
    "Sliding": wr.Sliding(30, slide=4),
    "Cumulative": wr.Cumulative(24, step=6),
    "Fixed": wr.Fixed(3, 15),
    "Session": wr.Session(5),
    "Session of a size": wr.Session(5, max_size=13),
    "Rows": wr.Rows(4, slide=3),
    "Delta": wr.Delta("km", size=6, slide=2),
    "Punctuation": wr.Punctuation("flag"),
    "Threshold": wr.Threshold("flag"),
    "Policy": POLICY,
}
_START = wr.query(time="ts", by="key", order="seq", watermark=3)
KINDS = {name: _START.window(window) for name, window in WINDOWS.items()} | {
    "all together": _START.window(**{name.replace(" ", "_"): window for name, window in WINDOWS.items()}),
    "rolling by time": _START.rolling(20),
    "rolling by rows": _START.rolling(rows=5),
    "rolling frames": _START.rolling(6, 20, closed="left"),
    "rolling by policy": _START.rolling(POLICY),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100))
@given(st.data())
def test_any_cut_goes_through_every_kind_of_window(kind: str, data: st.DataObject) -> None:
    query = KINDS[kind].agg(rows=wr.count(), total=wr.sum("n"), text=wr.concat("s"))
    check_history(query, data.draw(streams(min_size=6, span=25)), True, data)


@pytest.mark.parametrize("kind", ["Tumbling", "Sliding", "Cumulative", "Fixed"])
@settings(max_examples=examples(50))
@given(st.data())
def test_any_cut_goes_through_windows_whose_slices_travel_without_times(
    kind: str, data: st.DataObject
) -> None:
    query = wr.query(time="ts", by="key", watermark=3).window(WINDOWS[kind])
    query = query.agg(rows=wr.count(), total=wr.sum("n"), last=wr.last("n"))
    check_history(query, data.draw(streams(min_size=6, span=25)), True, data)


def test_a_window_that_is_added_after_history_sees_none_of_its_rows() -> None:
    """The slice of the last rows of history reaches beyond them, and its times are not stored."""
    row = dict.fromkeys(table_of([]).column_names)
    past, live = (
        table_of([row | {"ts": ts, "key": "a"} for ts in some]) for some in ([3, 12, 17], [18, 19, 40])
    )
    start = wr.query(time="ts", by="key", watermark=0)
    few = start.window(long=wr.Sliding(20, slide=5)).agg(n=wr.count())
    more = start.window(long=wr.Sliding(20, slide=5), short=wr.Tumbling(1)).agg(n=wr.count())
    stream = PackedStream(few, past.schema)
    stream.begin_with(past, 18)
    assert stream.batch(live.slice(0, 0), 0) == []
    stream.query = more
    stream.batch(live, 0)
    found = [(r["window"], r["window_end"], r["n"]) for r in stream.batch(live.slice(0, 0), 30)]
    assert found == [("long", 20, 5), ("long", 25, 4), ("long", 30, 4), ("short", 19, 1), ("short", 20, 1)]


def test_slices_of_history_are_stored_without_the_times_of_their_rows() -> None:
    row = dict.fromkeys(table_of([]).column_names)
    rows = table_of([row | {"ts": 7 * k % 50, "key": "a"} for k in range(50)])
    stream = PackedStream(QUERY, rows.schema)
    stream.begin_with(rows)
    states = [history.settled()[1] for history in stream.histories.values()]
    state = max(states, key=lambda state: state.slices)
    assert (state.earliest, state.largest) == (0, 49)
    assert state.time is not None
    slices = list(state.time.store.all())
    assert all((each.lasts == np.minimum(each.ends - 1, 49)).all() for each in slices)
    assert all((each.firsts == each.lasts).all() for each in slices)


@pytest.mark.parametrize("has_cut", [True, False])
@settings(max_examples=examples(80))
@given(st.data())
def test_a_stream_goes_on_from_history(has_cut: bool, data: st.DataObject) -> None:
    query = replace(data.draw(stream_queries(policies=False)), watermark=parse_duration(3))
    check_history(query, data.draw(streams(null_times=True, min_size=4, span=25)), has_cut, data)


def check_history(query: Any, rows: list[Any], has_cut: bool, data: st.DataObject) -> None:
    """Buckets with any part of the rows as history give what an operator gives that begins with it."""
    split = data.draw(st.integers(1, len(rows)))
    past = [row for row in rows[:split] if row["ts"] is not None]
    cut = data.draw(st.integers(-5, 25))
    stream = PackedStream(query, table_of([]).schema)
    if has_cut:
        stream.begin_with(table_of(past), cut)
        operator = without_delay(query).open(history=table_of(past), history_until=cut)
    else:
        stream.begin_with(table_of(past))
        operator = without_delay(query).open(history=table_of(past))
        reached = max((row["ts"] for row in past), default=0) - 3
        operator.advance(reached) if reached > 0 else None
    watermark = 0
    for batch in [*data.draw(pushes(rows[split:])), []]:
        found = stream.batch(table_of(batch), watermark)
        expected = operator.push(table_of(batch)).to_pylist() if batch else []
        expected += operator.advance(watermark).to_pylist() if watermark > 0 else []
        assert_same_results(final(found), final(expected))
        watermark += data.draw(st.integers(0, 12))


def test_rows_of_history_are_folded_many_at_a_time() -> None:
    batches = pa.table({"n": list(range(10))}).to_batches(max_chunksize=2)  # of 16 bytes each
    assert [table.num_rows for table in chunked(batches, 3)] == [4, 4, 2]
    assert [table.num_rows for table in chunked(batches, 3, 48)] == [6, 4]
    assert [table.num_rows for table in chunked(batches, 3, 8)] == [4, 4, 2]


def test_another_cut_than_before_is_refused() -> None:
    row = dict.fromkeys(table_of([]).column_names)
    rows = table_of([row | {"ts": ts, "key": "a"} for ts in (3, 12, 17)])
    stream = PackedStream(QUERY, rows.schema)
    stream.begin_with(rows, 15)
    stream.since = 16
    with pytest.raises(
        ChangedQuery, match=r"history until 15, and history_until is 16.*on another checkpoint"
    ):
        stream.batch(rows, 0)


def test_rows_before_the_cut_are_counted() -> None:
    row = dict.fromkeys(table_of([]).column_names)
    rows = table_of([row | {"ts": ts, "key": "a"} for ts in (3, 12, 17)])
    stream = PackedStream(QUERY, rows.schema)
    stream.begin_with(rows.slice(0, 2), 15)
    assert [row["n"] for row in stream.batch(rows, 20)] == [3]
    assert (stream.counts["rows_in"], stream.counts["rows_rejected"]) == (3, 2)
