"""Time columns as int64 microseconds UTC (or plain integers), and back.

Timestamps of any unit come in; a naive one means UTC. Nanoseconds are floored to microseconds for the
windows, but rows are ordered by the full value. Window edges carry the type of the column, or microseconds
where its unit is too coarse for an edge, or so fine that an edge is out of its reach: nanoseconds end in the
year 2262. Both edges are always of one type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.compile.cache import kernel
from windrow.errors import MixedZones, warn_caller
from windrow.rows.pieces import extremes
from windrow.spec import Spec
from windrow.values import made_at_once
from windrow.windows.timeline.zones import is_utc

__all__ = [
    "Moments",
    "TimeAxis",
    "check_time_kind",
    "concat_results",
    "in_zone_of",
    "read_moments",
    "read_times",
    "warn_of_zones",
]


_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_LIMIT = END_OF_TIME


@dataclass(frozen=True)
class TimeAxis:
    """What a time column is made of."""

    type: Any

    @cached_property
    def is_integer(self) -> bool:
        return bool(pa.types.is_integer(self.type))

    @property
    def zone(self) -> str:
        """The time zone of timestamps; "UTC" where they have none, and for dates and integers.

        >>> [TimeAxis(pa.timestamp("us", zone)).zone for zone in ("Asia/Tokyo", "+00:00", None)]
        ['Asia/Tokyo', 'UTC', 'UTC']
        """
        name = self.type.tz if pa.types.is_timestamp(self.type) else None
        return "UTC" if name is None or is_utc(name) else name

    def ticks(self, column: Any) -> Ints:
        """The column as integers of its own unit, nulls as 0."""
        array = column
        if self._is_64_bits and not column.null_count:
            # the same bits, where they lie
            return np.asarray(_one_array(column).to_numpy()).view(np.int64)
        if not self.is_integer:
            array = array.cast(pa.int32()) if pa.types.is_date32(self.type) else array
            array = array.cast(pa.int64())
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise OverflowError("unsigned integers beyond 63 bits") from error
        if array.null_count:
            array = pc.fill_null(array, 0)
        return np.asarray(array.to_numpy(), np.int64)

    @cached_property
    def us_a_tick(self) -> int:
        """Microseconds (or plain integers) a tick; 0: a tick is shorter."""
        if self.is_integer:
            return 1
        if pa.types.is_date32(self.type):
            return 86_400_000_000
        return 1_000 if pa.types.is_date64(self.type) else 1_000_000 // _PER_SECOND[self.type.unit]

    @cached_property
    def _is_64_bits(self) -> bool:
        """Whether values are int64, by their bits."""
        return bool(self.type == pa.int64() or pa.types.is_timestamp(self.type))

    @cached_property
    def _counts_us(self) -> bool:
        """Whether values are microseconds, by their bits."""
        return bool(pa.types.is_timestamp(self.type) and self.type.unit == "us")

    @cached_property
    def limit(self) -> int:
        """Ticks from here on leave no room for windows; no nanosecond comes near it."""
        return _LIMIT // self.us_a_tick if self.us_a_tick else _LIMIT * 1_000

    def to_us(self, ticks: Ints) -> Ints:
        factor = self.us_a_tick
        return ticks // 1_000 if not factor else ticks if factor == 1 else ticks * factor

    def edges(self, starts: Ints, ends: Ints, missing: Mask | None = None) -> dict[str, pa.Array]:
        """The edges of windows as columns of results, of one type, null where missing."""
        first, last = self.column(starts, missing), self.column(ends, missing)
        if first.type != last.type:
            kind = pa.timestamp("us", tz=first.type.tz)
            first, last = first.cast(kind), last.cast(kind)
        return {"window_start": first, "window_end": last}

    def column(self, times: Ints, missing: Mask | None = None) -> pa.Array:
        """Times as a column of results, null where missing."""
        if self.is_integer:
            return pa.array(times, pa.int64(), mask=missing)
        if self._counts_us:
            return pa.array(times, pa.int64(), mask=missing).view(self.type)
        zone = None if pa.types.is_date(self.type) else self.type.tz
        edges = pa.array(times, pa.int64(), mask=missing).cast(pa.timestamp("us", tz=zone))
        if pa.types.is_date(self.type):
            return edges
        try:
            return edges.cast(self.type)
        except pa.ArrowInvalid:  # the unit of the column is too coarse, or too fine, for an edge
            return edges


def read_times(column: Any, name: str) -> tuple[TimeAxis, Ints, Mask | None]:
    """The axis, the times in microseconds or integers, and which are missing (None: none)."""
    kind = column.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind)):
        raise TypeError(
            f"time column {name!r} is of type {kind}: give timestamps, dates or integers, or cast it"
        )
    axis = TimeAxis(kind)
    try:
        ticks = axis.ticks(column)
        _check_range(reversed(extremes(ticks)) if len(ticks) else (), axis.limit)
    except OverflowError as error:
        raise _too_large(name, error) from None
    times = axis.to_us(ticks)
    missing = None
    if column.null_count:
        missing = np.asarray(pc.is_null(column).to_numpy())
    return axis, times, missing


def _one_array(column: Any) -> Any:
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1 else column


@made_at_once
@dataclass(frozen=True)
class Moments:
    """The times of rows all of which have one: in ticks of their column, and as windows count; the earliest
    and the latest; and whether some row is earlier than the one before it."""

    axis: TimeAxis
    ticks: Ints
    times: Ints
    low: int
    high: int
    falls: bool

    @classmethod
    def of(cls, axis: TimeAxis, ticks: Ints) -> Moments:
        if not len(ticks):
            return cls(axis, ticks, ticks, END_OF_TIME, START_OF_TIME, False)
        low, high, falls = _survey(ticks)
        _check_range((high, low), axis.limit)
        times = axis.to_us(ticks)
        if times is not ticks:
            factor = axis.us_a_tick
            low, high = (tick * factor if factor else tick // 1_000 for tick in (low, high))
        return cls(axis, ticks, times, low, high, falls)

    def __len__(self) -> int:
        return len(self.times)

    def where(self, wanted: Mask) -> Moments:
        return Moments.of(self.axis, self.ticks[wanted])


def read_moments(axis: TimeAxis, column: Any, name: str) -> Moments:
    """The times of a column without nulls, whose axis is known."""
    try:
        return Moments.of(axis, axis.ticks(column))
    except OverflowError as error:
        raise _too_large(name, error) from None


def _too_large(name: str, error: Exception) -> OverflowError:
    return OverflowError(f"time column {name!r} holds {error}: scale or filter such rows")


@kernel
def _survey(ticks: Ints) -> tuple[int, int, bool]:
    """The earliest and the latest, and whether one is before its predecessor."""
    low, high, falls = ticks[0], ticks[0], False
    for i in range(1, len(ticks)):
        low, high = min(low, ticks[i]), max(high, ticks[i])
        falls |= ticks[i] < ticks[i - 1]
    return low, high, falls


def _check_range(worst: Iterable[int], limit: int) -> None:
    """Windows reach beyond rows, so times stay well within 64 bits."""
    for each in worst:
        if abs(each) >= limit:
            raise OverflowError(f"{each}, beyond 2**62" + ("" if limit == _LIMIT else " microseconds"))


def concat_results(tables: Sequence[pa.Table]) -> pa.Table:
    """Results of windows as one table. Where one has edges beyond nanoseconds, all have microseconds."""
    if len(tables) == 1:
        return tables[0]
    names = [name for name in ("window_start", "window_end") if name in tables[0].column_names]
    for name in names:
        kinds = {table.schema.field(name).type for table in tables}
        coarse = [kind for kind in kinds if pa.types.is_timestamp(kind) and kind.unit == "us"]
        if len(kinds) > 1 and coarse:
            tables = [_with_column(table, name, table.column(name).cast(coarse[0])) for table in tables]
    return pa.concat_tables(tables, promote_options="permissive")


def _with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


_Query = TypeVar("_Query", bound=Spec)


def in_zone_of(query: _Query, table: pa.Table) -> _Query:
    """The query with the days, weeks and months of a table's column of times, where it names no time zone."""
    if not query.follows_zone or query.time not in table.column_names:
        return query
    return query.in_zone(TimeAxis(table.schema.field(query.time).type).zone)


