"""The kinds of windows of an operator that time alone decides, made ready once: where their edges cut, into
how many slices, and which kinds are read together.

A kind that was added to a running operator has a time ``since`` which all rows from before are behind: its
windows that start earlier may lack rows, and do not come out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.partials.ranges import Shape
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.slicer import Slicer
from windrow.slicing.window_lists import Found
from windrow.windows import TimeWindow

__all__ = ["FEW_KINDS", "Kind", "Kinds", "shape_of"]

#: more kinds of windows than this in a group ask a tree instead of sliding one by one
FEW_KINDS = 4
#: windows of at most so many slices are read together with much shorter ones
_MOST_TOGETHER = 256


@dataclass(frozen=True)
class Kind:
    """A window of the query: its number, and from which start on it comes out."""

    number: int
    window: TimeWindow
    since: int = START_OF_TIME


@dataclass(frozen=True)
class Kinds:
    """The windows of a query, made ready once."""

    each: tuple[Kind, ...]
    #: that of the query
    max_windows: int | None = None

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.each)

    def __len__(self) -> int:
        return len(self.each)

    @property
    def numbers(self) -> list[int]:
        return [kind.number for kind in self.each]

    def with_since(self, since: Mapping[int, int]) -> Kinds:
        return self.changed(replace(kind, since=since[kind.number]) for kind in self.each)

    def changed(self, each: Iterable[Kind]) -> Kinds:
        return replace(self, each=tuple(each))

    def complete(self, found: Found) -> Mask | None:
        """Which windows come out (None: all): those that hold no row from before they were added."""
        if self._since is None:
            return None
        is_complete: Mask = found.starts >= self._since[found.windows]
        return None if is_complete.all() else is_complete

    @cached_property
    def _since(self) -> Ints | None:
        """By the number of a window; None: all were there from the beginning."""
        if all(kind.since == START_OF_TIME for kind in self.each):
            return None
        since = np.full(max(kind.number for kind in self.each) + 1, START_OF_TIME)
        since[[kind.number for kind in self.each]] = [kind.since for kind in self.each]
        return since

    @cached_property
    def windows(self) -> TimeWindows:
        return self._read_together(self.each)

    def _read_together(self, kinds: Iterable[Kind]) -> TimeWindows:
        return TimeWindows([(kind.number, kind.window) for kind in kinds], self.max_windows)

    @cached_property
    def ends_ahead(self) -> NextEnd:
        """Where windows end next, asked by the watermark."""
        return NextEnd(self.windows)

    @cached_property
    def ends_behind(self) -> NextEnd:
        """The same for what lies behind the watermark by the lateness that is allowed."""
        return NextEnd(self.windows)

    @cached_property
    def slices_a_window(self) -> int:
        """How many slices the longest window is cut into, at most."""
        return _cuts(self.edges, self.windows.longest)

    @cached_property
    def edges(self) -> Slicer:
        return Slicer(kind.window for kind in self.each)

    @cached_property
    def starts(self) -> Slicer | None:
        """Where windows start; None: they end nowhere else, or at so few other places that slices are not
        worth fusing."""
        starts = Slicer(kind.window.at_starts for kind in self.each)
        return starts if 4 * _cuts(starts, self.windows.longest) <= 3 * self.slices_a_window else None

    @cached_property
    def groups(self) -> list[TimeWindows]:
        """Kinds that are read together: where there are many slices, those of similar size."""
        found: dict[int, list[Kind]] = {}
        for kind in self.each:
            size = 0
            if self.slices_a_window > _MOST_TOGETHER:
                size = TimeWindows([(0, kind.window)]).longest.bit_length() // 3
            found.setdefault(size, []).append(kind)
        return [self._read_together(kinds) for kinds in found.values()]

    def read_apart(self, group: TimeWindows) -> list[TimeWindows]:
        """A few kinds of a group slide over the slices, each by itself; many ask a tree."""
        return [group] if len(group) > FEW_KINDS else list(group.one_by_one())

    @cached_property
    def shapes(self) -> frozenset[Shape]:
        """How windows that are read together lie."""
        return frozenset(shape_of(windows) for group in self.groups for windows in self.read_apart(group))


def shape_of(windows: TimeWindows) -> Shape:
    """How windows of these kinds lie in the slices."""
    return "any" if len(windows) > 1 else ("disjoint" if windows.is_disjoint else "sliding")


class NextEnd:
    """Whether a window ends in a stretch of time, asked for one stretch after the other: the next end is
    remembered until it is passed."""

    def __init__(self, windows: TimeWindows) -> None:
        self._windows = windows
        #: no window ends between the two, and one ends at the second
        self._known = (END_OF_TIME, END_OF_TIME)

    def lies_in(self, low: int, high: int) -> bool:
        """Whether a window ends in (low, high]."""
        first, end = self._known
        if not first <= low < end:
            end = self._windows.next_end(low)
            self._known = (low, end)
        return end <= high


def _cuts(slicer: Slicer, span: int) -> int:
    """Into how many slices a span of time is cut, at most: by each progression, or by the grid of all."""
    cuts = slicer.progressions
    grid = math.gcd(*(cut.period for cut in cuts), *(cut.anchor - cuts[0].anchor for cut in cuts))
    return min(sum(-(-span // cut.period) for cut in cuts), -(-span // max(grid, 1))) or 1
