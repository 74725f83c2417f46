"""Sliding windows: windows of one size, a new one starting at every slide.

    Sliding('10m', slide='4m')   |---------|
                                     |---------|
                                         |---------|
                                12:00   12:08     12:18

Source: [Scotty] section II. The slide need not divide the size: starts and ends are then different edges, at
most two to a slide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from windrow.windows.arguments import (
    ALIGNMENT_KEYS,
    OffsetLike,
    alignment_arguments,
    check_same_calendar,
    check_zone,
    parse_offset,
)
from windrow.windows.base import JobKey, TimeWindow
from windrow.windows.timeline.durations import Duration, DurationLike, positive_duration
from windrow.windows.timeline.grid import Grid, GridWindow, build_grid
from windrow.windows.tumbling import Tumbling


@dataclass(frozen=True, init=False, repr=False)
class Sliding(GridWindow):
    """Windows of one size that start at every slide, and so overlap.

    Args:
        size: how long a window is, as for Tumbling.
        slide: how far apart windows start; at most the size. Calendar sizes take calendar slides: months with
            months, local days and weeks with each other. A slide in weeks starts windows on Mondays.
        offset: by how much the windows start after the epoch, as for Tumbling.
        timezone: an IANA name, as for Tumbling.

    >>> from windrow.windows import Sliding
    >>> list(Sliding(10, slide=4).assign(9))
    [(0, 10), (4, 14), (8, 18)]
    >>> Sliding("3mo", slide="1mo", timezone="Europe/Berlin")
    Sliding('1q', slide='1mo', timezone='Europe/Berlin')
    >>> Sliding("5m", slide="7m")
    Traceback (most recent call last):
    ValueError: slide '7m' is longer than size '5m': rows would be skipped; use Tumbling('5m') or a slide
    of at most '5m'
    """

    example = "Sliding('24h', slide='1m')"
    job_keys = (JobKey("size", "time", '"1h"'), JobKey("slide", "time", '"5m"'), *ALIGNMENT_KEYS)

    size: Duration
    slide: Duration
    offset: Duration
    timezone: str | None

    def __init__(
        self, size: DurationLike, slide: DurationLike, offset: OffsetLike = 0, timezone: str | None = None
    ) -> None:
        size = positive_duration(size, "size", local_days=timezone is not None)
        slide = positive_duration(slide, "slide", local_days=timezone is not None)
        check_same_calendar(size, slide, "slide")
        if slide.labels > size.labels:
            raise ValueError(
                f"slide {slide.quoted} is longer than size {size.quoted}: rows would be skipped; "
                f"use Tumbling({size.quoted}) or a slide of at most {size.quoted}"
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "slide", slide)
        object.__setattr__(self, "offset", parse_offset(offset, size))
        object.__setattr__(self, "timezone", check_zone(size, timezone))

    @property
    def _lengths(self) -> tuple[Duration, ...]:
        return (self.size, self.slide)

    @cached_property
    def grid(self) -> Grid:
        return build_grid(self.size, self.slide, self.offset, self.timezone)

    @property
    def at_starts(self) -> TimeWindow:
        return self if self.size.is_calendar else Tumbling(self.slide, offset=self.offset)

    @property
    def shape(self) -> str:
        count = -(-self.size.labels // self.slide.labels)
        return f"windows overlap (a row is in up to {count})" if self.overlaps else super().shape

    @property
    def for_fewer(self) -> str:
        return "use a longer slide" if self.overlaps else super().for_fewer

    def _arguments(self) -> Iterator[str]:
        yield self.size.argument
        yield f"slide={self.slide.argument}"
        yield from alignment_arguments(self.offset, self.timezone)
