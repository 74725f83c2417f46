"""The watermark of an operator moves: what is due comes out, what nobody needs is forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.stream.corrections import count_windows, speculated
from windrow.engines.stream.errors import naming_keys
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.slicing.fired import Piece
from windrow.slicing.slices import HeldSlices
from windrow.values import with_fields

__all__ = ["NOTHING_DUE", "Due", "advanced", "passed", "without_dead_keys"]


@dataclass(frozen=True)
class Due:
    """What comes out, and what a batch touched."""

    pieces: tuple[Piece, ...] = ()
    #: results of windows that data decide, or of rolling; and whether they are final
    tables: tuple[tuple[pa.Table, bool], ...] = ()
    #: slices that windows which time decides took; the same for each session; rows that others took
    timed: HeldSlices | None = None
    sessions: Mapping[int, HeldSlices] = field(default_factory=dict[int, HeldSlices])
    rows: pa.Table | None = None

    def joined(self, other: Due) -> Due:
        if not other.pieces and not other.tables:
            return self
        return with_fields(self, pieces=self.pieces + other.pieces, tables=self.tables + other.tables)


NOTHING_DUE = Due()


def advanced(plan: Plan, state: State, watermark: int, touched: Due | None = None) -> tuple[State, Due]:
    """The state at another watermark, and what is due."""
    due = NOTHING_DUE if touched is None else touched
    return naming_keys(state.keys, state.axis, lambda: _advanced(plan, state, watermark, due))


def _advanced(plan: Plan, state: State, watermark: int, touched: Due) -> tuple[State, Due]:
    before, pieces = state.watermark, list[Piece]()
    state = with_fields(state, watermark=watermark)
    # a row may let empty windows out that fired before it came
    if state.time is not None and (watermark > before or plan.query.empty == "include"):
        part, found = state.time.fired(before, watermark)
        if part is not state.time or found:
            state, pieces = count_windows(with_fields(state, time=part), found), [*pieces, *found]
    sessions = []
    for each in state.sessions:
        changed, found = each.fired(touched.sessions.get(each.number), watermark)
        sessions.append(changed)
        state, pieces = count_windows(state, found), [*pieces, *found]
    if sessions:
        state = with_fields(state, sessions=tuple(sessions))
    state, tables = _ordered(plan, state)
    if plan.query.output == "update" and watermark < END_OF_TIME:
        state, more, tables = speculated(plan, state, touched, tables)
        pieces += more
    return state, Due(tuple(pieces), tuple(tables)) if pieces or tables else NOTHING_DUE


def passed(plan: Plan, state: State, watermark: int) -> State:
    """The state at another watermark, where nobody asks for what is due: what came out is only made where the
    state has to know of it."""
    if plan.counts_revisions or plan.query.empty == "include":
        return advanced(plan, state, watermark)[0]
    state = with_fields(
        state,
        watermark=watermark,
        time=None if state.time is None else state.time.forgotten(watermark),
        sessions=tuple(part.forgotten(watermark) for part in state.sessions),
    )
    return naming_keys(state.keys, state.axis, lambda: _ordered(plan, state)[0])


def _ordered(plan: Plan, state: State) -> tuple[State, list[tuple[pa.Table, bool]]]:
    """Rows that the watermark, and what is allowed, have passed are taken."""
    if not state.ordered or state.watermark == START_OF_TIME:
        return state, []
    closing = state.watermark == END_OF_TIME
    up_to = END_OF_TIME if closing else state.late_before(plan.allowed)
    parts, tables, fired = {}, [], 0
    for number, part in state.ordered.items():
        parts[number] = part.copied()
        found = parts[number].due(up_to, closing)
        if found is not None:
            tables.append((found, True))
            fired += found.num_rows
    return with_fields(state, ordered=parts, counts=state.counts.plus(windows_fired=fired)), tables


def without_dead_keys(state: State) -> State:
    """Keys that nothing refers to are forgotten once there may be many, or nothing else is left."""
    if not len(state.keys) or (state.has_slices and not state.keys.may_be_stale):
        return state
    is_alive = np.zeros(len(state.keys), np.bool_)
    for numbers in state.key_numbers():
        is_alive[numbers] = True
    keys, renumbered = state.keys.only(np.flatnonzero(is_alive))
    return with_fields(
        state,
        keys=keys,
        time=None if state.time is None else state.time.with_keys(renumbered),
        sessions=tuple(part.with_keys(renumbered) for part in state.sessions),
    )
