"""Windows from slices, key after key: the reduce side.

Slices come sorted by key, and those of a key in order of their cells. Slices of one cell are fused as soon as
they are seen; windows come out as soon as no later slice can belong to them, and then slices that no open
window needs are forgotten. So what is kept is the slices that the open windows of one key span.

Invariant: every window of a key comes out once. Cost: one combine to fuse a slice, O(1) combines per window.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.spark.plan import smallest_gap
from windrow.engines.spark.worker.windows.slice_tables import SliceRun
from windrow.errors import Raised, naming, rows_named
from windrow.partials.partials import Partials
from windrow.rows.columns import plain_array
from windrow.rows.key_values import canonical_array
from windrow.rows.keys import KeyRuns
from windrow.rows.times import TimeAxis
from windrow.slicing.finder.sorted_rows import session_ranges, time_ranges
from windrow.slicing.found import Ranges
from windrow.slicing.limits import one_step
from windrow.spec import Spec
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["Assembly"]

_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True)
class _Slices:
    """Fused slices; ``runs`` says where those of each key start, and the end."""

    keys: pa.Table
    firsts: Ints
    lasts: Ints
    ends: Ints
    runs: Ints
    partials: Partials


class Assembly:
    """The sliced windows of a query over the slices of a partition."""

    def __init__(self, query: Spec, axis: TimeAxis) -> None:
        self._query = query
        self._axis = axis
        self._windows = [(name, window) for name, window in query.windows if window.is_sliced]
        self._gap = smallest_gap(query)
        self._runs = KeyRuns(query.by)
        #: slices of the last key that open windows need
        self._open: SliceRun | None = None
        #: windows of the last key that end here or before have come out
        self._out = _NEVER

    def push(self, run: SliceRun) -> list[pa.Table]:
        """Results of the windows that are complete now."""
        if not len(run):
            return []
        starts = self._runs.starts(run.keys) if run.keys.num_columns else _only_first(run, self._open)
        return self._advance(self._fused(run, starts), closing=False)

    def each_alone(self, run: SliceRun) -> list[pa.Table]:
        """Results of slices that share no window with others: each is taken for a key of its own."""
        runs = np.arange(len(run) + 1)
        slices = _Slices(run.keys, run.firsts, run.lasts, run.ends, runs, run.partials)
        with one_step():
            return [self._table(slices, name, self._ranges(slices, window)) for name, window in self._windows]

    def finish(self) -> list[pa.Table]:
        if self._open is None:
            return []
        starts = np.zeros(0, np.bool_)
        nothing = _slice(self._open, 0, 0)
        return self._advance(self._fused(nothing, starts), closing=True)

    def _fused(self, run: SliceRun, starts: Any) -> _Slices:
        """The open slices and new ones; neighbours of one cell are one."""
        if self._open is not None:
            starts = np.concatenate([np.arange(len(self._open)) == 0, starts])
            run = _joined(self._open, run)
        else:
            starts[0] = True
        apart = starts.copy()
        apart[1:] |= run.ends[1:] != run.ends[:-1]
        if self._gap is not None:
            apart[1:] |= run.firsts[1:] - _reach(run.lasts, starts)[:-1] > self._gap
        edges = np.concatenate([np.flatnonzero(apart), [len(run)]])
        runs = np.concatenate([np.searchsorted(edges, np.flatnonzero(starts)), [len(edges) - 1]])
        with self._naming_rows(run):
            partials = run.partials.folded(edges)
        return _Slices(
            run.keys.take(pa.array(edges[:-1])) if run.keys.num_columns else run.keys,
            np.minimum.reduceat(run.firsts, edges[:-1]),
            np.maximum.reduceat(run.lasts, edges[:-1]),
            run.ends[edges[:-1]],
            runs.astype(np.int64),
            partials,
        )

    def _advance(self, slices: _Slices, closing: bool) -> list[pa.Table]:
        """The windows that are complete, and what is still needed of the last key."""
        last = len(slices.runs) - 2
        now = int(slices.firsts[-1])
        needed = len(slices.firsts) - 1
        tables = []
        with one_step():
            found = [(name, window, self._ranges(slices, window)) for name, window in self._windows]
        for name, window, ranges in found:
            open_still = (ranges.keys == last) & ~_ended(ranges, window, now) & (not closing)
            chosen = ~open_still & ~((ranges.keys == 0) & _ended(ranges, window, self._out))
            needed = min(needed, int(ranges.fronts[open_still].min(initial=needed)))
            tables.append(self._table(slices, name, ranges.take(chosen)))
        self._keep(slices, needed, now, last, closing)
        return [table for table in tables if table.num_rows]

    def _ranges(self, slices: _Slices, window: Window) -> Ranges:
        if decided_by_time(window):
            fill, most = self._query.empty == "emit", self._query.max_windows
            return time_ranges(slices.firsts, slices.runs, window, fill, most)
        assert decided_by_gaps(window)
        return session_ranges(slices.firsts, slices.runs, window, slices.lasts)

    def _keep(self, slices: _Slices, needed: int, now: int, last: int, closing: bool) -> None:
        if closing:
            self._open = None
            return
        first = int(slices.runs[last])
        # windows without rows count from the key's first row on
        needed = first if self._query.empty == "emit" else max(needed, first)
        run = SliceRun(slices.keys, slices.firsts, slices.lasts, slices.ends, slices.partials)
        self._open = _slice(run, needed, len(run))
        self._out = now

    def _table(self, slices: _Slices, name: str, ranges: Ranges) -> pa.Table:
        shape: Any = "disjoint" if ranges.disjoint else "sliding"
        with self._naming_rows(slices):
            results = slices.partials.results(ranges.fronts, ranges.stops, shape, self._query.min_count)
        first = slices.runs[ranges.keys]
        columns: dict[str, Any] = {
            key: canonical_array(plain_array(slices.keys.column(key).take(pa.array(first))))
            for key in self._query.by
        }
        if self._query.names_windows:
            columns["window"] = pa.array([name] * len(ranges), pa.string())
        columns["window_start"] = self._axis.column(ranges.starts)
        columns["window_end"] = self._axis.column(ranges.ends)
        pairs = zip(self._query.aggregates, results, strict=True)
        return pa.table(columns | {result: column for (result, _), column in pairs})

    def _naming_rows(self, slices: SliceRun | _Slices) -> AbstractContextManager[None]:
        """What an aggregate raises over these slices names the key and the times of their rows."""

        def rows(raised: Raised) -> str:
            first, last = self._axis.column(np.array(raised.times(slices.firsts, slices.lasts)))
            return rows_named(first, last, [column[raised.front].as_py() for column in slices.keys.columns])

        return naming(rows)


def _ended(ranges: Ranges, window: Window, now: int) -> Any:
    """Which windows no row at this time or later belongs to: a row at a session's end still does."""
    return ranges.ends < now if window.decided_by == "gaps" else ranges.ends <= now


def _only_first(run: SliceRun, before: SliceRun | None) -> Any:
    starts = np.zeros(len(run), np.bool_)
    starts[0] = before is None
    return starts


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


def _slice(run: SliceRun, first: int, stop: int) -> SliceRun:
    some = slice(first, stop)
    keys = run.keys.slice(first, stop - first)
    return SliceRun(keys, run.firsts[some], run.lasts[some], run.ends[some], run.partials.take(some))


def _joined(before: SliceRun, after: SliceRun) -> SliceRun:
    return SliceRun(
        pa.concat_tables([before.keys, after.keys]).combine_chunks()
        if before.keys.num_columns
        else after.keys,
        np.concatenate([before.firsts, after.firsts]),
        np.concatenate([before.lasts, after.lasts]),
        np.concatenate([before.ends, after.ends]),
        Partials.concat([before.partials, after.partials]),
    )
