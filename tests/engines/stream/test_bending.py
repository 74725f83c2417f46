"""An operator, or a stream of buckets, that goes on with a query that has changed: waits, windows and
aggregates that were removed, and additions that are filled from history. What comes out is what the oracle
gives that changes at the same moment, or a query that was always so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.packed_stream import PackedStream, without_delay
from support.small_chunks import small_chunks
from windrow.engines.spark.streaming.verify import check_bucket
from windrow.errors import ChangedQuery
from windrow.state import MemoryStore
from windrow.testing import StreamOracle, assert_same_results
from windrow.testing.strategies import (
    CONCATENATION,
    operations,
    pushes,
    stream_queries,
    streams,
    table_of,
    windows,
)
from windrow.windows import parse_duration


def bent(oracle: StreamOracle, query: Any) -> None:
    """Let an oracle go on with other waits: what it has forgotten under the lateness of before stays so."""
    watermark, before = oracle._watermark, oracle.query.allowed_lateness
    was = 0 if before is None else before.units
    now = 0 if query.allowed_lateness is None else query.allowed_lateness.units
    oracle.query = query
    for model in oracle._models:
        gone = max(getattr(model, "gone", -float("inf")), watermark - was + (0 if was else 1))

        def allowed(self: Any) -> Any:
            return min(now, max(0, oracle._watermark - self.gone))

        model.query, model.gone = query, gone  # type: ignore[attr-defined]
        model.__class__ = type("Bent", (type(model),), {"allowed": property(allowed)})


def waits() -> st.SearchStrategy[Any]:
    return st.sampled_from([None, 0, 2, 5, 12]).map(lambda n: None if n is None else parse_duration(n))


def reopened(query: Any, operator: Any, store: Any) -> Any:
    return query.restore(operator.snapshot()) if store is None else query.open(store=store)


def called(target: Any, name: str, argument: Any, makes_table: bool) -> Any:
    if name == "push" and makes_table:
        argument = table_of(argument, "integer")
    return getattr(target, name)(*(() if argument is None else (argument,)))


def without_revisions(rows: list[Any]) -> list[Any]:
    """Columns that results have only where some lateness is allowed."""
    also = {"revision": 0, "retracted": False}
    return [also | row for row in rows]


@pytest.mark.parametrize("in_store", [False, True])
@settings(max_examples=examples(120))
@given(st.data())
def test_waits_change_on_the_way(in_store: bool, data: st.DataObject) -> None:
    query = data.draw(stream_queries())
    refuses = any(window.refuses_lateness for _, window in query.windows)
    rows = data.draw(streams(null_times=True, min_size=3))
    calls = [call for call in data.draw(operations(rows)) if call != ("push", [])]
    changes = data.draw(st.lists(st.integers(0, len(calls)), min_size=1, max_size=3))
    store = MemoryStore() if in_store else None
    oracle, operator = StreamOracle(query), query.open(store=store) if in_store else query.open()
    found: list[Any] = []
    expected: list[Any] = []
    with small_chunks(2, 4):
        for number, (name, argument) in enumerate([*calls, ("finish", None)]):
            for _ in range(changes.count(number)):
                lateness = None if refuses else data.draw(waits())
                query = replace(query, watermark=data.draw(waits()), allowed_lateness=lateness)
                operator = reopened(query, operator, store)
                bent(oracle, query)
            # what is due by the new waits alone comes with the next step that does something
            found += without_revisions(called(operator, name, argument, True).to_pylist())
            expected += without_revisions(called(oracle, name, argument, False))
    assert_same_results(found, expected)


@settings(max_examples=examples(60))
@given(st.data())
def test_waits_of_a_stream_of_buckets_change_on_the_way(data: st.DataObject) -> None:
    query = replace(data.draw(stream_queries(policies=False)), watermark=parse_duration(3))
    refuses = any(window.refuses_lateness for _, window in query.windows)
    stream, operator = PackedStream(query, table_of([]).schema), without_delay(query).open()
    watermark, is_changed, has_rows = 0, False, False
    for batch in data.draw(pushes(data.draw(streams(min_size=4, span=25)))):
        if not is_changed and data.draw(st.booleans()):
            lateness = None if refuses else data.draw(waits())
            stream.query = query = replace(query, allowed_lateness=lateness, watermark=parse_duration(7))
            operator, is_changed = without_delay(query).restore(operator.snapshot()), True
        found = stream.batch(table_of(batch), watermark)
        expected = operator.push(table_of(batch)).to_pylist() if batch else []
        expected += operator.advance(watermark).to_pylist() if watermark > 0 else []
        assert_same_results(final(found), final(expected))
        has_rows |= bool(batch)  # before, nothing can have moved the watermark of a stream
        watermark += data.draw(st.integers(1, 12)) if has_rows else 0


def final(results: list[Any]) -> list[Any]:
    """A step of a bucket corrects and fires at once, an operator that is advanced by hand in two."""
    kept = [row for row in results if row.get("is_final", True) and not row.get("retracted")]
    return [{name: value for name, value in row.items() if name != "revision"} for row in kept]


# -- removed -------------------------------------------------------------------------------------------------


@st.composite
def removals(draw: st.DrawFn, **options: Any) -> tuple[Any, Any]:
    """A query, and the same without some of its windows and aggregates."""
    query = draw(stream_queries(**options))
    query = replace(
        query, aggregates=(*query.aggregates, ("text", CONCATENATION("s")), ("sum_n", wr.sum("n")))
    )
    read = {name for _, window in query.windows for name in window.aggregates_read}
    over = query.rolling_over
    read |= set() if over is None or over.policy is None else over.policy.aggregates_read
    kept = draw(st.sets(st.sampled_from([name for name, _ in query.aggregates]), min_size=1)) | read
    aggregates = tuple(pair for pair in query.aggregates if pair[0] in kept)
    windows_ = query.windows
    if query.names_windows:
        names = draw(st.sets(st.sampled_from([name for name, _ in windows_]), min_size=1))
        windows_ = tuple(pair for pair in windows_ if pair[0] in names)
    return query, replace(query, windows=windows_, aggregates=aggregates)


def what_is_left(results: list[Any], query: Any, less: Any) -> list[Any]:
    """Results of a query as one gives them that has less."""
    windows_ = {name for name, _ in less.windows}
    gone = set(query.result_names) - set(less.result_names)
    kept = [row for row in results if not windows_ or row.get("window", "") in windows_]
    return [{"retracted": False} | {n: v for n, v in row.items() if n not in gone} for row in kept]


@pytest.mark.parametrize("in_store", [False, True])
@settings(max_examples=examples(80))
@given(st.data())
def test_windows_and_aggregates_are_removed(in_store: bool, data: st.DataObject) -> None:
    query, less = data.draw(removals())
    rows = data.draw(streams(null_times=True, min_size=3))
    calls = data.draw(operations(rows))
    moment = data.draw(st.integers(0, len(calls)))
    store = MemoryStore() if in_store else None
    whole, operator = query.open(), query.open(store=store) if in_store else query.open()
    with small_chunks(2, 4):
        for number, (name, argument) in enumerate([*calls, ("finish", None)]):
            if number == moment:
                operator = reopened(less, operator, store)
            if number == moment + 1:
                operator = reopened(less, operator, store)
            found, expected = (called(each, name, argument, True).to_pylist() for each in (operator, whole))
            if number < moment:
                assert_same_results(found, expected)
            else:
                assert_same_results(what_is_left(found, less, less), what_is_left(expected, query, less))


@settings(max_examples=examples(60))
@given(st.data())
def test_windows_and_aggregates_are_removed_from_a_stream_of_buckets(data: st.DataObject) -> None:
    query, less = data.draw(removals(policies=False))
    rows = data.draw(streams(null_times=True, min_size=3, span=25))
    batches = data.draw(pushes(rows))
    moment, watermark = data.draw(st.integers(0, len(batches))), 0
    stream, whole = (PackedStream(query, table_of([]).schema) for _ in range(2))
    with small_chunks(2, 4):
        for number, batch in enumerate([*batches, []]):
            now = query if number < moment else less
            stream.query = now
            found, expected = (each.batch(table_of(batch), watermark) for each in (stream, whole))
            assert_same_results(what_is_left(found, now, now), what_is_left(expected, query, now))
            for bucket, held in stream.entries.items():
                if held.head is not None:
                    check_bucket(bucket, {"header": held.head, "fence": held.guard, **held.blocks})
            watermark += data.draw(st.integers(0, 12)) if number else 1


# -- filled --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_store", [False, True])
@settings(max_examples=examples(80))
@given(st.data())
def test_additions_are_filled_from_history(in_store: bool, data: st.DataObject) -> None:
    query = data.draw(stream_queries())
    query = replace(query, output="final", allowed_lateness=None)
    more = replace(query, aggregates=(*query.aggregates, ("text", CONCATENATION("s"))))
    if query.names_windows and data.draw(st.booleans()):
        more = replace(more, windows=(*query.windows, ("new", data.draw(windows()))))
    rows = data.draw(streams(min_size=4))
    calls = data.draw(operations(rows))
    moment = data.draw(st.integers(1, len(calls)))
    came = [row for name, argument in calls[:moment] if name == "push" for row in argument]
    cut = max((row["ts"] for row in came), default=-60) + data.draw(st.integers(1, 9))
    past = [row for row in rows if row["ts"] < cut]
    store = MemoryStore() if in_store else None
    operator = query.open(store=store) if in_store else query.open()
    for name, argument in calls[:moment]:
        called(operator, name, argument, True)
    if operator.metrics.rows_in == 0:
        return
    watermark = operator.metrics.watermark
    how = {"history": table_of(past, "integer"), "history_until": cut}
    operator = more.open(store=store, **how) if in_store else more.restore(operator.snapshot(), **how)
    oracle = StreamOracle(replace(more, watermark=None))
    oracle.push(past)
    if watermark is not None:
        oracle.advance(watermark)
    oracle.query = more
    for name, argument in [*calls[moment:], ("finish", None)]:
        if name == "push":
            new = [row for row in argument if row["ts"] >= cut]
            if not new:
                continue
            expected, found = oracle.push(new), operator.push(table_of(argument, "integer"))
        else:
            found, expected = called(operator, name, argument, True), called(oracle, name, argument, False)
        assert_same_results(found, expected)


WEEK = wr.query(time="day", by="who", watermark=0).window(week=wr.Sliding(7, slide=1)).agg(n=wr.count())
GROWN = (
    wr.query(time="day", by="who", watermark=0)
    .window(week=wr.Sliding(7, slide=1), month=wr.Sliding(30, slide=1))
    .agg(n=wr.count(), total=wr.sum("v"))
)


def days(first: int, last: int) -> pa.Table:
    return pa.table(
        {"day": list(range(first, last)), "who": ["ann"] * (last - first), "v": list(range(first, last))}
    )


def test_what_was_added_is_right_from_the_first_result_and_what_was_there_goes_on() -> None:
    store = MemoryStore()
    WEEK.open(store=store).push(days(0, 50))
    grown = GROWN.open(store=store, history=days(0, 60), history_until=52)
    found = grown.push(days(50, 54)).to_pylist()
    month = [row for row in found if row["window"] == "month"]
    assert [(row["window_end"], row["n"], row["total"]) for row in month] == [
        (end, 30, sum(range(end - 30, end))) for end in (50, 51, 52, 53)
    ]
    assert [row["window_end"] for row in found if row["window"] == "week"] == [50, 51, 52, 53]
    assert grown.metrics.rejected == {"in_history": 2}
    again = GROWN.open(store=store, history=days(0, 60), history_until=52)
    assert [row["total"] for row in again.push(days(54, 55)).to_pylist()] == [
        sum(range(47, 54)),
        sum(range(24, 54)),
    ]


def test_what_cannot_be_filled_is_refused_and_nothing_is_lost() -> None:
    store = MemoryStore()
    WEEK.open(store=store).push(days(0, 50))
    with pytest.raises(ChangedQuery, match=r"until 40 does not reach behind the last row .* at 49"):
        GROWN.open(store=store, history=days(0, 60), history_until=40)
    with pytest.raises(ChangedQuery, match="its end, without a cut, and history_until is 60"):
        WEEK.open(store=store, history=days(0, 60), history_until=60)
    late = replace(WEEK, allowed_lateness=parse_duration(3))
    operator = late.open()
    operator.push(days(0, 50))
    with pytest.raises(ChangedQuery, match="cannot be filled from history where results are revised"):
        replace(GROWN, allowed_lateness=parse_duration(3)).restore(
            operator.snapshot(), history=days(0, 60), history_until=60
        )
    assert WEEK.open(store=store).metrics.rows_in == 50


def test_renamed_or_all_removed_is_another_query() -> None:
    snapshot = GROWN.open().snapshot()
    windows_ = dict(GROWN.windows)
    with pytest.raises(ChangedQuery, match=r"window 'week' \(Sliding.*\) is called 'seven', and its state"):
        replace(GROWN, windows=(("seven", windows_["week"]), ("month", windows_["month"]))).restore(snapshot)
    with pytest.raises(ChangedQuery, match=r"window 'week' .* is missing; window 'month' .* is missing"):
        replace(GROWN, windows=(("day", wr.Tumbling(1)),)).restore(snapshot)
    with pytest.raises(ChangedQuery, match=r"aggregate 'n' .* is missing; aggregate 'total' .* is missing"):
        replace(GROWN, aggregates=(("top", wr.max("v")),)).restore(snapshot)


def test_a_removed_window_is_there_until_the_first_step_without_it() -> None:
    store = MemoryStore()
    GROWN.open(store=store).push(days(0, 50))
    less = replace(GROWN, windows=GROWN.windows[:1])
    less.open(store=store)
    assert len(GROWN.open(store=store).push(days(50, 51))) == 2
    less.open(store=store).push(days(51, 52))
    back = GROWN.open(store=store).push(days(52, 53)).to_pylist()
    assert [row["window"] for row in back] == ["week"]


@pytest.mark.parametrize("in_store", [False, True])
def test_an_aggregate_that_read_the_column_of_another_window_is_removed(in_store: bool) -> None:
    """Rows that wait for the windows of ``km`` had ``flag``, which only the other window still reads."""
    windows = {"done": wr.Punctuation("flag"), "far": wr.Delta("km", size=10)}
    query = wr.query(time="t", watermark=5).window(**windows)
    before, less = query.agg(n=wr.count(), part=wr.share("flag")), query.agg(n=wr.count())
    store = MemoryStore() if in_store else None
    operator = before.open(store=store)
    operator.push(pa.table({"t": [1, 2], "flag": [False, True], "km": [1.0, 20.0]}))
    rows = reopened(less, operator, store).finish().to_pylist()
    assert [(row["window"], row["n"]) for row in rows] == [("done", 2), ("far", 1), ("far", 1)]


def test_rows_may_be_further_ahead_than_before() -> None:
    near = replace(WEEK, max_ahead=parse_duration(5))
    operator = near.open()
    operator.push(days(0, 3))
    operator.push(days(20, 21))
    assert operator.metrics.rejected == {"too_far_ahead": 1}
    operator = replace(near, max_ahead=parse_duration(50)).restore(operator.snapshot())
    operator.push(days(20, 21))
    assert operator.metrics.rejected == {"too_far_ahead": 1}
    assert operator.metrics.watermark == 20
