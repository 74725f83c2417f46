"""Fronts of rolling windows, from batch to batch.

Positions are absolute: they count the rows of a partition. A new key needs no reset of its own: the windows
of its rows start at or after the end of all before, and that empties the window.
"""

from __future__ import annotations

from typing import Any

from windrow.arrays import Ints
from windrow.compile.cache import kernel

__all__ = ["count_fronts", "time_fronts"]


@kernel
def time_fronts(
    clock: Any, first: int, old: int, starts: Any, size: int, front: int, fronts: Ints, stops: Ints
) -> int:
    """For each new row the rows of its key in (t - size, t], peers included; gives the last front.

    ``clock`` holds times from position ``first`` on, ``old`` of them of earlier rows; ``front`` is the last
    front, as a position."""
    low = front - first
    stop = old
    for i in range(old, len(clock)):
        if starts[i - old]:
            low = i
        if i >= stop:
            stop = i + 1
            while stop < len(clock) and not starts[stop - old] and clock[stop] == clock[i]:
                stop += 1
        while clock[i] - clock[low] >= size:
            low += 1
        fronts[i - old] = first + low
        stops[i - old] = first + stop
    return first + low


@kernel
def count_fronts(base: int, starts: Any, size: int, run: int, fronts: Ints) -> int:
    """For each row the last ``size`` rows of its key; gives the position where the last key starts."""
    for i in range(len(starts)):
        if starts[i]:
            run = base + i
        fronts[i] = max(run, base + i + 1 - size)
    return run
