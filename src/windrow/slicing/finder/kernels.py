"""The kernels behind :mod:`windrow.slicing.finder.time_windows`: which windows are due, hold a row, lie
between. Tables, operators and Spark's tasks find their time windows with find_due, over rows or slices.

All take the kinds of windows as columns (sizes, slides, anchors, and for kinds that are lists where each list
begins and ends, with all starts and ends one list after the other). Those that find windows write those that
there is room for. find_holding and find_filling count all of them, adding whole ranges of numbers where there
is no room: O(1) per row or key, however many windows there are. find_due stops where there is no more room.
So no kernel visits more windows than there is room for, and callers make room for no more than a limit.

These three run in pieces (:func:`found_in_pieces`): each call does at most about so many units of work, rows
and windows, keeps how many windows there are and where it is in ``reached``, and says whether it is at the
end. Of the others, callers give them a piece of the times or windows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.compile.cache import kernel
from windrow.compile.pieces import run_in_pieces

__all__ = [
    "count_ended",
    "find_due",
    "find_filling",
    "find_holding",
    "find_latest_ends",
    "find_ranges",
    "found_in_pieces",
]

#: counts end here, so that they stay within 64 bits
_ENDLESS = 2**62
#: the number of no window: all come after it
_BEFORE = -(2**62)
#: places that are looked at one by one before a search: a million windows of about one row each take 13 ms in
#: this way, and 21 ms with a search for each edge
_NEAR = 8


def found_in_pieces(find: Callable[..., Any], *arguments: Any) -> int:
    """How many windows one of the kernels below finds; find_due: at most one more than there is room for."""
    reached = np.array([0, 0, 0, _BEFORE, 0, 0], np.int64)
    run_in_pieces(lambda units: find(*arguments, reached, units))
    return int(reached[0])


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
def _first_at(times: Ints, low: int, high: int, edge: int) -> Any:
    """The first place in [low, high) with a time at an edge or later; searched in steps that double."""
    step = _NEAR
    while low + step < high and times[low + step] < edge:
        low += step
        step *= 2
    return low + np.searchsorted(times[low : min(low + step + 1, high)], edge)


@kernel
def find_due(
    sizes: Ints,
    slides: Ints,
    anchors: Ints,
    heads: Ints,
    tails: Ints,
    list_starts: Ints,
    list_ends: Ints,
    fills: Mask,
    runs: Ints,
    times: Ints,
    low: int,
    high: int,
    until: Ints,
    out: Any,
    reached: Ints,
    units: int,
) -> bool:
    """Columns (run, start, end, front, stop), kind after kind; ``until``: where those of each end. Ends
    with one more than there is room for. Reached: the kind, the run, the number of the window before, and
    what it held.

    ``times`` are those of rows, or any time inside each slice: in order but for slices between the same two
    edges, which no window tells apart. Of a kind that ``fills``, windows that hold nothing come out, too,
    between the first and the last of their run."""
    count, kind, run, before = reached[0], reached[1], reached[2], reached[3]
    front, stop = reached[4], reached[5]
    while kind < len(sizes) and count <= out.shape[1]:
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        earliest = _first_ending_after(size, slide, anchor, head, tail, list_ends, low)
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, high) - 1
        if earliest > latest:
            run = len(runs) - 1
        while run < len(runs) - 1 and units > 0 and count <= out.shape[1]:
            first, last = runs[run], runs[run + 1]
            k, final = earliest, earliest - 1
            if first < last:
                k = max(k, _first_ending_after(size, slide, anchor, head, tail, list_ends, times[first]))
                k = max(k, before + 1)
                final = min(
                    latest, _last_starting_by(size, slide, anchor, head, tail, list_starts, times[last - 1])
                )
            front, stop = max(front, first), max(stop, first)
            while k <= final and units > 0:
                units -= 1
                start = anchor + k * slide if slide > 0 else list_starts[head + k]
                end = start + size if slide > 0 else list_ends[head + k]
                near = min(front + _NEAR, last)
                while front < near and times[front] < start:
                    front += 1
                if front == near:
                    front = _first_at(times, front, last, start)
                stop = max(front, stop)
                near = min(stop + _NEAR, last)
                while stop < near and times[stop] < end:
                    stop += 1
                if stop == near:
                    stop = _first_at(times, stop, last, end)
                if front == stop and not fills[kind]:
                    # what comes next decides which window is next
                    k = max(
                        k + 1, _first_ending_after(size, slide, anchor, head, tail, list_ends, times[front])
                    )
                elif count == out.shape[1]:
                    count += 1
                    break
                else:
                    out[0, count] = run
                    out[1, count] = start
                    out[2, count] = end
                    out[3, count] = front
                    out[4, count] = stop
                    count += 1
                    k += 1
            before = k - 1
            if k > final:
                units -= 1
                run, before, front, stop = run + 1, _BEFORE, 0, 0
        if run < len(runs) - 1:
            break
        until[kind] = count
        kind, run = kind + 1, 0
    reached[0], reached[1], reached[2], reached[3] = count, kind, run, before
    reached[4], reached[5] = front, stop
    return kind == len(sizes) or count > out.shape[1]


@kernel
def _write(kind: int, key: int, first: int, stop: int, count: int, out: Any) -> None:
    for place in range(stop - first):
        out[count + place, 0] = kind
        out[count + place, 1] = key
        out[count + place, 2] = first + place


@kernel
def _taken(kind: int, key: int, first: int, stop: int, count: int, out: Any, units: int) -> Any:
    """How many of the windows of numbers [first, stop) are counted now: all where there is no room to write
    them, and elsewhere as many as units allow."""
    if stop <= first:
        return 0
    if stop - first > len(out) - count:
        return min(stop - first, _ENDLESS - count)
    stop = min(stop, first + max(units, 1))
    _write(kind, key, first, stop, count, out)
    return stop - first


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
    reached: Ints,
    units: int,
) -> bool:
    """Rows of (kind, key, k). Reached: the kind, the row, the number of the window before."""
    count, kind, i, done = reached[0], reached[1], reached[2], reached[3]
    while kind < len(sizes):
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        earliest = _first_ending_after(size, slide, anchor, head, tail, list_ends, low)
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, high) - 1
        while i < len(keys) and units > 0:
            k = max(done + 1, _first_ending_after(size, slide, anchor, head, tail, list_ends, times[i]))
            k = max(k, earliest)
            final = min(latest, _last_starting_by(size, slide, anchor, head, tail, list_starts, times[i]))
            taken = _taken(kind, keys[i], k, final + 1, count, out, units)
            has_room = count + taken <= len(out)
            count += taken
            units -= 1 + (taken if has_room else 0)
            if has_room and k + taken <= final:
                done = k + taken - 1
            else:
                done = max(done, final)
                i += 1
                if i < len(keys) and keys[i] != keys[i - 1]:
                    done = _BEFORE
        if i < len(keys):
            break
        kind, i, done = kind + 1, 0, _BEFORE
    reached[0], reached[1], reached[2], reached[3] = count, kind, i, done
    return kind == len(sizes)


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
    reached: Ints,
    units: int,
) -> bool:
    """Rows of (kind, key, k). Reached: the kind, the key, the number of the window before."""
    count, kind, i, done = reached[0], reached[1], reached[2], reached[3]
    while kind < len(sizes):
        size, slide, anchor, head, tail = sizes[kind], slides[kind], anchors[kind], heads[kind], tails[kind]
        earliest = _first_ending_after(size, slide, anchor, head, tail, list_ends, low)
        latest = _first_ending_after(size, slide, anchor, head, tail, list_ends, high) - 1
        while i < len(keys) and units > 0:
            k = earliest
            if seen[i] > START_OF_TIME:
                k = min(k, _last_starting_by(size, slide, anchor, head, tail, list_starts, seen[i]) + 1)
            k = max(k, _first_ending_after(size, slide, anchor, head, tail, list_ends, firsts[i]))
            final = min(latest, _last_starting_by(size, slide, anchor, head, tail, list_starts, lasts[i]))
            # before what was known: windows that a first row which came late has now before them
            early = _last_starting_by(size, slide, anchor, head, tail, list_starts, firsts[i]) + 1
            known = _first_ending_after(size, slide, anchor, head, tail, list_ends, begun[i])
            until = min(min(known, earliest), min(k, final + 1))
            first, stop = max(early, done + 1), until
            if first >= stop:
                first, stop = max(k, done + 1), final + 1
            taken = _taken(kind, keys[i], first, stop, count, out, units)
            has_room = count + taken <= len(out)
            count += taken
            units -= 1 + (taken if has_room else 0)
            if first < stop:
                done = first + taken - 1 if has_room else stop - 1
            if max(early, done + 1) >= until and max(k, done + 1) > final:
                i += 1
                done = _BEFORE
        if i < len(keys):
            break
        kind, i, done = kind + 1, 0, _BEFORE
    reached[0], reached[1], reached[2], reached[3] = count, kind, i, done
    return kind == len(sizes)


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
    """Adds to ``out``."""
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
