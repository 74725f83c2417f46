"""A batch of rows into an operator's state, at one watermark: judged, folded, held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.stream.advance import NOTHING_DUE, Due
from windrow.engines.stream.assign import Judged, late_before, take_slices
from windrow.engines.stream.far_ahead import too_far_ahead
from windrow.engines.stream.intake import with_time
from windrow.engines.stream.late import REASONS, count_pairs, count_rows
from windrow.engines.stream.overflow import with_rows_reach
from windrow.engines.stream.plan import EVENTS, Plan
from windrow.engines.stream.rejected import LeftOut
from windrow.engines.stream.state import State
from windrow.partials.raising import raising_rows
from windrow.partials.result_types import check_inputs
from windrow.result_names import check_table_names
from windrow.rows.columns import NOWHERE
from windrow.rows.frame import build_frame
from windrow.rows.keys import Keys
from windrow.rows.selection import filter_rows
from windrow.rows.times import Moments, read_moments
from windrow.slicing.batch import Batch, fold_batch
from windrow.slicing.few_rows import FewRows
from windrow.values import made_at_once, with_fields

__all__ = ["Rows", "read_rows", "taken_rows"]


@made_at_once
@dataclass(frozen=True)
class Rows:
    """Rows that have a time, with their numbers in the order in which they came."""

    table: pa.Table
    moments: Moments
    #: the number of the first, whose successors have the next ones; or the numbers of all
    numbers: int | Ints
    #: where columns lie in the table, as far as that is known
    places: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def times(self) -> Ints:
        return self.moments.times

    @property
    def arrivals(self) -> Ints:
        """The numbers of all."""
        first = self.numbers
        return np.arange(first, first + len(self)) if isinstance(first, int) else first

    def name(self, row: int) -> str:
        """What a row is called in messages."""
        return f"row {self.arrivals[row]}"

    def __len__(self) -> int:
        return len(self.moments.times)

    def where(self, wanted: Mask) -> Rows:
        if wanted.all():
            return self
        table, moments = filter_rows(self.table, wanted), self.moments.where(wanted)
        return Rows(table, moments, self.arrivals[wanted], self.places)


def read_rows(
    plan: Plan, state: State, table: pa.Table, now: Callable[[], float] | None = None
) -> tuple[Plan, State, Rows]:
    """The rows of a table that windows may take; others are counted. ``now`` tells the seconds since 1970;
    without it, no row is too far ahead."""
    plan, state, table, places = _conformed(plan, state, table)
    assert state.axis is not None
    timed, column, valid = with_time(table, plan.query.time, places)
    numbers: int | Ints = state.counts.rows_in
    left = LeftOut(plan.query.on_error == "reject")
    if valid is not None:
        numbers = np.flatnonzero(np.asarray(valid)) + state.counts.rows_in
        left.add("no_time", table, ~np.asarray(valid))
    rows = Rows(timed, read_moments(state.axis, column, plan.query.time), numbers, places)
    if state.history_until > START_OF_TIME:
        known = rows.times < state.history_until
        left.add("in_history", rows.table, known)
        rows = rows.where(~known)
    if plan.query.max_ahead is not None and now is not None and len(rows):
        ahead = too_far_ahead(plan.query, state.axis, rows.times, now, state.largest)
        left.add("too_far_ahead", rows.table, ahead)
        rows = rows.where(~ahead)
    moments = rows.moments
    plan.check_reach(moments)
    raising = raising_rows(plan.query.aggregates, rows.table) if left.keeps else None
    if raising is not None:
        left.add_raising(rows.table, raising)
        rows = rows.where(raising.others(len(rows)))
    counts = state.counts.plus(rows_in=table.num_rows, rejected=left.counts)
    largest, earliest = max(state.largest, moments.high), min(state.earliest, moments.low)
    if left.tables:
        state = with_fields(state, rejected=state.rejected.with_tables(left.tables))
    return plan, with_fields(state, counts=counts, earliest=earliest, largest=largest), rows


def taken_rows(plan: Plan, state: State, rows: Rows) -> tuple[State, Due]:
    """The state after rows, at the same watermark, and what they touched."""
    state, due = _Taking(plan, state, rows).result()
    return with_rows_reach(plan, state, rows.table, due), due


def _conformed(plan: Plan, state: State, table: pa.Table) -> tuple[Plan, State, pa.Table, Mapping[str, int]]:
    """The table as those before it were, and where its columns lie; one that is like them is not checked
    again."""
    by_name = not state.ordered and not plan.query.hands_rows_back
    found = None if state.columns is None else state.columns.fitted(table, by_name)
    if found is None:
        check_table_names(plan.query, table.column_names, endless=True)
        plan, state = plan.with_types_of(state, table)
        assert state.columns is not None
        check_inputs(plan.query, state.columns.schema)
        found = state.columns.conform(table), NOWHERE
    return plan, state, *found


class _Taking:
    """One batch on its way in."""

    def __init__(self, plan: Plan, state: State, rows: Rows) -> None:
        self.plan, self.state, self.rows = plan, state, rows
        #: which rows some window took; None: all
        self.taken: Mask | None = None
        #: whether a row is in a window of each sort at all, in the order of the reasons; None: not asked
        self.inside: list[Mask] | None = None
        #: the reasons as they are counted
        self.names = [*REASONS]

    def result(self) -> tuple[State, Due]:
        due = NOTHING_DUE
        if self.plan.cuts_slices:
            due = self._into_slices()
        else:
            self._ask_each()
        if self.state.ordered:
            due = with_fields(due, rows=self._into_ordered())
        inside = () if self.inside is None else self.inside
        self.state = count_rows(self.plan.query, self.state, self.rows, self.taken, inside, self.names)
        return self.state, due

    def _ask_each(self) -> tuple[Mask, list[Mask]]:
        """Rows are asked for one by one, since some may be in no window, or late."""
        if self.inside is None:
            count, is_taken = len(self.rows), self.plan.cuts_slices
            self.inside = [np.zeros(count, np.bool_) for _ in REASONS]
            self.taken = np.full(count, is_taken) if self.taken is None else self.taken
        assert self.taken is not None
        return self.taken, self.inside

    # -- windows that time or silence decides ----------------------------------------------------------------

    def _into_slices(self) -> Due:
        plan, state, rows = self.plan, self.state, self.rows
        keys, batch = _folded(plan, state, rows)
        state = state if keys is state.keys else with_fields(state, keys=keys)
        found = take_slices(plan, state, batch, rows.moments.low)
        self.state = found.state
        if found.taken is not None:
            self._spread(batch, found)
        return found.due

    def _spread(self, batch: Batch, found: Judged) -> None:
        """What became of slices becomes of their rows."""
        assert found.taken is not None
        assert batch.rows_of is not None
        self.taken = np.zeros(len(self.rows), np.bool_)
        taken, inside = self._ask_each()
        for rows, slices in ((taken, found.taken), *zip(inside[:2], found.inside, strict=True)):
            if slices.all():
                rows[:] = True
            elif slices.any():
                rows[batch.rows_of(slices)] = True

    # -- windows that data decide ----------------------------------------------------------------------------

    def _into_ordered(self) -> pa.Table:
        rows, (taken, reasons) = self.rows, self._ask_each()
        before = late_before(self.plan, self.state)
        parts, late_pairs = {}, 0
        for number, part in self.state.ordered.items():
            in_time, inside = part.in_time(rows.times, before), part.inside(rows.table)
            inside = np.ones(len(rows), np.bool_) if inside is None else inside
            wanted = in_time & inside
            parts[number] = _pushed_copy(part, rows, wanted)
            taken |= wanted
            reasons[2] |= inside
            late = int((inside & ~in_time).sum())
            late_pairs += 0 if number == EVENTS else late  # labels see them, not windows
            self.names[2] = part.late_reason
        state = with_fields(self.state, ordered=parts)
        self.state = count_pairs(state, {"order_passed": late_pairs}, rows.times[~in_time])
        return rows.table if in_time.all() else filter_rows(rows.table, in_time)


def _folded(plan: Plan, state: State, rows: Rows) -> tuple[Keys, Batch]:
    """Rows as slices, and the keys with theirs."""
    assert state.columns is not None
    cuts_late = bool(state.sessions) or plan.query.corrects
    before = late_before(plan, state) if cuts_late else START_OF_TIME
    few: FewRows | None = state.columns.remembered("few rows", plan, _few_rows)
    found = None if few is None else few.fold(state.keys, rows.table, rows.places, rows.moments, before)
    if found is not None:
        return found
    keys, numbered, numbers = state.keys.with_rows(rows.table, rows.places)
    frame = build_frame(plan.query, rows.table, rows.moments, rows.name, numbered, places=rows.places)
    return keys, fold_batch(
        frame, numbers, plan.slicer, plan.aggregates, before, plan.query.order, plan.cuts_moments
    )


def _few_rows(plan: Plan, schema: pa.Schema) -> FewRows | None:
    return FewRows.of(plan.slicer, plan.aggregates, schema)


def _pushed_copy(part: OrderedRows, rows: Rows, wanted: Mask) -> OrderedRows:
    clone = part.copied()
    if wanted.all():
        clone.push(rows.table, rows.arrivals, rows.times)
    elif wanted.any():
        clone.push(filter_rows(rows.table, wanted), rows.arrivals[wanted], rows.times[wanted])
    return clone
