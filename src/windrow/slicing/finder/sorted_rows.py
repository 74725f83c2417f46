"""Windows as ranges of neighbouring rows.

In a frame (rows by key, then time) every window is a range [front, end) of rows, and in the order in which
windows are listed neither fronts nor ends ever fall: one pass of a FIFO aggregator over the rows serves all
windows of all keys. The functions here only compare times; what is aggregated does not matter to them.

Kernels that list windows run in pieces (:mod:`windrow.compile.pieces`), and stop where there is no more room.
Then windows are counted, O(1) per row, too many are refused, and room is made for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.compile.pieces import run_in_pieces
from windrow.slicing.finder.time_windows import Kinds, TimeWindows
from windrow.slicing.limits import add_windows, check_windows, most_windows
from windrow.windows import Session, TimeWindow
from windrow.windows.base import Progression

__all__ = [
    "Ranges",
    "rolling_time",
    "session_ranges",
    "time_ranges",
]

#: the number of no window: all come after it
_BEFORE = -(1 << 62)


@dataclass(frozen=True)
class Ranges:
    """Windows in listing order: their key, their edges, and the rows [front, end) they hold."""

    keys: Ints
    starts: Ints
    ends: Ints
    fronts: Ints
    stops: Ints
    #: no row is in two windows
    disjoint: bool
    #: windows without rows and so without edges: those from which a policy evicted all
    without_edges: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Ranges:
        """Some of them, in the same order."""
        keys, starts, ends = self.keys[chosen], self.starts[chosen], self.ends[chosen]
        edgeless = None if self.without_edges is None else self.without_edges[chosen]
        return Ranges(keys, starts, ends, self.fronts[chosen], self.stops[chosen], self.disjoint, edgeless)


@kernel
def rolling_time(times: Ints, runs: Ints, size: int, fronts: Ints, stops: Ints) -> None:
    """For each row the rows of its key in (t - size, t], peers included."""
    for run in range(len(runs) - 1):
        front = stop = runs[run]
        for i in range(runs[run], runs[run + 1]):
            while stop < runs[run + 1] and times[stop] <= times[i]:
                stop += 1
            while times[i] - times[front] >= size:
                front += 1
            fronts[i] = front
            stops[i] = stop


@kernel
def _sliding(
    times: Ints,
    runs: Ints,
    size: int,
    slide: int,
    anchor: int,
    fill: bool,
    out: Any,
    reached: Ints,
    units: int,
) -> bool:
    """Windows [anchor + k slide, ... + size) that hold a row, or with ``fill`` all from a key's first to its
    last.

    Columns key, start, front, stop. Does at most about so many units of work; reached: how many windows there
    are, or one more than ``out`` has room for, the run, its next window, the rows of the one before."""
    count, run, following, front, stop = reached[0], reached[1], reached[2], reached[3], reached[4]
    while run < len(runs) - 1 and units > 0 and count <= out.shape[1]:
        first, last = runs[run], runs[run + 1]
        k, final = np.int64(0), np.int64(-1)
        if first < last:
            front, stop = max(front, first), max(stop, first)
            k = max((times[first] - anchor - size) // slide + 1, following)
            final = (times[last - 1] - anchor) // slide
        while k <= final and units > 0:
            start, before = anchor + k * slide, front + stop
            while front < last and times[front] < start:
                front += 1
            if stop < front:
                stop = front
            while stop < last and times[stop] < start + size:
                stop += 1
            units -= 1 + front + stop - before
            if front == stop and not fill:
                # the next row decides which window is next
                k = max(k + 1, (times[front] - anchor - size) // slide + 1)
                continue
            if count == out.shape[1]:
                count += 1
                break
            out[0, count] = run
            out[1, count] = start
            out[2, count] = front
            out[3, count] = stop
            count += 1
            k += 1
        following = k
        if k > final:
            units -= 1
            run, following, front, stop = run + 1, _BEFORE, 0, 0
    reached[0], reached[1], reached[2], reached[3], reached[4] = count, run, following, front, stop
    return run == len(runs) - 1 or count > out.shape[1]


@kernel
def _listed(
    times: Ints, runs: Ints, starts: Ints, ends: Ints, fill: bool, out: Any, reached: Ints, units: int
) -> bool:
    """Windows of a list, sorted by start and end, neither falling: columns key, number in the list, front,
    stop; in pieces like those above."""
    count, run, following, front, stop = reached[0], reached[1], reached[2], reached[3], reached[4]
    while run < len(runs) - 1 and units > 0 and count <= out.shape[1]:
        first, last = runs[run], runs[run + 1]
        number = final = np.int64(0)
        if first < last:
            front, stop = max(front, first), max(stop, first)
            number = max(np.searchsorted(ends, times[first], side="right"), following)
            final = np.searchsorted(starts, times[last - 1], side="right")
        while number < final and units > 0:
            before = front + stop
            while front < last and times[front] < starts[number]:
                front += 1
            if stop < front:
                stop = front
            while stop < last and times[stop] < ends[number]:
                stop += 1
            units -= 1 + front + stop - before
            if front == stop and not fill:
                # the next row decides which window is next
                number = max(number + 1, np.searchsorted(ends, times[front], side="right"))
                continue
            if count == out.shape[1]:
                count += 1
                break
            out[0, count] = run
            out[1, count] = number
            out[2, count] = front
            out[3, count] = stop
            count += 1
            number += 1
        following = number
        if number >= final:
            units -= 1
            run, following, front, stop = run + 1, _BEFORE, 0, 0
    reached[0], reached[1], reached[2], reached[3], reached[4] = count, run, following, front, stop
    return run == len(runs) - 1 or count > out.shape[1]


def _found(list_windows: Any, *arguments: Any) -> int:
    """How many windows one of these kernels lists, or one more than there is room for."""
    reached = np.array([0, 0, _BEFORE, 0, 0], np.int64)
    run_in_pieces(lambda units: list_windows(*arguments, reached, units))
    return int(reached[0])


@kernel
def _sessions(times: Ints, runs: Ints, gap: int, longest: int, out: Any) -> int:
    """Columns key, first row, row after the last."""
    count = 0
    for run in range(len(runs) - 1):
        first = runs[run]
        for i in range(runs[run], runs[run + 1]):
            near = i == first or times[i] - times[i - 1] <= gap
            if not near or (longest > 0 and times[i] - times[first] >= longest):
                out[0, count] = run
                out[1, count] = first
                out[2, count] = i
                count += 1
                first = i
        if first < runs[run + 1]:
            out[0, count] = run
            out[1, count] = first
            out[2, count] = runs[run + 1]
            count += 1
    return count


def session_ranges(times: Ints, runs: Ints, window: Session) -> Ranges:
    found = np.empty((3, len(times)), np.int64)
    count = _sessions(times, runs, window.gap_us, window.max_size_us or 0, found)
    keys, fronts, stops = (found[k, :count] for k in range(3))
    starts = times[fronts]
    ends = times[stops - 1] + window.gap_us
    if window.max_size_us is not None:
        ends = np.minimum(ends, starts + window.max_size_us)
    return Ranges(keys, starts, ends, fronts, stops, disjoint=True)


def time_ranges(
    times: Ints, runs: Ints, window: TimeWindow, fill: bool, max_windows: int | None = None
) -> Ranges:
    """The windows of a kind whose edges time alone decides; ``max_windows``: that of the query."""
    fill = fill and window.repeats  # there is nothing between the first window and the last
    progression = window.progression()
    if progression is not None:
        return _arithmetic_ranges(times, runs, window, progression, fill, max_windows)
    return _listed_ranges(times, runs, window, fill, max_windows)


def _arithmetic_ranges(
    times: Ints,
    runs: Ints,
    window: TimeWindow,
    progression: Progression,
    fill: bool,
    max_windows: int | None,
) -> Ranges:
    size, slide, anchor = progression
    room = np.empty((4, len(times) * min(1 + size // slide, 2) + 16), np.int64)
    count = _found(_sliding, times, runs, size, slide, anchor, fill, room)
    if count > room.shape[1]:
        numbered = TimeWindows([(0, window)], max_windows)
        count = _counted(times, runs, numbered, numbered.kinds(times[:0]), fill)
        room = np.empty((4, count), np.int64)
        _found(_sliding, times, runs, size, slide, anchor, fill, room)
    add_windows([(window, count)], most_windows(max_windows, len(times)))
    keys, starts, fronts, stops = (room[k, :count] for k in range(4))
    return Ranges(keys, starts, starts + size, fronts, stops, disjoint=slide == size)


def _listed_ranges(
    times: Ints, runs: Ints, window: TimeWindow, fill: bool, max_windows: int | None
) -> Ranges:
    numbered = TimeWindows([(0, window)], max_windows)
    if fill:
        kinds = numbered.kinds_between(*_edges_of(times, runs), rows=len(times))
    else:
        kinds = numbered.kinds(times)
    starts, ends = kinds[-2:]
    room = np.empty((4, len(times) + len(starts) + 16), np.int64)
    count = _found(_listed, times, runs, starts, ends, fill, room)
    if count > room.shape[1]:
        count = _counted(times, runs, numbered, kinds, fill)
        room = np.empty((4, count), np.int64)
        _found(_listed, times, runs, starts, ends, fill, room)
    add_windows([(window, count)], most_windows(max_windows, len(times)))
    keys, numbers, fronts, stops = (room[k, :count] for k in range(4))
    return Ranges(keys, starts[numbers], ends[numbers], fronts, stops, disjoint=not window.overlaps)


def _counted(times: Ints, runs: Ints, windows: TimeWindows, kinds: Kinds, fill: bool) -> int:
    """How many windows hold a row, or with ``fill`` lie between a key's first and last; too many are
    refused."""
    if not fill:
        return windows.count_holding(kinds, np.repeat(np.arange(len(runs) - 1), np.diff(runs)), times)
    count = windows.count_filling(kinds, *_edges_of(times, runs), len(times))
    check_windows([(windows.numbered[0][1], count)], most_windows(windows.max_windows, len(times)))
    return count


def _edges_of(times: Ints, runs: Ints) -> tuple[Ints, Ints]:
    """The first and the last time of each key."""
    some = np.flatnonzero(np.diff(runs))
    return times[runs[some]], times[runs[some + 1] - 1]
