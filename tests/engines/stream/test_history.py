"""An operator that begins with history: what it gives is what one operator gives that had those rows pushed,
without what came out of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.errors import ChangedQuery, UnknownColumn
from windrow.monoids.equality import same
from windrow.state import MemoryStore
from windrow.testing import StreamOracle, assert_same_results
from windrow.testing.oracle.folding import key_of
from windrow.testing.strategies import operations, stream_queries, streams, table_of

QUERY = wr.query(time="t", by="k", watermark=0).window(wr.Sliding(30, slide=10)).agg(n=wr.count())
PAST = pa.table({"t": [3, 14, 18, 21, 18], "k": ["a", "a", "a", "a", "b"]})
LIVE = pa.table({"t": [18, 21, 30], "k": ["a", "a", "a"]})


def of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


WINDOWS = {
    "Tumbling": wr.Tumbling(7),
    "Sliding": wr.Sliding(30, slide=4),
    "Cumulative": wr.Cumulative(24, step=6),
    "Fixed": wr.Fixed(-20, 15),
    "Session": wr.Session(5),
    "Session of a size": wr.Session(5, max_size=13),
    "Rows": wr.Rows(4, slide=3),
    "Delta": wr.Delta("km", size=6, slide=2),
    "Punctuation": wr.Punctuation("flag"),
    "Threshold": wr.Threshold("flag"),
    "Policy": wr.Policy(lambda total, old: total.rows - old.rows >= 3),
}
_START = wr.query(time="ts", by="key", order="seq", watermark=3)
KINDS = {name: _START.window(window) for name, window in WINDOWS.items()} | {
    "all together": _START.window(**{name.replace(" ", "_"): window for name, window in WINDOWS.items()}),
    "rolling by time": _START.rolling(20),
    "rolling by rows": _START.rolling(rows=5),
    "rolling frames": _START.rolling(6, 20, closed="left"),
    "rolling by policy": _START.rolling(wr.Policy(lambda total, old: total.rows - old.rows >= 3)),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100))
@given(st.data())
def test_any_cut_goes_through_every_kind_of_window(kind: str, data: st.DataObject) -> None:
    query = KINDS[kind].agg(rows=wr.count(), total=wr.sum("n"), text=wr.concat("s"))
    check_history(query, data.draw(streams(min_size=6)), True, data)


@pytest.mark.parametrize("has_cut", [True, False])
@settings(max_examples=examples(120))
@given(st.data())
def test_history_and_live_rows_are_one_stream(has_cut: bool, data: st.DataObject) -> None:
    check_history(data.draw(stream_queries()), data.draw(streams(null_times=True)), has_cut, data)


def check_history(query: Any, rows: list[Any], has_cut: bool, data: st.DataObject) -> None:
    """An operator with any part of the rows as history gives what the oracle gives that had them pushed, but
    for empty windows that the batch over all of history gives."""
    split = data.draw(st.integers(0, len(rows)))
    times = [row["ts"] for row in rows if row["ts"] is not None]
    cut = data.draw(st.integers(min(times, default=0) - 2, max(times, default=0) + 2)) if has_cut else None
    past, calls = rows[:split], data.draw(operations(rows[split:]))

    def is_past(row: dict[str, Any]) -> bool:
        return cut is None or row["ts"] is None or row["ts"] < cut

    later = [key_of(query, row) for row in past if not is_past(row) and query.empty == "include"]
    timed = {name for name, window in query.windows if isinstance(window, wr.windows.TimeWindow)}

    def is_of_batch(result: dict[str, Any]) -> bool:
        is_timed = bool(later) and result.get("window", "") in timed
        return (
            is_timed
            and result["window_end"] <= cut
            and any(same(key_of(query, result), key) for key in later)
        )

    oracle = StreamOracle(query)
    oracle.push([row for row in past if is_past(row)])
    if cut is not None:
        oracle.advance(cut)
    given_ = {} if cut is None else {"history_until": cut}
    operator = query.open(history=table_of(past, "integer"), **given_)
    after = data.draw(st.integers(0, 8))
    for number, (name, argument) in enumerate([*calls, ("finish", None)]):
        if name == "push":
            new = [row for row in argument if cut is None or row["ts"] is None or row["ts"] >= cut]
            expected, found = oracle.push(new), operator.push(table_of(argument, "integer"))
        elif name == "advance":
            expected, found = oracle.advance(argument), operator.advance(argument)
        else:
            expected, found = oracle.finish(), operator.finish()
        assert_same_results(found, [row for row in expected if not is_of_batch(row)])
        if number == after and name != "finish":
            operator = query.restore(operator.snapshot())


def test_rows_of_history_that_come_again_are_counted_and_left_out() -> None:
    operator = QUERY.open(history=PAST, history_until=20)
    assert of(operator.push(LIVE)) == [("a", 0, 30, 4), ("b", 0, 30, 1)]
    assert operator.metrics.rejected == {"in_history": 1}
    assert operator.metrics.rows_in == 4 + 3


def test_windows_before_the_cut_come_out_of_the_batch_and_the_others_out_of_the_stream() -> None:
    cut = 20
    early = [
        row
        for row in of(QUERY.run(PAST.filter(pa.array([t < cut for t in PAST["t"].to_pylist()]))))
        if row[2] <= cut
    ]
    operator = QUERY.open(history=PAST, history_until=cut)
    later = of(operator.push(LIVE)) + of(operator.finish())
    everything = pa.table({"t": [3, 14, 18, 18, 21, 30], "k": ["a", "a", "a", "b", "a", "a"]})
    assert sorted(early + later) == sorted(of(QUERY.run(everything)))


@pytest.mark.parametrize(
    "window", [wr.Tumbling(10), wr.Sliding(20, slide=5), wr.Cumulative(20, step=5)], ids=repr
)
@pytest.mark.parametrize("by", [None, "k"])
@pytest.mark.parametrize("reaches", [40, 60, 200])
def test_empty_windows_before_the_cut_came_twice_where_history_has_rows_behind_it(
    window: Any, by: str | None, reaches: int
) -> None:
    query = wr.query(time="t", by=by, watermark=0, empty="include").window(window).agg(n=wr.count())
    cut = 40
    times = [
        (3, "a"),
        (5, "b"),
        (12, "a"),
        (39, "c"),
        (47, "b"),
        (98, "a"),
        (150, "c"),
        (155, "b"),
        (158, "a"),
    ]
    every = pa.table({"t": [time for time, _ in times], "k": [key for _, key in times]})
    history = every.filter(pa.array([time < reaches for time, _ in times]))
    batch = [row for row in query.run(history).to_pylist() if row["window_end"] <= cut]
    for restores in (False, True):
        operator, found = query.open(history=history, history_until=cut), list(batch)
        for time, key in times:
            if time >= cut:
                found += operator.push(pa.table({"t": [time], "k": [key]})).to_pylist()
            operator = query.restore(operator.snapshot()) if restores else operator
        found += operator.finish().to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, query.run(every).to_pylist()))


def test_a_store_takes_history_once() -> None:
    store = MemoryStore()
    first = QUERY.open(store=store, history=PAST, history_until=20)
    first.push(LIVE.slice(1, 1))
    again = QUERY.open(store=store, history=PAST, history_until=20)
    assert of(again.push(LIVE)) == [("a", 0, 30, 5), ("b", 0, 30, 1)]
    with pytest.raises(ChangedQuery, match="history until 20, and history_until is 25"):
        QUERY.open(store=store, history=PAST, history_until=25)


def test_rolling_windows_in_a_store_take_history_once() -> None:
    rolling = wr.query(time="t", by="k", watermark=0)
    query, plain = (
        rolling.rolling(rows=3, **store).agg(n=wr.sum("t")) for store in ({"store": MemoryStore()}, {})
    )
    expected = plain.open(history=PAST, history_until=20)
    query.open(name="calls", history=PAST, history_until=20)
    found = query.open(name="calls", history=PAST, history_until=20)
    assert of(found.push(LIVE)) == of(expected.push(LIVE)) == [(21, "a", 53)]
    assert of(found.finish()) == of(expected.finish()) == [(30, "a", 69)]


def test_a_failing_history_leaves_nothing_in_a_store() -> None:
    store = MemoryStore()
    with pytest.raises(UnknownColumn, match="no column 't'"):
        QUERY.open(store=store, history=PAST.rename_columns(["u", "k"]), history_until=20)
    assert of(QUERY.open(store=store).push(LIVE)) == of(QUERY.open().push(LIVE))


def test_the_cut_is_a_time_of_the_column() -> None:
    with pytest.raises(TypeError, match="history_until '2024-05-01': column 't' asks for an integer"):
        QUERY.open(history=PAST, history_until="2024-05-01")
    times = pa.table({"t": pa.array([0, 3_600], pa.timestamp("s")), "k": ["a", "a"]})
    hours = wr.query(time="t", by="k").window(wr.Tumbling("2h")).agg(n=wr.count())
    operator = hours.open(history=times, history_until="1970-01-01T01:00")
    operator.push(times)
    assert operator.finish()["n"].to_pylist() == [2]
    assert operator.metrics.rejected == {"in_history": 1}


def test_a_cut_alone_leaves_out_rows_before_it() -> None:
    operator = QUERY.open(history_until=20)
    operator.push(LIVE)
    assert operator.metrics.rejected == {"in_history": 1}


def test_as_of_queries_take_history_as_events() -> None:
    with pytest.raises(TypeError, match="push history to the operator"):
        wr.query(time="t", by="k").asof(5).agg(n=wr.count()).open(history=PAST)
