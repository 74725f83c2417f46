"""Results that are given again: corrections of windows that fired, and results in advance.

With ``allowed_lateness`` a late row corrects what fired; with ``output="update"`` results come before they
are final. Both are counted by window and key in a ledger (:mod:`windrow.slicing.ledger`), those of rolling
with the row that waits (:mod:`windrow.engines.kept_rows.ordered_rows`): that is the column ``revision``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.stream.errors import naming_keys
from windrow.engines.stream.plan import ROLLING, Plan
from windrow.engines.stream.state import State
from windrow.slicing.fired import Piece
from windrow.values import with_fields

if TYPE_CHECKING:
    from windrow.engines.stream.advance import Due

__all__ = ["corrected", "count_windows", "speculated"]


def count_windows(state: State, pieces: Sequence[Piece]) -> State:
    """Count the windows of these pieces: fired, corrected or retracted."""
    fired = [piece for piece in pieces if piece.results is not None and piece.is_final]
    corrected = sum(piece.corrected for piece in fired)
    counts = state.counts.plus(
        windows_fired=sum(map(len, fired)) - corrected,
        windows_corrected=corrected,
        windows_retracted=sum(len(piece) for piece in pieces if piece.results is None),
    )
    return with_fields(state, counts=counts)


def corrected(plan: Plan, state: State, due: Due) -> tuple[State, Due]:
    """With what late rows correct of what has fired; once all rows that come together are in."""
    if not plan.query.corrects or due.timed is None or state.watermark == START_OF_TIME:
        return state, due
    time, before = state.time, state.watermark
    assert time is not None
    touched = due.timed.take(np.flatnonzero(due.timed.firsts >= state.late_before(plan.allowed)))
    part, pieces = naming_keys(state.keys, state.axis, lambda: time.corrections(touched, before))
    return count_windows(with_fields(state, time=part), pieces), with_fields(due, pieces=tuple(pieces))


def speculated(
    plan: Plan, state: State, touched: Due, tables: list[tuple[pa.Table, bool]]
) -> tuple[State, list[Piece], list[tuple[pa.Table, bool]]]:
    """Results in advance, of what a push touched; tables are added to those there are."""
    pieces: list[Piece] = []
    if state.time is not None and touched.timed is not None:
        part, pieces = state.time.speculations(touched.timed, state.watermark)
        state = with_fields(state, time=part)
    if ROLLING in state.ordered and touched.rows is not None and touched.rows.num_rows:
        rolling = state.ordered[ROLLING].copied()
        found = rolling.speculate(touched.rows)
        state = with_fields(state, ordered=state.ordered | {ROLLING: rolling})
        if found is not None:
            tables = [*tables, (found, False)]
    return state, pieces, tables
