"""Windows as ranges of neighbouring rows.

In a frame (rows by key, then time) every window is a range [front, end) of rows, and in the order in which
windows are listed neither fronts nor ends ever fall: one pass of a FIFO aggregator over the rows serves all
windows of all keys. The functions here only compare times; what is aggregated does not matter to them.

Time windows come from :mod:`windrow.slicing.finder.time_windows`, as those of slices do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.found import Ranges
from windrow.windows import Session, TimeWindow

__all__ = [
    "Ranges",
    "rolling_time",
    "session_ranges",
    "time_ranges",
]


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
    return TimeWindows([(0, window)], max_windows).over(times, runs, fill)
