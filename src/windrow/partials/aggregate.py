"""One aggregate over ranges of a frame: its columns in, its result column out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.errors import naming_row, rows_named
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.inputs import (
    absent_rows,
    input_arrays,
    is_extreme_moment,
    native_inputs,
    ordered_arrays,
    skipped_values,
    skipping,
    value_counts,
    without_values,
)
from windrow.partials.over_ranges import native_results, plain_results
from windrow.partials.picked import picked_input
from windrow.partials.ranges import Over, RowRanges, SliceRanges
from windrow.partials.result_types import type_over
from windrow.partials.results import array_of, as_moments, as_type, count_column, plain_column, with_nulls
from windrow.partials.value_aggregates.rows import kept_results, sharing_key
from windrow.rows.frame import Frame
from windrow.swag.native.fallback import warn_of_error

__all__ = ["aggregate_column", "aggregate_columns", "aggregate_sizes"]


def aggregate_columns(frame: Frame, aggregates: Sequence[Aggregate], over: Over) -> list[Any]:
    """The result columns of several aggregates; those that keep the same values share what is found out about
    them."""
    keys = [sharing_key(aggregate) for aggregate in aggregates]
    shared = {key: dict[Any, Any]() for key, count in Counter(keys).items() if key is not None and count > 1}
    pairs = zip(aggregates, keys, strict=True)
    return [aggregate_column(frame, a, over, shared.get(key)) for a, key in pairs]


def aggregate_sizes(frame: Frame, aggregates: Sequence[Aggregate], sizes: Sequence[Over]) -> list[Any]:
    """The result columns of each aggregate, one for each size."""
    found = [aggregate_columns(frame, aggregates, over) for over in sizes]
    return [columns[k] for k in range(len(aggregates)) for columns in found]


def aggregate_column(
    frame: Frame, aggregate: Aggregate, over: Over, shared: dict[Any, Any] | None = None
) -> Any:
    """The result for each range; where ranges belong to rows, for each row of the table, null if it has no
    time. ``shared``: what others that keep the same values have found out."""
    monoid = aggregate.monoid
    a_row = over.one_a_row
    if not aggregate.inputs:  # count(): rows, nulls included
        counts = count_column(aggregate, over.as_ranges())
        return frame.scattered(counts) if a_row else counts
    arrays, absent = input_arrays(frame, aggregate), absent_rows(frame, aggregate)
    kind = type_over(aggregate, [array.type for array in arrays])
    skipped = skipped_values(monoid, arrays)
    may_be_empty = skipped is not None or aggregate.least > 1 or not over.holds_rows
    counts = value_counts(frame, skipped, over, absent) if may_be_empty else None
    column = kept_results(frame, aggregate, skipped, over, shared)
    if column is not None:
        values, nulls = value_counts(frame, skipped, over, absent) if counts is None else counts
        column = as_type(with_nulls(aggregate, column, values, nulls), kind)
        return frame.scattered(column) if a_row else column
    bare = None if counts is None else without_values(counts[0])
    column, error = _native(frame, aggregate, arrays, over, bare)
    if column is None:
        counts = value_counts(frame, skipped, over.as_ranges(), absent) if counts is None else counts
        column = _plain(frame, aggregate, kind, over.as_ranges(), counts)
        if error is not None:
            warn_of_error(monoid, error)
        return frame.scattered(column) if a_row else column
    if counts is not None:
        values, nulls = (frame.spread(count) for count in counts) if a_row else counts
        column = with_nulls(aggregate, column, values, nulls)
    column = as_type(column, kind)
    return frame.without_rejected(column) if a_row else column


def _plain(
    frame: Frame,
    aggregate: Aggregate,
    kind: Any,
    ranges: RowRanges,
    counts: tuple[Ints, Ints],
) -> Any:
    """The result column by Python functions, in processing order; ``counts``: how many values and nulls each
    range holds."""
    rows = list(zip(*(array.to_pylist() for array in ordered_arrays(frame, aggregate)), strict=True))
    with naming_row(frame.describe):
        results = plain_results(skipping(aggregate), rows, ranges)
    return plain_column(aggregate, kind, results, counts, lambda place: _rows_of(frame, ranges, place))


def _native(
    frame: Frame, aggregate: Aggregate, arrays: list[Any], over: Over, bare: Mask | None
) -> tuple[Any, Exception | None]:
    """The result column by native code, or None and what a user's functions raised there: the plain form will
    raise it again, and can name the row. What stands for ``bare`` ranges is not defined."""
    monoid = aggregate.monoid
    columns = frame.remembered(aggregate, lambda: native_inputs(monoid, arrays))
    if columns is None:
        return None, None
    try:
        computed = native_results(monoid, columns, _places(frame, over), over, bare)
    except Exception as error:
        if monoid.builtin:
            raise
        return None, error
    return None if computed is None else _as_column(monoid, arrays, *computed), None


def _as_column(monoid: Monoid, arrays: list[Any], out: Any, valid: Any) -> Any:
    """Native results as a column."""
    picked = picked_input(monoid)
    if picked is not None:
        # a range without a value picks any row: it is made null afterwards
        if not len(arrays[picked]):
            return pa.nulls(len(out), arrays[picked].type)
        return arrays[picked].take(pa.array(np.clip(out, 0, len(arrays[picked]) - 1)))
    if is_extreme_moment(monoid, arrays[0].type):
        return as_moments(out, arrays[0].type)
    return array_of(out, valid, monoid)


def _places(frame: Frame, over: Over) -> Ints | None:
    """Where rows lie in the table, by their places in the order in which they are read (None: the same)."""
    is_sorted = not isinstance(over, SliceRanges) or over.slices.cells is None
    return frame.permutation if is_sorted else frame.rows


def _rows_of(frame: Frame, ranges: RowRanges, place: int) -> str:
    """Which rows a range holds, for messages."""
    front, stop = int(ranges.fronts[place]), int(ranges.stops[place])
    first, last = frame.axis.column(frame.times[[front, stop - 1]])
    row = front if frame.permutation is None else int(frame.permutation[front])
    return rows_named(first, last, [frame.table.column(name)[row].as_py() for name in frame.by])
