"""Times moved by a duration: by fixed ones in plain integers, by months and local days on the local clock."""

from __future__ import annotations

from windrow.windows.timeline.calendar import add_months
from windrow.windows.timeline.durations import Duration
from windrow.windows.timeline.integers import DAY_US
from windrow.windows.timeline.zones import Zone

__all__ = ["moved"]


def moved(time: int, by: Duration, timezone: str | None = None) -> int:
    """A time moved by a duration; by months and local days it keeps its reading on the local clock, where
    there is such a reading: the last day of a shorter month, and the end of a gap.

    >>> from windrow.windows import format_time, parse_duration, to_us
    >>> format_time(moved(to_us("2024-03-31T10:00"), Duration(-1, "months")))
    '2024-02-29T10:00:00Z'
    >>> format_time(moved(to_us("2024-04-01T10:00"), Duration(-1, "days"), "Europe/Berlin"))
    '2024-03-31T10:00:00Z'
    """
    if not by.is_calendar:
        return time + by.amount
    zone = Zone(timezone or "UTC")
    day, clock = divmod(zone.local(time), DAY_US)
    day = add_months(day, by.labels) if by.kind == "months" else day + by.labels
    return zone.first_instant(day * DAY_US + clock)
