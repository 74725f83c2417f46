"""A push of events: judged, counted and kept; then the watermark moves.

An event is late if no label from the watermark on can see it: the watermark before the push decides, as for
windows. All others are kept, in whatever order they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Protocol, TypeVar

import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints
from windrow.engines.frames.retention import Retention
from windrow.engines.serving.held_events import plain_table
from windrow.engines.serving.lookup_range import LookupRange
from windrow.engines.stream.far_ahead import warn_of_jump
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.push import Rows, read_rows
from windrow.engines.stream.state import State
from windrow.engines.stream.watermark import Judge, reached
from windrow.rows.selection import filter_rows
from windrow.spec import Spec
from windrow.values import with_fields

__all__ = ["TOO_OLD", "EventLog", "judged_at", "plain_schema", "pushed"]

#: why an event is late: no label that may still come can see it
TOO_OLD = "too_old"


class EventLog(Protocol):
    """Where events are kept."""

    def __len__(self) -> int: ...

    @property
    def key_count(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def for_query(self: _Log, query: Spec) -> _Log:
        """The events of a query that looks as far as its time zone has it; there are none yet."""

    def with_rows(self: _Log, table: pa.Table, times: Ints, watermark: int) -> _Log:
        """With rows of the columns that the query reads, in plain types."""

    def tidied(self: _Log, schema: pa.Schema, watermark: int) -> _Log:
        """Without what no label from the watermark on can see."""

    def seen(self, asked: LookupRange, schema: pa.Schema) -> pa.Table:
        """The events that are asked for."""


_Log = TypeVar("_Log", bound=EventLog)


def judged_at(plan: Plan, state: State) -> int:
    """The watermark by which labels are too old, and events with them."""
    return state.watermark if state.watermark == START_OF_TIME else state.watermark - plan.allowed


def plain_schema(state: State) -> pa.Schema:
    """The columns of events, in plain types."""
    assert state.columns is not None
    return _plain(state.columns.schema)


@lru_cache(maxsize=64)
def _plain(schema: pa.Schema) -> pa.Schema:
    return plain_table(schema.empty_table(), schema.names).schema


def pushed(
    plan: Plan,
    state: State,
    log: _Log,
    parts: Iterable[pa.Table],
    now: Callable[[], float],
    judge: Judge = "push",
) -> tuple[Plan, State, _Log]:
    """The state and the events after a push of tables, at the watermark that they lead to; the same state if
    nothing came and nothing moved. ``now`` gives the seconds since 1970, and is asked once."""
    before, now = state, cache(now)
    for table in parts:
        if not table.num_rows and state.columns is not None:
            continue
        seen = state
        asked = plan.query
        plan, state, rows = read_rows(plan, state, table, now)
        if plan.query is not asked:  # its days are those of the first table
            log = log.for_query(plan.query)
        state, log = _taken(plan, state, log, rows)
        if rows.moments.high > seen.largest and reached(plan.query, state, judge) > reached(
            plan.query, seen, judge
        ):
            warn_of_jump(plan.query, seen.earliest, seen.largest, rows.moments)
    watermark = reached(plan.query, before if judge == "spark" else state, judge)
    if watermark > state.watermark:
        state = with_fields(state, watermark=watermark)
    return plan, state, log


def _taken(plan: Plan, state: State, log: _Log, rows: Rows) -> tuple[State, _Log]:
    """The state after rows, at the same watermark."""
    state, rows = _without_late(plan, state, rows)
    moments, counts = rows.moments, state.counts
    if len(rows):
        assert state.columns is not None
        table = plain_table(rows.table, state.columns.schema.names)
        log = log.with_rows(table, rows.times, judged_at(plan, state))
    counts = with_fields(counts, rows_aggregated=counts.rows_aggregated + len(rows))
    earliest, largest = min(state.earliest, moments.low), max(state.largest, moments.high)
    return with_fields(state, counts=counts, earliest=earliest, largest=largest), log


def _without_late(plan: Plan, state: State, rows: Rows) -> tuple[State, Rows]:
    """Late rows are counted, and kept for those who ask for them."""
    retention, watermark = Retention.of(plan.query), judged_at(plan, state)
    if retention.rows or not len(rows):  # an event of any age may be among the last of its key
        return state, rows
    is_late = rows.times < retention.horizon(watermark)
    count = int(is_late.sum())
    if not count:
        return state, rows
    counts = with_fields(state.counts, late=dict(Counter(state.counts.late) + Counter({TOO_OLD: count})))
    kept = state.late
    if plan.query.late == "emit":
        assert state.axis is not None
        behind = state.watermark - rows.times[is_late]
        kept = kept.with_rows(filter_rows(rows.table, is_late), state.axis, behind, [TOO_OLD] * count)
    return with_fields(state, counts=counts, late=kept), rows.where(~is_late)
