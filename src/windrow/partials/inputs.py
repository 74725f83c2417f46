"""The columns of an aggregate on their way in: their native form, and which of their rows are skipped.

Aggregates that pick a row (first, last, arg_max, arg_min) carry row numbers instead of values, so that text
and structs are picked natively too; largest and smallest moments go through as integers.
"""

from __future__ import annotations

from collections.abc import Sequence
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

__all__ = [
    "as_integers",
    "is_extreme_moment",
    "native_form",
    "native_inputs",
    "skipped_rows",
    "skipped_values",
    "value_counts",
    "without_values",
]


def native_inputs(monoid: Monoid, arrays: list[Any]) -> Columns | None:
    """The columns in native form, row numbers in place of what is picked; None where there is none."""
    picked = picked_input(monoid)
    inputs = list(arrays)
    if picked is not None:
        numbers = pa.array(np.arange(len(arrays[0]), dtype=np.int64))
        inputs[picked] = pc.if_else(pc.is_valid(arrays[picked]), numbers, pa.scalar(None, pa.int64()))
    if is_extreme_moment(monoid, arrays[0].type) or (picked == 1 and pa.types.is_temporal(arrays[0].type)):
        inputs[0] = as_integers(arrays[0])
    for place in monoid.moments:
        inputs[place] = as_microseconds(arrays[place])
        if monoid.only_moments and inputs[place] is arrays[place]:
            return None  # lift refuses numbers
    return native_columns(tuple(inputs), monoid)


def native_form(monoid: Monoid, kinds: Sequence[Any]) -> NativeMonoid | None:
    """The native form over columns of these Arrow types; None where there is none."""
    columns = native_inputs(monoid, [pa.nulls(0, kind) for kind in kinds]) if _may_compile(monoid) else None
    return None if columns is None else native(monoid, columns.dtypes)


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


def value_counts(frame: Frame, skipped: Mask | None, over: Over) -> tuple[Ints, Ints]:
    """How many rows of each range count, and how many are skipped."""
    ranges = over.as_ranges()
    rows = ranges.stops - ranges.fronts
    if skipped is None:
        return rows, np.zeros(1, np.int64)
    if isinstance(over, SliceRanges) and over.slices.cells is not None:
        counts = over.slices.cells.counts(skipped if frame.rows is None else skipped[frame.rows])
        before, fronts, stops = np.concatenate([[0], np.cumsum(counts)]), over.fronts, over.stops
    else:
        in_order = skipped if frame.permutation is None else skipped[frame.permutation]
        before, fronts, stops = np.concatenate([[0], np.cumsum(in_order)]), ranges.fronts, ranges.stops
    nulls = before[stops] - before[fronts]
    return rows - nulls, nulls


def without_values(counts: Ints) -> Mask | None:
    """Which ranges hold no value, by how many they hold (None: none)."""
    bare = counts == 0
    return bare if bare.any() else None
