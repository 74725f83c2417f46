"""The operator of an as-of query: events in, and labels answered at once from what has come.

No window fires, so a push gives nothing; ``at(labels)`` gives results, and changes nothing. All else is as
for :class:`~windrow.engines.stream.operator.Operator`: how rows are checked, where the watermark goes, that a
step that fails has changed nothing, one lock. With a store, events are stored before a push returns
(:mod:`windrow.engines.serving.stored_events`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow.engines.serving.answers import answered
from windrow.engines.serving.held_events import HeldEvents
from windrow.engines.serving.step import judged_at, plain_schema, pushed
from windrow.engines.serving.stored_events import StoredEvents
from windrow.engines.stream.event_input import one_at_a_time
from windrow.engines.stream.metrics import Metrics
from windrow.engines.stream.operator import Operator
from windrow.engines.stream.persistence.saved_operator import Loaded
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.snapshot import (
    pack_snapshot,
    restored_value,
    snapshot_value,
    unpack_snapshot,
)
from windrow.engines.stream.state import State
from windrow.query_settings import checked_labels
from windrow.rows.tables import read_table
from windrow.spec import Spec
from windrow.state.checks import making_sense
from windrow.values import with_fields
from windrow.windows import Window

__all__ = ["AsOfOperator"]

_NOTHING = pa.table({})
_EVENTS = "asof"


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
        super().__init__(query, **options)
        self._log: HeldEvents | StoredEvents = HeldEvents(self._plan.query)
        if self._saved is not None:
            entries, cache = self._saved.entries, Loaded(self._saved.loaded.most_bytes)
            self._log = StoredEvents(self._plan.query, entries, cache)
            self._saved.store_beside(self._log)

    @classmethod
    def restored(cls, query: Spec, snapshot: bytes, **options: Any) -> AsOfOperator:
        operator = cls(query, **options)
        stored = unpack_snapshot(snapshot)
        operator._plan, state = restored_value(operator._plan, stored, None)
        operator._events.put_back(state.events)
        operator._state = with_fields(state, events=())
        if state.columns is not None:
            schema = plain_schema(state)
            with making_sense("the snapshot"):
                table = stored[_EVENTS]
            operator._log = HeldEvents.restored(operator._plan.query, table, schema)
        return operator

    def _held(self) -> list[str]:
        return [f"{len(self._log):,} events held"]

    # -- labels ----------------------------------------------------------------------------------------------

    @one_at_a_time
    def at(self, labels: Any, *, at_time: str | None = None, at_by: str | Sequence[str] | None = None) -> Any:
        columns = checked_labels(self.query, labels, at_time, at_by)
        self._check_open()
        if len(self._events):
            self.flush()
        table, back = read_table(labels, [columns[0], *columns[1]])
        return back(answered(self._plan, self._state, self._log, table, *columns))

    # -- events ----------------------------------------------------------------------------------------------

    def _pushed(self, parts: Iterable[pa.Table]) -> pa.Table:
        before = self._state
        try:
            self._step(*pushed(self._plan, before, self._log, parts, self._now, self._judge))
        except BaseException:
            self._undo()
            raise
        if self._state is before:
            return self.poll()
        self._last_row = self._clock()
        return _NOTHING

    def _advanced(self, moved: Callable[[Plan, State], tuple[int, State]], is_last: bool = False) -> pa.Table:
        plan, state, log = self._plan, self._state, self._log
        try:
            if len(self._events):
                plan, state, log = pushed(plan, state, log, self._events.tables(), self._now, self._judge)
            watermark, state = moved(plan, state)
            if watermark > state.watermark and not is_last:
                state = with_fields(state, watermark=watermark)
                if state.columns is not None:
                    log = log.tidied(plain_schema(state), judged_at(plan, state))
            self._step(plan, state, log, is_last)
        except BaseException:
            self._undo()
            raise
        return _NOTHING

    def _step(self, plan: Plan, state: State, log: HeldEvents | StoredEvents, is_last: bool = False) -> None:
        if state is not self._state or is_last:
            self._take(plan, state, is_last)
        self._log = log
        self._events.clear()

    def _undo(self) -> None:
        """What a step that fails has made of events in memory is forgotten with it: they are values."""
        if isinstance(self._log, StoredEvents):
            self._log.undo()

    # -- state -----------------------------------------------------------------------------------------------

    @property
    @one_at_a_time
    def metrics(self) -> Metrics:
        log = self._log
        return replace(
            super().metrics,
            rows_held=len(log),
            keys=log.key_count,
            state_bytes=self._state.late.nbytes + log.nbytes,
        )

    @one_at_a_time
    def snapshot(self) -> bytes:
        self._check_open()
        log, state = self._log, self._state
        if isinstance(log, StoredEvents):
            raise ValueError(
                "events are in the store and in no snapshot: open the query again with the same store and "
                "name to go on from there"
            )
        value = snapshot_value(self._plan, with_fields(state, events=tuple(self._events.tables())))
        table = None if state.columns is None else log.table(plain_schema(state))
        return pack_snapshot(value | {_EVENTS: table})

    def add_window(self, **named: Window) -> None:
        raise TypeError(f"{next(iter(named), 'a window')!r} cannot be added: an as-of query has no windows")
