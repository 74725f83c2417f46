"""Tables of any kind as lists of dicts, and times of any kind as integers and back.

Invariant: ``rows_of`` keeps rows, columns and their order; what is null becomes None. Timestamps become
datetimes, naive or aware as the column is; those after year 9999, which no datetime can hold, become ISO 8601
text.
Nothing is rounded: a timestamp finer than a microsecond is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from windrow.windows import format_time, to_datetime, to_us
from windrow.windows.timeline.zones import Zone, is_utc

__all__ = ["Clock", "is_pandas", "rows_of"]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of an Arrow, pandas, Polars or DuckDB table, or of anything with ``__arrow_c_stream__``.

    >>> import pyarrow as pa
    >>> rows_of(pa.table({"ts": [1, 2], "len": [5, None]}))
    [{'ts': 1, 'len': 5}, {'ts': 2, 'len': None}]
    >>> rows_of([{"ts": 1, "len": 5}])
    [{'ts': 1, 'len': 5}]
    """
    if isinstance(table, (list, tuple)):
        return [_checked(row) for row in table]
    arrow = _arrow_of(table)
    columns = [_values(arrow.column(name)) for name in arrow.column_names]
    return [dict(zip(arrow.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def is_pandas(table: Any) -> bool:
    """Whether this is a pandas frame, in which NaN stands for null."""
    return type(table).__module__.partition(".")[0] == "pandas"


@dataclass(frozen=True, slots=True)
class Clock:
    """How a table tells time: as integers, as naive datetimes (UTC), or as aware ones.

    >>> Clock.of([None, datetime(2024, 5, 1)]).show(0)
    datetime.datetime(1970, 1, 1, 0, 0)
    >>> Clock.of([7]).read(7), Clock.of([7]).show(10)
    (7, 10)
    """

    counts_integers: bool
    is_aware: bool
    #: the time zone of its datetimes, by name
    zone: str = "UTC"

    @classmethod
    def of(cls, times: list[Any]) -> Clock:
        sample = next((time for time in times if not _is_null(time)), 0)
        is_aware = isinstance(sample, datetime) and sample.tzinfo is not None
        zone = _zone_name(sample) if isinstance(sample, datetime) and is_aware else "UTC"
        return cls(counts_integers=_is_integer(sample), is_aware=is_aware, zone=zone)

    def read(self, time: Any) -> int | None:
        """A time as an integer or as microseconds UTC; None for null."""
        if _is_null(time):
            return None
        if _is_integer(time) != self.counts_integers:
            raise TypeError(
                f"time {time!r} stands beside times of another kind: give all integers or all datetimes"
            )
        return operator.index(time) if self.counts_integers else to_us(time)

    def show(self, time: int | None) -> Any:
        """A time as the table would write it."""
        if time is None or self.counts_integers:
            return time
        shown = as_datetime(time)
        if isinstance(shown, str):
            return shown
        return shown.astimezone(Zone(self.zone).rule) if self.is_aware else shown.replace(tzinfo=None)


def _zone_name(moment: datetime) -> str:
    """The zone of an aware datetime: its name, or its offset where it has none."""
    named = getattr(moment.tzinfo, "key", None) or getattr(moment.tzinfo, "zone", None)
    name = str(named or moment.isoformat()[-6:])
    return "UTC" if is_utc(name) else name


def as_datetime(time_us: int) -> datetime | str:
    """Microseconds UTC as an aware datetime, or as text where no datetime can hold them."""
    try:
        return to_datetime(time_us)
    except OverflowError:
        return format_time(time_us)


def _checked(row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise TypeError(
            f"row {row!r} is a {type(row).__name__}: give each row as a dict from column to value"
        )
    return dict(row)


def _arrow_of(table: Any) -> Any:
    # Imported here so that lists of dicts need no Arrow
    import pyarrow as pa

    if isinstance(table, (pa.Table, pa.RecordBatch)):
        return table
    if is_pandas(table):
        return pa.Table.from_pandas(table, preserve_index=False)
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    remedy = "give an Arrow, pandas, Polars or DuckDB table, or a list of dicts"
    raise TypeError(f"{type(table).__name__} is not a table: {remedy}")


def _values(column: Any) -> list[Any]:
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        values: list[Any] = column.to_pylist()
        return values
    zone = column.type.tz
    clock = Clock(False, zone is not None, "UTC" if zone is None or is_utc(zone) else zone)
    moments = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    return [clock.show(us) for us in moments]


def _is_null(time: Any) -> bool:
    # pandas.NaT and a float NaN differ from themselves
    return time is None or bool(time != time)


def _is_integer(time: Any) -> bool:
    return hasattr(time, "__index__") and not isinstance(time, bool)
