"""Times in and out: datetimes, dates and ISO text as int64 microseconds since 1970-01-01 UTC.

Invariant: ``to_datetime(to_us(t)) == t`` for every aware datetime of the years 1 to 9999; a time without a
timezone means UTC, unless a zone is given for it. Nothing is rounded: what is finer than a microsecond is an
error.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias, TypeGuard

from windrow.windows.timeline.calendar import date_of, first_day_of_month
from windrow.windows.timeline.integers import DAY_US, fit_int64
from windrow.windows.timeline.numpy_scalars import NumpyScalar, count_and_unit, is_datetime64
from windrow.windows.timeline.zones import Zone

TimeLike: TypeAlias = "str | date | datetime | NumpyScalar"

_EPOCH = datetime(1970, 1, 1)
_ONE_US = timedelta(microseconds=1)
_TOO_FINE = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
_NUMPY_US = {
    "W": 7 * DAY_US,
    "D": DAY_US,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}


def to_us(value: TimeLike, name: str = "time", zone: Zone | None = None) -> int:
    """A time as microseconds UTC; ``zone`` is where times without a timezone are read, UTC by default.

    >>> to_us("2024-01-01T00:00:00Z") == to_us(datetime(2024, 1, 1)) == to_us(date(2024, 1, 1))
    True
    >>> to_us("1969-12-31T23:59:59.999999")
    -1
    >>> to_us("yesterday", "start")
    Traceback (most recent call last):
    ValueError: start 'yesterday' is not a time: use ISO 8601 text such as '2024-01-31T12:00Z', or a datetime
    """
    if isinstance(value, str):
        return _datetime_us(_from_text(value, name), name, zone)
    if isinstance(value, datetime):
        return _datetime_us(value, name, zone)
    if isinstance(value, date):
        return _datetime_us(datetime(value.year, value.month, value.day), name, zone)
    if is_datetime64(value):
        return _placed(_numpy_us(value, name), zone)
    raise TypeError(f"{name} {value!r} is a {type(value).__name__}: give a datetime, a date or ISO 8601 text")


def looks_like_time(value: object) -> TypeGuard[TimeLike]:
    """Whether the value is a point in time rather than a duration.

    >>> looks_like_time("2024-01-31"), looks_like_time("24h")
    (True, False)
    """
    if isinstance(value, str):
        return re.match(r"\s*[0-9]{4}-", value) is not None
    return isinstance(value, date) or is_datetime64(value)


def names_zone(value: object) -> bool:
    """Whether a time, which :func:`to_us` can read, says of which zone it is.

    >>> names_zone("2024-01-31T00:00Z"), names_zone("2024-01-31"), names_zone(datetime(2024, 1, 31))
    (True, False, False)
    """
    found = _from_text(value, "time") if isinstance(value, str) else value
    return isinstance(found, datetime) and found.utcoffset() is not None


def to_datetime(time_us: int) -> datetime:
    """Microseconds UTC as an aware datetime.

    >>> to_datetime(-1)
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)
    """
    try:
        return (_EPOCH + timedelta(microseconds=time_us)).replace(tzinfo=UTC)
    except OverflowError:
        text = format_time(time_us)
        raise OverflowError(f"time {text} is not in the years 1 to 9999: use format_time for it") from None


def format_time(time_us: int) -> str:
    """Microseconds UTC as ISO 8601 text, for any year.

    >>> format_time(0), format_time(253_402_300_800_000_000)
    ('1970-01-01T00:00:00Z', '+10000-01-01T00:00:00Z')
    """
    day, rest_us = divmod(time_us, DAY_US)
    year, month, day_of_month = date_of(day)
    seconds, fraction = divmod(rest_us, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    clock += f".{fraction:06}" if fraction else ""
    sign = "" if 0 <= year <= 9999 else "+" if year > 0 else "-"
    return f"{sign}{abs(year):04}-{month:02}-{day_of_month:02}T{clock}Z"


def _from_text(text: str, name: str) -> datetime:
    # A run of digits could be a date or a number
    if _TOO_FINE.search(text):
        raise ValueError(f"{name} {text!r} is finer than a microsecond: give at most six digits of a second")
    try:
        if not text.strip().isdigit():
            return datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    remedy = "use ISO 8601 text such as '2024-01-31T12:00Z', or a datetime"
    raise ValueError(f"{name} {text!r} is not a time: {remedy}")


def _datetime_us(value: datetime, name: str, zone: Zone | None) -> int:
    # pandas.Timestamp is a datetime that also counts nanoseconds, and pandas.NaT is one that is not a time
    if value != value:
        raise ValueError(f"{name} is NaT: give a real time")
    if getattr(value, "nanosecond", 0):
        raise ValueError(f"{name} {value!r} is finer than a microsecond: round it to microseconds")
    reading_us = (datetime.combine(value.date(), value.time()) - _EPOCH) // _ONE_US
    offset = value.utcoffset()
    return _placed(reading_us, zone) if offset is None else reading_us - offset // _ONE_US


def _placed(reading_us: int, zone: Zone | None) -> int:
    return reading_us if zone is None else zone.first_instant(reading_us)


def _numpy_us(value: NumpyScalar, name: str) -> int:
    count, unit = count_and_unit(value, name)
    if unit in ("Y", "M"):
        months = count * (12 if unit == "Y" else 1)
        return fit_int64(first_day_of_month(months) * DAY_US, f"{name} {value!r}")
    if unit in _NUMPY_US:
        return fit_int64(count * _NUMPY_US[unit], f"{name} {value!r}")
    whole_us, rest = divmod(count, 1_000) if unit == "ns" else (0, 1)
    if rest:
        raise ValueError(f"{name} {value!r} is finer than a microsecond: round it to microseconds")
    return whole_us
