"""Moments and durations as integers: microseconds since 1970, in UTC; a moment without a zone is in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["EPOCH", "microseconds", "microseconds_since_epoch"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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
