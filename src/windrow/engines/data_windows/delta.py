"""Delta windows as ranges of rows.

Rows of a key lie in order of time, and their values do not fall. So neither do the numbers of the first and
of the last window that holds a row (:meth:`windrow.windows.Delta.assign`): a window starts with the first row
whose last window is not before it, and ends before the first row whose first window is after it. One pass
over the rows of all keys.

A window is complete once a row behind its end has come, or at the end of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints, Mask
from windrow.compile.cache import kernel
from windrow.compile.pieces import pieces
from windrow.engines.data_windows.strategy import Decided, Decision, Strategy, reported, value_type
from windrow.engines.living.rings import each_of
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.rows.frame import Frame
from windrow.slicing.limits import add_windows, most_windows
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Delta

__all__ = ["DeltaStrategy"]


_LIMIT = 2**62
_HALF = 2**31 - 1


class DeltaStrategy(Strategy[Delta]):
    """Rows without a finite value are in no window."""

    closes_at_end = True
    #: a window is open as long as it holds the last row
    looks_at_last = True

    def check(self, table: pa.Table) -> None:
        column = self.window.column
        kind = value_type(table, column)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise TypeError(f"column {column!r} is of type {kind}: Delta needs a column of numbers")

    def held(self, *columns: Any) -> Mask | None:
        (column,) = columns
        if pa.types.is_floating(column.type):
            finite: Mask = np.isfinite(column.to_numpy(zero_copy_only=False))  # nulls come as NaN
            return None if finite.all() else finite
        return np.asarray(pc.is_valid(column)) if column.null_count else None

    def find(self, query: Spec, frame: Frame, leading: Ints | None = None) -> Decided:
        found = _ranges(frame, self.window, query.max_windows)
        return Decided(reported(frame, *found, disjoint=not self.window.overlaps))

    def remember(self, living: LivingRows, fresh: Fresh) -> None:
        values = self._values(fresh.frame)
        living.put(fresh, "values", values)
        living.put(fresh, "highest", _window_numbers(values, self.window)[1])

    def decide(self, query: Spec, living: LivingRows, fresh: Fresh) -> Decision:
        """A row ends the windows of the row before it that do not hold it. The last row of each key before is
        looked at again."""
        values, runs = self._values(fresh.frame), fresh.runs
        known = np.flatnonzero(fresh.firsts > living.begins(fresh.keys))
        if len(known):
            last = living.fact("values", fresh.keys[known], fresh.firsts[known] - 1)
            values = np.insert(values, runs[:-1][known], last)
        keys = np.insert(fresh.row_keys, runs[:-1][known], fresh.keys[known])
        _check_no_fall(values, keys, self.window)
        lowest, highest = _window_numbers(values, self.window)
        is_new = np.ones(len(keys), np.bool_)
        is_new[runs[:-1][known] + np.arange(len(known))] = False
        self.remember(living, fresh)
        follows = np.append(False, keys[1:] == keys[:-1])
        begins = lowest.copy()
        begins[follows] = np.maximum(lowest, np.append(lowest[:1], highest[:-1] + 1))[follows]
        opened = _count(begins[is_new], highest[is_new])
        add_windows([self.window], [opened], most_windows(query.max_windows, len(keys)))
        rows = np.flatnonzero(follows)
        stops = fresh.positions[np.cumsum(is_new)[rows] - 1]
        numbers, which = each_of(lowest[rows - 1], np.minimum(highest[rows - 1], lowest[rows] - 1) + 1)
        of, lasts = keys[rows][which], np.append(np.flatnonzero(np.diff(keys)), len(keys) - 1)
        fronts = living.first_from("highest", of, numbers)
        open_from = living.first_from("highest", fresh.keys, lowest[lasts])
        # the last row stays in any case: later values must not fall below it
        return Decision(of, fronts, stops[which], np.minimum(open_from, fresh.ends - 1))

    def _values(self, frame: Frame) -> Any:
        return frame.column(self.window.column).to_numpy(zero_copy_only=False)

    def needed_from(self, frame: Frame, found: Ranges) -> Ints:
        runs = frame.run_starts
        rest = runs[1:] - 1  # the last row stays in any case: later values must not fall below it
        open_still = found.stops == runs[found.keys + 1]
        np.minimum.at(rest, found.keys[open_still], found.fronts[open_still])
        return rest

    def completed(self, frame: Frame, found: Ranges, firsts: Ints, closing: bool) -> Mask | None:
        """Those that a new row ends: the first row behind them is new."""
        out: Mask = found.stops < firsts[found.keys]
        open_still = found.stops == frame.run_starts[found.keys + 1]
        return ~out if closing else ~out & ~open_still


def _ranges(frame: Frame, window: Delta, max_windows: int | None) -> tuple[Ints, Ints, Ints]:
    """Keys, fronts and stops of all windows with a row, by key, then by value; too many are refused."""
    values = frame.column(window.column).to_numpy(zero_copy_only=False)
    _check_no_fall(values, frame.keys, window)
    lowest, highest = _window_numbers(values, window)
    runs = frame.run_starts
    begins = np.maximum(lowest, np.concatenate([lowest[:1], highest[:-1] + 1]))
    opens = runs[:-1][np.diff(runs) > 0]
    begins[opens] = lowest[opens]
    add_windows([window], [_count(begins, highest)], most_windows(max_windows, len(frame)))
    counts = np.maximum(highest - begins + 1, 0)
    fronts = np.repeat(np.arange(len(counts)), counts)
    numbers = begins[fronts] + np.arange(len(fronts)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = frame.keys[fronts].astype(np.int64)
    stops, ends, stop = np.empty(len(fronts), np.int64), runs[keys + 1], 0
    for first, last in pieces(len(fronts)):
        some = slice(first, last)
        stop = _find_stops(lowest, numbers[some], fronts[some], ends[some], stop, stops[some])
    return keys, fronts, stops


def _count(begins: Ints, highest: Ints) -> int:
    """How many windows begin with some row, however many: in two halves, each of which fits 64 bits."""
    high = (highest >> 31) - (begins >> 31)
    low = (highest & _HALF) - (begins & _HALF) + 1
    some = highest >= begins
    return (int(high[some].sum()) << 31) + int(low[some].sum())


def _check_no_fall(values: Any, keys: Ints, window: Delta) -> None:
    falls = np.flatnonzero((values[1:] < values[:-1]) & (keys[1:] == keys[:-1]))
    if falls.size:
        at = int(falls[0])
        before, after = values[at].item(), values[at + 1].item()
        raise ValueError(
            f"column {window.column!r} falls from {before} to {after} as time goes on: "
            f"Delta needs a number that does not decrease"
        )


def _window_numbers(values: Any, window: Delta) -> tuple[Ints, Ints]:
    """The numbers of the first and the last window that hold each value, as ``Delta.assign`` gives them."""
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if values.dtype.kind in "iu" and isinstance(window.size, int) and isinstance(window.slide, int):
        largest = max(abs(int(edge)) for edge in (values.min(), values.max()))
        exact = values.astype(np.int64 if max(largest, window.size) < _LIMIT else object)
        lowest, highest = (exact - window.size) // window.slide + 1, exact // window.slide
    else:
        rounded = values.astype(np.float64)
        lowest = np.floor((rounded - window.size) / window.slide) + 1
        highest = np.floor(rounded / window.slide)
    if lowest.min() < -2 * _LIMIT or highest.max() >= 2 * _LIMIT:  # beyond 64 bits
        raise OverflowError(
            f"column {window.column!r} holds {values[abs(highest).argmax()].item()}, too far from zero for "
            f"{window!r}: use a longer slide, or scale or filter such rows"
        )
    return lowest.astype(np.int64), highest.astype(np.int64)


@kernel
def _find_stops(lowest: Ints, numbers: Ints, fronts: Ints, ends: Ints, stop: int, stops: Ints) -> int:
    """From the stop of the window before on."""
    for window in range(len(numbers)):
        stop = max(stop, fronts[window])
        while stop < ends[window] and lowest[stop] <= numbers[window]:
            stop += 1
        stops[window] = stop
    return stop
