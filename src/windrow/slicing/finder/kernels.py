"""The kernels behind :mod:`windrow.slicing.finder.time_windows`: which windows are due, hold a row, lie
between.

All take the kinds of windows as columns (sizes, slides, anchors, and for kinds that are lists where each list
begins and ends, with all starts and ends one list after the other). Those that find windows write those that
there is room for. find_holding and find_filling count all of them, adding whole ranges of numbers where there
is no room: O(1) a row or key, however many windows there are. find_due stops where there is no more room. So
no kernel visits more windows than there is room for, and callers make room for no more than a limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import START_OF_TIME, Ints
from windrow.compile.cache import kernel

__all__ = [
    "count_ended",
    "find_due",
    "find_filling",
    "find_holding",
    "find_latest_ends",
    "find_ranges",
]

#: counts end here, so that they stay within 64 bits
_ENDLESS = 2**62


@kernel
def _first_ending_after(
    size: int, slide: int, anchor: int, head: int, tail: int, ends: Ints, time: int
) -> Any:
    if slide > 0:
        return (time - anchor - size) // slide + 1
    return np.searchsorted(ends[head:tail], time, side="right")


@kernel
def _last_starting_by(
    size: int, slide: int, anchor: int, head: int, tail: int, starts: Ints, time: int
) -> Any:
    if slide > 0:
        return (time - anchor) // slide
    return np.searchsorted(starts[head:tail], time, side="right") - 1


@kernel
def _from(values: Ints, low: int, high: int, wanted: int) -> Any:
    """The first place in [low, high) with a value above the wanted one, near low more often than not."""
    step = 1
    while low + step < high and values[low + step] <= wanted:
        low += step
        step *= 2
    return low + np.searchsorted(values[low : min(low + step + 1, high)], wanted, side="right")


@kernel
def find_due(
    sizes: Ints,
    slides: Ints,
    anchors: Ints,
    heads: Ints,
    tails: Ints,
    list_starts: Ints,
    list_ends: Ints,
    runs: Ints,
    times: Ints,
    lasts: Ints,
    ends: Ints,
    low: int,
    high: int,
    out: Any,
) -> int:
    """Columns (kind, run, start, end, front, stop); how many they are, or one more than there is room for."""
    count = 0
    for kind in range(len(sizes)):
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        earliest = _first_ending_after(size, slide, anchor, head, tail, list_ends, low)
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, high) - 1
        if earliest > latest:
            continue
        for run in range(len(runs) - 1):
            first, last = runs[run], runs[run + 1]
            k = max(earliest, _first_ending_after(size, slide, anchor, head, tail, list_ends, times[first]))
            final = min(
                latest, _last_starting_by(size, slide, anchor, head, tail, list_starts, lasts[last - 1])
            )
            front = stop = first
            while k <= final:
                start = anchor + k * slide if slide > 0 else list_starts[head + k]
                end = start + size if slide > 0 else list_ends[head + k]
                front = _from(ends, front, last, start)
                stop = _from(ends, max(front, stop), last, end)
                if front == stop:
                    if front == last:
                        break
                    # the next slice decides which window is next
                    k = max(
                        k + 1, _first_ending_after(size, slide, anchor, head, tail, list_ends, times[front])
                    )
                    continue
                if count == out.shape[1]:
                    return count + 1
                out[0, count] = kind
                out[1, count] = run
                out[2, count] = start
                out[3, count] = end
                out[4, count] = front
                out[5, count] = stop
                count += 1
                k += 1
    return count


@kernel
def _written(kind: int, key: int, first: int, stop: int, count: int, out: Any) -> int:
    """How many windows there are with those of numbers [first, stop), written as far as there is room."""
    for place in range(min(stop - first, len(out) - count)):
        out[count + place, 0] = kind
        out[count + place, 1] = key
        out[count + place, 2] = first + place
    return count + min(stop - first, _ENDLESS - count)


@kernel
def find_holding(
    sizes: Ints,
    slides: Ints,
    anchors: Ints,
    heads: Ints,
    tails: Ints,
    list_starts: Ints,
    list_ends: Ints,
    keys: Ints,
    times: Ints,
    low: int,
    high: int,
    out: Any,
) -> int:
    """Rows of (kind, key, k)."""
    count = 0
    for kind in range(len(sizes)):
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        earliest = _first_ending_after(size, slide, anchor, head, tail, list_ends, low)
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, high) - 1
        done = earliest - 1
        for i in range(len(keys)):
            if i > 0 and keys[i] != keys[i - 1]:
                done = earliest - 1
            k = max(done + 1, _first_ending_after(size, slide, anchor, head, tail, list_ends, times[i]))
            final = min(latest, _last_starting_by(size, slide, anchor, head, tail, list_starts, times[i]))
            if k <= final:
                count = _written(kind, keys[i], k, final + 1, count, out)
                done = final
    return count


@kernel
def find_filling(
    sizes: Ints,
    slides: Ints,
    anchors: Ints,
    heads: Ints,
    tails: Ints,
    list_starts: Ints,
    list_ends: Ints,
    keys: Ints,
    firsts: Ints,
    lasts: Ints,
    begun: Ints,
    seen: Ints,
    low: int,
    high: int,
    out: Any,
) -> int:
    """Rows of (kind, key, k)."""
    count = 0
    for kind in range(len(sizes)):
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        earliest = _first_ending_after(size, slide, anchor, head, tail, list_ends, low)
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, high) - 1
        for i in range(len(keys)):
            k = earliest
            if seen[i] > START_OF_TIME:
                k = min(k, _last_starting_by(size, slide, anchor, head, tail, list_starts, seen[i]) + 1)
            k = max(k, _first_ending_after(size, slide, anchor, head, tail, list_ends, firsts[i]))
            final = min(latest, _last_starting_by(size, slide, anchor, head, tail, list_starts, lasts[i]))
            # before what was known: windows that a first row which came late has now before them
            early = _last_starting_by(size, slide, anchor, head, tail, list_starts, firsts[i]) + 1
            known = _first_ending_after(size, slide, anchor, head, tail, list_ends, begun[i])
            until = min(min(known, earliest), min(k, final + 1))
            if early < until:
                count = _written(kind, keys[i], early, until, count, out)
            if k <= final:
                count = _written(kind, keys[i], k, final + 1, count, out)
    return count


@kernel
def find_latest_ends(
    sizes: Ints,
    slides: Ints,
    anchors: Ints,
    heads: Ints,
    tails: Ints,
    list_starts: Ints,
    list_ends: Ints,
    times: Ints,
    enough: int,
    out: Ints,
) -> None:
    for i in range(len(times)):
        found = np.int64(START_OF_TIME)
        for kind in range(len(sizes)):
            size, slide, anchor, head, tail = (
                sizes[kind],
                slides[kind],
                anchors[kind],
                heads[kind],
                tails[kind],
            )
            first = _first_ending_after(size, slide, anchor, head, tail, list_ends, times[i])
            last = _last_starting_by(size, slide, anchor, head, tail, list_starts, times[i])
            if first <= last:
                end = anchor + last * slide + size if slide > 0 else list_ends[head + last]
                found = max(found, end)
                if found > enough:
                    break
        out[i] = found


@kernel
def count_ended(
    sizes: Ints,
    slides: Ints,
    anchors: Ints,
    heads: Ints,
    tails: Ints,
    list_starts: Ints,
    list_ends: Ints,
    times: Ints,
    by: int,
    out: Ints,
) -> None:
    out[:] = 0
    for kind in range(len(sizes)):
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, by) - 1
        for i in range(len(times)):
            first = _first_ending_after(size, slide, anchor, head, tail, list_ends, times[i])
            last = _last_starting_by(size, slide, anchor, head, tail, list_starts, times[i])
            out[i] += max(0, min(last, latest) - first + 1)


@kernel
def find_ranges(
    window_keys: Ints,
    starts: Ints,
    ends: Ints,
    keys: Ints,
    runs: Ints,
    slice_ends: Ints,
    fronts: Ints,
    stops: Ints,
) -> None:
    for i in range(len(window_keys)):
        run = np.searchsorted(keys, window_keys[i])
        if run == len(keys) or keys[run] != window_keys[i]:
            fronts[i] = stops[i] = 0
            continue
        mine = slice_ends[runs[run] : runs[run + 1]]
        fronts[i] = runs[run] + np.searchsorted(mine, starts[i], side="right")
        stops[i] = runs[run] + np.searchsorted(mine, ends[i], side="right")
