"""The windows of a query that time alone decides, all at once: which are due, which hold a row. The rows of a
table are found like slices, each by a time inside it.

The windows of one kind are numbered (:mod:`windrow.slicing.finder.kind_columns`), and neither starts nor ends
fall with the number, so that "the first that ends after t" and "the last that starts by t" answer all
questions; the kernels ask them for every kind of a query in one call, so that a thousand windows cost no more
calls than one.

Cost: O(log slices) per window that comes out, O(kinds x keys) per call. Where more windows would come out
than there is room for at first, they are counted, O(kinds x slices), and too many, of all kinds, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.compile.pieces import pieces
from windrow.slicing.finder.due import find_due_in_pieces, most_due, stretches
from windrow.slicing.finder.kernels import (
    count_ended,
    find_due,
    find_filling,
    find_holding,
    find_latest_ends,
    find_ranges,
    found_in_pieces,
)
from windrow.slicing.finder.kind_columns import KindColumns, Kinds
from windrow.slicing.finder.listed import windows_over
from windrow.slicing.limits import add_windows, check_windows, most_windows, windows_left
from windrow.slicing.slices import HeldSlices, runs_of
from windrow.slicing.window_lists import Found, Ranges
from windrow.threads import are_several
from windrow.values import with_fields
from windrow.windows import TimeWindow

__all__ = ["TimeWindows"]

#: lists of windows that do not come out are no longer than the times that they hold, but for a few each
_ANY_NUMBER = 1 << 62


class TimeWindows(KindColumns):
    """Finds the windows of these kinds over rows or slices."""

    def due(self, kinds: Kinds, slices: HeldSlices, low: int, high: int) -> Ranges:
        """The windows that hold one of these slices and end in (low, high]."""
        keys, runs = runs_of(slices.keys)
        return self.due_in_runs(kinds, keys, runs, slices.firsts, low, high)

    def due_in_runs(self, kinds: Kinds, keys: Ints, runs: Ints, times: Ints, low: int, high: int) -> Ranges:
        """The same for slices by a time inside each; ``runs`` says where those of each key start, and the
        end. Windows come by kind, then key, then time."""
        counts, found = self._due(kinds, self._fills(False), runs, times, low, high)
        return with_fields(found, keys=keys[found.keys], windows=np.repeat(self.numbers, counts))

    def over(self, times: Ints, runs: Ints, fill: bool = False) -> Ranges:
        """The windows over all rows or slices of a table, each by a time inside it; ``runs`` says where those
        of each key start, and the end. With ``fill``, windows that hold nothing between the first and the
        last of a key come out, too. Windows come by kind, then key, then time.

        >>> from windrow.windows import Tumbling
        >>> due = TimeWindows([(0, Tumbling(10))]).over(np.array([1, 2, 25]), np.array([0, 3]), fill=True)
        >>> due.starts.tolist(), due.fronts.tolist(), due.stops.tolist()
        ([0, 10, 20], [0, 2, 2], [2, 2, 3])
        """
        kinds = self._kinds_over(times, runs, fill)
        counts, found = self._due(kinds, self._fills(fill), runs, times, START_OF_TIME, END_OF_TIME)
        if len(self) == 1:
            return with_fields(found, disjoint=self.is_disjoint)
        return with_fields(found, windows=np.repeat(self.numbers, counts))

    def _fills(self, fill: bool) -> Mask:
        """Which kinds have windows that hold nothing: not those of a single window."""
        return self._repeats if fill else self._never

    @cached_property
    def _never(self) -> Mask:
        return np.zeros(len(self), np.bool_)

    def _kinds_over(self, times: Ints, runs: Ints, fill: bool) -> Kinds:
        if not fill or not self.has_lists:
            return self.kinds(times)
        most = most_windows(self.max_windows, len(times))
        spans, moments = stretches(times, runs), np.unique(times)

        def listed(window: TimeWindow) -> tuple[Ints, Ints]:
            lows, highs = spans if window.repeats else (moments, moments)
            return windows_over(window, lows, highs, most, START_OF_TIME, END_OF_TIME)

        return self._kinds(listed)

    def _due(
        self, kinds: Kinds, fills: Mask, runs: Ints, times: Ints, low: int, high: int
    ) -> tuple[Ints, Ranges]:
        """How many windows of each kind there are; and the windows, with the numbers of runs as keys."""
        if len(self) == 1 and are_several():
            found = find_due_in_pieces(kinds, fills, runs, times, low, high)
            if found is not None:
                add_windows(self._each, [len(found)], most_windows(self.max_windows, len(times)))
                return np.array([len(found)]), found
        until = np.empty(len(self), np.int64)
        asked = (*kinds, fills, runs, times, low, high, until)
        room = np.empty((5, most_due(kinds, runs, times, high - low)), np.int64)
        count = found_in_pieces(find_due, *asked, room)
        if count > room.shape[1]:
            room = np.empty((5, self._count_due(kinds, fills, runs, times, low, high)), np.int64)
            count = found_in_pieces(find_due, *asked, room)
            assert count <= room.shape[1], "as many windows are due as were counted"
        most, counts = most_windows(self.max_windows, len(times)), until.copy()
        counts[1:] -= until[:-1]
        add_windows(self._each, counts.tolist(), most)
        run, starts, ends, fronts, stops = (room[k, :count] for k in range(5))
        return counts, Ranges(run, starts, ends, fronts, stops)

    def _count_due(self, kinds: Kinds, fills: Mask, runs: Ints, times: Ints, low: int, high: int) -> int:
        """How many windows are due; too many are refused."""
        most, windows = most_windows(self.max_windows, len(times)), self._each
        owners = np.repeat(np.arange(len(runs) - 1), np.diff(runs))
        counts = self._counts(kinds, find_holding, owners, times, low, high)
        if fills.any():
            lows, highs = stretches(times, runs)
            unknown = np.full(len(lows), END_OF_TIME), np.full(len(lows), START_OF_TIME)
            filled = self._counts(kinds, find_filling, np.arange(len(lows)), lows, highs, *unknown, low, high)
            counts = [f if fills[k] else n for k, (f, n) in enumerate(zip(filled, counts, strict=True))]
            check_windows(windows, counts, most, alone=True)
        check_windows(windows, counts, most)
        return sum(counts)

    def holding(self, kinds: Kinds, keys: Ints, times: Ints, low: int, high: int) -> Found:
        """The windows with an end in (low, high] that hold one of these times, each once; sorted by key and
        time."""
        room = np.empty((64 + 4 * len(times), 3), np.int64)
        count = found_in_pieces(find_holding, *kinds, keys, times, low, high, room)
        most = most_windows(self.max_windows, len(times))
        if count > min(len(room), windows_left(most)):
            self._counted(kinds, most, find_holding, keys, times, low, high)
        if count > len(room):
            room = np.empty((count, 3), np.int64)
            found_in_pieces(find_holding, *kinds, keys, times, low, high, room)
        self._add(room[:count, 0], most)
        kind, key, k = (np.ascontiguousarray(room[:count, column]) for column in range(3))
        return self._found(kinds, kind, key, k)

    def _found(self, kinds: Kinds, kind: Ints, keys: Ints, k: Ints) -> Found:
        """Windows by their number k of a kind."""
        sizes, slides, anchors, heads, _, starts, ends = kinds
        if not len(starts):
            begins = anchors[kind] + k * slides[kind]
            return Found(self.numbers[kind], keys, begins, begins + sizes[kind])
        listed = slides[kind] == 0
        place = np.where(listed, heads[kind] + k, 0)
        begins = np.where(listed, starts[place], anchors[kind] + k * slides[kind])
        return Found(self.numbers[kind], keys, begins, np.where(listed, ends[place], begins + sizes[kind]))

    def latest_ends(self, kinds: Kinds, times: Ints, enough: int = END_OF_TIME) -> Ints:
        """The latest end of the windows that hold each time, or any that is after ``enough``; START_OF_TIME:
        no window holds it."""
        found = np.empty(len(times), np.int64)
        for first, stop in pieces(len(times), cost=len(self)):
            find_latest_ends(*kinds, times[first:stop], enough, found[first:stop])
        return found

    def count_ended(self, times: Ints, by: int) -> Ints:
        """How many windows hold each time and end by a time, of which none is listed for its step.

        >>> from windrow.windows import Sliding
        >>> windows = TimeWindows([(0, Sliding(10, slide=5))])
        >>> windows.count_ended(np.array([3, 7]), 12).tolist()
        [2, 1]
        """
        found = np.zeros(len(times), np.int64)
        for window in self._stepping:
            found += _steps_ended(window, times, by)
        others = self._not_stepping
        kinds = others.kinds(times, until=by)
        for first, stop in pieces(len(times), cost=len(others)):
            count_ended(*kinds, times[first:stop], by, found[first:stop])
        return found

    @cached_property
    def _stepping(self) -> list[TimeWindow]:
        """Windows that there may be any number of on a day."""
        return [window for _, window in self.numbered if window.counts_at_once]

    @cached_property
    def _not_stepping(self) -> TimeWindows:
        """The others, for what gives no windows out."""
        return TimeWindows([each for each in self.numbered if not each[1].counts_at_once], _ANY_NUMBER)

    def filling(
        self,
        kinds: Kinds,
        keys: Ints,
        stretch: tuple[Ints, Ints],
        known: tuple[Ints, Ints],
        low: int,
        high: int,
    ) -> Found:
        """The windows between the first and the last row of each key that end in (low, high], with rows or
        not; or by low if they were not between the first and the last row that were ``known`` before. Some of
        them may not come out: those that do are for the caller to add to the step's."""
        room = np.empty((64 + 4 * len(keys), 3), np.int64)
        count = found_in_pieces(find_filling, *kinds, keys, *stretch, *known, low, high, room)
        most = most_windows(self.max_windows, len(keys))
        if count > min(len(room), most):
            self._counted(kinds, most, find_filling, keys, *stretch, *known, low, high)
        if count > len(room):
            room = np.empty((count, 3), np.int64)
            found_in_pieces(find_filling, *kinds, keys, *stretch, *known, low, high, room)
        kind, key, k = (np.ascontiguousarray(room[:count, column]) for column in range(3))
        return self._found(kinds, kind, key, k)

    def _counted(self, kinds: Kinds, most: int, find: Callable[..., int], *asked: Any) -> int:
        """How many windows a kernel finds; too many are refused. Of those that it fills in, some may not come
        out: they are counted by themselves here, and fixed bands not at all."""
        counts = self._counts(kinds, find, *asked)
        fills = find is find_filling
        checked = [k for k, window in enumerate(self._each) if window.repeats or not fills]
        windows = [self._each[k] for k in checked]
        check_windows(windows, [counts[k] for k in checked], most, alone=fills)
        return sum(counts)

    def _counts(self, kinds: Kinds, find: Callable[..., int], *asked: Any) -> list[int]:
        """How many windows of each kind a kernel finds."""
        sizes, slides, anchors, heads, tails, starts, ends = kinds
        nowhere, counts = np.empty((0, 3), np.int64), []
        for k in range(len(self)):
            only = (column[k : k + 1] for column in (sizes, slides, anchors, heads, tails))
            counts.append(found_in_pieces(find, *only, starts, ends, *asked, nowhere))
        return counts

    def _add(self, kinds: Ints, most: int) -> None:
        """These windows, by their kinds, are given."""
        counts = [len(kinds)] if len(self) == 1 else np.bincount(kinds, minlength=len(self)).tolist()
        add_windows(self._each, counts, most)

    def one_by_one(self) -> list[TimeWindows]:
        return [self] if len(self) == 1 else self._alone

    @cached_property
    def _alone(self) -> list[TimeWindows]:
        return [TimeWindows([each], self.max_windows) for each in self.numbered]

    @cached_property
    def longest_each(self) -> TimeWindows:
        """Windows of which the same hold each time, without shorter ones that start where another does."""
        return TimeWindows([(n, window.outermost) for n, window in self.numbered], _ANY_NUMBER)

    @staticmethod
    def ranges(found: Found, slices: HeldSlices) -> tuple[Ints, Ints]:
        """The slices [front, stop) that each window holds."""
        keys, runs = runs_of(slices.keys)
        fronts, stops = np.empty(len(found), np.int64), np.empty(len(found), np.int64)
        for first, stop in pieces(len(found)):
            some = slice(first, stop)
            windows = (found.keys[some], found.starts[some], found.ends[some])
            find_ranges(*windows, keys, runs, slices.ends, fronts[some], stops[some])
        return fronts, stops


def _steps_ended(window: TimeWindow, times: Ints, by: int) -> Ints:
    """How many windows hold each time and end by a time: those that end after it, and by the end of its
    period. O(1) per time."""
    steps = window.steps()
    if steps is not None:
        size, step, anchor = steps
        highs = np.minimum(times - (times - anchor) % size + size, by)
        return np.maximum((highs - anchor) // step - (times - anchor) // step, 0)
    moments, places = np.unique(times, return_inverse=True)
    latest = [window.latest_end(time) for time in moments.tolist()]
    highs = [by if end is None else min(end, by) for end in latest]
    counts = [window.count_ending_in(*each) for each in zip(moments.tolist(), highs, strict=True)]
    return np.array(counts, np.int64)[places]
