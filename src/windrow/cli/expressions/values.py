"""A part of an expression whose type is known, and that gives an Arrow array for rows.

Rows for which nothing is asked are not computed, as in Spark: a branch is evaluated only for the rows that
take it, an operand only where those before it are not null. So ``case when b <> 0 then a / b end`` divides
nothing by zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.cli.expressions.tree import Constant
from windrow.cli.expressions.types import constant_type

__all__ = ["Typed", "constant_of", "evaluated_where", "merged", "strict"]


@dataclass(frozen=True)
class Typed:
    """``may_fail``: whether a value in a row may stop the job."""

    kind: pa.DataType
    values: Callable[[pa.RecordBatch], pa.Array]
    may_fail: bool = False
    constant: Constant | None = None


def constant_of(constant: Constant) -> Typed:
    kind = constant_type(constant)
    value: Any = constant.value
    if isinstance(value, Decimal):
        value = value.quantize(Decimal(1).scaleb(-kind.scale))
    scalar = pa.scalar(value, kind)
    return Typed(kind, lambda rows: pa.repeat(scalar, rows.num_rows), constant=constant)


def strict(kind: pa.DataType, work: Callable[..., pa.Array], *arguments: Typed, fails: bool = False) -> Typed:
    """A function of arrays whose result is null where an argument is. Arguments are evaluated in order, each
    only where those before are not null."""

    def values(rows: pa.RecordBatch) -> pa.Array:
        arrays: list[pa.Array] = []
        for argument in arguments:
            present = _all_valid(arrays) if argument.may_fail else None
            arrays.append(
                argument.values(rows) if present is None else evaluated_where(argument, rows, present)
            )
        return work(*arrays)

    return Typed(kind, values, fails or any(argument.may_fail for argument in arguments))


def _all_valid(arrays: Sequence[pa.Array]) -> np.ndarray[Any, Any] | None:
    """Where all are valid; None: everywhere."""
    with_nulls = [array for array in arrays if array.null_count]
    if not with_nulls:
        return None
    return np.logical_and.reduce([np.asarray(array.is_valid()) for array in with_nulls])


def evaluated_where(typed: Typed, rows: pa.RecordBatch, chosen: np.ndarray[Any, Any]) -> pa.Array:
    """Values of the chosen rows, null elsewhere."""
    if chosen.all():
        return typed.values(rows)
    return merged(typed.kind, rows.num_rows, [(np.flatnonzero(chosen), typed)], rows)


def merged(
    kind: pa.DataType, count: int, pieces: Sequence[tuple[np.ndarray[Any, Any], Typed]], rows: pa.RecordBatch
) -> pa.Array:
    """One array from values for disjoint sets of rows, given by their numbers; null for all others."""
    parts, places = [pa.nulls(0, kind)], []
    for numbers, typed in pieces:
        if len(numbers):
            parts.append(typed.values(rows.take(pa.array(numbers))))
            places.append(numbers)
    source = np.full(count, -1, dtype=np.int64)
    if places:
        where = np.concatenate(places)
        source[where] = np.arange(len(where))
    return pa.concat_arrays(parts).take(pa.array(source, mask=source < 0))
