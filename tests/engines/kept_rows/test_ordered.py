"""RollingRows: however rows are cut into calls, results are those of query.run over all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.small_chunks import small_chunks
from windrow.engines.data_windows.operator import DataWindowRows
from windrow.engines.frames.rolling_part import RollingRows
from windrow.engines.kept_rows.ordered_rows import REVISION
from windrow.engines.kept_rows.waiting import Waiting
from windrow.errors import AggregateError
from windrow.rows.times import read_times
from windrow.state.codec import pack, unpack
from windrow.testing import assert_same_results
from windrow.testing.strategies import (
    CONCATENATION,
    aggregates,
    pushes,
    rolling_frame_queries,
    rolling_queries,
    streams,
    table_of,
    windows,
)

CLOCKS = ["integer", "timestamp"]
UNIT = {"integer": 1, "timestamp": 1_800_000_000}
END = 2**62


def keep(count: int) -> wr.Policy:
    return wr.Policy(lambda total, old: total.held - old.held >= count)


@st.composite
def window_queries(draw: st.DrawFn, clock: Any, kind: str) -> wr.Query:
    start = wr.query(
        time="ts",
        by=draw(st.sampled_from([None, "key", ("key", "zone")])),
        order=draw(st.sampled_from([None, "seq", ("seq", "n")])),
        min_count=draw(st.integers(0, 2)),
    )
    window = keep(draw(st.integers(1, 5))) if kind == "Policy" else draw(windows(clock, kinds=(kind,)))
    named = {"w": window} if draw(st.booleans()) else {}
    chosen = {f"a{i}": a for i, a in enumerate(draw(st.lists(aggregates(), max_size=2)))}
    chosen |= {"held": wr.count(), "all": CONCATENATION("s")}
    return start.window(*([] if named else [window]), **named).agg(**chosen)


def opened(query: wr.Query, **options: Any) -> RollingRows:
    if query.rolling_over is not None:
        if query.rolling_over.policy is not None:
            return DataWindowRows(query, "", query.rolling_over, **options)
        return RollingRows(query, query.rolling_over, **options)
    (name, window) = query.windows[0]
    return DataWindowRows(query, name, window, **options)


def times_of(table: pa.Table) -> Any:
    return read_times(table.column("ts"), "ts")[1]


class Feed:
    """Plays the operator: cuts rows into pushes, leaves late rows out, says what is due."""

    def __init__(self, draw: st.DrawFn, clock: Any) -> None:
        self.draw = draw
        self.table = table_of(draw(streams(clock)), clock)
        self.clock = clock
        self.up_to = -END
        #: the rows that were not late
        self.accepted: list[int] = []

    def batches(self) -> Iterator[tuple[pa.Table, Any]]:
        times = times_of(self.table)
        largest = -END
        for rows in self.draw(pushes(list(range(self.table.num_rows)))):
            kept = [row for row in rows if times[row] >= self.up_to]
            self.accepted += kept
            yield self.table.take(pa.array(kept, pa.int64())), np.array(kept, np.int64)
            largest = max([largest, *(int(times[row]) for row in rows)])
            late = self.draw(st.integers(-2, 25)) * UNIT[self.clock]
            self.up_to = max(self.up_to, largest - late)

    @property
    def all(self) -> pa.Table:
        return self.table.take(pa.array(self.accepted, pa.int64()))


def check_stream(
    draw: st.DrawFn, query: wr.Query, clock: Any, watch: Callable[[RollingRows, int], None] | None = None
) -> list[pa.Table]:
    """Feed rows in any cuts, with a snapshot somewhere, and compare with query.run."""
    feed, rows = Feed(draw, clock), opened(query)
    results = []
    for table, arrivals in feed.batches():
        rows.push(table, arrivals)
        if draw(st.booleans()):
            results.append(rows.due(feed.up_to))
            if watch is not None:
                watch(rows, feed.up_to)
        else:
            feed.up_to = max(rows._passed, -END)
        if draw(st.integers(0, 3)) == 3:
            state = unpack("test", pack("test", rows.state()))
            rows = opened(query)
            rows.restore(state)
    results.append(rows.due(END, closing=True))
    assert rows.rows == 0
    assert rows.nbytes == 0
    found = [result for result in results if result is not None]
    expected = query.run(feed.all)
    for result in found:
        assert result.column_names == expected.column_names
    assert_same_results([row for result in found for row in result.to_pylist()], expected)
    return found


# -- any cut gives the same ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Rows", "Delta", "Punctuation", "Threshold", "Policy"])
@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(30))
@given(data=st.data())
def test_windows_that_data_decide(clock: Any, kind: str, data: st.DataObject) -> None:
    check_stream(data.draw, data.draw(window_queries(clock, kind)), clock)


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_rolling_in_order_of_time(clock: Any, data: st.DataObject) -> None:
    found = check_stream(data.draw, data.draw(rolling_queries(clock)), clock)
    times = [int(time) for result in found for time in times_of(result)]
    assert times == sorted(times)


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_rolling_frames(clock: Any, data: st.DataObject) -> None:
    check_stream(data.draw, data.draw(rolling_frame_queries(clock)), clock)


@pytest.mark.parametrize("kind", ["rolling", "frames", "Rows", "Delta", "Punctuation", "Threshold", "Policy"])
@settings(max_examples=examples(40))
@given(data=st.data(), fewest=st.integers(1, 4), most=st.integers(1, 6))
def test_rows_in_small_chunks(kind: str, data: st.DataObject, fewest: int, most: int) -> None:
    queries = {"rolling": rolling_queries, "frames": rolling_frame_queries}.get(
        kind, lambda clock: window_queries(clock, kind)
    )("integer")
    with small_chunks(fewest, most):
        check_stream(data.draw, data.draw(queries), "integer")


@settings(max_examples=examples(40))
@given(data=st.data(), fewest=st.integers(1, 4), most=st.integers(1, 6))
def test_speculation_in_small_chunks(data: st.DataObject, fewest: int, most: int) -> None:
    with small_chunks(fewest, most):
        check_speculation(data, "integer")


def test_equal_times_go_by_order_then_by_arrival() -> None:
    query = wr.query(time="ts", order="seq").rolling(rows=9).agg(all=wr.concat("s"))
    rows = opened(query)
    rows.push(pa.table({"ts": [5, 5], "seq": [2, 1], "s": ["d", "b"]}), [6, 4])
    rows.push(pa.table({"ts": [5, 5], "seq": [2, 1], "s": ["c", "a"]}), [5, 3])
    assert rows.due(6)["all"].to_pylist() == ["a", "ab", "abc", "abcd"]


def test_columns_that_results_do_not_read_may_have_any_name_and_type() -> None:
    columns = {
        "ts": [1, 2],
        "arrivals": [7, 8],
        "times": pa.array(["x", "y"]).dictionary_encode(),
        "view": pa.array(["p", "q"], pa.string_view()),
        "nested": [[1], None],
    }
    query = wr.query(time="ts", by="times").rolling(10).agg(n=wr.count())
    rows = opened(query)
    first = pa.table(columns)
    second = first.set_column(2, "times", pa.array(["z", "x"]).dictionary_encode())
    rows.push(first, [0, 1])
    rows.push(second.slice(1), [2])
    rows.due(2)
    found = rows.due(3)
    assert found.column_names == [*columns, "n"]
    assert found["times"].to_pylist() == ["y", "x"]
    assert found["n"].to_pylist() == [1, 2]


# -- what is kept --------------------------------------------------------------------------------------------


def held_by_key(rows: RollingRows) -> dict[Any, int]:
    if not len(rows.log):
        return {}
    counts = rows.log.all().table.group_by("key").aggregate([([], "count_all")])
    return dict(zip(counts["key"].to_pylist(), counts["count_all"].to_pylist(), strict=True))


@settings(max_examples=examples(25))
@given(data=st.data(), size=st.integers(1, 6))
def test_row_windows_keep_fewer_rows_than_a_window_has(data: st.DataObject, size: int) -> None:
    slide = data.draw(st.integers(1, size))
    query = wr.query(time="ts", by="key").window(wr.Rows(size, slide=slide)).agg(all=CONCATENATION("s"))

    def watch(rows: RollingRows, _: int) -> None:
        assert max(held_by_key(rows).values(), default=0) < size

    check_stream(data.draw, query, "integer", watch)


@settings(max_examples=examples(25))
@given(data=st.data(), size=st.integers(1, 25))
def test_rolling_by_time_keeps_nothing_older_than_its_size(data: st.DataObject, size: int) -> None:
    query = wr.query(time="ts", by="key").rolling(size).agg(all=CONCATENATION("s"))

    def watch(rows: RollingRows, up_to: int) -> None:
        assert not len(rows.log) or rows.log.all().times.min() > up_to - size

    check_stream(data.draw, query, "integer", watch)


@settings(max_examples=examples(25))
@given(data=st.data(), count=st.integers(1, 5))
def test_rolling_by_rows_keeps_one_row_less(data: st.DataObject, count: int) -> None:
    query = wr.query(time="ts", by="key").rolling(rows=count).agg(all=CONCATENATION("s"))

    def watch(rows: RollingRows, _: int) -> None:
        assert max(held_by_key(rows).values(), default=0) < count

    check_stream(data.draw, query, "integer", watch)


@pytest.mark.parametrize(
    ("window", "kept"),
    [
        (wr.Rows(2), ["e"]),
        (wr.Rows(3, slide=1), ["d", "e"]),
        (wr.Delta("km", size=10), ["d", "e"]),
        (wr.Delta("km", size=10, slide=4), ["c", "d", "e"]),
        (wr.Punctuation("done"), ["d", "e"]),
        (wr.Threshold("late"), ["d", "e"]),
        (wr.Threshold("done"), []),
        (keep(2), ["d", "e"]),
        (wr.Policy(lambda total, old: True), []),
    ],
    ids=repr,
)
def test_what_windows_keep(window: Any, kept: list[str]) -> None:
    table = pa.table(
        {
            "ts": [1, 2, 3, 4, 5],
            "s": list("abcde"),
            "km": [1, 5, 9, 12, 14],
            "done": [False, False, True, None, False],
            "late": [True, False, None, True, True],
        }
    )
    rows = opened(wr.query(time="ts").window(window).agg(all=wr.concat("s"), held=wr.count()))
    rows.push(table, np.arange(5))
    assert rows.rows == 5
    rows.due(6)
    assert rows.rows == len(kept)
    if kept:
        assert len(rows.log)
        assert rows.log.all().table["s"].to_pylist() == kept


def test_a_key_is_forgotten_once_its_rows_are_too_old() -> None:
    rows = opened(wr.query(time="ts", by="key").rolling(10).agg(n=wr.count()))
    rows.push(pa.table({"ts": [1, 5], "key": ["a", "b"]}), [0, 1])
    assert rows.due(6).num_rows == 2
    assert rows.due(11) is None
    assert held_by_key(rows) == {"b": 1}
    assert rows.due(15) is None
    assert (rows.rows, rows.nbytes) == (0, 0)


@pytest.mark.parametrize("dues", [[10], [2, 10]], ids=["with the row", "after the row"])
def test_the_oldest_row_that_the_next_one_can_see_is_kept(dues: list[int]) -> None:
    rows = opened(wr.query(time="ts").rolling(10).agg(all=wr.collect("ts")))
    rows.push(pa.table({"ts": [0, 1]}), [0, 1])
    for up_to in dues:
        rows.due(up_to)
    assert rows.rows == 1
    rows.push(pa.table({"ts": [10]}), [2])
    assert rows.due(11)["all"].to_pylist() == [[1, 10]]


def test_many_small_pushes_are_held_in_few_parts() -> None:
    rows = opened(wr.query(time="ts").window(wr.Rows(200)).agg(all=wr.collect("ts")))
    for i in range(200):
        rows.push(pa.table({"ts": [199 - i]}), [i])
    assert len(rows._pending.parts) < 50
    assert rows.due(200)["all"].to_pylist() == [list(range(200))]


def test_a_delta_window_comes_out_once_a_row_is_behind_it() -> None:
    rows = opened(wr.query(time="ts").window(wr.Delta("km", size=10)).agg(all=wr.concat("s")))
    km = pa.array([1.0, 9.5, math.nan, None, 10.0])
    rows.push(pa.table({"ts": [1, 2, 3, 4, 5], "km": km, "s": list("abxyc")}), np.arange(5))
    assert rows.due(5) is None
    assert rows.due(6)["all"].to_pylist() == ["ab"]
    assert rows.due(7) is None
    assert rows.due(END, closing=True)["all"].to_pylist() == ["c"]


# -- errors --------------------------------------------------------------------------------------------------


def test_a_combine_that_raises_leaves_everything_as_it_was() -> None:
    broken = [False]

    def combine(a: str, b: str) -> str:
        if broken[0] and b == "c":
            raise ArithmeticError("no")
        return a + b

    fragile = wr.monoid(name="fragile", lift=str, combine=combine, identity="", compile=False)
    table = pa.table({"ts": [1, 2, 3, 9], "key": ["k"] * 4, "s": list("abcd")})
    for query in (
        wr.query(time="ts", by="key").rolling(10).agg(all=fragile("s")),
        wr.query(time="ts", by="key").window(wr.Rows(2, slide=1)).agg(all=fragile("s")),
    ):
        rows = opened(query)
        rows.push(table, [10, 11, 12, 13])
        first = rows.due(2)
        before = pack("test", rows.state())
        broken[0] = True
        with pytest.raises(AggregateError, match="row 12 of key 'k'"):
            rows.due(5)
        broken[0] = False
        assert pack("test", rows.state()) == before
        found = [*(first.to_pylist() if first else []), *rows.due(10).to_pylist()]
        assert_same_results(found, query.run(table))


@pytest.mark.parametrize("over", [{"size": 60}, {"rows": 60}], ids=str)
def test_what_raises_over_chunks_names_the_row(over: Any) -> None:
    def combine(a: str, b: str) -> str:
        if len(a + b) > 40:
            raise ArithmeticError("too long")
        return a + b

    fragile = wr.monoid(name="fragile", lift=str, combine=combine, identity="", compile=False)
    query = wr.query(time="ts").rolling(over.get("size"), rows=over.get("rows")).agg(all=fragile("s"))
    rows = opened(query)
    with small_chunks(4, 8):
        for start in range(0, 40, 4):
            rows.push(pa.table({"ts": range(start, start + 4), "s": ["x"] * 4}), np.arange(start, start + 4))
            assert rows.due(start + 4)["all"].to_pylist()[-1] == "x" * (start + 4)
        rows.push(pa.table({"ts": [40], "s": ["x"]}), [40])
        with pytest.raises(AggregateError, match=r"'fragile' raised ArithmeticError at row 40 .*: too long"):
            rows.due(41)


def test_a_policy_that_raises_leaves_everything_as_it_was() -> None:
    def refuses(total: Any, old: Any) -> bool:
        raise ArithmeticError("no")

    rows = opened(wr.query(time="ts").window(wr.Policy(refuses)).agg(n=wr.count()))
    rows.push(pa.table({"ts": [1]}), [0])
    with pytest.raises(AggregateError, match=r"Policy\(refuses\) raised ArithmeticError at row 0: no"):
        rows.due(5)
    assert rows.rows == 1


def test_a_delta_that_falls_leaves_everything_as_it_was() -> None:
    rows = opened(wr.query(time="ts").window(wr.Delta("km", size=10)).agg(n=wr.count()))
    rows.push(pa.table({"ts": [1, 2], "km": [5, 30]}), [0, 1])
    assert rows.due(3)["n"].to_pylist() == [1]
    before = pack("test", rows.state())
    rows.push(pa.table({"ts": [4], "km": [29]}), [2])
    with pytest.raises(ValueError, match="falls from 30 to 29"):
        rows.due(5)
    assert rows.rows == 2
    rows._pending = Waiting()
    assert pack("test", rows.state()) == before


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (wr.Punctuation("s"), "Punctuation needs a boolean column"),
        (wr.Threshold("s"), "Threshold needs a boolean column"),
        (wr.Delta("s", size=1), "needs a column of numbers"),
        (wr.Delta("gone", size=1), "no column 'gone'"),
    ],
    ids=repr,
)
def test_columns_that_do_not_fit_are_refused_when_pushed(window: Any, message: str) -> None:
    rows = opened(wr.query(time="ts").window(window).agg(n=wr.count()))
    with pytest.raises((TypeError, KeyError), match=message):
        rows.push(pa.table({"ts": [1], "s": ["a"]}), [0])
    assert rows.rows == 0


# -- results in advance --------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", CLOCKS)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_speculation_gives_what_rows_so_far_say(clock: Any, data: st.DataObject) -> None:
    check_speculation(data, clock)


def check_speculation(data: st.DataObject, clock: Any) -> None:
    query = data.draw(rolling_queries(clock))
    feed, rows = Feed(data.draw, clock), opened(query, counts_revisions=True)
    feed.table = feed.table.append_column("id", pa.array(range(feed.table.num_rows), pa.int64()))
    seen: dict[int, int] = {}
    for table, arrivals in feed.batches():
        rows.push(table, arrivals)
        expected = {row["id"]: row for row in query.run(feed.all).to_pylist()}
        passed = rows._passed
        wanted = [i for i in expected if is_touched(query, feed.table, table, i, passed)]
        check_revisions(rows.speculate(table), expected, wanted, seen)
        final = rows.due(feed.up_to)
        due = [i for i in expected if passed <= times_of(feed.table)[i] < feed.up_to]
        check_revisions(final, expected, due, seen)


def is_touched(query: wr.Query, every: pa.Table, touched: pa.Table, row: int, passed: int) -> bool:
    keys = [tuple(each[c] for c in query.by) for each in touched.to_pylist()]
    mine = tuple(every[c][row].as_py() for c in query.by)
    times = [int(time) for key, time in zip(keys, times_of(touched), strict=True) if key == mine]
    time = int(times_of(every)[row])
    return time >= passed and bool(times) and time >= min(times)


def check_revisions(result: Any, expected: dict[int, Any], wanted: list[int], seen: dict[int, int]) -> None:
    found = [] if result is None else result.to_pylist()
    if result is not None:
        assert result.column_names[-1] == REVISION
        assert list(times_of(result)) == sorted(times_of(result))
    assert sorted(row["id"] for row in found) == sorted(wanted)
    for row in found:
        assert row.pop(REVISION) == seen.get(row["id"], 0)
        seen[row["id"]] = seen.get(row["id"], 0) + 1
    assert_same_results(found, [expected[i] for i in wanted])


def test_revisions_are_part_of_the_state() -> None:
    query = wr.query(time="ts").rolling(10).agg(n=wr.count())
    rows = opened(query, counts_revisions=True)
    table = pa.table({"ts": [1, 2]})
    rows.push(table, [0, 1])
    rows.speculate(table)
    rows.speculate(table.slice(1))
    again = opened(query, counts_revisions=True)
    again.restore(unpack("test", pack("test", rows.state())))
    assert again.due(3).to_pylist() == [{"ts": 1, "n": 1, "revision": 1}, {"ts": 2, "n": 2, "revision": 2}]


def rows_by_key(size: int = 4) -> RollingRows:
    return opened(wr.query(time="ts", by="key").window(wr.Rows(size)).agg(total=wr.sum("n")))


def with_rows(rows: RollingRows, first: int, keys: list[Any]) -> list[Any]:
    """The totals that come out when rows of these keys have come."""
    times = np.arange(first, first + len(keys))
    table = {"ts": times, "key": pa.array(keys, pa.float64()), "n": np.ones(len(keys), np.int64)}
    rows.push(pa.table(table), times)
    found = rows.due(first + len(keys))
    return [] if found is None else [(row["key"], row["total"]) for row in found.to_pylist()]


def test_windows_of_rows_are_counted_by_equal_keys() -> None:
    rows = rows_by_key()
    assert with_rows(rows, 0, [0.0, None, 0.0, 1.0]) == []
    assert with_rows(rows, 4, [-0.0, None, None]) == []
    assert rows.log.counts is not None
    assert rows.log.counts.counts.tolist() == [3, 3, 1]
    assert with_rows(rows, 7, [-0.0]) == [(0.0, 4)]
    assert with_rows(rows, 8, [None]) == [(None, 4)]
    assert rows.log.counts.counts.tolist() == [1]
    assert with_rows(rows, 9, [1.0, 1.0]) == []
    assert with_rows(rows, 11, [1.0]) == [(1.0, 4)]
    assert (rows.rows, rows.nbytes) == (0, 0)


def test_a_state_without_counts_of_rows_is_read_and_counted_anew() -> None:
    before = rows_by_key()
    assert with_rows(before, 0, [1.0, 1.0, 2.0]) == []
    state = before.state()
    del state["counts"]
    rows = rows_by_key()
    rows.restore(state)
    assert rows.log.counts is None
    assert with_rows(rows, 3, [1.0]) == []
    assert rows.log.counts is not None
    assert with_rows(rows, 4, [1.0, 2.0]) == [(1.0, 4)]


def test_counts_of_other_rows_than_are_held_are_refused() -> None:
    before = rows_by_key()
    assert with_rows(before, 0, [1.0, 1.0, 2.0]) == []
    state = before.state()
    state["counts"]["counts"] = np.array([3, 1])
    with pytest.raises(wr.CorruptState, match="4 rows by key, and 3 are held"):
        rows_by_key().restore(state)
