"""Rolling, windows that data decide and as-of on Spark tables: the rows of a partition to the local engine.

What comes is a partition as Spark has shuffled it, in no order; what goes out are results, in the order of
its rows for rolling and as-of. A key that is larger than the budget of a task comes sorted by time instead,
and goes through what an operator does (:mod:`windrow.engines.spark.worker.partition`). Both give the same
results, but for the last bits of sums of floats, which are added up in another order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.engines.frames.asof import with_seen_of
from windrow.engines.frames.event_rows import EventRows, LabelColumns
from windrow.engines.local import rolled, windowed
from windrow.engines.spark.worker.chunks import conformed, conformed_table
from windrow.engines.spark.worker.partition import LargeKey, parts
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.row_names import named_by_clock, named_by_time
from windrow.engines.stream.advance import advanced
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.results import ResultTypes, result_table
from windrow.engines.stream.state import State
from windrow.engines.stream.step import take_table
from windrow.errors import RejectedRows
from windrow.rows.columns import needed_columns
from windrow.rows.frame import Frame, build_frame
from windrow.rows.keys import Keys
from windrow.rows.selection import filter_rows
from windrow.rows.times import TimeAxis, read_times
from windrow.slicing.limits import one_step
from windrow.spec import Spec

__all__ = [
    "ARRIVAL",
    "CLOCK",
    "CONTEXT",
    "LABEL",
    "SEGMENT",
    "AskedLabels",
    "InOrder",
    "answer_batches",
    "roll_batches",
    "window_batches",
]

#: the columns that tell which segment of its key a row belongs to, and whether it is there as context only
SEGMENT = "__windrow_segment"
CONTEXT = "__windrow_context"
#: in which order rows of equal time came
ARRIVAL = "__windrow_arrival"
#: the times of events and labels, as windows count them
CLOCK = "__windrow_clock"
#: true for labels, null for events; and what the names of labels' columns begin with, which events lack
LABEL = "__windrow_label"
_OWN = (SEGMENT, CONTEXT, ARRIVAL)


def _inner(query: Spec, schema: pa.Schema) -> Spec:
    """The query as a task runs it: a segment of a key is a key, rows of equal time are as they came."""
    by = (*query.by, SEGMENT) if SEGMENT in schema.names else query.by
    order = (*query.order, ARRIVAL) if ARRIVAL in schema.names else query.order
    return replace(
        query,
        by=by,
        order=order,
        watermark=None,
        allowed_lateness=None,
        output="final",
        late="count",
        on_error="raise",
        idle_timeout=None,
        max_ahead=None,
    )


def _frame(query: Spec, table: pa.Table) -> Frame:
    """The rows of a partition, those of equal time as they came."""
    query, table = _with_ties_in_order(query, table)
    return named_by_time(build_frame(query, table), query.time)


def _with_ties_in_order(query: Spec, table: pa.Table) -> tuple[Spec, pa.Table]:
    """A query that need not order rows of equal time by their arrival, and the table whose rows it is for:
    few rows are of equal time, and all others need not be looked at."""
    if query.order != (ARRIVAL,):
        return query, table
    query = replace(query, order=())
    frame = build_frame(query, table)
    keys, times = frame.keys, frame.times
    is_tied = (keys[1:] == keys[:-1]) & (times[1:] == times[:-1])
    if not is_tied.any():
        return query, table
    groups = np.cumsum(np.append(True, ~is_tied))
    tied = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
    places = tied if frame.permutation is None else frame.permutation[tied]
    arrivals = table.column(ARRIVAL).to_numpy()[places]
    found = np.arange(table.num_rows)
    found[places] = places[np.lexsort([arrivals, groups[tied]])]
    return query, table.take(pa.array(found))


#: takes rows of a key in order of time, and from when on the next ones are; gives batches
_Step = Callable[[pa.Table, int], Iterator[Any]]


def _taken(
    batches: Iterable[Any],
    keys: Sequence[str],
    time: str,
    budget: int,
    whole: Callable[[pa.Table], Iterator[Any]],
    in_order: Callable[[pa.Schema], _Step],
) -> Iterator[Any]:
    """What is made of the parts of a partition: each whole, or in order of time."""

    def times_of(table: pa.Table) -> Ints:
        _, times, missing = read_times(table.column(time), time)
        return times if missing is None else np.where(missing, START_OF_TIME, times)

    for part in parts(batches, keys, budget):
        if isinstance(part, LargeKey):
            step = in_order(part.schema)
            for table, up_to in part.in_order(times_of):
                yield from step(table, up_to)
        else:
            yield from whole(part)


class InOrder:
    """A query over rows that come in order of time, in bounded memory: what an operator does."""

    def __init__(self, query: Spec) -> None:
        self._plan = replace(Plan.of(query), zone="")
        self._state = State(Keys(query.by), None, (), {})
        self._types = ResultTypes()

    def step(self, table: pa.Table, up_to: int) -> pa.Table:
        """The results of windows that end before a time, and of rows."""
        with one_step():
            self._plan, state, due = take_table(self._plan, self._state, table)
            self._state, fired = advanced(self._plan, state, up_to)
            return result_table(self._plan, self._state, due.joined(fired), self._types)


# -- rolling -------------------------------------------------------------------------------------------------


def roll_batches(payload: bytes, kinds: Sequence[Any], batches: Iterable[Any], budget: int) -> Iterator[Any]:
    """What mapInArrow runs: rows of a partition in, the same with result columns of these types out."""
    query = unpacked(payload)

    def given(table: pa.Table) -> Iterator[Any]:
        if CONTEXT in table.column_names:
            table = filter_rows(table, pc.invert(table.column(CONTEXT)))
        table = table.drop_columns([name for name in _OWN if name in table.column_names])
        for place, kind in enumerate(kinds, table.num_columns - len(kinds)):
            column = conformed(table.column(place), kind)
            table = table.set_column(place, table.column_names[place], column)
        yield from table.to_batches()

    def whole(table: pa.Table) -> Iterator[Any]:
        inner = _inner(query, table.schema)
        with one_step():
            found = rolled(inner, _frame(inner, table))
        yield from given(found)

    def in_order(schema: pa.Schema) -> _Step:
        operator = InOrder(_inner(query, schema))

        def step(table: pa.Table, up_to: int) -> Iterator[Any]:
            timed = table.column(query.time).is_valid()
            if table.column(query.time).null_count:
                lost = filter_rows(table, pc.invert(timed))
                for name, kind in zip(query.result_names, kinds, strict=True):
                    lost = lost.append_column(name, pa.nulls(lost.num_rows, kind))
                yield from given(lost)
                table = filter_rows(table, timed)
            yield from given(operator.step(table, up_to))

        return step

    keys = [*query.by, SEGMENT]
    yield from _taken(batches, keys, query.time, budget, whole, in_order)


# -- windows -------------------------------------------------------------------------------------------------


def window_batches(payload: bytes, schema: pa.Schema, batches: Iterable[Any], budget: int) -> Iterator[Any]:
    """What mapInArrow runs: rows of a partition in, the results of all windows out, of this schema."""
    query = unpacked(payload)

    def whole(table: pa.Table) -> Iterator[Any]:
        inner = _inner(query, table.schema)
        with one_step():
            found = windowed(inner, _frame(inner, table))
        yield from conformed_table(found, schema).to_batches()

    def in_order(source: pa.Schema) -> _Step:
        operator = InOrder(_inner(query, source))

        def step(table: pa.Table, up_to: int) -> Iterator[Any]:
            yield from conformed_table(operator.step(table, up_to), schema).to_batches()

        return step

    yield from _taken(batches, query.by, query.time, budget, whole, in_order)


# -- as-of ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedLabels:
    """What is known of labels, and of events besides."""

    #: the names of labels' columns, which travel by numbers: events may have the same names
    names: list[str]
    #: the type of the events' times, to name an event by
    time_type: Any

    @property
    def columns(self) -> list[str]:
        return [f"{LABEL}{k}" for k in range(len(self.names))]

    @property
    def clock(self) -> Any:
        """The type that times are counted in."""
        return pa.int64() if TimeAxis(self.time_type).is_integer else pa.timestamp("us")


def answer_batches(
    payload: bytes,
    keys: Sequence[str],
    kinds: Sequence[Any],
    batches: Iterable[Any],
    labels: AskedLabels,
    budget: int,
) -> Iterator[Any]:
    """What mapInArrow runs: events and labels of a partition in, labels with result columns of these types
    out."""
    query, by = unpacked(payload), tuple(keys)

    def split(table: pa.Table) -> tuple[Spec, pa.Table, pa.Table]:
        """The query over events, the events, and the labels."""
        inner = replace(_inner(query, table.schema), time=CLOCK, by=by)
        clock = table.column(CLOCK).cast(labels.clock)
        table = table.set_column(table.column_names.index(CLOCK), CLOCK, clock)
        asks = table.column(LABEL).is_valid()
        events = filter_rows(table, pc.invert(asks)).select(needed_columns(inner))
        return inner, events, filter_rows(table, asks).select([*labels.columns, *by, CLOCK])

    def named(frame: Frame) -> Frame:
        return named_by_clock(frame, query.time, TimeAxis(labels.time_type))

    def given(table: pa.Table) -> Iterator[Any]:
        results = table.column_names[-len(kinds) :]
        columns = [table.column(name) for name in labels.columns]
        columns += [conformed(table.column(name), kind) for name, kind in zip(results, kinds, strict=True)]
        yield from pa.table(columns, [*labels.names, *results]).to_batches()

    def whole(table: pa.Table) -> Iterator[Any]:
        inner, events, asked = split(table)
        if asked.num_rows:
            inner, events = _with_ties_in_order(inner, events)
            yield from given(with_seen_of(inner, events, asked, CLOCK, by, named))

    def in_order(schema: pa.Schema) -> _Step:
        inner, events, asked = split(schema.empty_table())
        part = EventRows(inner, events.schema, LabelColumns(asked.schema, CLOCK, by))

        def step(table: pa.Table, up_to: int) -> Iterator[Any]:
            _, events, asked = split(table)
            timed = asked.column(CLOCK).is_valid()
            lost, asked = filter_rows(asked, pc.invert(timed)), filter_rows(asked, timed)
            if lost.num_rows:
                yield from given(part.answer(lost, CLOCK, by))
            if events.num_rows:
                part.push(events, np.arange(events.num_rows))
            if asked.num_rows:
                part.ask(asked, np.arange(asked.num_rows))
            found = part.due(up_to, closing=up_to == END_OF_TIME)
            if found is not None:
                yield from given(found)

        return step

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedRows)  # nobody reads what a worker says
        yield from _taken(batches, keys, CLOCK, budget, whole, in_order)
