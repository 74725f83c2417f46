"""Labels answered from events that are kept: those that labels may see are looked up, and the rest is what
``run`` does with tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.frames.asof import with_seen
from windrow.engines.frames.retention import Retention
from windrow.engines.serving.lookup_range import LookupRange
from windrow.engines.serving.step import EventLog, judged_at, plain_schema
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.engines.stream.watermark_values import shown_watermark
from windrow.names import check_columns
from windrow.rows.columns import needed_columns
from windrow.rows.points import check_axes
from windrow.rows.selection import filter_rows
from windrow.rows.times import read_times
from windrow.spec import Spec

__all__ = ["answered", "answered_from"]


def answered(
    plan: Plan, state: State, log: EventLog, labels: pa.Table, at_time: str, at_by: tuple[str, ...]
) -> pa.Table:
    """The labels with what each sees of the events; labels that may see what was dropped are refused."""
    check_columns([at_time, *at_by], labels.column_names, "the table of labels")
    timed = None if state.columns is None else _timed(plan, state, labels, at_time)
    if timed is not None:
        _refuse_old(plan, state, *timed, at_time, at_by)
    return answered_from(plan, state, log, labels, at_time, at_by, timed)


def answered_from(
    plan: Plan,
    state: State,
    log: EventLog,
    labels: pa.Table,
    at_time: str,
    at_by: tuple[str, ...],
    timed: tuple[pa.Table, Ints] | None = None,
) -> pa.Table:
    """The same for labels of which it is known that all they may see is held; ``timed``: those with a time,
    and their times, where they are known."""
    query = plan.query
    if state.columns is None:
        return with_seen(query, _no_events(query, labels, at_time, at_by), labels, at_time, at_by)
    schema = plain_schema(state)
    rows, times = _timed(plan, state, labels, at_time) if timed is None else timed
    if not len(times):
        return with_seen(query, schema.empty_table(), labels, at_time, at_by)
    asked = LookupRange.of(query, schema, rows, times, at_by)
    events = log.seen(asked, schema)
    if len(asked) == 1:  # all events are of that key: none has to be compared
        query, at_by = replace(query, by=()), ()
    return with_seen(query, events, labels, at_time, at_by)


def _timed(plan: Plan, state: State, labels: pa.Table, at_time: str) -> tuple[pa.Table, Ints]:
    """The labels that have a time, and their times."""
    assert state.axis is not None
    axis, times, missing = read_times(labels.column(at_time), at_time)
    check_axes(state.axis, plan.query.time, axis, at_time)
    return (labels, times) if missing is None else (filter_rows(labels, ~missing), times[~missing])


def _refuse_old(
    plan: Plan, state: State, labels: pa.Table, times: Ints, at_time: str, at_by: tuple[str, ...]
) -> None:
    """Refuse labels that may see events which are not kept any more."""
    old = Retention.of(plan.query).too_old(times, judged_at(plan, state))
    if old.any():
        place = int(np.argmax(old))
        values = ", ".join(f"{name}={labels.column(name)[place].as_py()!r}" for name in (*at_by, at_time))
        raise ValueError(
            f"{int(old.sum())} of {len(old)} labels look further back than events are kept, the first is "
            f"{values}: the watermark is {shown_watermark(state)!r}, and labels before it are not sure to be "
            f"answered. Leave them out, give allowed_lateness= to keep events for longer, or leave out "
            f"watermark= to keep all"
        )


def _no_events(query: Spec, labels: pa.Table, at_time: str, at_by: tuple[str, ...]) -> pa.Table:
    """A table without rows, of what can be known of events before the first has come."""
    known = dict(zip(query.by, at_by, strict=True)) | {query.time: at_time}
    kinds = {
        name: labels.schema.field(known[name]).type if name in known else pa.null()
        for name in needed_columns(query)
    }
    return pa.schema(kinds).empty_table()
