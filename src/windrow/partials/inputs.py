"""The columns of an aggregate on their way in: their native form, and which of their rows are skipped.

A row that does not pass an aggregate's ``where`` is *absent* for it: here it becomes a null of the first
column, which every engine skips. Where nulls make a result null, absent rows are told apart from them.

Aggregates that pick a row (first, last, max_by and their like) carry row numbers instead of values, so that
text and structs are picked natively too; largest and smallest moments go through as integers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints, Mask
from windrow.compile.columns import Columns, native_columns
from windrow.compile.native import NativeMonoid, native
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.picked import picked_input
from windrow.partials.ranges import Over, SliceRanges
from windrow.rows.frame import Frame
from windrow.rows.pieces import between, counts_before
from windrow.swag.native.fallback import reason_for_types, warn_of_values

__all__ = [
    "AS_THEY_ARE",
    "absent_rows",
    "absent_values",
    "as_integers",
    "input_arrays",
    "inputs_as_they_are",
    "is_extreme_moment",
    "native_form",
    "native_inputs",
    "ordered_arrays",
    "passing_arrays",
    "plain_reason_over",
    "skipped_rows",
    "skipped_values",
    "skipping",
    "value_counts",
    "without_values",
]


#: types that kernels read where they lie, by their numbers
AS_THEY_ARE = {pa.float64().id, pa.int64().id}


def inputs_as_they_are(monoid: Monoid, arrays: list[Any]) -> Columns | None:
    """Columns that kernels read where they lie, and of which no row is skipped; None: others."""
    if monoid.picks is not None or monoid.moments or monoid.nan == "ignore":
        return None
    for array in arrays:
        if array.type.id not in AS_THEY_ARE or array.null_count:
            return None
    return Columns(tuple([array.to_numpy() for array in arrays]), None)


def native_inputs(monoid: Monoid, arrays: list[Any]) -> Columns | None:
    """The columns in native form, row numbers in place of what is picked; None where there is none."""
    found = inputs_as_they_are(monoid, arrays)
    if found is not None:
        return found
    picked = picked_input(monoid)
    inputs = list(arrays)
    if picked is not None:
        numbers = np.arange(len(arrays[0]), dtype=np.int64)
        inputs[picked] = pa.array(numbers, mask=skipped_values(monoid, [arrays[picked]]))
    if is_extreme_moment(monoid, arrays[0].type):
        inputs[0] = as_integers(arrays[0])
    if picked is not None and len(arrays) == 2 and pa.types.is_temporal(arrays[1 - picked].type):
        inputs[1 - picked] = as_integers(arrays[1 - picked])
    for place in monoid.moments:
        inputs[place] = as_microseconds(arrays[place])
        if monoid.only_moments and inputs[place] is arrays[place]:
            return None  # lift refuses numbers
    found = native_columns(tuple(inputs), monoid)
    if found is None:
        warn_of_values(monoid, inputs)
    return found


def native_form(monoid: Monoid, kinds: Sequence[Any]) -> NativeMonoid | None:
    """The native form over columns of these Arrow types; None where there is none."""
    columns = native_inputs(monoid, [pa.nulls(0, kind) for kind in kinds]) if _may_compile(monoid) else None
    return None if columns is None else native(monoid, columns.dtypes)


def plain_reason_over(monoid: Monoid, kinds: Sequence[Any]) -> str:
    """Why an aggregate has no native form over columns of these types; empty: it has one."""
    arrays = [pa.nulls(0, kind) for kind in kinds]
    columns = native_inputs(monoid, arrays) if _may_compile(monoid) else None
    return reason_for_types(monoid, arrays, None if columns is None else columns.dtypes)


def _may_compile(monoid: Monoid) -> bool:
    return bool(monoid.compiles_for) and monoid.wide is None


def is_extreme_moment(monoid: Monoid, kind: Any) -> bool:
    """Whether the largest or smallest of moments is asked for, which are compared as integers."""
    return monoid.is_extreme and bool(pa.types.is_temporal(kind))


def as_integers(array: Any) -> Any:
    return array.cast(pa.int32()).cast(pa.int64()) if array.type.bit_width == 32 else array.cast(pa.int64())


def as_microseconds(array: Any) -> Any:
    """Moments, dates and durations as integer microseconds, rounded down; other columns as they are.

    >>> as_microseconds(pa.array([-1, 2000, None], pa.timestamp("ns"))).to_pylist()
    [-1, 2, None]
    """
    kind = array.type
    if pa.types.is_date(kind):
        array, kind = array.cast(pa.timestamp("ms")), pa.timestamp("ms")
    if not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
        return array
    if kind.unit == "ns":
        whole = np.floor_divide(np.asarray(pc.fill_null(array.cast(pa.int64()), 0)), 1_000)
        return pa.array(whole, mask=np.asarray(pc.is_null(array)))
    is_duration = pa.types.is_duration(kind)
    return array.cast(pa.duration("us") if is_duration else pa.timestamp("us", kind.tz)).cast(pa.int64())


def input_arrays(frame: Frame, aggregate: Aggregate) -> list[Any]:
    """The columns of an aggregate as they lie in the table, null in rows that are absent for it."""
    if aggregate.where is None:
        return [frame.raw(name) for name in aggregate.columns]
    key = ("inputs", aggregate.inputs, aggregate.where)
    return frame.remembered(key, lambda: passing_arrays(aggregate, frame.raw))


def ordered_arrays(frame: Frame, aggregate: Aggregate) -> list[Any]:
    """The same in processing order."""
    arrays = input_arrays(frame, aggregate)
    return arrays if frame.permutation is None else [a.take(pa.array(frame.permutation)) for a in arrays]


def passing_arrays(aggregate: Aggregate, column: Callable[[str], Any]) -> list[Any]:
    """The columns of an aggregate, each given by ``column``, null in rows that are absent for it.

    >>> import windrow as wr
    >>> table = pa.table({"v": [1, 2, 3], "ok": [True, None, False]})
    >>> [a.to_pylist() for a in passing_arrays(wr.sum("v", where="ok"), lambda c: table[c].combine_chunks())]
    [[1, None, None]]
    """
    arrays = [column(name) for name in aggregate.inputs]
    absent = None if aggregate.where is None else _absent(column(aggregate.where))
    if absent is not None:  # one null is enough
        arrays[0] = pc.if_else(pa.array(absent), pa.scalar(None, arrays[0].type), arrays[0])
    return arrays


def absent_rows(frame: Frame, aggregate: Aggregate) -> Mask | None:
    """Rows of the table that are absent, for an aggregate that distinguishes them from nulls (None: none)."""
    return absent_values(aggregate, frame.raw)


def absent_values(aggregate: Aggregate, column: Callable[[str], Any]) -> Mask | None:
    """The same for columns that ``column`` gives."""
    return _absent(column(aggregate.where)) if aggregate.where and aggregate.distinguishes_absent else None


def skipping(aggregate: Aggregate) -> Monoid:
    """The monoid for loops in Python over inputs in which absent rows are null: other nulls, which make a
    result null, are counted apart."""
    return _skipping(aggregate.monoid) if aggregate.distinguishes_absent else aggregate.monoid


@functools.lru_cache(maxsize=256)
def _skipping(monoid: Monoid) -> Monoid:
    return replace(monoid, nulls="skip")


def _absent(flags: Any) -> Mask | None:
    """Where flags are not true, null included (None: nowhere)."""
    if pa.types.is_null(flags.type):
        return np.ones(len(flags), np.bool_)
    found: Mask = ~pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return found if found.any() else None


def skipped_rows(frame: Frame, aggregate: Aggregate) -> Mask | None:
    """Which rows of the table the aggregate skips (None: none)."""
    return skipped_values(aggregate.monoid, input_arrays(frame, aggregate))


def skipped_values(monoid: Monoid, arrays: list[Any]) -> Mask | None:
    """Which rows of these columns an aggregate skips (None: none)."""
    found: Mask | None = None
    for array in arrays:
        ignores_nan = monoid.nan == "ignore" and pa.types.is_floating(array.type)
        if array.null_count or ignores_nan:
            mask = np.asarray(pc.is_null(array, nan_is_null=ignores_nan).to_numpy(zero_copy_only=False))
            found = mask if found is None else found | mask
    return found


def value_counts(
    frame: Frame, skipped: Mask | None, over: Over, absent: Mask | None = None
) -> tuple[Ints, Ints]:
    """How many rows of each range count, and how many are skipped that are not absent."""
    ranges = over.as_ranges()
    rows = ranges.row_counts
    if skipped is None:
        return rows, np.zeros(1, np.int64)
    without = _rows_in(frame, skipped, over)
    return rows - without, without if absent is None else without - _rows_in(frame, absent, over)


def _rows_in(frame: Frame, mask: Mask, over: Over) -> Ints:
    """How many rows of each range the mask of the table's rows marks."""
    if isinstance(over, SliceRanges) and over.slices.cells is not None:
        counts = over.slices.cells.counts(mask if frame.rows is None else mask[frame.rows])
        before = np.concatenate([[0], np.cumsum(counts)])
        return before[over.stops] - before[over.fronts]
    ranges = over.as_ranges()
    return between(counts_before(mask, frame.permutation), ranges.fronts, ranges.stops)


def without_values(counts: Ints) -> Mask | None:
    """Which ranges hold no value, by how many they hold (None: none)."""
    bare = counts == 0
    return bare if bare.any() else None
