"""The peers of [Scotty] figure 5, written for comparison and compiled: a bucket per window, and FlatFAT
with a leaf per row.

Both compute the sum and the largest value of one column for kinds of windows (size, slide) and one session,
for rows out of order without keys, a batch at a time, and give rows of (kind, start, end, sum, max). They do
nothing else: no keys, no nulls, no late rows, no Arrow. Both count their combines: a row folded into a bucket
or a session that holds rows, a node of the tree made from two, a part added to a result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compile.cache import kernel

__all__ = ["Buckets", "FlatFATRows"]

NOTHING = np.zeros((0, 5))


class Tally:
    """Combines so far, where kernels can count them: of adding rows, and of results."""

    def __init__(self) -> None:
        self.adding = np.zeros(1, np.int64)
        self.results = np.zeros(1, np.int64)


class Sessions:
    """Open sessions of one key, sorted, in columns: first time, last time, sum, max."""

    def __init__(self, gap: int) -> None:
        self.gap = gap
        self.open = np.zeros((4096, 4))
        self.count = 0

    def add(self, times: Any, values: Any, tally: Tally) -> None:
        self.count = _into_sessions(self.open, self.count, self.gap, times, values, tally.adding)

    def fire(self, number: int, watermark: float) -> Any:
        held = self.open[: self.count]
        due = held[:, 1] + self.gap <= watermark
        out = np.column_stack(
            [
                np.full(int(due.sum()), number),
                held[due, 0],
                held[due, 1] + self.gap,
                held[due, 2],
                held[due, 3],
            ]
        )
        kept = held[~due].copy()
        self.open[: len(kept)] = kept
        self.count = len(kept)
        return out


class Buckets:
    """Each row is folded into every window that holds it; a window comes out when the watermark passes its
    end. Buckets of a kind lie in a ring, found by the window's number: cheaper than the hash map of the
    paper."""

    def __init__(self, kinds: list[tuple[int, int]], gap: int, ahead: int) -> None:
        """``ahead``: how far the times of rows, none of them negative, may lie after the watermark."""
        self.sizes = np.array([size for size, _ in kinds], np.int64)
        self.slides = np.array([slide for _, slide in kinds], np.int64)
        rooms = (self.sizes + ahead) // self.slides + 2
        self.heads = np.concatenate([[0], np.cumsum(rooms)]).astype(np.int64)
        self.sums = np.zeros(self.heads[-1])
        self.tops = np.full(self.heads[-1], -np.inf)
        self.counts = np.zeros(self.heads[-1], np.int64)
        self.sessions = Sessions(gap)
        self.tally = Tally()
        self.watermark = 0

    def push(self, times: Any, values: Any, watermark: int) -> Any:
        state = (self.sizes, self.slides, self.heads, self.sums, self.tops, self.counts)
        _into_buckets(*state, times, values, self.tally.adding)
        self.sessions.add(times, values, self.tally)
        return self.fire(watermark)

    def fire(self, watermark: int) -> Any:
        room = np.empty((int(self.counts.astype(np.bool_).sum()), 5))
        state = (self.sizes, self.slides, self.heads, self.sums, self.tops, self.counts)
        count = _fire_buckets(*state, self.watermark, watermark, room)
        self.watermark = watermark
        return np.concatenate([room[:count], self.sessions.fire(len(self.sizes), watermark)])


class FlatFATRows:
    """A leaf per row in order of time, under a tree of partials. A row at the end changes one path. A row out
    of order is inserted among the leaves: all after it move, and what is above them is computed again. A
    window that is due asks for the range of its leaves."""

    def __init__(self, kinds: list[tuple[int, int]], gap: int, capacity: int) -> None:
        self.sizes = np.array([size for size, _ in kinds], np.int64)
        self.slides = np.array([slide for _, slide in kinds], np.int64)
        self.longest = int(self.sizes.max(initial=1))
        self.capacity = 1 << (capacity - 1).bit_length()
        self.times = np.zeros(self.capacity, np.int64)
        self.sums = np.zeros(2 * self.capacity)
        self.tops = np.full(2 * self.capacity, -np.inf)
        self.count = 0
        self.sessions = Sessions(gap)
        self.tally = Tally()
        self.watermark = 0

    def push(self, times: Any, values: Any, watermark: int) -> Any:
        if self.count + len(times) > self.capacity:
            horizon = self.watermark - self.longest
            self.count = _compact(self.times, self.sums, self.tops, self.count, horizon, self.tally.adding)
            assert self.count + len(times) <= self.capacity, "give more capacity"
        self.count = _into_leaves(
            self.times, self.sums, self.tops, self.count, times, values, self.tally.adding
        )
        self.sessions.add(times, values, self.tally)
        return self.fire(watermark)

    def fire(self, watermark: int) -> Any:
        asked = (self.sizes, self.slides, self.times, self.sums, self.tops, self.count)
        count = _fire_leaves(*asked, self.watermark, watermark, NOTHING, self.tally.results)
        room = np.empty((count, 5))
        _fire_leaves(*asked, self.watermark, watermark, room, self.tally.results)
        self.watermark = watermark
        return np.concatenate([room, self.sessions.fire(len(self.sizes), watermark)])


@kernel
def _into_buckets(
    sizes: Any,
    slides: Any,
    heads: Any,
    sums: Any,
    tops: Any,
    counts: Any,
    times: Any,
    values: Any,
    combines: Any,
) -> None:
    for i in range(len(times)):
        time, value = times[i], values[i]
        for kind in range(len(sizes)):
            size, slide = sizes[kind], slides[kind]
            room = heads[kind + 1] - heads[kind]
            last = time // slide
            k = (time - size) // slide + 1
            place = heads[kind] + k % room
            while k <= last:
                sums[place] += value
                tops[place] = max(tops[place], value)
                combines[0] += counts[place] > 0
                counts[place] += 1
                k += 1
                place += 1
                if place == heads[kind + 1]:
                    place = heads[kind]


@kernel
def _fire_buckets(
    sizes: Any,
    slides: Any,
    heads: Any,
    sums: Any,
    tops: Any,
    counts: Any,
    low: int,
    high: int,
    out: Any,
) -> int:
    found = 0
    for kind in range(len(sizes)):
        size, slide = sizes[kind], slides[kind]
        room = heads[kind + 1] - heads[kind]
        last = (high - size) // slide
        k = (low - size) // slide + 1
        while k <= last:
            place = heads[kind] + k % room
            if counts[place]:
                out[found, 0] = kind
                out[found, 1] = k * slide
                out[found, 2] = k * slide + size
                out[found, 3] = sums[place]
                out[found, 4] = tops[place]
                found += 1
                counts[place] = 0
                sums[place] = 0.0
                tops[place] = -np.inf
            k += 1
    return found


@kernel
def _into_sessions(held: Any, count: int, gap: int, times: Any, values: Any, combines: Any) -> int:
    for i in range(len(times)):
        time, value = times[i], values[i]
        place = count - 1
        while place >= 0 and held[place, 0] - gap > time:
            place -= 1
        if place >= 0 and time <= held[place, 1] + gap:
            held[place, 0] = min(held[place, 0], time)
            held[place, 1] = max(held[place, 1], time)
            held[place, 2] += value
            held[place, 3] = max(held[place, 3], value)
            combines[0] += 1
            for other in (place - 1, place):  # a row may bridge two sessions
                if 0 <= other < count - 1 and held[other + 1, 0] - held[other, 1] <= gap:
                    held[other, 1] = max(held[other, 1], held[other + 1, 1])
                    held[other, 2] += held[other + 1, 2]
                    held[other, 3] = max(held[other, 3], held[other + 1, 3])
                    combines[0] += 1
                    for k in range(other + 1, count - 1):
                        held[k] = held[k + 1]
                    count -= 1
                    break
            continue
        for k in range(count, place + 1, -1):
            held[k] = held[k - 1]
        held[place + 1, 0] = held[place + 1, 1] = time
        held[place + 1, 2] = held[place + 1, 3] = value
        count += 1
    return count


@kernel
def _rebuild(sums: Any, tops: Any, first: int, last: int, combines: Any) -> None:
    """The nodes above the leaves [first, last]."""
    first >>= 1
    last >>= 1
    while first >= 1:
        combines[0] += last + 1 - first
        for node in range(first, last + 1):
            sums[node] = sums[2 * node] + sums[2 * node + 1]
            tops[node] = max(tops[2 * node], tops[2 * node + 1])
        first >>= 1
        last >>= 1


@kernel
def _into_leaves(
    leaf_times: Any, sums: Any, tops: Any, count: int, times: Any, values: Any, combines: Any
) -> int:
    capacity = len(leaf_times)
    for i in range(len(times)):
        place = count
        if count and leaf_times[count - 1] > times[i]:
            place = np.searchsorted(leaf_times[:count], times[i], side="right")
            for k in range(count, place, -1):
                leaf_times[k] = leaf_times[k - 1]
                sums[capacity + k] = sums[capacity + k - 1]
                tops[capacity + k] = tops[capacity + k - 1]
        leaf_times[place] = times[i]
        sums[capacity + place] = values[i]
        tops[capacity + place] = values[i]
        _rebuild(sums, tops, capacity + place, capacity + count, combines)
        count += 1
    return count


@kernel
def _compact(leaf_times: Any, sums: Any, tops: Any, count: int, horizon: int, combines: Any) -> int:
    """Drop the leaves before a time."""
    capacity = len(leaf_times)
    gone = np.searchsorted(leaf_times[:count], horizon)
    kept = count - gone
    for k in range(count):
        if k < kept:
            leaf_times[k] = leaf_times[k + gone]
            sums[capacity + k] = sums[capacity + k + gone]
            tops[capacity + k] = tops[capacity + k + gone]
        else:
            sums[capacity + k] = 0.0
            tops[capacity + k] = -np.inf
    _rebuild(sums, tops, capacity, 2 * capacity - 1, combines)
    return int(kept)


@kernel
def _fire_leaves(
    sizes: Any,
    slides: Any,
    leaf_times: Any,
    sums: Any,
    tops: Any,
    count: int,
    low: int,
    high: int,
    out: Any,
    combines: Any,
) -> int:
    """Counts the windows that are due and hold a row; writes them where there is room."""
    capacity, found = len(leaf_times), 0
    if not count:
        return 0
    held = leaf_times[:count]
    for kind in range(len(sizes)):
        size, slide = sizes[kind], slides[kind]
        last = min(high - size, held[-1]) // slide
        k = max(low - size, held[0] - size) // slide + 1
        while k <= last:
            first = np.searchsorted(held, k * slide)
            end = np.searchsorted(held, k * slide + size)
            if first < end:
                if found < len(out):
                    total, top = 0.0, -np.inf
                    left, right = first + capacity, end + capacity
                    while left < right:
                        if left & 1:
                            total += sums[left]
                            top = max(top, tops[left])
                            left += 1
                            combines[0] += 1
                        if right & 1:
                            right -= 1
                            total += sums[right]
                            top = max(top, tops[right])
                            combines[0] += 1
                        left >>= 1
                        right >>= 1
                    out[found, 0] = kind
                    out[found, 1] = k * slide
                    out[found, 2] = k * slide + size
                    out[found, 3] = total
                    out[found, 4] = top
                found += 1
            k += 1
    return found
