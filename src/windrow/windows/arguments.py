"""Checks that several windows share: do the durations, the offset and the timezone go together?

Invariant: what passes here lies on one time line, so that labels can be added and compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from windrow.windows.base import JobKey
from windrow.windows.timeline.durations import Duration, DurationLike, parse_duration
from windrow.windows.timeline.times import TimeLike, looks_like_time, to_us
from windrow.windows.timeline.zones import zone_name

OffsetLike: TypeAlias = "DurationLike | TimeLike"

#: the keys of windows that have an offset and a timezone
TIMEZONE_KEY = JobKey("timezone", "text", '"Europe/Berlin"', is_needed=False)
ALIGNMENT_KEYS = (JobKey("offset", "time", '"6h"', is_needed=False), TIMEZONE_KEY)


def check_zone(size: Duration, timezone: object) -> str | None:
    """The name of the timezone, if the size is a duration that can have one."""
    if timezone is not None and size.kind == "integer":
        raise ValueError(
            f"timezone {timezone!r} has no meaning for the integer size {size.quoted}: "
            "write the size as a duration such as '1d', or leave the timezone out"
        )
    return zone_name(timezone)


def check_same_time(size: Duration, other: Duration, size_name: str, other_name: str) -> None:
    """Refuse plain integers beside durations."""
    if (size.kind == "integer") != (other.kind == "integer"):
        raise ValueError(
            f"{size_name} {size.quoted} and {other_name} {other.quoted} are of different kinds: "
            "use integers in both for an integer time column, or durations such as '10m' in both"
        )


def check_same_calendar(size: Duration, other: Duration, other_name: str) -> None:
    """Refuse to count months beside days, or calendar periods beside clock time."""
    check_same_time(size, other, "size", other_name)
    if _calendar(size) != _calendar(other):
        raise ValueError(
            f"size {size.quoted} counts {_calendar(size)} and {other_name} {other.quoted} counts "
            f"{_calendar(other)}: write both in months, both in days, or both in hours or below"
        )


def parse_offset(value: OffsetLike, size: Duration) -> Duration:
    """Where windows start after the epoch: a duration, or for windows of fixed length a time to align with.

    Zero is zero of whatever kind the size has.
    """
    if looks_like_time(value):
        return _offset_of_time(value, size)
    offset = parse_duration(cast(DurationLike, value), "offset").on_clock
    if offset.amount == 0:
        return Duration(0, "integer" if size.kind == "integer" else "fixed")
    check_same_time(size, offset, "size", "offset")
    if offset.kind == "months" and size.kind != "months":
        raise ValueError(
            f"offset {offset.quoted} is in months and size {size.quoted} is not: "
            "give the offset in days or below"
        )
    return offset


def alignment_arguments(offset: Duration, timezone: str | None) -> Iterator[str]:
    """Offset and timezone as source text, where they are not the defaults."""
    if offset.amount:
        yield f"offset={offset.argument}"
    if timezone is not None:
        yield f"timezone={timezone!r}"


def check_column(column: object) -> str:
    """The name of a column."""
    if not isinstance(column, str):
        raise TypeError(f"column {column!r} is a {type(column).__name__}: give the name of a column")
    if not column:
        raise ValueError("column '' is empty: give the name of a column")
    return column


def _offset_of_time(value: TimeLike, size: Duration) -> Duration:
    if size.kind != "fixed":
        remedy = "a duration such as '6h'" if size.is_calendar else "an integer"
        raise ValueError(
            f"offset {value!r} is a time, which size {size.quoted} cannot align with: give {remedy}"
        )
    return Duration(to_us(value, "offset"), "fixed")


def _calendar(duration: Duration) -> str:
    if not duration.is_calendar:
        return "clock time"
    return "calendar months" if duration.kind == "months" else "local days"
