"""Times moved by a duration, all at once: what :func:`windrow.windows.timeline.moves.moved` does for one.

Invariant: no result lies beyond START_OF_TIME or END_OF_TIME, where there are no rows.
Cost: by fixed durations one addition per time; on a local clock also two questions to the zone for each hour
that has a time in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.windows.timeline.durations import Duration
from windrow.windows.timeline.integers import DAY_US
from windrow.windows.timeline.zones import Zone

__all__ = ["moved_times"]

_HOUR_US = DAY_US // 24
_LAST_DAY = END_OF_TIME // DAY_US


def moved_times(times: Ints, by: Duration, timezone: str | None = None) -> Ints:
    """Each time moved by a duration.

    >>> moved_times(np.array([5, 2**62 - 1]), Duration(-(2**63), "integer")).tolist() == [-(2**62)] * 2
    True
    """
    if by.is_calendar:
        return _on_calendar(times, by, Zone(timezone or "UTC"))
    amount = by.amount
    if abs(amount) >= END_OF_TIME - START_OF_TIME:
        return np.full(len(times), START_OF_TIME if amount < 0 else END_OF_TIME)
    if amount < 0:
        return np.maximum(times, START_OF_TIME - amount) + amount
    return np.minimum(times, END_OF_TIME - amount) + amount


def _on_calendar(times: Ints, by: Duration, zone: Zone) -> Ints:
    days, clocks = np.divmod(_by_hours(times, zone.local), DAY_US)
    days = _with_months(days, by.labels) if by.kind == "months" else days + by.labels
    readings = np.clip(days, -_LAST_DAY - 2, _LAST_DAY + 1) * DAY_US + clocks
    return np.clip(_by_hours(readings, zone.first_instant), START_OF_TIME, END_OF_TIME)


def _by_hours(times: Ints, function: Callable[[int], int]) -> Ints:
    """A function of each time, asked for the ends of each hour: if they are an hour apart, so are all times
    between them, since no clock changes twice within an hour."""
    hours, places = np.unique(times // _HOUR_US, return_inverse=True)
    starts = [function(int(hour) * _HOUR_US) for hour in hours]
    ends = [function((int(hour) + 1) * _HOUR_US - 1) for hour in hours]
    found = np.array(starts, np.int64)[places] + times % _HOUR_US
    changes = np.array(
        [end - start != _HOUR_US - 1 for start, end in zip(starts, ends, strict=True)], np.bool_
    )
    for place in np.flatnonzero(changes[places]):
        found[place] = function(int(times[place]))
    return found


def _with_months(days: Ints, months: int) -> Ints:
    """The same day of the month, months later; the last day of a month that has no such day."""
    before = days.astype("datetime64[D]").astype("datetime64[M]")
    after = before.astype(np.int64) + months
    days_before = days - before.astype("datetime64[D]").astype(np.int64)
    return np.minimum(_first_days(after) + days_before, _first_days(after + 1) - 1)


def _first_days(months: Ints) -> Ints:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
