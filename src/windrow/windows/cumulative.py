"""Cumulative windows: all the periods of a tumbling window so far, growing step by step.

    Cumulative('30m', step='10m')   |---------|                    |---------|
                                    |-------------------|          |-------
                                    |-----------------------------|
                                   12:00     12:10     12:20     12:30

Source: the cumulating windows of Flink SQL. Since a period ends where the next one starts, the ends alone are
all the edges; one slice a step serves every window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from windrow.windows.arguments import (
    ALIGNMENT_KEYS,
    OffsetLike,
    alignment_arguments,
    check_same_time,
    check_zone,
    parse_offset,
)
from windrow.windows.base import JobKey, Steps, ZonedWindow
from windrow.windows.timeline.durations import Duration, DurationLike, positive_duration
from windrow.windows.timeline.grid import Grid, build_grid, build_scale
from windrow.windows.timeline.integers import DAY_US
from windrow.windows.timeline.progressions import Arithmetic, progressions
from windrow.windows.timeline.scales import Scale
from windrow.windows.tumbling import Tumbling


@dataclass(frozen=True, init=False, repr=False)
class Cumulative(ZonedWindow):
    """Windows [start, start + step), [start, start + 2 steps) ... [start, start + size).

    Args:
        size: how long a period is; after it, counting starts again. Periods start as Tumbling(size) does.
        step: by how much each window is longer than the one before. It must divide the size, for instance
            hours in local days or days in local weeks; in months, which differ in length, any step will do.
            The last window of a period always ends with it: on a day of 23 hours the last step is cut short.
        offset: by how much the periods start after the epoch, as for Tumbling.
        timezone: an IANA name, as for Tumbling.

    >>> from windrow.windows import Cumulative
    >>> list(Cumulative(30, step=10).assign(12))
    [(0, 20), (0, 30)]
    >>> Cumulative("1mo", step="1d", timezone="Europe/Berlin")
    Cumulative('1mo', step='1d', timezone='Europe/Berlin')
    >>> Cumulative("1h", step="25m")
    Traceback (most recent call last):
    ValueError: step '25m' does not divide size '1h': use a step that fits a whole number of times
    """

    example = "Cumulative('24h', step='1h')"
    job_keys = (JobKey("size", "time", '"1h"'), JobKey("step", "time", '"10m"'), *ALIGNMENT_KEYS)

    size: Duration
    step: Duration
    offset: Duration
    timezone: str | None

    def __init__(
        self, size: DurationLike, step: DurationLike, offset: OffsetLike = 0, timezone: str | None = None
    ) -> None:
        size = positive_duration(size, "size", local_days=timezone is not None)
        step = positive_duration(step, "step", local_days=timezone is not None)
        _check_step(size, step)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "offset", parse_offset(offset, size))
        object.__setattr__(self, "timezone", check_zone(size, timezone))

    @property
    def _lengths(self) -> tuple[Duration, ...]:
        return (self.size, self.step)

    @property
    def uses_integer_time(self) -> bool:
        return self.size.kind == "integer"

    @property
    def overlaps(self) -> bool:
        return self.step != self.size

    @cached_property
    def outermost(self) -> Tumbling:
        return Tumbling(self.size, offset=self.offset, timezone=self.timezone)

    @property
    def counts_at_once(self) -> bool:
        return not self.step.is_calendar

    def steps(self) -> Steps | None:
        if self.size.is_calendar:
            return None
        return Steps(self.size.units, self.step.units, self.offset.units)

    @property
    def for_fewer(self) -> str:
        return "use a longer step"

    @cached_property
    def _periods(self) -> Grid:
        return build_grid(self.size, self.size, self.offset, self.timezone)

    @cached_property
    def _scale(self) -> Scale:
        """What steps are counted on, from the start of each period."""
        return build_scale(self.step, self.offset, self.timezone)

    def assign(self, time: int) -> Iterator[tuple[int, int]]:
        start, end = next(self._periods.windows_from(time))
        return ((start, edge) for edge in self._ends(start, end, time))

    def edges(self, low: int, high: int) -> list[int]:
        return [end for _, end in self.windows_ending_in(low - 1, high)]

    def windows_ending_in(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        for start, period_end in self._periods.windows_from(low):
            for end in self._ends(start, period_end, low):
                if end > high:
                    return
                yield start, end

    def count_ending_in(self, low: int, high: int) -> int:
        if high <= low:
            return 0
        if not self.size.is_calendar:
            step, anchor = self.step.labels, self._periods.anchor
            return (high - anchor) // step - (low - anchor) // step
        periods = takewhile(lambda period: period[0] < high, self._periods.windows_from(low))
        return sum(self._count_by(*period, high) - self._count_by(*period, low) for period in periods)

    def _count_by(self, start: int, period_end: int, time: int) -> int:
        """How many windows of a period end by a time."""
        if time <= start:
            return 0
        inside = min(time, period_end - 1)
        whole = (self._scale.floor(inside) - self._scale.floor(start)) // self.step.labels
        return whole + (time >= period_end)

    def latest_end(self, time: int) -> int:
        return next(self._periods.windows_from(time))[1]

    def next_edge(self, time: int) -> int:
        start, end = next(self._periods.windows_from(time))
        return next(self._ends(start, end, time))

    def edge_progressions(self) -> tuple[Arithmetic, ...] | None:
        if self.size.is_calendar:
            return None
        return progressions([self._periods.anchor], self.step.labels)

    def _ends(self, start: int, period_end: int, after: int) -> Iterator[int]:
        """The ends of the windows of a period that come after a time."""
        first, step = self._scale.floor(start), self.step.labels
        taken = (self._scale.floor(max(start, after)) - first) // step
        end = max(start, after)
        while end < period_end:
            taken += 1
            previous, end = end, min(self._scale.at(first + taken * step), period_end)
            # A step over a day that a zone skips ends where the one before did
            if end > previous:
                yield end

    def _arguments(self) -> Iterator[str]:
        yield self.size.argument
        yield f"step={self.step.argument}"
        yield from alignment_arguments(self.offset, self.timezone)


def _check_step(size: Duration, step: Duration) -> None:
    check_same_time(size, step, "size", "step")
    if size.kind != "months" and step.kind == "months":
        remedy = "give the step in days or below"
        raise ValueError(f"step {step.quoted} is in months and size {size.quoted} is not: {remedy}")
    if size.kind == step.kind == "months":
        whole, part = size.labels, step.labels
    else:
        whole, part = _usual_length(size), _usual_length(step)
    if part > whole:
        remedy = f"use a step of at most {size.quoted}"
        raise ValueError(f"step {step.quoted} is longer than size {size.quoted}: {remedy}")
    if whole % part and not (size.kind == "months" and step.kind != "months"):
        remedy = "use a step that fits a whole number of times"
        raise ValueError(f"step {step.quoted} does not divide size {size.quoted}: {remedy}")


def _usual_length(duration: Duration) -> int:
    """Microseconds or plain units, counting 24 hours to a day and 28 days to a month, the least there are."""
    days = {"months": 28, "weeks": 7, "days": 1}.get(duration.kind)
    return duration.amount if days is None else duration.amount * days * DAY_US
