"""Tumbling windows: the time line cut into periods of one size, every time in exactly one.

    Tumbling('10m')   |---------|---------|---------|
                     12:00     12:10     12:20     12:30

Source: [Scotty] section II.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from windrow.windows.arguments import (
    ALIGNMENT_KEYS,
    OffsetLike,
    alignment_arguments,
    check_zone,
    parse_offset,
)
from windrow.windows.base import JobKey
from windrow.windows.timeline.durations import Duration, DurationLike, positive_duration
from windrow.windows.timeline.grid import Grid, GridWindow, build_grid


@dataclass(frozen=True, init=False, repr=False)
class Tumbling(GridWindow):
    """Windows of one size that neither overlap nor leave gaps.

    Args:
        size: how long a window is. ``"1mo"``, ``"1q"`` and ``"1y"`` are calendar periods, of UTC without a
            timezone. An integer is for an integer time column.
        offset: by how much the windows start after the epoch (1970-01-01), which may be negative. With
            calendar periods it is read on the local clock: ``offset="6h"`` lets every day begin at six,
            whatever the season. Windows of a fixed length also take a datetime to align with.
        timezone: an IANA name. It makes ``"1d"`` a local day, 23 or 25 hours long when the clocks change, and
            ``"1w"`` a local week from Monday. Hours and below (``"24h"`` too) are durations, the same in
            every zone: they stay aligned to the epoch in UTC.

    Without a timezone a week is 168 hours since the epoch, and so begins on a Thursday; ``offset="4d"`` makes
    it Monday.

    >>> from windrow.windows import Tumbling
    >>> Tumbling("10 minutes")
    Tumbling('10m')
    >>> list(Tumbling(10).assign(-1))
    [(-10, 0)]
    >>> from windrow.windows import format_time, to_us
    >>> berlin = Tumbling("1d", timezone="Europe/Berlin")
    >>> [[format_time(edge) for edge in day] for day in berlin.assign(to_us("2024-03-31T12:00"))]
    [['2024-03-30T23:00:00Z', '2024-03-31T22:00:00Z']]
    """

    example = "Tumbling('1h')"
    job_keys = (JobKey("size", "time", '"1h"'), *ALIGNMENT_KEYS)

    size: Duration
    offset: Duration
    timezone: str | None

    def __init__(self, size: DurationLike, offset: OffsetLike = 0, timezone: str | None = None) -> None:
        size = positive_duration(size, "size", local_days=timezone is not None)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "offset", parse_offset(offset, size))
        object.__setattr__(self, "timezone", check_zone(size, timezone))

    @cached_property
    def grid(self) -> Grid:
        return build_grid(self.size, self.size, self.offset, self.timezone)

    def _arguments(self) -> Iterator[str]:
        yield self.size.argument
        yield from alignment_arguments(self.offset, self.timezone)
