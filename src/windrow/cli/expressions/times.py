"""Functions of dates and timestamps, in UTC, the time zone of a job's session."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.expressions.casts import cast, floored_units, scaled_time, widened
from windrow.cli.expressions.errors import ValueRefused, only_spark
from windrow.cli.expressions.types import DATE, INT, LONG, NTZ, STRING, TIMESTAMP, is_time, is_whole, name_of
from windrow.cli.expressions.values import Typed, strict

__all__ = ["FUNCTIONS"]

_Made = Callable[[list[Typed]], Typed]
#: microseconds from 1970
_FARTHEST = 25_000 * 31_556_952_000_000
_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "millisecond",
    "microsecond": "microsecond",
}


def _time(name: str, typed: Typed) -> Typed:
    if not is_time(typed.kind):
        raise only_spark(f"{name} of {name_of(typed.kind)}", "cast it to timestamp")
    return typed


def _truncated(arguments: list[Typed]) -> Typed:
    unit, typed = arguments
    wanted = unit.constant.value if unit.constant is not None else None
    if not isinstance(wanted, str) or wanted.lower() not in _UNITS:
        raise only_spark(f"date_trunc with anything but {', '.join(sorted(set(_UNITS.values())))}")
    chosen = _UNITS[wanted.lower()]
    moment = cast(_time("date_trunc", typed), TIMESTAMP)
    return strict(TIMESTAMP, lambda array: _floored(array, chosen), moment, fails=True)


def _floored(array: pa.Array, unit: str) -> pa.Array:
    _check_calendar(array)
    return pc.floor_temporal(array.cast(LONG).cast(NTZ), unit=unit).cast(LONG).cast(TIMESTAMP)


def _check_calendar(array: pa.Array) -> pa.Array:
    """The array. Arrow counts years in 16 bits, and Spark goes on."""
    ends = pc.min_max(array.cast(LONG))
    if max(abs(ends["min"].as_py() or 0), abs(ends["max"].as_py() or 0)) > _FARTHEST:
        raise ValueRefused("a time is more than 25,000 years from 1970: Spark alone has a calendar for it")
    return array


def _field(name: str, work: Callable[[pa.Array], pa.Array]) -> _Made:
    """A part of a date or time, as an int."""

    def made(arguments: list[Typed]) -> Typed:
        naive = cast(_time(name, arguments[0]), NTZ)
        return strict(INT, lambda array: work(_check_calendar(array)).cast(INT), naive, fails=True)

    return made


def _day_of_week(array: pa.Array) -> pa.Array:
    """Sunday is 1."""
    return pc.day_of_week(array, count_from_zero=False, week_start=7)


def _converted(name: str, kind: pa.DataType) -> _Made:
    def made(arguments: list[Typed]) -> Typed:
        (typed,) = arguments
        if typed.kind != STRING and not is_time(typed.kind):
            raise only_spark(f"{name} of {name_of(typed.kind)}")
        return cast(typed, kind)

    return made


def _since_epoch(name: str, unit: int) -> _Made:
    """Microseconds, milliseconds or seconds since 1970, downwards."""

    def made(arguments: list[Typed]) -> Typed:
        moment = cast(_time(name, arguments[0]), TIMESTAMP)
        return strict(LONG, lambda array: floored_units(array, unit), moment)

    return made


def _from_epoch(name: str, unit: int) -> _Made:
    def made(arguments: list[Typed]) -> Typed:
        (typed,) = arguments
        if not is_whole(typed.kind):
            raise only_spark(f"{name} of {name_of(typed.kind)}")
        return strict(TIMESTAMP, lambda array: scaled_time(array, unit), widened(typed, LONG), fails=True)

    return made


FUNCTIONS: dict[str, tuple[int, int, _Made]] = {
    "date_trunc": (2, 2, _truncated),
    "year": (1, 1, _field("year", pc.year)),
    "quarter": (1, 1, _field("quarter", pc.quarter)),
    "month": (1, 1, _field("month", pc.month)),
    "day": (1, 1, _field("day", pc.day)),
    "dayofmonth": (1, 1, _field("dayofmonth", pc.day)),
    "dayofyear": (1, 1, _field("dayofyear", pc.day_of_year)),
    "dayofweek": (1, 1, _field("dayofweek", _day_of_week)),
    "weekday": (1, 1, _field("weekday", pc.day_of_week)),
    "hour": (1, 1, _field("hour", pc.hour)),
    "minute": (1, 1, _field("minute", pc.minute)),
    "second": (1, 1, _field("second", pc.second)),
    "to_timestamp": (1, 1, _converted("to_timestamp", TIMESTAMP)),
    "to_date": (1, 1, _converted("to_date", DATE)),
    "unix_seconds": (1, 1, _since_epoch("unix_seconds", 1_000_000)),
    "unix_millis": (1, 1, _since_epoch("unix_millis", 1_000)),
    "unix_micros": (1, 1, _since_epoch("unix_micros", 1)),
    "timestamp_seconds": (1, 1, _from_epoch("timestamp_seconds", 1_000_000)),
    "timestamp_millis": (1, 1, _from_epoch("timestamp_millis", 1_000)),
    "timestamp_micros": (1, 1, _from_epoch("timestamp_micros", 1)),
}
