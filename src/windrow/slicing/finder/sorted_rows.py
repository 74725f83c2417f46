"""Windows as ranges of neighbouring rows or slices: time windows, sessions, and the rows behind each row.

In order of key and time every window is a range [front, stop), and in the order in which windows are listed
neither fronts nor stops ever fall: one pass of a FIFO aggregator serves all windows of all keys. Functions
here compare times and no more; what is aggregated does not matter to them.

All engines find their sessions here. Cost: one pass over the times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.window_lists import Ranges
from windrow.threads import even_pieces, in_threads
from windrow.windows import Session, TimeWindow

__all__ = [
    "Ranges",
    "rolling_time",
    "session_ranges",
    "time_ranges",
]


def rolling_time(times: Ints, runs: Ints, size: int) -> tuple[Ints, Ints]:
    """For each row the rows [front, stop) of its key in (t - size, t], peers included; in pieces that threads
    share.

    >>> fronts, stops = rolling_time(np.array([1, 3, 3, 4]), np.array([0, 4]), 2)
    >>> fronts.tolist(), stops.tolist()
    ([0, 1, 1, 1], [1, 3, 3, 4])
    """
    fronts, stops = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    asked = (times, runs, size)
    _roll_time(*asked, 0, 0, fronts, stops)  # compiles, before threads do
    in_threads(
        lambda piece: _roll_time(*asked, piece.start, piece.stop, fronts, stops), even_pieces(len(times))
    )
    return fronts, stops


@kernel
def _roll_time(times: Ints, runs: Ints, size: int, first: int, last: int, fronts: Ints, stops: Ints) -> None:
    """The rows [first, last)."""
    run = np.searchsorted(runs, first, side="right") - 1
    while first < last:
        begin, end = runs[run], runs[run + 1]
        front, found = begin, first
        while front < found:  # where a piece begins, a search; then step by step
            middle = (front + found) // 2
            if times[first] - times[middle] >= size:
                front = middle + 1
            else:
                found = middle
        stop = first
        for i in range(first, min(last, end)):
            while stop < end and times[stop] <= times[i]:
                stop += 1
            while times[i] - times[front] >= size:
                front += 1
            fronts[i] = front
            stops[i] = stop
        first = min(last, end)
        run += 1


@kernel
def _sessions(firsts: Ints, lasts: Ints, runs: Ints, gap: int, longest: int, out: Any) -> int:
    """Columns key, front, stop, end."""
    count = 0
    for run in range(len(runs) - 1):
        front = i = runs[run]
        final = runs[run + 1]
        while front < final:
            start, last = firsts[front], lasts[front]
            i += 1
            while i < final and firsts[i] - last <= gap:
                if longest > 0 and firsts[i] - start >= longest:
                    break
                last = max(last, lasts[i])
                i += 1
            out[0, count] = run
            out[1, count] = front
            out[2, count] = i
            out[3, count] = last + gap if longest == 0 else min(last + gap, start + longest)
            count += 1
            front = i
    return count


def session_ranges(firsts: Ints, runs: Ints, window: Session, lasts: Ints | None = None) -> Ranges:
    """The sessions of rows by their times, or of slices by the times of their first and last rows."""
    found = np.empty((4, len(firsts)), np.int64)
    lasts = firsts if lasts is None else lasts
    count = _sessions(firsts, lasts, runs, window.gap_us, window.max_size_us or 0, found)
    keys, fronts, stops, ends = (found[k, :count] for k in range(4))
    return Ranges(keys, firsts[fronts], ends, fronts, stops, disjoint=True)


def time_ranges(
    times: Ints, runs: Ints, window: TimeWindow, fill: bool, max_windows: int | None = None
) -> Ranges:
    """The windows of a kind whose edges time alone decides; ``max_windows``: that of the query."""
    return TimeWindows([(0, window)], max_windows).over(times, runs, fill)
