"""Partial aggregates of slices, in columns: what is kept of rows once they are folded.

A :class:`Partials` holds one partial per aggregate for each of n slices. Rows are folded into it once; from
then on slices are moved (``take``), put side by side (``concat``), fused (``folded``) and read over ranges
(``results``), all without the rows. Native aggregates keep plain arrays; those that pick a row (first, last,
arg_max, arg_min) keep its value beside the partial; others keep Python objects.

Invariant: partials of a key lie in the order of their rows in time, so that a range of neighbours can be
combined from left to right. Aggregates that pick a row remember its time: they may be fused in any order.
An aggregate that was added later is null over slices with rows that it has not seen.
Cost: O(1) combines per slice to fuse; a window costs O(1) (windows in order) or O(log n) (any windows).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.monoids.base import Aggregate
from windrow.partials.added_aggregates import (
    Unseen,
    counted_rows,
    joined_unseen,
    null_where_unseen,
    summed,
    totals,
)
from windrow.partials.cells import Cells
from windrow.partials.columns import Column, NativeColumn, UnseenColumn, column_from, join, merge
from windrow.partials.fold import fold_rows
from windrow.partials.inputs import absent_rows
from windrow.partials.picked import picked_input
from windrow.partials.ranges import RowRanges, Shape
from windrow.partials.results import count_column, with_nulls
from windrow.partials.value_aggregates.column import KeptColumn, with_shared_bags
from windrow.partials.value_aggregates.covered import without_covered
from windrow.rows.columns import plain_type
from windrow.rows.frame import Frame
from windrow.state.checks import check_column, check_numbers, require
from windrow.values import made_at_once

__all__ = ["Partials", "Shape", "needs_order"]


@made_at_once
@dataclass(frozen=True)
class Partials:
    """One partial per aggregate for each of n slices.

    ``count()`` reads no column: its partial is the number of rows, which is always kept, and its column is
    None."""

    aggregates: tuple[Aggregate, ...]
    rows: Ints
    columns: tuple[Column | None, ...]
    #: how many rows of each slice came before each aggregate was added
    unseen: Unseen = ()
    #: how many rows of each slice are absent for each aggregate that distinguishes them from nulls
    absent: Unseen = ()

    @classmethod
    def of_rows(
        cls,
        frame: Frame,
        aggregates: Sequence[Aggregate],
        starts: Ints,
        unseen: Unseen = (),
        cells: Cells | None = None,
    ) -> Partials:
        """Rows of a frame folded into slices; ``starts`` says where each slice starts, and the end, in
        processing order. ``unseen``: which rows each aggregate has not seen. ``cells``: which slice each row
        goes to, where they are folded as they come."""
        columns = tuple([fold_rows(frame, a, starts, cells) if a.inputs else None for a in aggregates])
        rows, absent = starts[1:] - starts[:-1], Unseen()
        if [a for a in aggregates if a.where is not None]:
            absent = summed(counted_rows(_absent_in_order(frame, a) for a in aggregates), starts)
        return cls(tuple(aggregates), rows, columns, summed(unseen, starts) if unseen else (), absent)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        held = [*self.columns, *self.unseen, *self.absent]
        return self.rows.nbytes + sum(column.nbytes for column in held if column is not None)

    def check_invariants(self, count: int) -> None:
        """Of partials that come from outside, of so many slices."""
        check_column("rows of slices", self.rows, count)
        check_numbers("rows of slices", self.rows, 1, 2**62)
        require(self.rows.astype(np.float64).sum() < 2.0**62, "rows of slices: more than there can be")
        for aggregate, column in zip(self.aggregates, self.columns, strict=True):
            require((column is None) == (not aggregate.inputs), f"{aggregate!r}: partials of something else")
            if column is not None:
                column.check_invariants(self.rows)
        for what, each in (("not seen", self.unseen), ("absent", self.absent)):
            for counts in (counts for counts in each if counts is not None):
                check_column(f"rows that were {what}", counts, count)
                require(((counts >= 0) & (counts <= self.rows)).all(), f"more rows {what} than there are")

    def take(self, places: Any) -> Partials:
        def chosen(each: Unseen) -> Unseen:
            return tuple(None if counts is None else counts[places] for counts in each)

        columns = self._each(lambda column: column.take(places))
        return Partials(self.aggregates, self.rows[places], columns, chosen(self.unseen), chosen(self.absent))

    def folded(self, starts: Ints) -> Partials:
        """Neighbours fused: ``starts`` says where each run of them starts, and the end."""
        if len(starts) - 1 == len(self):
            return self
        rows = np.add.reduceat(self.rows, starts[:-1]) if len(starts) > 1 else self.rows[:0]
        columns = self._each(lambda column: column.folded(starts))
        counts = summed(self.unseen, starts), summed(self.absent, starts)
        return Partials(self.aggregates, rows, columns, *counts)

    def combines_natively(self, other: Partials) -> bool:
        """Whether these and others are combined by windrow's own native code alone."""
        if self.unseen or self.absent or other.unseen or other.absent:
            return False
        return all(
            b is None if a is None else _are_alike(a, b)
            for a, b in zip(self.columns, other.columns, strict=True)
        )

    def merged(self, other: Partials, order: Ints, starts: Ints, rows: Ints) -> Partials:
        """These and others in an order, neighbours fused, which have so many rows each."""
        if self.unseen or self.absent or other.unseen or other.absent:
            return Partials.concat([self, other]).take(order).folded(starts)
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple([None if a is None or b is None else merge(a, b, order, starts) for a, b in pairs])
        return Partials(self.aggregates, rows, columns)

    def results(self, fronts: Ints, stops: Ints, shape: Shape) -> list[Any]:
        """A result column per aggregate, for ranges [front, stop) of slices."""
        before = np.concatenate([[0], np.cumsum(self.rows)])
        rows = before[stops] - before[fronts]
        absent = self.absent or (None,) * len(self.aggregates)
        found = [
            _result(aggregate, column, rows, none_of, fronts, stops, shape)
            for aggregate, column, none_of in zip(
                self.aggregates, with_shared_bags(self.columns), absent, strict=True
            )
        ]
        return null_where_unseen(found, self.unseen, fronts, stops)

    def row_counts(self, fronts: Ints, stops: Ints) -> Ints:
        before = np.concatenate([[0], np.cumsum(self.rows)])
        return before[stops] - before[fronts]

    def _each(self, change: Callable[[Column], Column]) -> tuple[Column | None, ...]:
        return tuple(None if c is None else change(c) for c in self.columns)

    @staticmethod
    def concat(parts: Sequence[Partials]) -> Partials:
        if len(parts) == 1:
            return parts[0]
        columns = [
            None if each[0] is None else join([c for c in each if c is not None])
            for each in zip(*(part.columns for part in parts), strict=True)
        ]
        rows, unseen = [p.rows for p in parts], joined_unseen([(len(p), p.unseen) for p in parts])
        absent = joined_unseen([(len(p), p.absent) for p in parts])
        return Partials(parts[0].aggregates, np.concatenate(rows), tuple(columns), unseen, absent)

    @property
    def covers(self) -> bool:
        """Whether there are values that make earlier ones needless."""
        return any(map(_covers, self.columns))

    @staticmethod
    def without_covered(parts: Sequence[Partials], keys: Sequence[Ints]) -> Sequence[Partials]:
        """Partials of slices of these keys, the earliest first, without values that later ones cover: enough
        for windows that hold all that is later than what they hold."""
        columns = [list(part.columns) for part in parts]
        for k in range(len(columns[0])):
            each = [c for c in (part[k] for part in columns) if _covers(c)]
            if len(each) == len(parts):
                for part, column in zip(columns, without_covered(each, keys), strict=True):
                    part[k] = column
        return [
            part
            if all(a is b for a, b in zip(part.columns, found, strict=True))
            else replace(part, columns=tuple(found))
            for part, found in zip(parts, columns, strict=True)
        ]

    def state(self) -> dict[str, Any]:
        """The same as plain values, arrays and Arrow arrays, for the codec."""
        columns = [None if c is None else c.state() for c in self.columns]
        state = {"rows": self.rows, "columns": columns, "unseen": list(self.unseen)}
        return state | {"absent": list(self.absent)} if self.absent else state

    @staticmethod
    def restored(
        aggregates: Sequence[Aggregate], state: dict[str, Any], places: Sequence[int | None]
    ) -> Partials:
        """The reverse. ``places`` says for each aggregate where it was in the state; None: it is new, and has
        seen none of the rows."""
        rows = state["rows"]
        columns = [
            None
            if not a.inputs
            else UnseenColumn(a, rows)
            if place is None
            else column_from(a, state["columns"][place])
            for a, place in zip(aggregates, places, strict=True)
        ]
        counts = state["unseen"] or [None] * len(state["columns"])
        # what counts rows reads no column: it knows all rows, whenever it was added
        unseen = [
            (rows if a.inputs else None) if place is None else counts[place]
            for a, place in zip(aggregates, places, strict=True)
        ]
        known = joined_unseen([(len(rows), tuple(unseen))])
        stored = state.get("absent") or [None] * len(state["columns"])
        absent = counted_rows(None if place is None else stored[place] for place in places)
        return Partials(tuple(aggregates), rows, tuple(columns), known, absent)


