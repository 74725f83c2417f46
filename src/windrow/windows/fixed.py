"""A fixed window: one band of time.

Fixed('2024-05-01', '1d')            |-----------------------|
                                 05-01                    05-02
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from windrow.windows.arguments import TIMEZONE_KEY, check_same_time, check_zone
from windrow.windows.base import JobKey, Window, ZonedWindow
from windrow.windows.timeline.durations import Duration, DurationLike, positive_duration
from windrow.windows.timeline.integers import as_integer, fit_int64
from windrow.windows.timeline.moves import moved
from windrow.windows.timeline.progressions import Arithmetic
from windrow.windows.timeline.times import TimeLike, format_time, looks_like_time, names_zone, to_us
from windrow.windows.timeline.zones import Zone


@dataclass(frozen=True, init=False, repr=False)
class Fixed(ZonedWindow):
    """The one window [start, start + size).

    Args:
        start: a datetime, a date or ISO 8601 text; an integer is for an integer time column. A time without a
            timezone means UTC, or the local time of ``timezone`` where that is given.
        size: how long the window is. Months go to the same day of a later month, or to its last day.
        timezone: an IANA name. It makes days, weeks and months of the size local ones; by default it is that
            of the column of times, if the size has any.

    >>> from windrow.windows import Fixed
    >>> Fixed("2024-05-01", "1d")
    Fixed('2024-05-01T00:00:00', '1d')
    >>> list(Fixed(100, 50).assign(120)), list(Fixed(100, 50).assign(150))
    ([(100, 150)], [])
    """

    example = "Fixed('2024-05-01', '1d')"
    job_keys = (
        JobKey("start", "time", '"2024-05-01T00:00Z"'),
        JobKey("size", "time", '"1h"'),
        TIMEZONE_KEY,
    )
    repeats = False

    start: int
    size: Duration
    timezone: str | None
    #: whether the start is of whatever zone the column of times has
    _starts_there: bool = field(init=False)

    def __init__(self, start: TimeLike | int, size: DurationLike, timezone: str | None = None) -> None:
        size = positive_duration(size, "size", local_days=timezone is not None)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "timezone", check_zone(size, timezone))
        object.__setattr__(self, "start", _parse_start(start, size, self._zone))
        object.__setattr__(self, "_starts_there", self.follows_zone and not names_zone(start))
        fit_int64(self.end, f"end of {self!r}")

    @property
    def uses_integer_time(self) -> bool:
        return self.size.kind == "integer"

    def in_zone(self, zone: str) -> Window:
        return Fixed(self._start_text, self.size, timezone=zone) if self.follows_zone else self

    @property
    def _start_text(self) -> str:
        text = format_time(self.start)
        return text.removesuffix("Z") if self._starts_there else text

    @property
    def _zone(self) -> Zone:
        return Zone(self.timezone or "UTC")

    @cached_property
    def end(self) -> int:
        """Where the window ends: the first time that is no longer in it."""
        return moved(self.start, self.size, self.timezone)

    def assign(self, time: int) -> Iterator[tuple[int, int]]:
        if self.start <= time < self.end:
            yield self.start, self.end

    def edges(self, low: int, high: int) -> list[int]:
        return [edge for edge in (self.start, self.end) if low <= edge <= high]

    def windows_ending_in(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        if low < self.end <= high:
            yield self.start, self.end

    def count_ending_in(self, low: int, high: int) -> int:
        return int(low < self.end <= high)

    def latest_end(self, time: int) -> int | None:
        return self.end if self.start <= time < self.end else None

    def next_edge(self, time: int) -> int | None:
        return next((edge for edge in (self.start, self.end) if edge > time), None)

    def edge_progressions(self) -> tuple[Arithmetic, ...] | None:
        return None

    def _arguments(self) -> Iterator[str]:
        yield str(self.start) if self.uses_integer_time else repr(self._start_text)
        yield self.size.argument
        if self.timezone is not None:
            yield f"timezone={self.timezone!r}"


def _parse_start(start: TimeLike | int, size: Duration, zone: Zone) -> int:
    if isinstance(start, str) or looks_like_time(start):
        check_same_time(size, Duration(0, "fixed", repr(start)), "size", "start")
        return to_us(start, "start", zone)
    number = as_integer(start, "start", "a datetime, ISO 8601 text, or an integer")
    check_same_time(size, Duration(number, "integer"), "size", "start")
    return number
