"""The windows of a kind that is no arithmetic progression, as columns of starts and ends.

The windows that hold a time t are those that end in (t, e], where e is the latest end of them; neither t
nor e falls from one time to the next, so that the windows that hold any of some times are those that end in
the union of such stretches. They are counted before they are listed.

Cost: O(1) a time between two edges, and O(1) a window.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.slicing.limits import check_windows
from windrow.windows import Cumulative, Sliding, TimeWindow

__all__ = ["windows_between", "windows_holding"]

Ints = npt.NDArray[np.int64]


def windows_holding(window: TimeWindow, moments: Any, most: int) -> tuple[Ints, Ints]:
    """Starts and ends of the windows that hold one of these sorted times, in order. Where a zone skips a day,
    one beside them may come, too.

    >>> [column.tolist() for column in windows_holding(Cumulative(30, step=10), [12, 70], 100)]
    [[0, 0, 60, 60], [20, 30, 80, 90]]
    """
    return _listed(window, _stretches(window, moments), most)


def windows_between(window: TimeWindow, low: int, high: int, most: int) -> tuple[Ints, Ints]:
    """Starts and ends of the windows that end after low and by the end of the last that holds high."""
    last = window.latest_end(high)
    return _listed(window, [(low, high if last is None else last)], most)


def _stretches(window: TimeWindow, moments: Any) -> list[tuple[int, int]]:
    """In which (low, high] the windows end that hold one of these times."""
    found: list[tuple[int, int]] = []
    overlaps = isinstance(window, Sliding)
    i = 0
    while i < len(moments):
        time = int(moments[i])
        end = window.latest_end(time)
        if end is not None:
            if found and time <= found[-1][1]:
                found[-1] = (found[-1][0], end)
            else:
                found.append((time, end))
        # no other windows hold the times before that
        until = window.next_edge(time) if overlaps or end is None else end
        i = len(moments) if until is None else int(np.searchsorted(moments, until))
    return found


def _listed(window: TimeWindow, stretches: Iterable[tuple[int, int]], most: int) -> tuple[Ints, Ints]:
    stretches = list(stretches)
    check_windows(sum(window.count_ending_in(*stretch) for stretch in stretches), most, window)
    if isinstance(window, Cumulative) and not window.size.is_calendar:
        return _steps(window, stretches)
    pairs = chain.from_iterable(window.windows_ending_in(*stretch) for stretch in stretches)
    found = np.fromiter(chain.from_iterable(pairs), np.int64).reshape(-1, 2)
    return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])


def _steps(window: Cumulative, stretches: Iterable[tuple[int, int]]) -> tuple[Ints, Ints]:
    """The same where all steps are of one length."""
    size, step, anchor = window.size.units, window.step.units, window.offset.units
    ends = np.concatenate(
        [
            np.arange(low + step - (low - anchor) % step, high + 1, step, dtype=np.int64)
            for low, high in stretches
        ]
        or [np.empty(0, np.int64)]
    )
    return ends - 1 - (ends - 1 - anchor) % size, ends
