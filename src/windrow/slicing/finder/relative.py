"""The rows that points in time see: a frame of :mod:`windrow.windows.relative` as ranges of sorted rows.

Rows are sorted by key and time, and so are the points: labels, or the rows themselves. An end by time is one
search in the rows of the point's key that goes on from where the last one ended, in steps that double: O(rows
+ points) where points are many, O(points log rows) where they are few. Ends that several frames share are
found once. Ends by the calendar may fall (31 March and 30 March are a month after the same day): the search
then starts anew.

Plain rolling has a kernel of its own (``rolling_time``), which is faster: its two ends are found in one pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.slicing.finder.moved_times import moved_times
from windrow.threads import in_threads
from windrow.windows.relative import Bound, RelativeFrame, RowFrame, TimeFrame
from windrow.windows.timeline.durations import Duration

__all__ = ["SeenRows", "bounds_at"]

_NONE: Ints = np.zeros(0, np.int64)
#: points that a thread searches for at a time
_POINTS = 1 << 16


@dataclass(frozen=True)
class SeenRows:
    """Rows and points, and the ranges of rows that frames give each point."""

    #: times of the rows, by key, and where those of each key start, and the end
    times: Ints
    runs: Ints
    #: keys and times of the points; None: the points are the rows
    keys: Ints | None = None
    moments: Ints | None = None
    #: nanoseconds of rows and of points beyond their times; None: none
    fractions: Ints | None = None
    point_fractions: Ints | None = None
    _found: dict[tuple[Bound, bool], Ints] = field(default_factory=dict[Any, Any], compare=False)

    def ranges(self, frame: RelativeFrame) -> tuple[Ints, Ints]:
        """Fronts and stops, one for each point."""
        if isinstance(frame, RowFrame):
            return self._by_number(frame)
        return self._by_time(frame)

    def _by_number(self, frame: RowFrame) -> tuple[Ints, Ints]:
        assert self.keys is None, "rows are counted from a row"
        counts = np.diff(self.runs)
        begins, ends = np.repeat(self.runs[:-1], counts), np.repeat(self.runs[1:], counts)
        # an offset that leaves every run leaves it by no more than its length
        most = len(self.times) + 1
        front, stop = (max(-most, min(most, offset)) for offset in (frame.front, frame.stop))
        places = np.arange(len(self.times))
        fronts = np.clip(places + front, begins, ends)
        return fronts, np.maximum(np.clip(places + stop, begins, ends), fronts)

    def _by_time(self, frame: TimeFrame) -> tuple[Ints, Ints]:
        keys = self._keys
        lower, upper = frame.lower, frame.upper
        fronts = self.runs[keys] if lower is None else self._first(lower, keys, after=not lower.is_closed)
        stops = self.runs[keys + 1] if upper is None else self._first(upper, keys, after=upper.is_closed)
        stops = np.maximum(fronts, stops)
        if frame.rows is None:
            return fronts, stops
        if lower is None:
            return np.maximum(fronts, stops - frame.rows), stops
        return fronts, np.minimum(stops, fronts + frame.rows)

    @property
    def _keys(self) -> Ints:
        if self.keys is not None:
            return self.keys
        return np.repeat(np.arange(len(self.runs) - 1), np.diff(self.runs))

    def _first(self, bound: Bound, keys: Ints, *, after: bool) -> Ints:
        """The first row of each point's key at the bound or behind it; with ``after``: behind it."""
        known = (bound, after)
        if known not in self._found:
            self._found[known] = self._searched(bound, keys, after)
        return self._found[known]

    def _searched(self, bound: Bound, keys: Ints, after: bool) -> Ints:
        bounds = bounds_at(bound, self.times if self.moments is None else self.moments)
        if self.fractions is None and self.point_fractions is None:
            return self._found_in_pieces(_NONE, keys, bounds + 1 if after else bounds, _NONE)
        rows, points = (
            np.zeros(count, np.int64) if each is None else each
            for count, each in ((len(self.times), self.fractions), (len(keys), self.point_fractions))
        )
        return self._found_in_pieces(rows, keys, bounds, points + 1 if after else points)

    def _found_in_pieces(self, fractions: Ints, keys: Ints, bounds: Ints, parts: Ints) -> Ints:
        """:func:`_find_first` for all points; threads share many, each piece searches from its own key on."""
        out = np.empty(len(keys), np.int64)

        def find(piece: slice) -> None:
            points = keys[piece], bounds[piece], parts[piece], out[piece]
            _find_first(self.times, fractions, self.runs, *points)

        if len(keys) < 2 * _POINTS:
            find(slice(None))
        else:
            find(slice(0, 0))  # compiles, before threads do
            in_threads(find, [slice(front, front + _POINTS) for front in range(0, len(keys), _POINTS)])
        return out


def bounds_at(bound: Bound, times: Ints) -> Ints:
    """An end of a frame for points at these times; none lies beyond the ends of time.

    >>> bounds_at(
    ...     Bound((Duration(-10, "integer"), Duration(3, "integer")), True), np.array([50, 60])
    ... ).tolist()
    [43, 53]
    """
    for offset in _summed(bound.offsets):
        times = moved_times(times, offset, bound.timezone)
    return times


@kernel
def _is_before(times: Ints, fractions: Ints, place: int, bound: int, fraction: int) -> bool:
    time = times[place]
    if time != bound or len(fractions) == 0:
        return time < bound
    return fractions[place] < fraction


@kernel
def _find_first(
    times: Ints, fractions: Ints, runs: Ints, keys: Ints, bounds: Ints, parts: Ints, out: Ints
) -> None:
    """For each point the first row of its key that is not before its bound."""
    key, place, bound, part = -1, 0, 0, 0
    for i in range(len(keys)):
        before, before_part = bound, part
        bound = bounds[i]
        part = parts[i] if len(parts) else 0
        if keys[i] != key or bound < before or (bound == before and part < before_part):
            key = keys[i]
            place = runs[key]
        end, probe, step = runs[key + 1], place, 1
        while probe < end and _is_before(times, fractions, probe, bound, part):
            place = probe + 1
            probe += step
            step *= 2
        high = min(probe, end)
        while place < high:
            middle = (place + high) // 2
            if _is_before(times, fractions, middle, bound, part):
                place = middle + 1
            else:
                high = middle
        out[i] = place


def _summed(offsets: Sequence[Duration]) -> Iterator[Duration]:
    """Neighbours of a fixed length as one, so that a sum is cut off at the ends of time and not its parts."""
    for is_calendar, group in itertools.groupby(offsets, lambda each: each.is_calendar):
        parts = list(group)
        yield from parts if is_calendar else [Duration(sum(each.amount for each in parts), parts[0].kind)]
