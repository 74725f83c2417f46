"""A batch of rows into an operator's state, at one watermark: judged, folded, held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.engines.in_order.context import arrived
from windrow.engines.in_order.rows import OrderedRows
from windrow.engines.stream.advance import Due
from windrow.engines.stream.assign import late_before, take_slices
from windrow.engines.stream.far_ahead import too_far_ahead
from windrow.engines.stream.intake import with_time
from windrow.engines.stream.late import REASONS
from windrow.engines.stream.overflow import with_rows_reach
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.result_names import check_table_names
from windrow.rows.frame import build_frame
from windrow.rows.selection import filter_rows, take_rows
from windrow.rows.times import read_times
from windrow.slicing.batch import fold_batch
from windrow.values import with_fields

__all__ = ["Rows", "read_rows", "taken_rows"]


@dataclass(frozen=True)
class Rows:
    """Rows that have a time, with their numbers in the order in which they came."""

    table: pa.Table
    times: Ints
    arrivals: Ints

    def __len__(self) -> int:
        return len(self.times)

    def where(self, wanted: Mask) -> Rows:
        if wanted.all():
            return self
        return Rows(filter_rows(self.table, wanted), self.times[wanted], self.arrivals[wanted])


def read_rows(
    plan: Plan, state: State, table: pa.Table, now: Callable[[], float] | None = None
) -> tuple[Plan, State, Rows]:
    """The rows of a table that windows may take; others are counted. ``now`` tells the seconds since 1970;
    without it, no row is too far ahead."""
    check_table_names(plan.query, table.column_names, endless=True)
    plan, state = plan.with_types_of(state, table)
    assert state.columns is not None
    table = state.columns.conform(table)
    timed, timeless = with_time(table, plan.query.time)
    arrivals = _arrivals(table, plan.query.time, state.counts.rows_in)
    rejected = Counter({"no_time": timeless} if timeless else {})
    state = with_fields(
        state, counts=with_fields(state.counts, rows_in=state.counts.rows_in + table.num_rows)
    )
    axis, times, _ = read_times(timed.column(plan.query.time), plan.query.time)
    rows = Rows(timed, times, arrivals)
    if plan.query.max_ahead is not None and now is not None and len(rows):
        ahead = too_far_ahead(plan.query, axis, times, now, state.largest)
        rejected += Counter({"too_far_ahead": int(ahead.sum())})
        rows = rows.where(~ahead)
    if len(rows):
        plan.check_reach(rows.times)
    return plan, _with_rejected(state, rejected), rows


def taken_rows(plan: Plan, state: State, rows: Rows) -> tuple[State, Due]:
    """The state after rows, at the same watermark, and what they touched."""
    state, due = _Taking(plan, state, rows.table, rows.times, rows.arrivals).result(Counter())
    return with_rows_reach(plan, state, rows.table, due), due


def _arrivals(table: pa.Table, time: str, before: int) -> Ints:
    numbers = np.arange(before, before + table.num_rows)
    column = table.column(time)
    return numbers[np.asarray(column.is_valid())] if column.null_count else numbers


def _with_rejected(state: State, rejected: Counter[str]) -> State:
    counts = state.counts
    return with_fields(state, counts=with_fields(counts, rejected=dict(Counter(counts.rejected) + rejected)))


@dataclass
class _Taking:
    """One batch on its way in."""

    plan: Plan
    state: State
    rows: pa.Table
    times: Ints
    arrivals: Ints

    def result(self, rejected: Counter[str]) -> tuple[State, Due]:
        count = self.rows.num_rows
        self.taken = np.zeros(count, np.bool_)
        #: whether a row is in a window of each sort at all, in the order of the reasons
        self.inside = [np.zeros(count, np.bool_) for _ in REASONS]
        due = self._into_slices() if self.plan.cuts_slices else Due()
        due = with_fields(due, rows=self._into_ordered())
        self._count(rejected)
        return self.state, due

    # -- windows that time or silence decides ----------------------------------------------------------------

    def _into_slices(self) -> Due:
        plan, state = self.plan, self.state
        frame = arrived(build_frame(plan.query, self.rows), self.arrivals)
        keys, numbers = state.keys.with_values(frame.key_table(), len(frame.key_rows))
        cuts_late = bool(state.sessions) or plan.query.corrects
        before = late_before(plan, state) if cuts_late else START_OF_TIME
        batch = fold_batch(
            frame, numbers, plan.slicer, plan.aggregates, before, plan.query.order, plan.cuts_moments
        )
        found = take_slices(plan, with_fields(state, keys=keys), batch)
        self.state = found.state
        places = np.arange(len(frame)) if frame.permutation is None else frame.permutation
        for rows, slices in ((self.taken, found.taken), *zip(self.inside[:2], found.inside, strict=True)):
            if slices.all():
                rows[:] = True
            elif slices.any():
                rows[places[batch.rows_of(slices, len(frame))]] = True
        return found.due

    # -- windows that data decide ----------------------------------------------------------------------------

    def _into_ordered(self) -> pa.Table | None:
        if not self.state.ordered:
            return None
        in_time = self.times >= late_before(self.plan, self.state)
        parts, late_pairs = {}, 0
        for number, part in self.state.ordered.items():
            inside = part.inside(self.rows)
            inside = np.ones(self.rows.num_rows, np.bool_) if inside is None else inside
            wanted = in_time & inside
            parts[number] = _pushed_copy(part, self.rows, self.arrivals, wanted)
            self.taken |= wanted
            self.inside[2] |= inside
            late_pairs += int((inside & ~in_time).sum())
        counts = self.state.counts.with_late_pairs(Counter({"order_passed": late_pairs}))
        self.state = with_fields(self.state, ordered=parts, counts=counts)
        return filter_rows(self.rows, in_time)

    # -- late rows -------------------------------------------------------------------------------------------

    def _count(self, rejected: Counter[str]) -> None:
        inside = self.inside[0] | self.inside[1] | self.inside[2]
        outside = int((~inside & ~self.taken).sum())
        if outside:
            rejected["no_window"] += outside
        late = np.flatnonzero(inside & ~self.taken)
        counts, kept = self.state.counts, self.state.late
        found = dict(counts.late)
        if len(late):
            which = np.argmax(np.stack([mask[late] for mask in self.inside]), axis=0)
            reasons = [REASONS[k] for k in which.tolist()]
            found = dict(Counter(found) + Counter(reasons))
            if self.plan.query.late == "emit":
                assert self.state.axis is not None
                rows, behind = take_rows(self.rows, late), self.state.watermark - self.times[late]
                kept = kept.with_rows(rows, self.state.axis, behind, reasons)
        counts = with_fields(
            counts,
            rows_aggregated=counts.rows_aggregated + int(self.taken.sum()),
            late=found,
            rejected=dict(Counter(counts.rejected) + rejected),
        )
        largest = max(self.state.largest, int(self.times.max()))
        earliest = min(self.state.earliest, int(self.times.min()))
        self.state = with_fields(self.state, counts=counts, late=kept, earliest=earliest, largest=largest)


def _pushed_copy(part: OrderedRows, rows: pa.Table, arrivals: Ints, wanted: Mask) -> OrderedRows:
    clone = part.copied()
    if wanted.all():
        clone.push(rows, arrivals)
    elif wanted.any():
        clone.push(filter_rows(rows, wanted), arrivals[wanted])
    return clone
