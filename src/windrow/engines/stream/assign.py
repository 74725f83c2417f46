"""Slices of a batch into the windows that time or silence decides: each takes what it may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.arrays import START_OF_TIME, Mask
from windrow.engines.stream.advance import NOTHING_DUE, Due, counted
from windrow.engines.stream.errors import naming_keys
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.slicing.batch import Batch
from windrow.slicing.slices import HeldSlices
from windrow.values import made_at_once, with_fields

__all__ = ["Judged", "corrected", "late_before", "take_slices"]


@made_at_once
@dataclass(frozen=True)
class Judged:
    """The state after a batch of slices, late pairs counted; which slices some window took (None: all), and
    which are in one at all, by the reason that they would be late for."""

    state: State
    due: Due
    taken: Mask | None
    inside: tuple[Mask, Mask]


def late_before(plan: Plan, state: State) -> int:
    """Rows before this are too late to correct anything."""
    return state.late_before(plan.allowed)


_NOTHING: Mask = np.zeros(1, np.bool_)


def take_slices(plan: Plan, state: State, batch: Batch, earliest: int) -> Judged:
    """Slices that are sorted by key and time, with the numbers of the operator's keys; no row is before
    ``earliest``."""
    return naming_keys(state.keys, state.axis, lambda: _taken(plan, state, batch, earliest))


def _taken(plan: Plan, state: State, batch: Batch, earliest: int) -> Judged:
    before, late_pairs = state.watermark, dict[str, int]()
    if state.time is not None and earliest >= before and state.time.kinds.windows.are_everywhere:
        # each slice is in some window, and all windows that hold it are open
        nothing, taken = _NOTHING, None
    else:
        nothing = taken = np.zeros(len(batch.slices), np.bool_)
    in_time, timed, time = nothing, None, state.time
    if time is not None:
        if taken is not None:
            late_pairs["window_fired"], late_times = time.late_pairs(batch, before)
            state = state.with_late_times(late_times)
            taken, in_time = time.judge(batch, before)
            taken = None if taken.all() else taken
        state = with_fields(state, time=time.added(batch, taken, before))
        timed = _some(batch.slices, taken) if plan.counts_revisions else None
    if not state.sessions:
        counts = state.counts.with_late_pairs(late_pairs)
        state = state if counts is state.counts else with_fields(state, counts=counts)
        due = NOTHING_DUE if timed is None else Due(timed=timed)
        return Judged(state, due, taken, (in_time, nothing))
    parts, touched, closed = [], {}, 0
    for part in state.sessions:
        changed, joined = part.added(batch, before)
        parts.append(changed)
        taken = None if taken is None or joined.all() else taken | joined
        closed += int(batch.slices.partials.rows[~joined].sum())
        state = state.with_late_times(batch.slices.firsts[~joined])
        if plan.counts_revisions:
            touched[part.number] = _some(batch.slices, joined)
    counts = state.counts.with_late_pairs(late_pairs | {"session_closed": closed})
    state = with_fields(state, sessions=tuple(parts), counts=counts)
    due = Due(timed=timed, sessions=touched)
    return Judged(state, due, taken, (in_time, nothing | bool(parts)))


def _some(slices: HeldSlices, chosen: Mask | None) -> HeldSlices:
    return slices if chosen is None else slices.take(np.flatnonzero(chosen))


def corrected(plan: Plan, state: State, due: Due) -> tuple[State, Due]:
    """With what late rows correct of what has fired; once all rows that come together are in."""
    if not plan.query.corrects or due.timed is None or state.watermark == START_OF_TIME:
        return state, due
    time, before = state.time, state.watermark
    assert time is not None
    touched = _some(due.timed, due.timed.firsts >= late_before(plan, state))
    part, pieces = naming_keys(state.keys, state.axis, lambda: time.corrections(touched, before))
    return counted(with_fields(state, time=part), pieces), with_fields(due, pieces=tuple(pieces))
