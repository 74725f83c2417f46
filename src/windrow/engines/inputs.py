"""One aggregate over ranges of a frame: its columns in, its result column out.

Aggregates that pick a row (first, last, arg_max, arg_min) carry row numbers instead of values, so that text
and structs are picked natively too; largest and smallest moments go through as integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.compile.columns import native_columns
from windrow.engines.aggregate import LastRows, RowRanges, native_results, plain_results
from windrow.engines.frame import Frame
from windrow.monoids.base import Aggregate, Monoid

__all__ = ["aggregate_column", "result_array", "skipped_rows", "value_counts", "with_nulls"]

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: aggregates whose result is a value of one of their columns: which input it is
_PICKED = {"first": 0, "last": 0, "arg_max": 1, "arg_min": 1}


def aggregate_column(frame: Frame, aggregate: Aggregate, over: RowRanges | LastRows, min_count: int) -> Any:
    """The result for each range; where ranges belong to rows, for each row of the table, null if it has no
    time."""
    monoid = aggregate.monoid
    a_row = isinstance(over, LastRows) or over.one_a_row
    if not aggregate.columns:  # count(): rows, nulls included
        counted = _as_ranges(over)
        rows_in = pa.array(counted.stops - counted.fronts, pa.int64())
        return frame.scattered(rows_in) if a_row else rows_in
    arrays = [frame.raw(name) for name in aggregate.columns]
    column = _native(frame, monoid, arrays, over)
    in_order = column is None
    skipped = _skipped(monoid, arrays)
    may_be_empty = skipped is not None or min_count > 1 or not a_row
    ranges = _as_ranges(over) if column is None or may_be_empty else None
    if column is None:
        assert ranges is not None
        rows = list(zip(*(frame.column(name).to_pylist() for name in aggregate.columns), strict=True))
        column = result_array(monoid, plain_results(monoid, rows, ranges))
    if ranges is not None:
        counts = value_counts(frame, skipped, ranges)
        if a_row and not in_order:
            counts = (frame.spread(counts[0]), frame.spread(counts[1]))
        column = with_nulls(monoid, column, *counts, min_count)
    if not a_row:
        return column
    return frame.scattered(column) if in_order else frame.without_rejected(column)


def _as_ranges(over: RowRanges | LastRows) -> RowRanges:
    return over.as_ranges() if isinstance(over, LastRows) else over


def value_counts(frame: Frame, skipped: Mask | None, over: RowRanges) -> tuple[Ints, Ints]:
    """How many rows of each range count, and how many are skipped."""
    rows = over.stops - over.fronts
    if skipped is None:
        return rows, np.zeros(1, np.int64)
    in_order = skipped if frame.permutation is None else skipped[frame.permutation]
    before = np.concatenate([[0], np.cumsum(in_order)])
    nulls = before[over.stops] - before[over.fronts]
    return rows - nulls, nulls


def skipped_rows(frame: Frame, aggregate: Aggregate) -> Mask | None:
    """Which rows of the table the aggregate skips (None: none)."""
    return _skipped(aggregate.monoid, [frame.raw(name) for name in aggregate.columns])


def _skipped(monoid: Monoid, arrays: list[Any]) -> Mask | None:
    found: Mask | None = None
    for array in arrays:
        ignores_nan = monoid.nan == "ignore" and pa.types.is_floating(array.type)
        if array.null_count or ignores_nan:
            mask = np.asarray(pc.is_null(array, nan_is_null=ignores_nan).to_numpy(zero_copy_only=False))
            found = mask if found is None else found | mask
    return found


def _native(frame: Frame, monoid: Monoid, arrays: list[Any], over: RowRanges | LastRows) -> Any:
    """The result column by native code, or None."""
    picked = _PICKED.get(monoid.name) if monoid.builtin else None
    inputs = list(arrays)
    if picked is not None:
        numbers = pa.array(np.arange(len(arrays[0]), dtype=np.int64))
        inputs[picked] = pc.if_else(pc.is_valid(arrays[picked]), numbers, pa.scalar(None, pa.int64()))
    of_input = monoid.builtin and monoid.name in ("max", "min")
    is_moment = pa.types.is_temporal(arrays[0].type)
    if is_moment and (of_input or picked == 1):
        inputs[0] = _as_integers(arrays[0])
    columns = native_columns(tuple(inputs), monoid)
    computed = None if columns is None else native_results(monoid, columns, frame.permutation, over)
    if computed is None:
        return None
    out, valid = computed
    if picked is not None:
        # a range without a value picks any row: it is made null afterwards
        rows = np.clip(out, 0, max(len(arrays[picked]) - 1, 0))
        return arrays[picked].take(pa.array(rows)) if len(arrays[picked]) else arrays[picked].slice(0, 0)
    column = _array_of(out, valid, monoid)
    return _as_moments(column, arrays[0].type) if is_moment and of_input else column


def _as_integers(array: Any) -> Any:
    return array.cast(pa.int32()).cast(pa.int64()) if array.type.bit_width == 32 else array.cast(pa.int64())


def _as_moments(column: Any, kind: Any) -> Any:
    return column.cast(pa.int32()).cast(kind) if kind.bit_width == 32 else column.cast(kind)


def _array_of(out: Any, valid: Any, monoid: Monoid) -> Any:
    if out.dtype.names is not None:
        fields = [pa.array(out[name]) for name in out.dtype.names]
        return pa.StructArray.from_arrays(fields, list(out.dtype.names))
    column = pa.array(out, mask=None if valid is None else ~valid)
    return column if monoid.result_type is None else column.cast(_arrow_type(monoid.result_type))


def result_array(monoid: Monoid, results: list[Any]) -> Any:
    """Python results as an Arrow array; a clear error names the aggregate where Arrow cannot hold them."""
    plain = [r._asdict() if hasattr(r, "_asdict") else r for r in results]
    kind = None if monoid.result_type is None else _arrow_type(monoid.result_type)
    try:
        return pa.array(plain, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
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
        return pc.if_else(pa.array(values == 0), pa.scalar(empty, column.type), column)
    return pc.if_else(pa.array(missing), pa.scalar(None, column.type), column)
