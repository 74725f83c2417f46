"""Count windows: a number of rows, in the order of their times.

    Rows(3, slide=2)     row  0  1  2  3  4  5  6
                             |-------|
                                   |-------|
                                         |-------|

Invariant: the rows of a key are numbered 0, 1, 2 ... in event-time order; window k holds the rows
[k * slide, k * slide + size), for k = 0, 1, 2 ... So the first window starts with the first row.
Source: [RA] section 2: window sizes by count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from windrow.windows.base import JobKey, Window
from windrow.windows.timeline.grid import Grid
from windrow.windows.timeline.integers import whole_number
from windrow.windows.timeline.progressions import Arithmetic
from windrow.windows.timeline.scales import UniformScale


@dataclass(frozen=True, init=False, repr=False)
class Rows(Window):
    """Windows of a fixed number of rows.

    Args:
        size: how many rows a window holds.
        slide: how many rows apart windows start; at most the size. By default the size: windows that do not
            overlap, each row in one. For a result per row use ``rolling(rows=n)``.

    >>> from windrow.windows import Rows
    >>> Rows(100)
    Rows(100)
    >>> list(Rows(3, slide=2).assign(2)), list(Rows(3).assign(2))
    ([(0, 3), (2, 5)], [(0, 3)])
    """

    example = "Rows(100)"
    job_keys = (JobKey("size", "rows", "100"), JobKey("slide", "rows", "10", is_needed=False))
    ties_matter = True

    size: int
    slide: int

    def __init__(self, size: int, slide: int | None = None) -> None:
        size = whole_number(size, "size")
        slide = size if slide is None else whole_number(slide, "slide")
        if slide > size:
            raise ValueError(
                f"slide {slide} is longer than size {size}: rows would be skipped; "
                f"use Rows({size}) or a slide of at most {size}"
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "slide", slide)

    @property
    def overlaps(self) -> bool:
        return self.slide < self.size

    @cached_property
    def _grid(self) -> Grid:
        return Grid(UniformScale(), 0, self.size, self.slide)

    def assign(self, row: int) -> Iterator[tuple[int, int]]:
        """The windows that hold the row of this number, as row numbers [first, last + 1)."""
        return (window for window in self._grid.assign(row) if window[0] >= 0)

    def windows_ending_in(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The windows with low < end <= high: what is complete once there are ``high`` rows."""
        return (window for window in self._grid.windows_ending_in(low, high) if window[0] >= 0)

    def edge_progressions(self) -> tuple[Arithmetic, ...]:
        """The row numbers at which windows start and end, as arithmetic progressions."""
        return self._grid.edge_labels

    def _arguments(self) -> Iterator[str]:
        yield str(self.size)
        if self.slide != self.size:
            yield f"slide={self.slide}"
