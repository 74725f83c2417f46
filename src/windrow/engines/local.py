"""The local engine: a finite table through a query, Arrow in, Arrow out, no Spark.

rows -> frame (sorted by key and time) -> ranges of rows for each window -> aggregates over ranges -> table.
Each aggregate sees its columns in native form where it has one. Aggregates that pick a row (first, last,
arg_max, arg_min) carry row numbers instead of values, so that text and structs are picked natively too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME
from windrow.engines.kinds import strategy_of
from windrow.engines.kinds.policy import policy_results
from windrow.engines.kinds.rolling import rolling_rows
from windrow.engines.kinds.rolling_in_store import rolled_in_store
from windrow.engines.result_tables import result_table, with_results
from windrow.errors import RejectedRows, warn_caller
from windrow.partials.inputs import aggregate_column
from windrow.partials.ranges import RowRanges, SliceRanges, Slices
from windrow.result_names import check_table_names
from windrow.rows.columns import require_columns
from windrow.rows.frame import Frame, build_frame
from windrow.rows.tables import read_table
from windrow.rows.times import check_time_kind, concat_results
from windrow.slicing import Slicer
from windrow.slicing.finder.sorted_rows import Ranges, session_ranges, time_ranges
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.limits import one_step
from windrow.spec import Spec
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["run"]


def run(query: Spec, data: Any) -> Any:
    """Evaluate a query on a finite table; the result is the kind of table that came in."""
    table, back = read_table(data)
    require_columns(table, [c for _, a in query.aggregates for c in a.columns])
    check_table_names(query, table.column_names, endless=False)
    frame = build_frame(query, table)
    check_time_kind(query, frame.axis)
    if frame.rejected:
        warn_caller(
            f"{frame.rejected} of {table.num_rows} rows have no time in {query.time!r} and were left out",
            RejectedRows,
        )
    with one_step():
        return back(_rolled(query, frame) if query.is_rolling else _windowed(query, frame))


def _windowed(query: Spec, frame: Frame) -> pa.Table:
    """Results by window as named in the query, then by key as keys first appear, then by time."""
    timed = query.time_windows
    slices = Slicer(timed).slices(frame.times, frame.run_starts) if len(timed) > 1 else None
    shares = slices is not None and query.empty != "emit"
    parts: list[pa.Table] = []
    for is_shared, group in itertools.groupby(
        query.windows, lambda each: shares and each[1].decided_by == "time"
    ):
        if is_shared:
            assert slices is not None
            parts.append(_shared_table(query, frame, list(group), slices))
        else:
            parts += [_window_table(query, frame, name, window, slices) for name, window in group]
    return concat_results(parts)


def _shared_table(query: Spec, frame: Frame, windows: Sequence[tuple[str, Any]], slices: Slices) -> pa.Table:
    """Windows that time decides, all at once however many they are."""
    numbered = TimeWindows(
        [(number, window) for number, (_, window) in enumerate(windows)], query.max_windows
    )
    due = numbered.due_in_runs(
        numbered.kinds(slices.times),
        np.arange(len(slices.runs) - 1),
        slices.runs,
        (slices.times, frame.times[slices.rows[1:] - 1], slices.ends),
        START_OF_TIME,
        END_OF_TIME,
    )
    found = due.found
    names = pa.array([name for name, _ in windows], pa.string()).take(pa.array(found.windows))
    ranges = Ranges(found.keys, found.starts, found.ends, due.fronts, due.stops, disjoint=False)
    over = SliceRanges(slices, due.fronts, due.stops)
    results = [aggregate_column(frame, a, over, query.min_count) for _, a in query.aggregates]
    return result_table(query, frame, names, ranges, results)


def _window_table(query: Spec, frame: Frame, name: str, window: Window, slices: Slices | None) -> pa.Table:
    if window.decided_by == "data":
        return _decided_table(query, frame, name, window)
    ranges, over = _ranges(query, frame, window, slices)
    results = [aggregate_column(frame, a, over, query.min_count) for _, a in query.aggregates]
    return result_table(query, frame, name, ranges, results)


def _decided_table(query: Spec, frame: Frame, name: str, window: Window) -> pa.Table:
    strategy = strategy_of(window)
    strategy.check(frame.table)
    held = strategy.held(*map(frame.column, window.columns))
    if held is not None:
        frame = frame.only(held)
    found = strategy.find(query, frame)
    return result_table(query, frame, name, found.ranges, found.results(query, frame))


def _ranges(
    query: Spec, frame: Frame, window: Window, slices: Slices | None
) -> tuple[Ranges, RowRanges | SliceRanges]:
    """The windows, and what they range over: rows, or the slices that several windows share."""
    fill = query.empty == "emit"
    if not decided_by_time(window):
        assert decided_by_gaps(window)
        ranges = session_ranges(frame.times, frame.run_starts, window)
        return ranges, RowRanges(ranges.fronts, ranges.stops, ranges.disjoint)
    if slices is not None:
        ranges = time_ranges(slices.times, slices.runs, window, fill, query.max_windows)
        return ranges, SliceRanges(slices, ranges.fronts, ranges.stops, ranges.disjoint)
    ranges = time_ranges(frame.times, frame.run_starts, window, fill, query.max_windows)
    return ranges, RowRanges(ranges.fronts, ranges.stops, ranges.disjoint)


def _rolled(query: Spec, frame: Frame) -> pa.Table:
    """The input with a result column per aggregate, rows where they were."""
    over = query.rolling_over
    assert over is not None
    if over.store is not None:
        results = [frame.scattered(column) for column in rolled_in_store(query, frame)]
    elif over.policy is not None:
        results = [frame.scattered(column) for column in policy_results(query, frame, over.policy)[1]]
    else:
        rows = rolling_rows(frame, over)
        results = [aggregate_column(frame, a, rows, query.min_count) for _, a in query.aggregates]
    return with_results(query, frame.table, results)
