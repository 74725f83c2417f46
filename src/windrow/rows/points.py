"""Points: the keys and times of labels, sorted as the rows of a frame are, and matched with its keys.

Keys match by value, also where the types of the two tables differ (int32 and int64, text and dictionaries);
null matches null. Times are compared exactly: those finer than a microsecond keep their nanoseconds beside
it, so that no unit has to hold the times of another.
Cost: O(labels + keys) for the keys, O(labels log labels) for the order, nothing where it is there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.errors import RejectedRows, warn_caller
from windrow.rows.columns import plain_array, plain_type
from windrow.rows.frame import Frame
from windrow.rows.keys import shared_keys
from windrow.rows.sorting import counting_sort, stable_order
from windrow.rows.times import TimeAxis, read_times, warn_of_zones
from windrow.threads import in_threads

__all__ = [
    "Points",
    "check_axes",
    "check_key_types",
    "fractions_of",
    "keys_like",
    "read_points",
    "shared_key_type",
]

#: points from which on threads share the columns of their results
_MANY = 1 << 16


@dataclass(frozen=True)
class Points:
    """Keys and times, by key, then by time."""

    #: numbers of keys in the frame; one more than those stands for keys that the frame does not have
    keys: Ints
    times: Ints
    #: nanoseconds beyond each time; None: none
    fractions: Ints | None
    #: the row of the labels for each point; None: they are the same
    rows: Ints | None
    #: how many labels there are, and how many of them have no time
    labels: int
    rejected: int

    def __len__(self) -> int:
        return len(self.times)

    def all_scattered(self, columns: Sequence[Any]) -> list[Any]:
        """Results of the points at the places of their labels; null for labels without a time."""
        if self.rows is None:
            return list(columns)
        places = self._places
        if len(self) < _MANY:
            return [column.take(places) for column in columns]
        return in_threads(lambda column: column.take(places), columns)

    def warn_of_rejected(self, time: str) -> None:
        """Say how many labels have no time in this column."""
        if self.rejected:
            warn_caller(
                f"{self.rejected} of {self.labels} labels have no time in {time!r}: their results are null",
                RejectedRows,
            )

    @cached_property
    def _places(self) -> Any:
        """The point of each label."""
        places = np.full(self.labels, -1, np.int64)
        places[self.rows] = np.arange(len(self))
        return pa.array(places, mask=places < 0 if self.rejected else None)


def read_points(frame: Frame, time: str, labels: pa.Table, at_time: str, at_by: tuple[str, ...]) -> Points:
    """The points of labels, for the frame of a query whose time column is ``time``."""
    column = labels.column(at_time)
    axis, times, missing = read_times(column, at_time)
    check_axes(frame.axis, time, axis, at_time)
    rows = None if missing is None else np.flatnonzero(~missing)
    keys = _matched_keys(frame, labels, at_by)
    ticks, fractions = axis.ticks(column), fractions_of(axis, column)
    if rows is not None:
        ticks, keys = ticks[rows], keys[rows]
    order = _order(ticks, keys, len(frame.key_rows) + 1)
    if order is not None:
        keys = keys[order]
        rows = order if rows is None else rows[order]
    return Points(
        keys=keys,
        times=times if rows is None else times[rows],
        fractions=fractions if rows is None or fractions is None else fractions[rows],
        rows=rows,
        labels=labels.num_rows,
        rejected=0 if missing is None else int(missing.sum()),
    )


def fractions_of(axis: TimeAxis, column: Any) -> Ints | None:
    """The nanoseconds of a column of times beyond their microseconds; None: there are none.

    >>> moments = pa.array([-1, 5_000], pa.timestamp("ns"))
    >>> fractions_of(TimeAxis(moments.type), moments).tolist()
    [999, 0]
    """
    if axis.us_a_tick:
        return None
    fractions = axis.ticks(column) % 1_000
    return fractions if fractions.any() else None


def check_axes(axis: TimeAxis, time: str, other: TimeAxis, at_time: str) -> None:
    if axis.is_integer != other.is_integer:
        kinds = [f"{name!r} of the {what}" for name, what in ((time, "events"), (at_time, "labels"))]
        integers, moments = kinds if axis.is_integer else reversed(kinds)
        raise TypeError(
            f"column {integers} holds integers and column {moments} holds timestamps: cast one of them, so "
            f"that both count time alike"
        )
    warn_of_zones(
        axis.type, f"column {time!r} of the events", other.type, f"column {at_time!r} of the labels"
    )


def _order(ticks: Ints, keys: Ints, count: int) -> Ints | None:
    """The permutation by key, then by time; None: it is the order that there is."""
    order = stable_order(ticks) if (ticks[1:] < ticks[:-1]).any() else None
    arranged = keys if order is None else keys[order]
    return counting_sort(keys, count, order) if (arranged[1:] < arranged[:-1]).any() else order


# -- keys ----------------------------------------------------------------------------------------------------


def _matched_keys(frame: Frame, labels: pa.Table, at_by: tuple[str, ...]) -> Ints:
    """For each label the number of its key in the frame, or one more than those."""
    known = len(frame.key_rows)
    if not frame.by:  # all rows are of one key, if there are any
        return np.zeros(labels.num_rows, np.int64)
    firsts = pa.array(frame.key_rows)
    pairs = [
        _of_one_type(frame.raw(by).take(firsts), by, plain_array(labels.column(at)), at)
        for by, at in zip(frame.by, at_by, strict=True)
    ]
    events = pa.table([left for left, _ in pairs], list(frame.by))
    others = pa.table([right for _, right in pairs], list(frame.by))
    _, (_, numbers) = shared_keys(frame.by, [events, others])
    return np.minimum(numbers, known)


def check_key_types(kind: Any, name: str, other: Any, at_name: str) -> None:
    """Refuse two key columns whose values cannot be compared."""
    if _shared_type(plain_type(kind), plain_type(other)) is None:
        raise _incomparable(kind, name, other, at_name, "no type holds both")


def shared_key_type(kind: Any, other: Any) -> Any:
    """The type in which keys of two types, which can be compared, are compared."""
    return _shared_type(plain_type(kind), plain_type(other))


def keys_like(kind: Any, name: str, keys: Any, at_name: str) -> Any:
    """Keys of labels in a type whose values can be compared with keys of events of type ``kind``."""
    keys = plain_array(keys)
    if keys.type == kind:
        return keys
    return _of_one_type(plain_array(pa.chunked_array([], kind)), name, keys, at_name)[1]


def _incomparable(kind: Any, name: str, other: Any, at_name: str, reason: object) -> TypeError:
    return TypeError(
        f"key column {name!r} of the events is of type {kind} and {at_name!r} of the labels of type {other}, "
        f"whose values cannot be compared ({reason}): cast one of them"
    )


def _of_one_type(left: Any, name: str, right: Any, at_name: str) -> tuple[Any, Any]:
    """The keys of events and of labels in a type that holds both."""
    kind = _shared_type(left.type, right.type)
    try:
        if kind is None:
            raise pa.ArrowInvalid("no type holds both")
        return left.cast(kind), right.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as error:
        raise _incomparable(left.type, name, right.type, at_name, error) from None


def _shared_type(left: Any, right: Any) -> Any:
    """A type for the values of both; None: there is none.

    >>> _shared_type(pa.int32(), pa.uint8()), _shared_type(pa.string(), pa.large_string())
    (DataType(int64), DataType(large_string))
    >>> _shared_type(pa.string(), pa.int64())
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    for is_kind, widest in _FAMILIES:
        if is_kind(left) and is_kind(right):
            return widest
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return pa.timestamp(max(left.unit, right.unit, key=_UNITS.index), "UTC")
    if pa.types.is_decimal(left) and pa.types.is_decimal(right):
        return pa.decimal128(38, max(left.scale, right.scale))
    if _is_number(left) and _is_number(right):
        # pandas has integers with missing values as floats: whole ones are compared, others refused
        return pa.int64()
    return None


_UNITS = ["s", "ms", "us", "ns"]


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: Any) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


#: kinds of types that hold values of each other, and the type that holds all of them
_FAMILIES = [
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_floating, pa.float64()),
    (_is_text, pa.large_string()),
    (_is_binary, pa.large_binary()),
    (pa.types.is_date, pa.date64()),
]
