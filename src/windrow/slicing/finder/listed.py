"""The windows of a kind that is not an arithmetic progression, as columns of starts and ends.

The windows that hold a time t are those that end in (t, e], where e is the latest end of them; neither t
nor e falls from one time to the next, so that the windows that hold any of some times are those that end in
the union of such stretches. They are counted before they are listed.

Cost: O(1) per time between two edges, and O(1) per window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from windrow.arrays import Ints
from windrow.slicing.limits import check_windows
from windrow.windows import TimeWindow
from windrow.windows.base import Steps

__all__ = ["windows_over"]


def windows_over(
    window: TimeWindow, lows: Ints, highs: Ints, most: int, after: int, until: int
) -> tuple[Ints, Ints]:
    """Starts and ends of the windows that overlap one of the stretches [low, high] of time and end in
    (after, until], in order. Where a zone skips a day, one beside them may come, too.

    >>> from windrow.windows import Cumulative
    >>> lows, highs = np.array([70, 12]), np.array([70, 31])
    >>> [column.tolist() for column in windows_over(Cumulative(30, step=10), lows, highs, 100, 20, 80)]
    [[0, 30, 30, 30, 60], [30, 40, 50, 60, 80]]
    """
    clipped = [(max(low, after), min(high, until)) for low, high in _endings(window, *_merged(lows, highs))]
    return _listed(window, [(low, high) for low, high in clipped if low < high], most)


def _merged(lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """Stretches of time in order, without those that overlap."""
    order = np.argsort(lows, kind="stable")
    lows, highs = lows[order], np.maximum.accumulate(highs[order])
    apart = np.flatnonzero(lows[1:] > highs[:-1]) + 1
    firsts = np.concatenate([np.arange(min(len(lows), 1)), apart])
    return lows[firsts], highs[np.concatenate([apart - 1, np.arange(len(lows))[-1:]])]


def _endings(window: TimeWindow, lows: Ints, highs: Ints) -> list[tuple[int, int]]:
    """In which (low, high] the windows end that overlap one of these stretches."""
    found: list[tuple[int, int]] = []
    overlaps = window.outermost.overlaps
    i = 0
    while i < len(lows):
        low, high = int(lows[i]), int(highs[i])
        end = window.latest_end(high)
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high if end is None else end))
        else:
            found.append((low, high if end is None else end))
        # other stretches that end before that overlap no other windows
        until = window.next_edge(high) if overlaps or end is None else end
        i = len(lows) if until is None else max(i + 1, int(np.searchsorted(highs, until)))
    return found


def _listed(window: TimeWindow, stretches: Sequence[tuple[int, int]], most: int) -> tuple[Ints, Ints]:
    count = sum(window.count_ending_in(*stretch) for stretch in stretches)
    check_windows([window], [count], most, alone=True)
    steps = window.steps()
    if steps is not None:
        return _steps(steps, stretches)
    pairs = chain.from_iterable(window.windows_ending_in(*stretch) for stretch in stretches)
    found = np.fromiter(chain.from_iterable(pairs), np.int64).reshape(-1, 2)
    return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])


def _steps(steps: Steps, stretches: Iterable[tuple[int, int]]) -> tuple[Ints, Ints]:
    """The same where all steps are of one length."""
    size, step, anchor = steps
    ends = np.concatenate(
        [
            np.arange(low + step - (low - anchor) % step, high + 1, step, dtype=np.int64)
            for low, high in stretches
        ]
        or [np.empty(0, np.int64)]
    )
    return ends - 1 - (ends - 1 - anchor) % size, ends
