"""The operator of an as-of query: events in, and labels answered at once from what has come.

No window fires, so a push gives nothing; ``at(labels)`` gives results, and changes nothing. All else is as
for :class:`~windrow.engines.stream.operator.Operator`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.engines.frames.asof import with_seen
from windrow.engines.frames.event_rows import EventRows
from windrow.engines.frames.retention import Retention
from windrow.engines.serving.stored_events import EventStore, StoredEvents
from windrow.engines.stream.advance import Due
from windrow.engines.stream.event_input import one_at_a_time
from windrow.engines.stream.metrics import Metrics
from windrow.engines.stream.operator import Operator
from windrow.engines.stream.persistence.saved_operator import SavedOperator
from windrow.engines.stream.plan import EVENTS, Plan
from windrow.engines.stream.state import State
from windrow.engines.stream.watermark_values import shown_watermark
from windrow.names import check_columns
from windrow.query_settings import checked_labels
from windrow.rows.columns import needed_columns
from windrow.rows.points import check_axes
from windrow.rows.tables import read_table
from windrow.rows.times import read_times
from windrow.spec import Spec
from windrow.windows import Window

__all__ = ["AsOfOperator"]

_NOTHING = pa.table({})


class AsOfOperator(Operator):
    """Features as of now, for an as-of query; ``query.open()`` makes one.

    >>> import pyarrow as pa, windrow as wr
    >>> spent = wr.query(time="t", by="user").asof(10, "all").agg(spent=wr.sum("amount")).open()
    >>> spent.push(pa.table({"t": [12, 1], "user": ["ann", "ann"], "amount": [7, 5]})).num_rows
    0
    >>> spent.at(pa.table({"t": [15, 15], "user": ["ann", "bob"]})).to_pylist()[0]
    {'t': 15, 'user': 'ann', 'spent_10': 7, 'spent_all': 12}
    """

    def __init__(self, query: Spec, **options: Any) -> None:
        self._store: EventStore | None = None
        super().__init__(query, **options)
        if self._store is not None:
            self._store.open()

    def _plan_of(self, query: Spec, saved: SavedOperator | None) -> Plan:
        plan = super()._plan_of(query, saved)
        if saved is None:
            return plan
        self._store = EventStore.of(saved.entries, saved.loaded.most_bytes, query.time)
        return replace(plan, make_events=partial(StoredEvents, store=self._store))

    @property
    def _held_events(self) -> EventRows | None:
        """None: no table has come yet."""
        part = self._state.ordered.get(EVENTS)
        assert part is None or isinstance(part, EventRows)
        return part

    def _held(self) -> list[str]:
        return [f"{self._state.rows_held:,} events held"]

    @one_at_a_time
    def at(self, labels: Any, *, at_time: str | None = None, at_by: str | Sequence[str] | None = None) -> Any:
        columns = checked_labels(self.query, labels, at_time, at_by)
        self._check_open()
        if len(self._events):
            self._polled()
        table, back = read_table(labels, [columns[0], *columns[1]])
        return back(self._answered(table, *columns))

    def _answered(self, labels: pa.Table, at_time: str, at_by: tuple[str, ...]) -> pa.Table:
        """The labels with what each sees of the events; labels that may see what was dropped are refused."""
        check_columns([at_time, *at_by], labels.column_names, "the table of labels")
        query, events = self.query, self._held_events
        if events is None:
            return with_seen(query, _no_events(query, labels, at_time, at_by), labels, at_time, at_by)
        read = read_times(labels.column(at_time), at_time)
        _check_ages(self._plan, self._state, labels, read, at_time, at_by)
        return events.answer(labels, at_time, at_by, read)

    def _accepted(self, plan: Plan, state: State, due: Due, is_last: bool = False) -> pa.Table:
        self._take(plan, state, is_last)
        self._events.clear()
        return _NOTHING

    def _warn_of_waiting(self) -> None:
        """Events do not wait."""

    @one_at_a_time
    def snapshot(self) -> bytes:
        if self._store is not None:
            raise ValueError(
                "events are in the store and in no snapshot: open the query again with the same store and "
                "name to go on from there"
            )
        return super().snapshot()

    @property
    @one_at_a_time
    def metrics(self) -> Metrics:
        events = self._held_events
        return replace(super().metrics, keys=0 if events is None else events.key_count)

    def add_window(self, **named: Window) -> None:
        raise TypeError(f"{next(iter(named), 'a window')!r} cannot be added: an as-of query has no windows")


def _check_ages(
    plan: Plan, state: State, labels: pa.Table, read: Any, at_time: str, at_by: tuple[str, ...]
) -> None:
    """Refuse labels that may see events which are not kept any more."""
    assert state.axis is not None
    axis, times, missing = read
    check_axes(state.axis, plan.query.time, axis, at_time)
    old = Retention.of(plan.query).too_old(times, state.late_before(plan.allowed))
    old = old if missing is None else old & ~missing
    if old.any():
        timed = len(old) if missing is None else int((~missing).sum())
        place = int(np.argmax(old))
        values = ", ".join(f"{name}={labels.column(name)[place].as_py()!r}" for name in (*at_by, at_time))
        raise ValueError(
            f"{int(old.sum())} of {timed} labels look further back than events are kept, the first is "
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
