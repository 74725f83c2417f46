"""Moments and durations as numbers: microseconds since 1970, in UTC; a moment without a zone is in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from windrow.duration_text import counted_units

__all__ = [
    "EPOCH",
    "elapsed",
    "is_moment",
    "microseconds",
    "microseconds_in",
    "microseconds_since_epoch",
    "ticks",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LENGTHS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}


def microseconds(duration: timedelta) -> int:
    """A duration, exactly.

    >>> microseconds(timedelta(milliseconds=2))
    2000
    """
    return duration // _MICROSECOND


def microseconds_since_epoch(moment: datetime) -> int:
    """A moment, exactly.

    >>> microseconds_since_epoch(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    return microseconds((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH)


def microseconds_in(duration: timedelta | str, name: str) -> int:
    """A duration, or the text of one that is as long everywhere; ``name`` is for messages.

    >>> microseconds_in("1m30s", "per")
    90000000
    """
    if isinstance(duration, timedelta):
        return microseconds(duration)
    counts = counted_units(duration, name)
    if not counts.keys() <= _LENGTHS.keys():
        raise ValueError(f"{name} {duration!r}: use weeks, days, or units down to microseconds, as in '1h'")
    return microseconds(sum((count * _LENGTHS[unit] for unit, count in counts.items()), timedelta()))


def is_moment(when: Any) -> bool:
    """Whether this is a Python moment, date or duration.

    >>> is_moment(date(1970, 1, 2)), is_moment(3)
    (True, False)
    """
    return isinstance(when, (date, timedelta))


def ticks(when: Any) -> Any:
    """A time of any kind as a number: numbers as they are, moments, dates and durations in microseconds.

    >>> ticks(2.5), ticks(date(1970, 1, 2)), ticks(timedelta(milliseconds=2))
    (2.5, 86400000000, 2000)
    """
    if isinstance(when, (int, float)):
        return when
    if isinstance(when, timedelta):
        return microseconds(when)
    if isinstance(when, datetime):
        return microseconds_since_epoch(when)
    if isinstance(when, date):
        return microseconds_since_epoch(datetime.combine(when, time(), UTC))
    raise TypeError(
        f"a time is a number, a moment, a date or a duration; got a {type(when).__name__}: {when!r}. "
        f"Cast the column to one of them"
    )


def elapsed(before: Any, after: Any) -> float:
    """How much later one number of ticks is than another; 0 if it is not later, NaN if one is NaN.

    >>> elapsed(3, 10), elapsed(10, 3)
    (7.0, 0.0)
    """
    if after <= before:
        return 0.0
    if (before < 0) != (after < 0):  # the difference may not fit 64 bits
        return float(after) - float(before)
    return float(after - before)