def _result(
    aggregate: Aggregate,
    column: Column | None,
    rows: Ints,
    absent: Ints | None,
    fronts: Ints,
    stops: Ints,
    shape: Shape,
) -> Any:
    if column is None:
        return count_column(aggregate, RowRanges(np.zeros(len(rows), np.int64), rows))
    skipped = column.skipped_in(fronts, stops)
    values = rows if skipped is None else rows - skipped
    found = column.results(fronts, stops, shape, values)
    nulls = np.zeros(1, np.int64) if skipped is None else skipped
    nulls = nulls if absent is None else nulls - totals(absent, fronts, stops)
    return with_nulls(aggregate, found, values, nulls)


def _covers(column: Column | None) -> TypeGuard[KeptColumn]:
    return isinstance(column, KeptColumn) and column.family.covers


def _are_alike(a: Column, b: Column | None) -> bool:
    return isinstance(a, NativeColumn) and isinstance(b, NativeColumn) and a.is_like(b)


def _absent_in_order(frame: Frame, aggregate: Aggregate) -> Ints | None:
    found = absent_rows(frame, aggregate)
    in_order = found if found is None or frame.permutation is None else found[frame.permutation]
    return None if in_order is None else in_order.astype(np.int64)


def needs_order(aggregate: Aggregate, schema: pa.Schema) -> bool:
    """Whether the rows of a slice must be combined in the order of their times.

    Not for commutative aggregates, and not for those that pick a row and compare natively: these remember
    times."""
    monoid = aggregate.monoid
    if monoid.commutative or not aggregate.inputs:
        return False
    picked = picked_input(monoid)
    if picked is None:
        return True
    kind = plain_type(schema.field(aggregate.columns[0]).type)
    compares = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return picked == 1 and not (compares or pa.types.is_temporal(kind))
