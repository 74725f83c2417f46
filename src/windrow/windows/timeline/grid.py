"""Grids: windows [s, s + size) for every s = anchor + k * slide, on any scale.

Purpose: the arithmetic behind Tumbling, Sliding and Cumulative, written once for fixed and calendar windows.
Invariant: a time t lies in [at(s), at(s + size)) exactly if s <= floor(t) < s + size, since ``at`` never
decreases and floor(t) is the largest label at or before t. All questions about times become questions about
labels.
Cost: assign is O(size / slide); edges and windows_ending_in are linear in what they return.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile

from windrow.windows.base import Progression, ZonedWindow
from windrow.windows.timeline.durations import Duration
from windrow.windows.timeline.progressions import Arithmetic, members, progressions
from windrow.windows.timeline.scales import CalendarScale, Scale, UniformScale
from windrow.windows.timeline.zones import Zone

# 1970-01-05, the first Monday since the epoch
_FIRST_MONDAY = 4


@dataclass(frozen=True)
class Grid:
    """Windows [s, s + size) of labels, for every s = anchor + k * slide.

    >>> grid = Grid(UniformScale(), anchor=0, size=10, slide=4)
    >>> list(grid.assign(9)), list(grid.windows_ending_in(9, 14)), grid.edges(0, 10)
    ([(0, 10), (4, 14), (8, 18)], [(0, 10), (4, 14)], [0, 2, 4, 6, 8, 10])
    """

    scale: Scale
    anchor: int
    size: int
    slide: int

    @cached_property
    def edge_labels(self) -> tuple[Arithmetic, ...]:
        """The labels of starts and ends."""
        return progressions([self.anchor, self.anchor + self.size], self.slide)

    def assign(self, time: int) -> Iterator[tuple[int, int]]:
        label = self.scale.floor(time)
        starts = Arithmetic(self.anchor, self.slide).between(label - self.size + 1, label)
        return map(self._window, starts)

    def edges(self, low: int, high: int) -> list[int]:
        labels = members(self.edge_labels, self.scale.floor(low - 1) + 1, self.scale.floor(high))
        # Two labels share an instant where a zone skips a day
        return list(dict.fromkeys(map(self.scale.at, labels)))

    def windows_from(self, time: int) -> Iterator[tuple[int, int]]:
        """The windows that end after this time, without end."""
        first = Arithmetic(self.anchor, self.slide).next_after(self.scale.floor(time) - self.size)
        windows = map(self._window, count(first, self.slide))
        # A day that a zone skips is not a window
        return (window for window in windows if window[0] < window[1])

    def windows_ending_in(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        return takewhile(lambda window: window[1] <= high, self.windows_from(low))

    def count_ending_in(self, low: int, high: int) -> int:
        before, last = (self.scale.floor(time) - self.size - self.anchor for time in (low, high))
        return max(0, last // self.slide - before // self.slide)

    def latest_end(self, time: int) -> int:
        label = self.scale.floor(time)
        return self.scale.at(label - (label - self.anchor) % self.slide + self.size)

    def next_edge(self, time: int) -> int:
        label = self.scale.floor(time)
        return self.scale.at(min(each.next_after(label) for each in self.edge_labels))

    def _window(self, start: int) -> tuple[int, int]:
        return self.scale.at(start), self.scale.at(start + self.size)


def build_grid(size: Duration, slide: Duration, offset: Duration, timezone: str | None) -> Grid:
    """The grid of windows of this size that start at every slide, counted from the epoch plus the offset."""
    scale = build_scale(slide, offset, timezone)
    anchor = _FIRST_MONDAY if slide.kind == "weeks" else 0
    if scale.is_uniform or offset.kind == "months":
        anchor += offset.amount
    return Grid(scale, anchor, size.labels, slide.labels)


def build_scale(unit: Duration, offset: Duration, timezone: str | None) -> Scale:
    """The scale that a duration is counted on; a calendar's offset is read on the local clock."""
    if not unit.is_calendar:
        return UniformScale()
    offset_us = 0 if offset.kind == "months" else offset.units
    return CalendarScale("months" if unit.kind == "months" else "days", Zone(timezone or "UTC"), offset_us)


class GridWindow(ZonedWindow):
    """A time window that is a grid.

    >>> from windrow.windows import Tumbling
    >>> from windrow.windows.timeline.grid import GridWindow
    >>> isinstance(Tumbling("1h"), GridWindow)
    True
    """

    @property
    def grid(self) -> Grid:
        """The windows as labels on a scale."""
        raise NotImplementedError

    @property
    def uses_integer_time(self) -> bool:
        return self.size.kind == "integer"

    @property
    def overlaps(self) -> bool:
        return self.grid.slide < self.grid.size

    @property
    def tiles(self) -> bool:
        return not self.overlaps

    def progression(self) -> Progression | None:
        grid = self.grid
        return Progression(grid.size, grid.slide, grid.anchor % grid.slide) if grid.scale.is_uniform else None

    def assign(self, time: int) -> Iterator[tuple[int, int]]:
        return self.grid.assign(time)

    def edges(self, low: int, high: int) -> list[int]:
        return self.grid.edges(low, high)

    def windows_ending_in(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        return self.grid.windows_ending_in(low, high)

    def count_ending_in(self, low: int, high: int) -> int:
        return self.grid.count_ending_in(low, high)

    def latest_end(self, time: int) -> int:
        return self.grid.latest_end(time)

    def next_edge(self, time: int) -> int:
        return self.grid.next_edge(time)

    def edge_progressions(self) -> tuple[Arithmetic, ...] | None:
        return self.grid.edge_labels if self.grid.scale.is_uniform else None
