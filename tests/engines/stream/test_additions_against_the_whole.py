"""Aggregates and windows that are added on the way against a query that had them from the beginning: what
comes out is either null, or not at all, or exactly the same; and it is the same wherever no row from before
takes part. What was there before is not changed by it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.packed_stream import PackedStream
from support.small_chunks import small_chunks
from windrow.monoids.equality import same
from windrow.state import MemoryStore
from windrow.testing import assert_same_results
from windrow.testing.strategies import (
    CONCATENATION,
    aggregates,
    operations,
    pushes,
    stream_queries,
    streams,
    table_of,
    windows,
)
from windrow.windows import Session, TimeWindow

#: the arrival number of the first row in a window: whether it holds rows from before is read off it
EARLIEST = wr.min("number")


def table(rows: list[Any]) -> pa.Table:
    return table_of(rows).append_column("number", pa.array([row["number"] for row in rows], pa.int64()))


def numbered(rows: list[Any]) -> list[Any]:
    return [row | {"number": number} for number, row in enumerate(rows)]


@dataclass
class Additions:
    """A query, and after how many rows at least each of its aggregates is added (0: it is there from the
    beginning)."""

    query: Any
    planned: dict[str, int]
    #: how many rows had come when it was
    bounds: dict[str, int] = field(default_factory=dict)

    def after(self, rows: int) -> Any:
        """The query with the aggregates that are there after so many rows."""
        there = [name for name, planned in self.planned.items() if planned <= rows]
        self.bounds = {name: rows if self.planned[name] else 0 for name in there} | self.bounds
        return replace(self.query, aggregates=tuple((n, a) for n, a in self.query.aggregates if n in there))

    @property
    def whole(self) -> Any:
        return replace(self.query, aggregates=(*self.query.aggregates, ("earliest", EARLIEST)))

    def check(self, found: list[Any], expected: list[Any], rows: int) -> None:
        """Results after so many rows against those of the whole query."""
        there = dict(self.after(rows).aggregates)
        assert there.keys() == self.bounds.keys()
        assert len(found) == len(expected)
        remaining = list(expected)
        for row in found:
            match = next((each for each in remaining if self._fits(row, each, there)), None)
            assert match is not None, (row, remaining)
            remaining.remove(match)

    def _fits(self, row: Any, whole: Any, there: dict[str, Any]) -> bool:
        results = {f"{name}{ending}": (name, ending) for name in there for ending in self._endings}
        rest = [name for name in row if name not in results]
        if not all(same(row[name], whole[name]) for name in rest):
            return False
        return all(self._is_right(*each, row[result], whole) for result, each in results.items())

    @property
    def _endings(self) -> list[str]:
        """What the sizes of rolling add to the names of aggregates."""
        frames = self.query.frames
        return [""] if frames is None else [f"_{ending}" if ending else "" for ending, _ in frames.named]

    def _is_right(self, name: str, ending: str, value: Any, whole: Any) -> bool:
        columns = dict(self.query.aggregates)[name].reads
        earliest, expected = whole[f"earliest{ending}"], whole[f"{name}{ending}"]
        is_before = earliest is not None and earliest < self.bounds[name]
        if not is_before or not columns or (self._holds_rows(whole) and self._read.issuperset(columns)):
            return same(value, expected)
        return value is None or (self._holds_rows(whole) and same(value, expected))

    def _holds_rows(self, row: Any) -> bool:
        """Whether a result is of what keeps rows: windows that data decide, and rolling."""
        if self.query.rolling_over is not None:
            return True
        window = dict(self.query.windows)[row.get("window", "")]
        return not isinstance(window, (TimeWindow, Session))

    @property
    def _read(self) -> set[str]:
        """Columns that were read from the beginning on."""
        return {column for n, a in self.query.aggregates if not self.planned[n] for column in a.reads}


@st.composite
def additions(draw: st.DrawFn, rows: int, **options: Any) -> Additions:
    """A query with string concatenation among the aggregates that come later, one or two times."""
    query = draw(stream_queries(**options))
    later = {"text": CONCATENATION("s"), "later": draw(aggregates())}
    chosen = draw(st.permutations([*query.aggregates, *later.items()]))
    moments = [draw(st.integers(1, max(rows, 1))) for _ in range(2)]
    planned = {name: draw(st.sampled_from(moments)) if name in later else 0 for name, _ in chosen}
    return Additions(replace(query, aggregates=tuple(chosen)), planned)


def reopened(query: Any, operator: Any, store: Any) -> Any:
    return query.restore(operator.snapshot()) if store is None else query.open(store=store)


def check_operator(data: st.DataObject, store: Any) -> None:
    rows = numbered(data.draw(streams(null_times=True, min_size=3)))
    added = data.draw(additions(len(rows)))
    whole, came = added.whole.open(), 0
    operator = added.after(0).open(store=store) if store is not None else added.after(0).open()
    for name, argument in [*data.draw(operations(rows)), ("finish", None)]:
        if added.after(came) != operator.query:
            operator = reopened(added.after(came), operator, store)
        if name == "push":
            found, expected = operator.push(table(argument)), whole.push(table(argument))
        else:
            arguments = () if argument is None else (argument,)
            found, expected = getattr(operator, name)(*arguments), getattr(whole, name)(*arguments)
        added.check(found.to_pylist(), expected.to_pylist(), came)
        came += len(argument) if name == "push" else 0
    for counted in ("rows_aggregated", "rows_late", "windows_fired", "windows_corrected"):
        assert getattr(operator.metrics, counted) == getattr(whole.metrics, counted)


@settings(max_examples=examples(80))
@given(st.data())
def test_added_aggregates_on_an_operator(data: st.DataObject) -> None:
    check_operator(data, None)


@settings(max_examples=examples(60))
@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_added_aggregates_in_a_store(data: st.DataObject, fewest: int, most: int) -> None:
    with small_chunks(fewest, most):
        check_operator(data, MemoryStore())


@settings(max_examples=examples(60))
@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_added_aggregates_on_a_stream_of_buckets(data: st.DataObject, fewest: int, most: int) -> None:
    rows = numbered(data.draw(streams(null_times=True, min_size=3, span=25)))
    added = data.draw(additions(len(rows), policies=False))
    # rows that are only counted when they are late travel as slices
    added.query = replace(added.query, late=data.draw(st.sampled_from(["count", "emit"])))
    with small_chunks(fewest, most):
        stream, whole = (PackedStream(q, table([]).schema) for q in (added.after(0), added.whole))
        came = watermark = 0
        for batch in data.draw(pushes(rows)):
            stream.query = added.after(came)
            found = stream.batch(table(batch), watermark)
            added.check(found, whole.batch(table(batch), watermark), came)
            came += len(batch)
            has_time = any(row["ts"] is not None for row in rows[:came])
            watermark = max(watermark, data.draw(st.integers(0, 25)) if has_time else 0)
        stream.query = added.after(came)
        added.check(stream.batch(table([]), 10_000), whole.batch(table([]), 10_000), came)


# -- windows -------------------------------------------------------------------------------------------------


def timed() -> st.SearchStrategy[Any]:
    """Windows that are what they are wherever rows begin."""
    return windows().filter(
        lambda w: isinstance(w, TimeWindow) or (isinstance(w, Session) and w.max_size is None)
    )


def of_window(found: list[Any], name: str) -> list[Any]:
    return [row for row in found if row["window"] == name]


@dataclass
class Steps:
    """What an operator gives, call by call, whether it is restored or given a window on the way."""

    operator: Any

    def step(self, name: str, argument: Any) -> list[Any]:
        arguments = () if argument is None else (table(argument) if name == "push" else argument,)
        found: list[Any] = getattr(self.operator, name)(*arguments).to_pylist()
        return found

    def add(self, how: str, **named: Any) -> None:
        if how == "add_window":
            self.operator.add_window(**named)
        else:
            query = self.operator.query
            more = replace(query, windows=(*query.windows, *named.items()))
            self.operator = more.restore(self.operator.snapshot())


@settings(max_examples=examples(80))
@given(st.data(), st.sampled_from(["add_window", "restore"]))
def test_an_added_window_gives_what_it_would_have_given_from_the_beginning(
    data: st.DataObject, how: str
) -> None:
    rows = numbered(data.draw(streams(null_times=True, min_size=3)))
    query = data.draw(stream_queries().filter(lambda query: query.names_windows))
    query = replace(query, empty="skip", output="final", allowed_lateness=None)
    query = replace(query, aggregates=(*query.aggregates, ("text", CONCATENATION("s"))))
    window = data.draw(timed())
    whole = Steps(replace(query, windows=(*query.windows, ("new", window))).open())
    changed = Steps(query.open())
    calls = data.draw(operations(rows))
    moment, since = data.draw(st.integers(0, len(calls))), -(10**9)
    came: list[int] = []
    for number, (name, argument) in enumerate([*calls, ("finish", None)]):
        if number == moment:
            changed.add(how, new=window)
            since = max(came) + 1 if came else since
        found, expected = changed.step(name, argument), whole.step(name, argument)
        for old, _ in query.windows:
            assert_same_results(of_window(found, old), of_window(expected, old))
        check_window(window, of_window(found, "new"), of_window(expected, "new"), since, number < moment)
        came += [row["ts"] for row in argument if row["ts"] is not None] if name == "push" else []


def check_window(window: Any, found: list[Any], whole: list[Any], since: int, is_early: bool) -> None:
    if is_early:
        assert not found
        return
    complete = since + (window.gap_us if isinstance(window, Session) else 0)
    later = [row for row in whole if row["window_start"] >= complete]
    if isinstance(window, TimeWindow):
        assert_same_results(found, later)
        return
    # a late row that the whole knows to be behind a closed session may hold one back that has begun
    assert all(any(same(row, other) for other in later) for row in found)
