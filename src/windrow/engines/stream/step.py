"""Rows that come together, in one table or in many: judged by one watermark; then the watermark moves.

Invariant: what comes of it does not depend on how the rows are cut into tables. Rows are taken table by table
wherever that makes no difference. Two things wait for the last table: corrections, which come once for a
push; and, where there are sessions, rows behind the watermark, which are judged by the sessions that all
other rows have made.
Cost: beside the operator's state, memory for two tables, for the rows that wait, and for the slices in which
corrections and updates are found. A push of one table is taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from windrow.engines.stream.advance import NOTHING_DUE, Due, advanced
from windrow.engines.stream.assign import late_before
from windrow.engines.stream.corrections import corrected
from windrow.engines.stream.far_ahead import is_far_ahead, warn_of_jump
from windrow.engines.stream.late import NO_TIMES
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.push import Rows, read_rows, taken_rows
from windrow.engines.stream.state import State
from windrow.engines.stream.waiting_tables import joined_tables
from windrow.engines.stream.watermark import Judge, reached
from windrow.rows.columns import NOWHERE
from windrow.rows.times import Moments
from windrow.slicing.slices import HeldSlices, concat
from windrow.values import with_fields

__all__ = ["pushed", "take_table"]


def pushed(
    plan: Plan, state: State, parts: Iterable[pa.Table], now: Callable[[], float], judge: Judge = "push"
) -> tuple[Plan, State, Due]:
    """The state after a push of tables, and what is due; the same state if nothing came and nothing moved.
    ``now`` tells the seconds since 1970, and is asked once."""
    together, now = _Together(plan, state), _Once(now)
    for table, is_last in _with_last(parts):
        seen = together.state
        moments = together.take(table, is_last, now)
        if moments is None or not is_far_ahead(plan.query, seen.largest, moments):
            continue
        if reached(plan.query, together.state, judge) > reached(plan.query, seen, judge):
            warn_of_jump(plan.query, seen.earliest, seen.largest, moments)
    plan, after, due = together.end()
    watermark = reached(plan.query, state if judge == "spark" else after, judge)
    if after is state and watermark == state.watermark:
        return plan, state, due
    after, fired = advanced(plan, after, watermark, due)
    return plan, after, due.joined(fired)


def take_table(plan: Plan, state: State, table: pa.Table) -> tuple[Plan, State, Due]:
    """The state after a table, at the same watermark, and corrections that are due."""
    together = _Together(plan, state)
    together.take(table, is_last=True)
    return together.end()


class _Once:
    """A clock that is read when it is first asked, and tells the same time ever after."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._told: float | None = None

    def __call__(self) -> float:
        if self._told is None:
            self._told = self._now()
        return self._told


class _Together:
    """A push on its way in, table by table."""

    def __init__(self, plan: Plan, state: State) -> None:
        self.plan, self.state = plan, state
        self._has_begun = False
        self._waiting: list[Rows] = []
        self._touched: list[Due] = []

    def take(self, table: pa.Table, is_last: bool, now: Callable[[], float] | None = None) -> Moments | None:
        """Take what can be taken before the rest has come; gives the times of the rows."""
        if not table.num_rows and self.state.columns is not None:
            return None
        if not self._has_begun:
            self._has_begun = True
            if len(self.state.late_times):  # of the push before
                self.state = with_fields(self.state, late_times=NO_TIMES)
        self.plan, self.state, rows = read_rows(self.plan, self.state, table, now)
        if is_last:
            self._waiting.append(self._narrowed(rows) if self._waiting else rows)
        else:
            self._take_early(rows)
        return rows.moments

    def _take_early(self, rows: Rows) -> None:
        """Rows of a table that is not the last: some may have to wait for those that come."""
        waits = np.zeros(len(rows), np.bool_)
        if self.plan.has_sessions:
            waits = rows.times < late_before(self.plan, self.state)
        if waits.any():
            self._waiting.append(self._narrowed(rows.where(waits)))
        if not waits.all():
            self._into_state(rows.where(~waits))

    def end(self) -> tuple[Plan, State, Due]:
        """The state after all of them, and what is due before the watermark moves."""
        if self._waiting:
            self._into_state(self._joined())
        due = self._touched[0] if len(self._touched) == 1 else _joined(self._touched)
        if not self.plan.query.corrects:
            return self.plan, self.state, due
        state, due = corrected(self.plan, self.state, due)
        return self.plan, state, due

    def _narrowed(self, rows: Rows) -> Rows:
        """Rows that wait, without columns that nobody asks for."""
        assert self.state.columns is not None
        if self.plan.query.hands_rows_back:
            return rows
        return with_fields(rows, table=rows.table.select(self.state.columns.schema.names), places=NOWHERE)

    def _joined(self) -> Rows:
        if len(self._waiting) == 1:
            return self._waiting[0]
        assert self.state.columns is not None
        table = joined_tables([rows.table for rows in self._waiting])
        moments = self._waiting[0].moments
        ticks = np.concatenate([rows.moments.ticks for rows in self._waiting])
        arrivals = np.concatenate([rows.arrivals for rows in self._waiting])
        return Rows(self.state.columns.conform(table), Moments.of(moments.axis, ticks), arrivals)

    def _into_state(self, rows: Rows) -> None:
        if not len(rows):
            return
        self.state, found = taken_rows(self.plan, self.state, rows)
        self._touched.append(self._asked(found))

    def _asked(self, touched: Due) -> Due:
        """What is asked of it later: without updates, only what has fired is looked for among touched slices,
        and that holds no row from the watermark on."""
        if not self.plan.counts_revisions:
            return NOTHING_DUE
        if self.plan.query.output == "update":
            return touched
        before = self.state.watermark

        def old(slices: HeldSlices) -> HeldSlices:
            return slices.take(np.flatnonzero(slices.firsts < before))

        timed = None if touched.timed is None else old(touched.timed)
        return Due(timed=timed, sessions={number: old(found) for number, found in touched.sessions.items()})


def _joined(touched: Sequence[Due]) -> Due:
    """What several tables touched, as if they were one."""
    timed = [each.timed for each in touched if each.timed is not None]
    numbers = {number for each in touched for number in each.sessions}
    rows = [each.rows for each in touched if each.rows is not None]
    return Due(
        timed=_in_order(timed) if timed else None,
        sessions={n: _in_order([d.sessions[n] for d in touched if n in d.sessions]) for n in numbers},
        rows=joined_tables(rows) if rows else None,
    )


def _in_order(parts: Sequence[HeldSlices]) -> HeldSlices:
    """Slices by key and time."""
    slices = concat(parts)
    return slices.take(np.lexsort([slices.firsts, slices.keys]))


def _with_last(parts: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, bool]]:
    """Each table, and whether it is the last."""
    before: pa.Table | None = None
    for table in parts:
        if before is not None:
            yield before, False
        before = table
    if before is not None:
        yield before, True
