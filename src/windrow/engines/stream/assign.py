"""Slices of a batch into the windows that time or silence decides: each takes what it may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.arrays import Mask
from windrow.engines.stream.advance import NOTHING_DUE, Due
from windrow.engines.stream.errors import naming_keys
from windrow.engines.stream.late import count_pairs
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.slicing.batch import Batch
from windrow.slicing.slices import HeldSlices
from windrow.values import made_at_once, with_fields

__all__ = ["Judged", "late_before", "take_slices"]


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
    before = state.watermark
    if state.time is not None and earliest >= before and state.time.kinds.windows.are_everywhere:
        # each slice is in some window, and all windows that hold it are open
        nothing, taken = _NOTHING, None
    else:
        nothing = taken = np.zeros(len(batch.slices), np.bool_)
    in_time, timed, time = nothing, None, state.time
    if time is not None:
        if taken is not None:
            late, late_times = time.late_pairs(batch, before)
            state = count_pairs(state, {"window_fired": late}, late_times)
            taken, in_time = time.judge(batch, before)
            taken = None if taken.all() else taken
        state = with_fields(state, time=time.added(batch, taken, before))
        timed = _some(batch.slices, taken) if plan.counts_revisions else None
    if not state.sessions:
        due = NOTHING_DUE if timed is None else Due(timed=timed)
        return Judged(state, due, taken, (in_time, nothing))
    parts, touched = [], {}
    for part in state.sessions:
        changed, joined = part.added(batch, before)
        parts.append(changed)
        taken = None if taken is None or joined.all() else taken | joined
        closed = int(batch.slices.partials.rows[~joined].sum())
        state = count_pairs(state, {"session_closed": closed}, batch.slices.firsts[~joined])
        if plan.counts_revisions:
            touched[part.number] = _some(batch.slices, joined)
    state = with_fields(state, sessions=tuple(parts))
    due = Due(timed=timed, sessions=touched)
    return Judged(state, due, taken, (in_time, nothing | bool(parts)))


def _some(slices: HeldSlices, chosen: Mask | None) -> HeldSlices:
    return slices if chosen is None else slices.take(np.flatnonzero(chosen))
