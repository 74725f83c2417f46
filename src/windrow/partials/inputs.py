"""One aggregate over ranges of a frame: its columns in, its result column out.

Aggregates that pick a row (first, last, arg_max, arg_min) carry row numbers instead of values, so that text
and structs are picked natively too; largest and smallest moments go through as integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints, Mask
from windrow.compile.columns import Columns, arrow_array, native_columns
from windrow.errors import IntegerOverflow, naming_row, rows_named
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.over_ranges import native_results, plain_results
from windrow.partials.picked import picked_input
from windrow.partials.ranges import Over, RowRanges
from windrow.rows.frame import Frame

__all__ = [
    "aggregate_column",
    "array_of",
    "as_moments",
    "check_integers",
    "count_column",
    "first_beyond",
    "is_extreme_moment",
    "native_inputs",
    "result_array",
    "skipped_rows",
    "skipped_values",
    "value_counts",
    "with_nulls",
    "without_values",
]


def aggregate_column(frame: Frame, aggregate: Aggregate, over: Over, min_count: int) -> Any:
    """The result for each range; where ranges belong to rows, for each row of the table, null if it has no
    time."""
    monoid = aggregate.monoid
    a_row = over.one_a_row
    if not aggregate.columns:  # count(): rows, nulls included
        counts = count_column(over.as_ranges(), min_count)
        return frame.scattered(counts) if a_row else counts
    arrays = [frame.raw(name) for name in aggregate.columns]
    skipped = skipped_values(monoid, arrays)
    may_be_empty = skipped is not None or min_count > 1 or not a_row
    counts = value_counts(frame, skipped, over.as_ranges()) if may_be_empty else None
    column = _native(frame, aggregate, arrays, over, None if counts is None else without_values(counts[0]))
    in_order = column is None
    if column is None:
        rows = list(zip(*(frame.column(name).to_pylist() for name in aggregate.columns), strict=True))
        ranges = over.as_ranges()
        with naming_row(frame.describe):
            results = plain_results(monoid, rows, ranges)
        check_integers(monoid, results, lambda place: _rows_of(frame, ranges, place))
        column = result_array(monoid, results)
    if counts is not None:
        values, nulls = counts
        if a_row and not in_order:
            values, nulls = frame.spread(values), frame.spread(nulls)
        column = with_nulls(monoid, column, values, nulls, min_count)
    if is_unsigned_extreme(monoid, arrays[0]):
        column = column.cast(pa.uint64())
    if not a_row:
        return column
    return frame.scattered(column) if in_order else frame.without_rejected(column)


def _rows_of(frame: Frame, ranges: RowRanges, place: int) -> str:
    """Which rows a range holds, for messages."""
    front, stop = int(ranges.fronts[place]), int(ranges.stops[place])
    first, last = frame.axis.column(frame.times[[front, stop - 1]])
    row = front if frame.permutation is None else int(frame.permutation[front])
    return rows_named(first, last, [frame.table.column(name)[row].as_py() for name in frame.by])


def check_integers(monoid: Monoid, results: list[Any], rows: Callable[[int], str]) -> None:
    """Raise for a result that int64 cannot hold, where results are integers; ``rows`` names those of it."""
    place = first_beyond(monoid, results)
    if place is not None:
        raise IntegerOverflow.of(monoid.name, results[place], rows(place))


def first_beyond(monoid: Monoid, results: list[Any]) -> int | None:
    """The place of the first integer that int64 cannot hold, where an aggregate's integers are int64."""
    if not monoid.integer_results:
        return None
    places = (k for k, r in enumerate(results) if isinstance(r, int) and not -(2**63) <= r < 2**63)
    return next(places, None)


def count_column(over: RowRanges, min_count: int) -> Any:
    """The number of rows in each range, null where it is below ``min_count``."""
    rows = over.stops - over.fronts
    return pa.array(rows, pa.int64(), mask=rows < min_count if min_count else None)


def value_counts(frame: Frame, skipped: Mask | None, over: RowRanges) -> tuple[Ints, Ints]:
    """How many rows of each range count, and how many are skipped."""
    rows = over.stops - over.fronts
    if skipped is None:
        return rows, np.zeros(1, np.int64)
    in_order = skipped if frame.permutation is None else skipped[frame.permutation]
    before = np.concatenate([[0], np.cumsum(in_order)])
    nulls = before[over.stops] - before[over.fronts]
    return rows - nulls, nulls


def without_values(counts: Ints) -> Mask | None:
    """Which ranges hold no value, by how many they hold (None: none)."""
    bare = counts == 0
    return bare if bare.any() else None


def skipped_rows(frame: Frame, aggregate: Aggregate) -> Mask | None:
    """Which rows of the table the aggregate skips (None: none)."""
    return skipped_values(aggregate.monoid, [frame.raw(name) for name in aggregate.columns])


def skipped_values(monoid: Monoid, arrays: list[Any]) -> Mask | None:
    """Which rows of these columns an aggregate skips (None: none)."""
    found: Mask | None = None
    for array in arrays:
        ignores_nan = monoid.nan == "ignore" and pa.types.is_floating(array.type)
        if array.null_count or ignores_nan:
            mask = np.asarray(pc.is_null(array, nan_is_null=ignores_nan).to_numpy(zero_copy_only=False))
            found = mask if found is None else found | mask
    return found


