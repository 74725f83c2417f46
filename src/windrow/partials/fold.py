"""Rows folded into partials, once: natively where an aggregate compiles for its columns, in plain Python
elsewhere.

Invariant: the rows of a slice are combined from left to right, or as they lie where their order says nothing
to the aggregate. What a user's function raises is named with its row and key.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.compile.columns import Columns
from windrow.compile.native import NativeMonoid, native
from windrow.errors import calling, naming_row
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.cells import Cells
from windrow.partials.columns import Column, NativeColumn, PickColumn, PlainColumn, UnseenColumn
from windrow.partials.inputs import (
    input_arrays,
    inputs_as_they_are,
    is_extreme_moment,
    native_form,
    native_inputs,
    ordered_arrays,
    skipped_values,
)
from windrow.partials.over_ranges import fold_rows_natively, integers_fit
from windrow.partials.picked import picked_input, timed
from windrow.partials.result_types import decimals_over
from windrow.partials.value_aggregates import family_of
from windrow.partials.value_aggregates.column import kept_column
from windrow.partials.value_aggregates.rows import kept_of_frame
from windrow.rows.frame import Frame
from windrow.swag.native.fallback import warn_of_error

__all__ = ["fold_in_any_order", "fold_rows", "may_fold_in_any_order"]


def may_fold_in_any_order(aggregate: Aggregate, by_time: bool = False) -> bool:
    """Whether the order of rows says nothing to an aggregate, and native code may fold them, by the aggregate
    alone. ``by_time``: one that picks a row remembers its time, and needs no order either."""
    monoid = aggregate.monoid
    if not aggregate.inputs:
        return True
    is_free = monoid.commutative or (by_time and picked_input(monoid) is not None)
    return is_free and bool(monoid.compiles_for) and monoid.wide is None and monoid.keeps is None


def fold_in_any_order(frame: Frame, aggregates: Sequence[Aggregate], by_time: bool = False) -> bool:
    """Whether native code folds these rows for all of these aggregates, in whatever order they come."""
    if not all(may_fold_in_any_order(a, by_time) for a in aggregates):
        return False
    columns = [(a.monoid, tuple([frame.raw(name).type for name in a.inputs])) for a in aggregates]
    return all(_compiles(monoid, kinds) for monoid, kinds in columns if kinds)


@functools.lru_cache(maxsize=1024)
def _compiles(monoid: Monoid, kinds: tuple[Any, ...]) -> bool:
    """Whether an aggregate has a native form over columns of these types."""
    return native_form(monoid, kinds) is not None


def fold_rows(frame: Frame, aggregate: Aggregate, starts: Ints, cells: Cells | None = None) -> Column:
    """Rows folded into slices, natively where the aggregate compiles for its columns.

    ``starts`` says where the rows of each slice start, and the end, in processing order. ``cells``: where
    rows go as they come, if native code folds them. Every row of the frame's table has a time."""
    arrays, monoid = input_arrays(frame, aggregate), aggregate.monoid
    if monoid.builtin and monoid.keeps is None:  # the usual case, in a few steps
        columns = inputs_as_they_are(monoid, arrays)
        simple = None if columns is None else _fold_columns(frame, aggregate, columns, starts, None, cells)
        if simple is not None:
            return simple
    skips = skipped_values(monoid, arrays)
    skipped = None if skips is None else _skipped_by_slice(frame, skips, starts, cells)
    if skipped is not None and any(pa.types.is_null(array.type) for array in arrays):
        return UnseenColumn(aggregate, skipped)  # what its type is, and so its form, is not known yet
    if aggregate.monoid.keeps is not None and family_of(aggregate.monoid, arrays[0].type) is not None:
        bag, before = kept_of_frame(frame, aggregate, skips)
        return kept_column(aggregate, skipped, bag, starts if before is None else before[starts])
    try:
        found = _fold_natively(frame, aggregate, arrays, starts, skipped, cells)
    except Exception as error:
        if aggregate.monoid.builtin:
            raise
        plain = _fold_plainly(frame, aggregate, starts, skipped)  # raises again, and can name the row
        warn_of_error(aggregate.monoid, error)
        return plain
    return found if found is not None else _fold_plainly(frame, aggregate, starts, skipped)


