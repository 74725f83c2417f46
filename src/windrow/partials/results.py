"""Results as Arrow columns: of native code or of Python, null where there are too few values.

Invariant: a result that its type cannot hold is an error and never another number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints, Mask
from windrow.compile.columns import arrow_array
from windrow.errors import Raised
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.decimals import rounded_half_up
from windrow.partials.ranges import RowRanges

__all__ = [
    "array_of",
    "arrow_type",
    "as_moments",
    "as_type",
    "check_fits",
    "count_column",
    "first_beyond",
    "holds_decimals",
    "plain_column",
    "result_array",
    "with_nulls",
]


def check_fits(monoid: Monoid, results: list[Any], kind: Any, rows: Callable[[int], str]) -> None:
    """Raise for a result that is too large for its type, which is ``kind`` where it is a decimal; ``rows``
    names the rows of a result."""
    beyond = first_beyond(monoid, results, kind)
    if beyond is not None:
        place, number, exceeded = beyond
        raise Raised.overflown(monoid, number, exceeded, place).named(rows(place))


def first_beyond(monoid: Monoid, results: list[Any], kind: Any) -> tuple[int, Any, Any] | None:
    """The place of the first result that is too large for its type, the number, and the type."""
    if monoid.picks is None and holds_decimals(kind):
        beyond = ((k, *found) for k, r in enumerate(results) for found in _decimals_beyond(r, kind))
        return next(beyond, None)
    if not monoid.integer_results:
        return None
    places = (k for k, r in enumerate(results) if isinstance(r, int) and not -(2**63) <= r < 2**63)
    return next(((place, results[place], pa.int64()) for place in places), None)


def holds_decimals(kind: Any) -> bool:
    """Whether a type is one of decimals, or has one in it; None is no type."""
    if kind is None or pa.types.is_decimal(kind):
        return kind is not None
    return any(holds_decimals(kind.field(k).type) for k in range(kind.num_fields))


def _decimals_beyond(result: Any, kind: Any) -> Iterator[tuple[Any, Any]]:
    """The decimals in a result that have too many digits before the point, each with its type."""
    if pa.types.is_decimal(kind) and result:
        if _with_digits(result, kind).adjusted() >= kind.precision - kind.scale:
            yield result, kind
    elif result is not None and kind.num_fields:
        for value, inner in _parts(result, kind):
            yield from _decimals_beyond(value, inner)


def _with_digits(result: Any, kind: Any) -> Any:
    """A result whose decimals have as many digits behind the point as their types."""
    if result is None or not kind.num_fields:
        return (
            rounded_half_up(result, kind.scale)
            if result is not None and pa.types.is_decimal(kind)
            else result
        )
    parts = [_with_digits(value, inner) for value, inner in _parts(result, kind)]
    if pa.types.is_struct(kind):
        return dict(zip((field.name for field in kind), parts, strict=True))
    return parts


def _parts(result: Any, kind: Any) -> list[tuple[Any, Any]]:
    """The members of a struct, or of a list, each with its type."""
    if not pa.types.is_struct(kind):
        return [(value, kind.value_type) for value in result]
    members = result._asdict() if hasattr(result, "_asdict") else result
    return [(members[field.name], field.type) for field in kind]


def count_column(aggregate: Aggregate, over: RowRanges) -> Any:
    """The number of rows in each range, null where there are too few."""
    rows = over.row_counts
    return pa.array(rows, pa.int64(), mask=rows < aggregate.least if aggregate.least else None)


def array_of(out: Any, valid: Any, monoid: Monoid) -> Any:
    """Native results as an Arrow array."""
    kind = None if monoid.result_type is None else arrow_type(monoid.result_type)
    if out.dtype.names is not None and kind is not None and pa.types.is_list(kind):
        return _lists_of(out, kind)
    if out.dtype.names is not None:
        fields = [pa.array(out[name]) for name in out.dtype.names]
        return pa.StructArray.from_arrays(fields, list(out.dtype.names))
    column = pa.array(out, mask=None if valid is None else ~valid)
    return column if kind is None else column.cast(kind)


def _lists_of(out: Any, kind: Any) -> Any:
    """Native tuples as lists of this type."""
    width = len(out.dtype.names)
    members = np.stack([out[name] for name in out.dtype.names], axis=1).ravel()
    starts = np.arange(0, members.size + 1, width)
    return pa.LargeListArray.from_arrays(starts, pa.array(members)).cast(kind)


def result_array(monoid: Monoid, results: list[Any], kind: Any = None) -> Any:
    """Python results as an Arrow array. ``kind``: the type that is known of them; values that are picked, and
    decimals, have it, and others are as Arrow infers, unless the aggregate declares it. A clear error names
    the aggregate where Arrow cannot hold them."""
    if monoid.result_type is not None:
        kind = arrow_type(monoid.result_type)
    elif monoid.picks is None:
        kind = kind if holds_decimals(kind) else None
        results = results if kind is None else [_with_digits(result, kind) for result in results]
    try:
        return arrow_array(results, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise TypeError(
            f"the results of {monoid.name!r} make no Arrow column ({error}): "
            f"give result_type= to wr.monoid(...), or lower to numbers, text, lists or dicts"
        ) from error


def arrow_type(given: Any) -> Any:
    """The type that an aggregate declares: an Arrow type, its name, or ``list[...]`` of a name.

    >>> arrow_type("float64"), arrow_type("list[int64]")
    (DataType(double), ListType(list<item: int64>))
    """
    if not isinstance(given, str):
        return given
    return pa.list_(pa.type_for_alias(given[5:-1])) if given[:5] == "list[" else pa.type_for_alias(given)


def plain_column(
    aggregate: Aggregate,
    kind: Any,
    results: list[Any],
    counts: tuple[Ints, Ints],
    rows: Callable[[int], str],
) -> Any:
    """Results of Python functions, one per range, as a column of the type that is known of them (null:
    results show it). ``counts``: how many values and nulls each range holds; ``rows`` names its rows."""
    check_fits(aggregate.monoid, results, kind, rows)
    column = result_array(aggregate.monoid, results, kind)
    return as_type(with_nulls(aggregate, column, *counts), kind)


def as_type(column: Any, kind: Any) -> Any:
    """A result column in the type that is known of its results (null: none is)."""
    if column.type == kind or pa.types.is_null(kind):
        return column
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column  # integers that no longer fit, say


def as_moments(out: Any, kind: Any) -> Any:
    """Integers as moments; what stands for no value, and is made null afterwards, may not fit 32 bits."""
    if kind.bit_width == 32:
        limits = np.iinfo(np.int32)
        return pa.array(np.clip(out, limits.min, limits.max).astype(np.int32)).cast(kind)
    return pa.array(out).cast(kind)


def with_nulls(aggregate: Aggregate, column: Any, values: Ints, nulls: Ints) -> Any:
    """Null where too few values are; the aggregate's own result for none (count: 0) where it has one. Where
    nulls propagate, one makes the result null."""
    monoid, least = aggregate.monoid, aggregate.least
    missing = values < max(least, 1)
    empty = monoid.empty_result()
    if empty is not None and not least and missing.any():
        column, missing = _with_empty(column, missing, empty), np.zeros(1, np.bool_)
    if monoid.nulls == "propagate":
        missing = missing | (nulls > 0)
    if not missing.any():
        return column
    return pc.if_else(pa.array(missing), pa.scalar(None, column.type), column)


def _with_empty(column: Any, bare: Mask, empty: Any) -> Any:
    """A column with the result of no values where there are none."""
    if _may_hold(column.type, empty):
        return pc.if_else(pa.array(bare), pa.scalar(empty, column.type), column)
    pairs = zip(column.to_pylist(), bare.tolist(), strict=True)
    return pa.array([empty if is_none else result for result, is_none in pairs])


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