def _native(frame: Frame, aggregate: Aggregate, arrays: list[Any], over: Over, bare: Mask | None) -> Any:
    """The result column by native code, or None; what stands for ``bare`` ranges is not defined."""
    monoid = aggregate.monoid
    columns = frame.remembered(aggregate, lambda: native_inputs(monoid, arrays))
    if columns is None:
        return None
    try:
        computed = native_results(monoid, columns, frame.permutation, over, bare)
    except Exception:
        if monoid.builtin:
            raise
        return None  # the plain form will raise again, and can name the row
    if computed is None:
        return None
    out, valid = computed
    picked = picked_input(monoid)
    if picked is not None:
        # a range without a value picks any row: it is made null afterwards
        rows = np.clip(out, 0, max(len(arrays[picked]) - 1, 0))
        return arrays[picked].take(pa.array(rows)) if len(arrays[picked]) else arrays[picked].slice(0, 0)
    if is_extreme_moment(monoid, arrays[0]):
        return as_moments(out, arrays[0].type)
    return array_of(out, valid, monoid)


def native_inputs(monoid: Monoid, arrays: list[Any]) -> Columns | None:
    """The columns in native form, row numbers in place of what is picked; None where there is none."""
    picked = picked_input(monoid)
    inputs = list(arrays)
    if picked is not None:
        numbers = pa.array(np.arange(len(arrays[0]), dtype=np.int64))
        inputs[picked] = pc.if_else(pc.is_valid(arrays[picked]), numbers, pa.scalar(None, pa.int64()))
    if is_extreme_moment(monoid, arrays[0]) or (picked == 1 and pa.types.is_temporal(arrays[0].type)):
        inputs[0] = as_integers(arrays[0])
    return native_columns(tuple(inputs), monoid)


def is_extreme_moment(monoid: Monoid, array: Any) -> bool:
    """Whether the largest or smallest of moments is asked for, which are compared as integers."""
    return monoid.is_extreme and bool(pa.types.is_temporal(array.type))


def is_unsigned_extreme(monoid: Monoid, array: Any) -> bool:
    """Whether the largest or smallest of unsigned integers of 64 bits is asked for, which is one itself."""
    return monoid.is_extreme and bool(pa.types.is_uint64(array.type))


def as_integers(array: Any) -> Any:
    return array.cast(pa.int32()).cast(pa.int64()) if array.type.bit_width == 32 else array.cast(pa.int64())


def as_moments(out: Any, kind: Any) -> Any:
    """Integers as moments; what stands for no value, and is made null afterwards, may not fit 32 bits."""
    if kind.bit_width == 32:
        limits = np.iinfo(np.int32)
        return pa.array(np.clip(out, limits.min, limits.max).astype(np.int32)).cast(kind)
    return pa.array(out).cast(kind)


def array_of(out: Any, valid: Any, monoid: Monoid) -> Any:
    """Native results as an Arrow array."""
    if out.dtype.names is not None:
        fields = [pa.array(out[name]) for name in out.dtype.names]
        return pa.StructArray.from_arrays(fields, list(out.dtype.names))
    column = pa.array(out, mask=None if valid is None else ~valid)
    return column if monoid.result_type is None else column.cast(_arrow_type(monoid.result_type))


def result_array(monoid: Monoid, results: list[Any]) -> Any:
    """Python results as an Arrow array; a clear error names the aggregate where Arrow cannot hold them."""
    kind = None if monoid.result_type is None else _arrow_type(monoid.result_type)
    try:
        return arrow_array(results, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise TypeError(
            f"the results of {monoid.name!r} make no Arrow column ({error}): "
            f"give result_type= to wr.monoid(...), or lower to numbers, text, lists or dicts"
        ) from error


def _arrow_type(given: Any) -> Any:
    return pa.type_for_alias(given) if isinstance(given, str) else given


def with_nulls(monoid: Monoid, column: Any, values: Ints, nulls: Ints, min_count: int) -> Any:
    """Null where too few values are; the aggregate's own result for none (count: 0) where it has one."""
    missing = values < max(min_count, 1)
    if monoid.nulls == "propagate":
        missing = missing | (nulls > 0)
    if not missing.any():
        return column
    empty = monoid.empty_result() if monoid.nulls == "skip" else None
    if empty is not None and not min_count:
        if not _may_hold(column.type, empty):
            pairs = zip(column.to_pylist(), (values == 0).tolist(), strict=True)
            return pa.array([empty if is_none else result for result, is_none in pairs])
        return pc.if_else(pa.array(values == 0), pa.scalar(empty, column.type), column)
    return pc.if_else(pa.array(missing), pa.scalar(None, column.type), column)


def _may_hold(kind: Any, result: Any) -> bool:
    """Whether a column of this type may hold a result that the results which made the type do not show."""
    if _is_untyped(kind):
        return False
    try:
        pa.scalar(result, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def _is_untyped(kind: Any) -> bool:
    """Whether no result shows the type of it, or of a part of it."""
    if pa.types.is_struct(kind):
        return any(_is_untyped(field.type) for field in kind)
    return bool(pa.types.is_null(kind))
