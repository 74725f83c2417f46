"""Whether a label sees its future: every event that it must not see is changed, and its results must not be.

A label at time t must not see events at t or later, events of other keys, and events outside its windows.
For one label after the other these events get other values, are removed, and are joined by new ones at t and
behind it. What is compared is the label's own results, so that one leak among many labels is found.
Cost: four runs of the query per label that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.monoids.equality import magnitude, same
from windrow.query import Query
from windrow.query_settings import checked_labels
from windrow.rows.columns import plain_array
from windrow.rows.selection import filter_rows, take_rows
from windrow.rows.tables import read_table
from windrow.rows.times import TimeAxis, in_zone_of, read_times
from windrow.testing.oracle.folding import unsigned_zeros
from windrow.windows.relative import Bound, TimeFrame

__all__ = ["no_leak"]


def no_leak(
    query: Query,
    events: Any,
    labels: Any,
    *,
    at_time: str | None = None,
    at_by: str | Sequence[str] | None = None,
    run: Callable[[Any, Any], Any] | None = None,
    most: int = 20,
) -> None:
    """Raise AssertionError if the results of a label depend on an event that it must not see.

    Args:
        query: an as-of query; its windows say what a label may see, but for its own time and later.
        events: a table of any kind, as ``query.run`` takes it.
        labels: the same; at most ``most`` of them are checked, from the first to the last.
        at_time: their column of times, and ``at_by`` their key columns, as for ``query.run``.
        run: what is checked, ``query.run`` by default: a function of events and labels, both Arrow tables,
            that gives the labels in their order with the result columns. So a pipeline of one's own can be
            held against the query that it stands for.

    >>> import pyarrow as pa, windrow as wr
    >>> events = pa.table({"ts": [1, 4, 9], "user": ["ann", "bob", "ann"], "amount": [5, 7, 9]})
    >>> labels = pa.table({"ts": [9, 9], "user": ["ann", "bob"]})
    >>> spent = wr.query(time="ts", by="user").asof(10).agg(spent=wr.sum("amount"))
    >>> no_leak(spent, events, labels)
    >>> no_leak(wr.query(time="ts").asof(10, closed="right").agg(n=wr.count()), events, labels)
    Traceback (most recent call last):
    AssertionError: label 0 (ts=9) sees events that it must not see: n is 3, and 2 once they are removed
    """
    columns = checked_labels(query, labels, at_time, at_by)
    asked = _Labels(read_table(labels)[0], *columns)
    given = _Events(query, read_table(events)[0], asked.axis)
    run = run or (lambda e, at: query.run(e, at=at, at_time=columns[0], at_by=columns[1]))
    chosen = asked.some(most)
    if not len(chosen) or not given.table.num_rows:
        raise ValueError("there are no events, or no labels with a time: nothing can be checked")
    expected = _results(run(given.table, asked.table), query)
    for number in chosen:
        hidden = given.hidden_from(asked.keys[number], asked.moment(number))
        for change, changed in given.changed(hidden, asked, number):
            found = _results(run(changed, asked.table), query)
            _compare(asked.shown(number), number, expected, found, change)


def _results(table: Any, query: Query) -> dict[str, list[Any]]:
    """The result columns by name; moments as integers, which may be finer than Python's."""
    found = read_table(table)[0].select(query.result_names)
    columns = {name: plain_array(found.column(name)) for name in query.result_names}
    return {
        name: (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for name, column in columns.items()
    }


def _compare(
    label: str, number: int, expected: dict[str, list[Any]], found: dict[str, list[Any]], change: str
) -> None:
    for name, column in expected.items():
        before, after = column[number], found[name][number]
        if not same(before, after, slack=1e-9 * (1.0 + magnitude(before, after))):
            raise AssertionError(
                f"{label} sees events that it must not see: {name} is {before!r}, and {after!r} once they "
                f"are {change}"
            )


class _Labels:
    """Labels, their times in nanoseconds or integers, and their keys."""

    def __init__(self, table: pa.Table, time: str, by: tuple[str, ...]) -> None:
        self.table, self.by, self.time = table, by, time
        self.times = _exact_times(table.column(time), time)
        self.axis = TimeAxis(table.schema.field(time).type)
        self.keys = _keys(table, by)

    def moment(self, number: int) -> int:
        """The time of a label that has one."""
        found = self.times[number]
        assert found is not None
        return found

    def some(self, most: int) -> list[int]:
        """The numbers of labels that have a time, at most so many, from the first to the last."""
        timed = [number for number, time in enumerate(self.times) if time is not None]
        places = np.unique(np.linspace(0, len(timed) - 1, min(most, len(timed))).astype(int))
        return [timed[place] for place in places]

    def shown(self, number: int) -> str:
        names = [*self.by, self.time]
        values = ", ".join(f"{name}={self.table.column(name)[number].as_py()!r}" for name in names)
        return f"label {number} ({values})"


class _Events:
    """Events, and what can be changed of them."""

    def __init__(self, query: Query, table: pa.Table, labels: TimeAxis) -> None:
        self.query = in_zone_of(query, table)
        table = self._with_column(table, query.time, _as_fine(table.column(query.time), labels))
        self.table = table
        for name in query.by:  # of a type that a key can be cast to
            self.table = self._with_column(self.table, name, plain_array(table.column(name)))
        self.times = _exact_times(table.column(query.time), query.time)
        self.keys = _keys(table, query.by)
        self.axis = TimeAxis(table.schema.field(query.time).type)

    def hidden_from(self, key: tuple[Any, ...], time: int) -> Any:
        """A mask of the events that a label with this key must not see."""
        frames = [frame for _, frame in self.query.frames.named] if self.query.frames else []
        unit = 1 if self.axis.is_integer else 1_000

        def is_seen(place: int) -> bool:
            moment = self.times[place]
            if moment is None or moment >= time or not same(self.keys[place], key):
                return False
            return any(isinstance(each, TimeFrame) and _holds(each, time, moment, unit) for each in frames)

        return np.array([not is_seen(place) for place in range(len(self.times))], np.bool_)

    def changed(self, hidden: Any, labels: _Labels, number: int) -> Iterator[tuple[str, pa.Table]]:
        """The events with those changed that are hidden, in each way."""
        yield "removed", filter_rows(self.table, ~hidden)
        yield "given other values", self._altered(hidden)
        added = self._added(labels, number)
        if added is not None:
            yield "joined by others at its time and later", pa.concat_tables([added, self.table])

    def _altered(self, hidden: Any) -> pa.Table:
        table = self.table
        read = dict.fromkeys(column for _, aggregate in self.query.aggregates for column in aggregate.reads)
        for name in read:
            if name not in (*self.query.by, self.query.time):
                column = plain_array(table.column(name))
                table = self._with_column(table, name, _altered(column, hidden))
        return table

    def _added(self, labels: _Labels, number: int) -> pa.Table | None:
        """Copies of events under the key of a label, at its time, just behind it and far behind; None: the
        events cannot have such a key or time."""
        tick = self.axis.us_a_tick * (1 if self.axis.is_integer else 1_000) or 1
        first = -(-labels.moment(number) // tick)
        ticks = pa.array([first, first + 1, first + 1_000, first], pa.int64())
        added = take_rows(self.table, np.arange(4) % self.table.num_rows)
        try:
            kind = self.axis.type
            moments = ticks.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else ticks.cast(kind)
            added = self._with_column(added, self.query.time, moments)
            for name, at in zip(self.query.by, labels.by, strict=True):
                key = plain_array(labels.table.column(at)).take(pa.array([number] * 4))
                added = self._with_column(added, name, key.cast(self.table.schema.field(name).type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        return added

    @staticmethod
    def _with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, column)


def _as_fine(column: Any, labels: TimeAxis) -> Any:
    """Times of events in a unit as fine as that of labels, so that an event can be at the time of a label."""
    if not (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(labels.type)):
        return column
    try:
        return column.cast(
            pa.timestamp(max(column.type.unit, labels.type.unit, key=_UNITS.index), column.type.tz)
        )
    except pa.ArrowInvalid:  # which that unit cannot hold
        return column


_UNITS = ["s", "ms", "us", "ns"]


def _exact_times(column: Any, name: str) -> list[int | None]:
    """Times as Python integers: nanoseconds, or those of the column."""
    axis, _, missing = read_times(column, name)
    factor = 1 if axis.is_integer else axis.us_a_tick * 1_000 or 1
    ticks = axis.ticks(column).tolist()
    absent = [False] * len(ticks) if missing is None else missing.tolist()
    return [None if gone else tick * factor for tick, gone in zip(ticks, absent, strict=True)]


def _keys(table: pa.Table, by: Sequence[str]) -> list[tuple[Any, ...]]:
    columns = [plain_array(table.column(name)).to_pylist() for name in by]
    return (
        [tuple(map(unsigned_zeros, key)) for key in zip(*columns, strict=True)]
        if by
        else [()] * table.num_rows
    )


def _holds(frame: TimeFrame, time: int, moment: int, unit: int) -> bool:
    """Whether a frame of a label at ``time`` reaches a moment; a time counts ``unit`` to a microsecond."""

    def end(bound: Bound) -> int:
        whole, rest = divmod(time, unit)
        return bound.at(whole) * unit + rest

    lower, upper = frame.lower, frame.upper
    is_behind = lower is None or moment > end(lower) or (lower.is_closed and moment == end(lower))
    is_before = upper is None or moment < end(upper) or (upper.is_closed and moment == end(upper))
    return is_behind and is_before


def _altered(column: Any, hidden: Any) -> Any:
    """A column with other values where events are hidden, as far as its type is known to have others."""
    kind = column.type
    if pa.types.is_boolean(kind):
        other = pc.fill_null(pc.invert(column), True)
    elif pa.types.is_integer(kind):
        other = pc.fill_null(pc.bit_wise_not(column), 1)
    elif pa.types.is_floating(kind):
        other = pc.subtract(
            pc.multiply(pc.fill_null(column, 0.0), pa.scalar(-2.0, kind)), pa.scalar(7.0, kind)
        )
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        other = pc.binary_join_element_wise(
            pc.fill_null(column, ""), pa.scalar("?", kind), pa.scalar("", kind)
        )
    else:
        return column
    return pc.if_else(pa.array(hidden), other.cast(kind), column)
