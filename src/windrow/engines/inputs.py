"""One aggregate over ranges of a frame: its columns in, its result column out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.compile.columns import Columns, native_columns
from windrow.engines.aggregate import native_results, plain_results
from windrow.engines.frame import Frame
from windrow.monoids.base import Aggregate, Monoid

__all__ = ["aggregate_column", "result_array", "value_counts", "with_nulls"]

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: aggregates whose result is a value of one of their columns: which input it is
_PICKED = {"first": 0, "last": 0, "arg_max": 1, "arg_min": 1}
#: aggregates whose result has the type of their input
_OF_INPUT = ("max", "min")


def aggregate_column(
    frame: Frame, aggregate: Aggregate, fronts: Ints, stops: Ints, disjoint: bool, min_count: int
) -> pa.Array:
    """The result of an aggregate for each range of rows."""
    monoid = aggregate.monoid
    if not aggregate.columns:  # count(): rows, nulls included
        return pa.array(stops - fronts, pa.int64())
    arrays = [frame.column(name) for name in aggregate.columns]
    values, nulls = value_counts(monoid, arrays, fronts, stops)
    computed = _native(monoid, arrays, fronts, stops, disjoint)
    if computed is None:
        rows = list(zip(*(array.to_pylist() for array in arrays), strict=True))
        results: Any = plain_results(monoid, rows, fronts, stops)
        column = result_array(monoid, results)
    else:
        column = computed
    return with_nulls(monoid, column, values, nulls, min_count)


def value_counts(monoid: Monoid, arrays: list[Any], fronts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """How many rows of each range count, and how many are skipped."""
    skipped = _skipped(monoid, arrays)
    if skipped is None:
        return stops - fronts, np.zeros(len(fronts), np.int64)
    before = np.concatenate([[0], np.cumsum(skipped)])
    nulls = before[stops] - before[fronts]
    return stops - fronts - nulls, nulls


def _skipped(monoid: Monoid, arrays: list[Any]) -> Mask | None:
    found: Mask | None = None
    for array in arrays:
        ignores_nan = monoid.nan == "ignore" and pa.types.is_floating(array.type)
        if array.null_count or ignores_nan:
            mask = np.asarray(pc.is_null(array, nan_is_null=ignores_nan).to_numpy(zero_copy_only=False))
            found = mask if found is None else found | mask
    return found


def _native(monoid: Monoid, arrays: list[Any], fronts: Ints, stops: Ints, disjoint: bool) -> Any:
    """The result column by native code, or None."""
    picked = _PICKED.get(monoid.name) if monoid.builtin else None
    inputs = list(arrays)
    if picked is not None:
        numbers = pa.array(np.arange(len(arrays[0]), dtype=np.int64))
        inputs[picked] = pc.if_else(pc.is_valid(arrays[picked]), numbers, pa.scalar(None, pa.int64()))
    restored = None
    if monoid.builtin and monoid.name in _OF_INPUT and pa.types.is_temporal(arrays[0].type):
        restored = arrays[0].type
        inputs[0] = _as_integers(arrays[0])
    elif picked == 1 and pa.types.is_temporal(arrays[0].type):
        inputs[0] = _as_integers(arrays[0])
    columns = native_columns(tuple(inputs), monoid)
    if columns is None:
        return None
    computed = native_results(monoid, _aligned(columns), fronts, stops, disjoint)
    if computed is None:
        return None
    out, valid = computed
    if picked is not None:
        # a range without a value picks row 0 and is made null afterwards
        return arrays[picked].take(pa.array(out)) if len(arrays[picked]) else arrays[picked].slice(0, 0)
    column = _array_of(out, valid, monoid)
    return column if restored is None else _as_moments(column, restored)


def _aligned(columns: Columns) -> Columns:
    return Columns(tuple(np.ascontiguousarray(a) for a in columns.arrays), columns.nulls)


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
        missing |= nulls > 0
    if not missing.any():
        return column
    empty = monoid.empty_result() if monoid.nulls == "skip" else None
    if empty is not None and not min_count:
        return pc.if_else(pa.array(values == 0), pa.scalar(empty, column.type), column)
    return pc.if_else(pa.array(missing), pa.scalar(None, column.type), column)
