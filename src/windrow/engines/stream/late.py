"""Late rows: all counting of them, why they are late, when they were, and the rows themselves for
``late="return"``.

A row is counted once: as aggregated if some window took it, else as late, by the first reason that applies,
or as rejected if it is in no window at all. A pair of a row and a window is counted wherever a window lacks a
row that came too late for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.engines.stream.waiting_tables import WaitingTables
from windrow.partials.rejected import with_reasons
from windrow.rows.selection import take_rows
from windrow.rows.times import TimeAxis
from windrow.slicing.slices import HeldSlices
from windrow.spec import Spec
from windrow.state.checks import require
from windrow.values import with_fields

if TYPE_CHECKING:
    from windrow.engines.stream.state import State

__all__ = [
    "MOST_TIMES",
    "NO_TIMES",
    "REASONS",
    "LateRows",
    "count_labels",
    "count_pairs",
    "count_rows",
    "count_slices",
]


#: why a row is late, by what took none of it: windows that time decides, sessions, rows in order
REASONS = ("window_fired", "session_closed", "order_passed")
#: times of late rows that are kept of a push
MOST_TIMES = 32
NO_TIMES: Ints = np.zeros(0, np.int64)


def _sampled_times(*times: Ints) -> Ints:
    """Times in order, each once; of very many a few that are spread evenly over them, with the first and the
    last.

    >>> _sampled_times(np.array([7, 3]), np.array([3])).tolist()
    [3, 7]
    >>> many = _sampled_times(np.arange(1_000))
    >>> len(many), many[[0, -1]].tolist()
    (32, [0, 999])
    """
    found: Ints = np.unique(np.concatenate(times))
    if len(found) <= MOST_TIMES:
        return found
    return found[np.linspace(0, len(found) - 1, MOST_TIMES).round().astype(np.int64)]


# -- counting ------------------------------------------------------------------------------------------------


def count_rows(
    query: Spec,
    state: State,
    rows: Any,
    taken: Mask | None,
    inside: Sequence[Mask],
    reasons: Sequence[str] = REASONS,
) -> State:
    """Count rows of a push: which some window took (None: all), and which are in a window at all, by the
    reason that they are late for if it did not take them."""
    aggregated = len(rows) if taken is None else int(taken.sum())
    counts = state.counts.plus(rows_aggregated=aggregated)
    if taken is None or aggregated == len(rows):
        return with_fields(state, counts=counts)
    is_inside = np.logical_or.reduce(inside)
    late, outside = np.flatnonzero(is_inside & ~taken), np.flatnonzero(~is_inside & ~taken)
    first = np.argmax(np.stack([mask[late] for mask in inside]), axis=0)
    why = [reasons[k] for k in first.tolist()]
    counts = counts.plus(late=Counter(why), rejected={"no_window": len(outside)} if len(outside) else {})
    kept_late, kept_rejected = state.late, state.rejected
    if query.late == "return" and len(late):
        assert state.axis is not None
        late_by = state.watermark - rows.times[late]
        kept_late = kept_late.with_rows(take_rows(rows.table, late), state.axis, late_by, why)
    if query.on_error == "reject" and len(outside):
        kept_rejected = kept_rejected.with_tables([with_reasons(take_rows(rows.table, outside), "no_window")])
    return with_fields(state, counts=counts, late=kept_late, rejected=kept_rejected)


def count_slices(
    state: State, slices: HeldSlices, earliest: int, taken: Mask, inside: Sequence[Mask]
) -> State:
    """Count the rows of slices in the same way; none is before ``earliest``."""
    rows, left, late = slices.partials.rows, ~taken, dict[str, int]()
    for reason, mask in zip(REASONS, inside, strict=False):
        if number := int(rows[left & mask].sum()):
            late[reason] = number
        left = left & ~mask
    outside = int(rows[left].sum())
    counts = state.counts.plus(
        rows_in=int(rows.sum()),
        rows_aggregated=int(rows[taken].sum()),
        late=late,
        rejected={"no_window": outside} if outside else {},
    )
    largest = max(state.largest, int(slices.lasts.max(initial=START_OF_TIME)))
    return with_fields(state, counts=counts, earliest=min(state.earliest, earliest), largest=largest)


def count_labels(state: State, is_late: Mask) -> State:
    """Count labels of a stream, and which of them came too late for the events that they ask for."""
    late = int(is_late.sum())
    counts = state.counts.plus(
        rows_in=len(is_late), rows_aggregated=len(is_late) - late, late={"late_label": late} if late else {}
    )
    return with_fields(state, counts=counts)


def count_pairs(state: State, pairs: Mapping[str, int], *times: Ints) -> State:
    """Count pairs of a row and a window that lacks it, by reason; ``times``: when such rows were."""
    if any(pairs.values()):
        state = with_fields(state, counts=state.counts.plus(late_pairs=pairs))
    if any(map(len, times)):
        return with_fields(state, late_times=_sampled_times(state.late_times, *times))
    return state


# -- the rows themselves -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LateRows(WaitingTables):
    """Late rows that nobody has asked for yet."""

    def check_invariants(self) -> None:
        """Of late rows that come from outside."""
        for table in self.checked_tables("late"):
            known = {"late_by", "late_reason"} <= set(table.column_names)
            require(known, "late rows without how late they are, or why")
            types = (pa.int64(), pa.duration("us"))
            require(table.column("late_by").type in types, "late rows: how late they are is not a number")
            require(table.column("late_reason").type == pa.string(), "late rows: why they are is not text")

    def with_rows(self, rows: pa.Table, axis: TimeAxis, late_by: Ints, reasons: Sequence[str]) -> LateRows:
        """With rows as they came, how late they were, and why."""
        marked = rows.append_column("late_by", pa.array(late_by, pa.int64()).cast(_lateness(axis)))
        return LateRows((*self.tables, marked.append_column("late_reason", pa.array(reasons, pa.string()))))

    def joined(self, schema: pa.Schema | None, axis: TimeAxis | None = None) -> pa.Table:
        """All of them in one table."""
        fields = [] if schema is None else list(schema)
        return self.joined_or(
            pa.schema([*fields, ("late_by", _lateness(axis)), ("late_reason", pa.string())])
        )


def _lateness(axis: TimeAxis | None) -> Any:
    return pa.int64() if axis is None or axis.is_integer else pa.duration("us")