def warn_of_zones(kind: Any, what: str, other: Any, other_what: str) -> None:
    """Say that timestamps without a time zone are taken for UTC beside others that have one."""
    if not (pa.types.is_timestamp(kind) and pa.types.is_timestamp(other)) or bool(kind.tz) == bool(other.tz):
        return
    (naive, _), (zoned, zone) = sorted(
        [(what, kind.tz), (other_what, other.tz)], key=lambda each: bool(each[1])
    )
    warn_caller(
        f"{naive} has no time zone and {zoned} is in {zone!r}: times without a zone are taken for UTC. Give "
        f"both a zone, as in pyarrow.compute.assume_timezone(column, {zone!r}), or neither",
        MixedZones,
    )


def check_time_kind(query: Spec, axis: TimeAxis) -> None:
    """Windows and waiting times must count what the time column counts."""
    windows = [window for _, window in query.windows]
    kinds = [(window.uses_integer_time, repr(window)) for window in windows]
    for over, method in ((query.rolling_over, "rolling"), (query.asof_over, "asof")):
        if over is not None:
            kinds.append((over.uses_integer_time, f"{method}({over.arguments})"))
    for name, wait in (("watermark", query.watermark), ("allowed_lateness", query.allowed_lateness)):
        if wait is not None and wait.amount:
            kinds.append((wait.kind == "integer", f"{name}={wait.argument}"))
    for uses_integers, shown in kinds:
        if uses_integers not in (None, axis.is_integer):
            held, meant = ("integers", "timestamps") if axis.is_integer else ("timestamps", "integers")
            raise TypeError(
                f"column {query.time!r} holds {held} but {shown} is meant for {meant}: "
                f"{_IN_INTEGERS if axis.is_integer else _IN_DURATIONS}"
                + (_IN_ROWS if shown.startswith(("rolling(", "asof(")) and not axis.is_integer else "")
            )


_IN_INTEGERS = (
    "give plain integers, as many as the column counts (for an hour 3600 if it counts seconds, 3600000 if "
    "milliseconds), or cast the column to timestamps"
)
_IN_DURATIONS = "give durations such as 10m"
_IN_ROWS = ", or rows=100 for the last 100 rows"
