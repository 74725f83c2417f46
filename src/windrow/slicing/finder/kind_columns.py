"""The kinds of a query's time windows, as the kernels take them, and what is known of them without any row.

The windows of one kind are numbered: window k starts at ``anchor + k * slide``, or is the k-th of a list
where they are not an arithmetic progression (calendar windows, cumulative ones, a fixed band). Neither starts
nor ends fall with k.

Cost: O(kinds) per question, and what :mod:`windrow.slicing.finder.listed` takes for lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.compile.cache import kernel
from windrow.slicing.finder.listed import windows_over
from windrow.slicing.limits import most_windows
from windrow.windows import TimeWindow
from windrow.windows.base import Progression

__all__ = ["KindColumns", "Kinds"]

#: sizes, slides (0: a list), anchors, first and end of the list of each kind; and the lists
Kinds = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]


class KindColumns:
    """Kinds of windows, by their number in the query; ``max_windows``: that of the query.

    >>> from windrow.windows import Sliding
    >>> windows = KindColumns([(0, Sliding(10, slide=5))])
    >>> windows.horizon(12)
    5
    """

    def __init__(self, numbered: Sequence[tuple[int, TimeWindow]], max_windows: int | None = None) -> None:
        self.numbered = tuple(numbered)
        self.max_windows = max_windows
        self.numbers = np.array([number for number, _ in numbered], np.int64)

    def __len__(self) -> int:
        return len(self.numbered)

    @cached_property
    def _each(self) -> list[TimeWindow]:
        return [window for _, window in self.numbered]

    @cached_property
    def _arithmetic(self) -> list[Progression | None]:
        return [window.progression() for _, window in self.numbered]

    @cached_property
    def has_lists(self) -> bool:
        return any(each is None for each in self._arithmetic)

    @cached_property
    def _progressions(self) -> tuple[Ints, Ints, Ints]:
        """Sizes, slides and anchors of the kinds that are arithmetic."""
        rows = np.array([each for each in self._arithmetic if each is not None], np.int64).reshape(-1, 3)
        sizes, slides, anchors = (np.ascontiguousarray(rows[:, k]) for k in range(3))
        return sizes, slides, anchors

    @cached_property
    def _others(self) -> list[TimeWindow]:
        """The windows of the kinds that are lists."""
        pairs = zip(self.numbered, self._arithmetic, strict=True)
        return [window for (_, window), each in pairs if each is None]

    @cached_property
    def _without_lists(self) -> Kinds:
        return self._kinds(lambda _: (_nothing(), _nothing()))

    def kinds(self, times: Ints, after: int = START_OF_TIME, until: int = END_OF_TIME) -> Kinds:
        """All kinds for the kernels; lists hold the windows that hold one of these times and end in (after,
        until]."""
        moments = np.unique(times) if self.has_lists else times
        return self.kinds_between(moments, moments, after, until, len(times))

    def _kinds(self, listed: Callable[[TimeWindow], tuple[Ints, Ints]]) -> Kinds:
        rows: list[tuple[int, ...]] = []
        starts, ends, count = [_nothing()], [_nothing()], 0
        for (_, window), arithmetic in zip(self.numbered, self._arithmetic, strict=True):
            if arithmetic is not None:
                rows.append((*arithmetic, 0, 0))
                continue
            for columns, column in zip((starts, ends), listed(window), strict=True):
                columns.append(column)
            rows.append((0, 0, 0, count, count + len(ends[-1])))
            count += len(ends[-1])
        table = np.array(rows, np.int64).reshape(len(rows), 5)
        sizes, slides, anchors, heads, tails = (np.ascontiguousarray(table[:, k]) for k in range(5))
        return sizes, slides, anchors, heads, tails, np.concatenate(starts), np.concatenate(ends)

    def kinds_between(
        self, lows: Ints, highs: Ints, after: int = START_OF_TIME, until: int = END_OF_TIME, rows: int = 0
    ) -> Kinds:
        """The same for the windows that overlap one of the stretches [low, high], of so many rows."""
        if not self.has_lists:
            return self._without_lists
        most = most_windows(self.max_windows, max(rows, len(lows)))
        return self._kinds(lambda window: windows_over(window, lows, highs, most, after, until))

    def is_single(self, numbers: Ints) -> Mask:
        """Which of these windows are the only ones of their kind."""
        single = [number for number, window in self.numbered if not window.repeats]
        return np.isin(numbers, np.array(single, np.int64))

    @cached_property
    def is_disjoint(self) -> bool:
        """Whether no time is in two windows; asked of one kind."""
        return not any(window.overlaps for _, window in self.numbered)

    @cached_property
    def _repeats(self) -> Mask:
        return np.array([window.repeats for window in self._each], np.bool_)

    def common(self, low: int, high: int) -> tuple[int, int] | None:
        """What all windows that end in (low, high] have in common; None: nothing, or not known."""
        if self.has_lists or low == START_OF_TIME or high == END_OF_TIME:
            return None
        first, last = _common(*self._progressions, low, high)
        return (first, last) if first < last else None

    @cached_property
    def are_everywhere(self) -> bool:
        """Whether every time is in some window."""
        return any(each is not None and each.slide <= each.size for each in self._arithmetic)

    def next_end(self, time: int) -> int:
        """The first end of a window after a time; END_OF_TIME: there is none."""
        found = [_next_end(*self._progressions, time)]
        for window in self._others:
            found += [end for _, end in itertools.islice(window.windows_ending_in(time, END_OF_TIME), 1)]
        return min(found)

    def first_start(self, low: int, high: int) -> int | None:
        """No window that ends in (low, high] starts before this; None: no window ends there."""
        if low == START_OF_TIME or high == END_OF_TIME:
            return self.horizon(low) if low > START_OF_TIME else START_OF_TIME
        found = _first_start_in(*self._progressions, low, high)
        starts = [found] if found < END_OF_TIME else []
        for window in self._others:
            starts += [start for start, _ in itertools.islice(window.windows_ending_in(low, high), 1)]
        return min(starts, default=None)

    def horizon(self, time: int) -> int:
        """The earliest start of all windows that end after a time: what ends before it is needed no more."""
        found = _first_start_in(*self._progressions, time, 2 * END_OF_TIME - 1)
        return min([found, *(_first_start(window, time) for window in self._others)])

    @cached_property
    def longest(self) -> int:
        """About how long the longest window is."""
        return max((_length(window) for _, window in self.numbered), default=1)


@kernel
def _next_end(sizes: Ints, slides: Ints, anchors: Ints, time: int) -> Any:
    """The first end after a time."""
    found = np.int64(END_OF_TIME)
    for k in range(len(sizes)):
        base = anchors[k] + sizes[k]
        found = min(found, base + ((time - base) // slides[k] + 1) * slides[k])
    return found


@kernel
def _first_start_in(sizes: Ints, slides: Ints, anchors: Ints, low: int, high: int) -> Any:
    """The earliest start of the first windows after low, of those that end by high."""
    found = np.int64(END_OF_TIME)
    for k in range(len(sizes)):
        start = anchors[k] + ((low - anchors[k] - sizes[k]) // slides[k] + 1) * slides[k]
        if start + sizes[k] <= high:
            found = min(found, start)
    return found


@kernel
def _common(sizes: Ints, slides: Ints, anchors: Ints, low: int, high: int) -> Any:
    """The latest start and the earliest end of the windows that end in (low, high]."""
    first, last = np.int64(START_OF_TIME), np.int64(END_OF_TIME)
    is_any = False
    for k in range(len(sizes)):
        base = anchors[k] + sizes[k]
        earliest, latest = (low - base) // slides[k] + 1, (high - base) // slides[k]
        if earliest <= latest:
            first, is_any = max(first, anchors[k] + latest * slides[k]), True
            last = min(last, base + earliest * slides[k])
    return (first, last) if is_any else (np.int64(0), np.int64(0))


def _nothing() -> Ints:
    return np.empty(0, np.int64)


def _first_start(window: TimeWindow, time: int) -> int:
    """Where the first window that ends after a time starts."""
    return next((start for start, _ in window.windows_ending_in(time, END_OF_TIME)), END_OF_TIME)


def _length(window: TimeWindow) -> int:
    window = window.outermost
    progression = window.progression()
    if progression is not None:
        return progression.size
    # a fixed window may lie before the epoch
    endings = (window.windows_ending_in(*each) for each in ((0, END_OF_TIME), (START_OF_TIME, 0)))
    first = next(chain.from_iterable(endings), None)
    return 1 if first is None else max(1, max(end - start for start, end in window.assign(first[0])))
