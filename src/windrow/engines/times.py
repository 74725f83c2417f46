"""Time columns as int64 microseconds UTC (or plain integers), and back.

Timestamps of any unit come in; a naive one means UTC. Nanoseconds are floored to microseconds for the
windows, but rows are ordered by the full value. Results carry the type of the column, or microseconds where
its unit is coarser than a window edge could need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.spec import Spec
from windrow.windows import Session, TimeWindow

__all__ = ["TimeAxis", "check_time_kind", "read_times"]

Ints = npt.NDArray[np.int64]

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """What a time column is made of."""

    type: Any

    @property
    def is_integer(self) -> bool:
        return bool(pa.types.is_integer(self.type))

    def ticks(self, column: Any) -> Ints:
        """The column as integers of its own unit, nulls as 0."""
        array = column
        if not self.is_integer:
            array = array.cast(pa.int32()) if pa.types.is_date32(self.type) else array
            array = array.cast(pa.int64())
        array = array.cast(pa.int64())
        if array.null_count:
            array = pc.fill_null(array, 0)
        return np.asarray(array.to_numpy(), np.int64)

    def to_us(self, ticks: Ints) -> Ints:
        if self.is_integer:
            return ticks
        if pa.types.is_date32(self.type):
            return ticks * 86_400_000_000
        if pa.types.is_date64(self.type):
            return ticks * 1_000
        factor = _PER_SECOND[self.type.unit]
        return ticks // 1_000 if factor > 1_000_000 else ticks * (1_000_000 // factor)

    def column(self, times: Ints, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Window edges as a column of results, null where missing."""
        if self.is_integer:
            return pa.array(times, pa.int64(), mask=missing)
        zone = None if pa.types.is_date(self.type) else self.type.tz
        edges = pa.array(times, pa.int64(), mask=missing).cast(pa.timestamp("us", tz=zone))
        if pa.types.is_date(self.type):
            return edges
        try:
            return edges.cast(self.type)
        except pa.ArrowInvalid:  # the unit of the column is too coarse, or too fine, for an edge
            return edges


def read_times(column: Any, name: str) -> tuple[TimeAxis, Ints, npt.NDArray[np.bool_] | None]:
    """The axis, the times in microseconds or integers, and which are missing (None: none)."""
    kind = column.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind)):
        raise TypeError(
            f"time column {name!r} is of type {kind}: give timestamps, dates or integers, or cast it"
        )
    axis = TimeAxis(kind)
    times = axis.to_us(axis.ticks(column))
    missing = None
    if column.null_count:
        missing = np.asarray(pc.is_null(column).to_numpy())
    if len(times) and (times.max() >= _LIMIT or times.min() <= -_LIMIT):
        worst = int(times[np.abs(times).argmax()])
        raise OverflowError(f"time column {name!r} holds {worst}, beyond 2**62: scale or filter such rows")
    return axis, times, missing


def check_time_kind(query: Spec, axis: TimeAxis) -> None:
    """Windows and waiting times must count what the time column counts."""
    what: list[Any] = [w for _, w in query.windows if isinstance(w, (TimeWindow, Session))]
    if query.rolling_over is not None and query.rolling_over.size is not None:
        what.append(query.rolling_over)
    kinds = [(each.uses_integer_time, repr(each)) for each in what]
    for name, wait in (("watermark", query.watermark), ("allowed_lateness", query.allowed_lateness)):
        if wait is not None and wait.amount:
            kinds.append((wait.kind == "integer", f"{name}={wait.argument}"))
    for uses_integers, shown in kinds:
        if uses_integers != axis.is_integer:
            held, meant = ("integers", "timestamps") if axis.is_integer else ("timestamps", "integers")
            raise TypeError(
                f"column {query.time!r} holds {held} but {shown} is meant for {meant}: "
                f"give {'plain integers' if axis.is_integer else 'durations such as 10m'}"
            )