def _skipped_by_slice(frame: Frame, skips: Mask, starts: Ints, cells: Cells | None) -> Ints | None:
    if cells is not None:
        found = cells.counts(skips if frame.rows is None else skips[frame.rows])
    else:
        in_order = skips if frame.permutation is None else skips[frame.permutation]
        found = np.diff(np.concatenate([[0], np.cumsum(in_order)])[starts])
    return found if found.any() else None


def _fold_natively(
    frame: Frame,
    aggregate: Aggregate,
    arrays: list[Any],
    starts: Ints,
    skipped: Ints | None,
    cells: Cells | None,
) -> NativeColumn | PickColumn | None:
    monoid = aggregate.monoid
    if not monoid.compiles_for or monoid.wide is not None:
        return None
    columns = native_inputs(monoid, arrays)
    if columns is None:
        return None
    picked = monoid.picks
    if picked is None:
        kind = arrays[0].type
        moments = kind if monoid.is_extreme and is_extreme_moment(monoid, kind) else None
        return _fold_columns(frame, aggregate, columns, starts, skipped, cells, moments)
    columns = Columns((*columns.arrays, frame.unordered_times), columns.nulls)
    form = native(timed(monoid), columns.dtypes)
    if form is None:
        return None
    members = _members(frame, form, columns, starts, cells)
    rows = np.clip(members[-2], 0, max(len(arrays[picked]) - 1, 0))
    values = arrays[picked].take(pa.array(rows))
    return PickColumn(aggregate, skipped, form, (*members[:-2], members[-1]), values)


def _fold_columns(
    frame: Frame,
    aggregate: Aggregate,
    columns: Columns,
    starts: Ints,
    skipped: Ints | None,
    cells: Cells | None,
    moments: Any = None,
) -> NativeColumn | None:
    """Columns in native form; None: there is no native form for them, or sums of integers may not fit."""
    monoid = aggregate.monoid
    if not monoid.compiles_for or monoid.wide is not None:
        return None
    form = native(monoid, columns.dtypes)
    if form is None or (form.adds_integers and not _fit(form, columns.arrays, starts)):
        return None
    return NativeColumn(aggregate, skipped, form, _members(frame, form, columns, starts, cells), moments)


def _members(
    frame: Frame, form: NativeMonoid, columns: Columns, starts: Ints, cells: Cells | None
) -> tuple[Any, ...]:
    if cells is not None:
        return cells.fold(form, columns, frame.rows)
    return fold_rows_natively(form, columns, frame.permutation, starts[:-1], starts[1:])


def _fit(form: NativeMonoid, arrays: tuple[Any, ...], starts: Ints) -> bool:
    """Whether no sum over the rows of a slice can leave 64 bits."""
    if integers_fit(form, arrays, int(starts[-1])):
        return True
    return integers_fit(form, arrays, int(np.diff(starts).max(initial=0)))


def _fold_plainly(frame: Frame, aggregate: Aggregate, starts: Ints, skipped: Ints | None) -> PlainColumn:
    monoid = aggregate.monoid
    rows = list(zip(*(array.to_pylist() for array in ordered_arrays(frame, aggregate)), strict=True))
    objects = []
    with naming_row(frame.describe), calling(monoid, rows) as loop:
        for front, stop in itertools.pairwise(starts.tolist()):
            partial = monoid.identity
            for loop.place in range(front, stop):
                if not monoid.skips(rows[loop.place]):
                    partial = _added(monoid, partial, rows[loop.place])
            objects.append(partial)
    return PlainColumn(aggregate, skipped, objects, decimals_over(aggregate, input_arrays(frame, aggregate)))


def _added(monoid: Monoid, partial: Any, values: tuple[Any, ...]) -> Any:
    lifted = monoid.lift(*values)
    return lifted if partial is monoid.identity else monoid.combine(partial, lifted)
