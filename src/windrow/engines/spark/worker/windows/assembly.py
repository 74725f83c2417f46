"""Windows from slices, key after key: the reduce side.

Slices come sorted by key, and those of a key in order of their cells. Slices of one cell are fused as soon as
they are seen; windows come out as soon as no later slice can belong to them, and then slices that no open
window needs are forgotten. So what is kept is the slices that the open windows of one key span.

Invariant: every window of a key comes out once. Cost: one combine to fuse a slice, O(1) combines per window.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.spark.plan import smallest_gap
from windrow.errors import Raised, naming, rows_named
from windrow.rows.columns import plain_array
from windrow.rows.key_values import canonical_array
from windrow.rows.keys import KeyRuns
from windrow.rows.times import TimeAxis
from windrow.slicing.finder.sorted_rows import session_ranges, time_ranges
from windrow.slicing.limits import one_step
from windrow.slicing.slices import HeldSlices, KeyedSlices, concat, runs_of
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["Assembly"]

_NEVER = np.iinfo(np.int64).min


class Assembly:
    """The sliced windows of a query over the slices of a partition."""

    def __init__(self, query: Spec, axis: TimeAxis) -> None:
        self._query = query
        self._axis = axis
        self._windows = [(name, window) for name, window in query.windows if window.is_sliced]
        self._gap = smallest_gap(query)
        self._runs = KeyRuns(query.by)
        #: slices of the last key that open windows need
        self._open: KeyedSlices | None = None
        #: windows of the last key that end here or before have come out
        self._out = _NEVER

    def push(self, new: KeyedSlices) -> list[pa.Table]:
        """Results of the windows that are complete now; keys are numbered as they come."""
        if not len(new):
            return []
        # without key columns there is one key
        is_new = bool(self._query.by) and bool(self._runs.starts(new.keys)[0])
        both = new if self._open is None else _joined(self._open, new, is_new)
        return self._advance(self._fused(both), closing=False)

    def each_alone(self, new: KeyedSlices) -> list[pa.Table]:
        """Results of slices that share no window with others: each has a key of its own."""
        runs = np.arange(len(new) + 1)
        with one_step():
            found = [(name, self._ranges(new.slices, runs, window)) for name, window in self._windows]
            return [self._table(new, name, ranges) for name, ranges in found]

    def finish(self) -> list[pa.Table]:
        return [] if self._open is None else self._advance(self._open, closing=True)

    def _fused(self, both: KeyedSlices) -> KeyedSlices:
        """Neighbours of one cell are one."""
        slices = both.slices
        starts = np.diff(slices.keys, prepend=-1) > 0
        apart = starts.copy()
        apart[1:] |= slices.ends[1:] != slices.ends[:-1]
        if self._gap is not None:
            apart[1:] |= slices.firsts[1:] - _reach(slices.lasts, starts)[:-1] > self._gap
        edges = np.append(np.flatnonzero(apart), len(slices))
        with self._naming_rows(both):
            return KeyedSlices(both.keys, slices.folded(edges))

    def _advance(self, held: KeyedSlices, closing: bool) -> list[pa.Table]:
        """The windows that are complete, and what is still needed of the last key."""
        slices = held.slices
        _, runs = runs_of(slices.keys)
        last, now, needed = len(runs) - 2, int(slices.firsts[-1]), len(slices) - 1
        tables = []
        with one_step():
            found = [(name, window, self._ranges(slices, runs, window)) for name, window in self._windows]
        for name, window, ranges in found:
            open_still = (ranges.keys == last) & ~_ended(ranges, window, now) & (not closing)
            chosen = ~open_still & ~((ranges.keys == 0) & _ended(ranges, window, self._out))
            needed = min(needed, int(ranges.fronts[open_still].min(initial=needed)))
            tables.append(self._table(held, name, ranges.take(chosen)))
        # windows without rows count from the key's first row on
        first = int(runs[last])
        needed = first if self._query.empty == "include" else max(needed, first)
        self._open, self._out = (None, self._out) if closing else (_from(held, needed), now)
        return [table for table in tables if table.num_rows]

    def _ranges(self, slices: HeldSlices, runs: Ints, window: Window) -> Ranges:
        if decided_by_time(window):
            fill, most = self._query.empty == "include", self._query.max_windows
            return time_ranges(slices.firsts, runs, window, fill, most)
        assert decided_by_gaps(window)
        return session_ranges(slices.firsts, runs, window, slices.lasts)

    def _table(self, held: KeyedSlices, name: str, ranges: Ranges) -> pa.Table:
        shape: Any = "disjoint" if ranges.disjoint else "sliding"
        with self._naming_rows(held):
            results = held.slices.results(ranges.fronts, ranges.stops, shape)
        columns: dict[str, Any] = {
            key: canonical_array(plain_array(held.keys.column(key).take(pa.array(ranges.keys))))
            for key in self._query.by
        }
        if self._query.names_windows:
            columns["window"] = pa.array([name] * len(ranges), pa.string())
        columns["window_start"] = self._axis.column(ranges.starts)
        columns["window_end"] = self._axis.column(ranges.ends)
        pairs = zip(self._query.aggregates, results, strict=True)
        return pa.table(columns | {result: column for (result, _), column in pairs})

    def _naming_rows(self, held: KeyedSlices) -> AbstractContextManager[None]:
        """What an aggregate raises over these slices names the key and the times of their rows."""

        def rows(raised: Raised) -> str:
            assert raised.span is not None
            first, last = self._axis.column(np.array([raised.span.first, raised.span.last]))
            return rows_named(first, last, [column[raised.span.key].as_py() for column in held.keys.columns])

        return naming(rows)


def _ended(ranges: Ranges, window: Window, now: int) -> Any:
    """Which windows no row at this time or later belongs to: a row at a session's end still does."""
    return ranges.ends < now if window.decided_by == "gaps" else ranges.ends <= now


def _reach(lasts: Ints, starts: Any) -> Ints:
    """The latest time of each key up to each slice."""
    number = np.cumsum(starts)
    base = int(lasts.min())
    span = int(lasts.max()) - base + 1
    if span * int(number[-1]) < 2**62:
        return np.maximum.accumulate(lasts - base + number * span) - number * span + base
    found = lasts.copy()
    for first, stop in zip(np.flatnonzero(starts), [*np.flatnonzero(starts)[1:], len(lasts)], strict=True):
        found[first:stop] = np.maximum.accumulate(lasts[first:stop])
    return found


def _from(held: KeyedSlices, first: int) -> KeyedSlices:
    """The slices from one of the last key on."""
    slices = held.slices.take(slice(first, len(held)))
    keys = held.keys.take(pa.array(slices.keys[-1:])) if held.keys.num_columns else held.keys
    return KeyedSlices(keys, replace(slices, keys=np.zeros(len(slices), np.int64)))


def _joined(before: KeyedSlices, after: KeyedSlices, is_new: bool) -> KeyedSlices:
    """Slices of one key, and those that come after them; ``is_new``: those start with another key."""
    slices = concat([before.slices, replace(after.slices, keys=after.slices.keys + is_new)])
    if not before.keys.num_columns:
        return KeyedSlices(after.keys, slices)
    others = after.keys if is_new else after.keys.slice(1)
    return KeyedSlices(pa.concat_tables([before.keys, others]).combine_chunks(), slices)
