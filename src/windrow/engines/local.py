"""The local engine: a finite table through a query, Arrow in, Arrow out, no Spark.

rows -> frame (sorted by key and time) -> ranges of rows for each window -> aggregates over ranges -> table.
Each aggregate sees its columns in native form where it has one. Aggregates that pick a row (first, last,
arg_max, arg_min) carry row numbers instead of values, so that text and structs are picked natively too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.engines.aggregate import LastRows, RowRanges
from windrow.engines.data_windows import data_ranges, policy_results
from windrow.engines.frame import Frame, build_frame, require_columns
from windrow.engines.inputs import aggregate_column
from windrow.engines.ranges import Ranges, rolling_time, session_ranges, time_ranges
from windrow.engines.tables import read_table
from windrow.spec import Rolling, Spec
from windrow.windows import Policy, Session, TimeWindow, Window

__all__ = ["RejectedRows", "run"]

Ints = npt.NDArray[np.int64]


class RejectedRows(UserWarning):
    """Rows without a time were left out."""


def run(query: Spec, data: Any) -> Any:
    """Evaluate a query on a finite table; the result is the kind of table that came in."""
    table, back = read_table(data)
    require_columns(table, [c for _, a in query.aggregates for c in a.columns])
    frame = build_frame(query, table)
    _check_time_kind(query, frame)
    if frame.rejected:
        warnings.warn(
            f"{frame.rejected} of {table.num_rows} rows have no time in {query.time!r} and were left out",
            RejectedRows,
            stacklevel=3,
        )
    return back(_rolled(query, frame) if query.rolling_over is not None else _windowed(query, frame))


def _check_time_kind(query: Spec, frame: Frame) -> None:
    what: list[Any] = [w for _, w in query.windows if isinstance(w, (TimeWindow, Session))]
    if query.rolling_over is not None and query.rolling_over.size is not None:
        what.append(query.rolling_over)
    for each in what:
        if each.uses_integer_time != frame.axis.is_integer:
            kinds = ("integers", "timestamps") if frame.axis.is_integer else ("timestamps", "integers")
            raise TypeError(
                f"column {query.time!r} holds {kinds[0]} but {each!r} is meant for {kinds[1]}: "
                f"give {'plain integers' if frame.axis.is_integer else 'durations such as 10m'}"
            )


def _windowed(query: Spec, frame: Frame) -> pa.Table:
    parts = [_window_table(query, frame, name, window) for name, window in query.windows]
    return pa.concat_tables(parts, promote_options="permissive")


def _window_table(query: Spec, frame: Frame, name: str, window: Window) -> pa.Table:
    if isinstance(window, Policy):
        ranges, results = policy_results(query, frame, window)
    else:
        ranges = _ranges(query, frame, window)
        results = [
            aggregate_column(
                frame, a, RowRanges(ranges.fronts, ranges.stops, ranges.disjoint), query.min_count
            )
            for _, a in query.aggregates
        ]
    order = np.lexsort((ranges.keys, ranges.starts, ranges.ends))
    columns: dict[str, Any] = dict(zip(query.by, frame.key_columns(query, ranges.keys), strict=True))
    if query.names_windows:
        columns["window"] = pa.array([name] * len(ranges), pa.string())
    columns["window_start"] = frame.axis.column(ranges.starts)
    columns["window_end"] = frame.axis.column(ranges.ends)
    columns |= {result: column for (result, _), column in zip(query.aggregates, results, strict=True)}
    return pa.table(columns).take(pa.array(order))


def _ranges(query: Spec, frame: Frame, window: Window) -> Ranges:
    if isinstance(window, TimeWindow):
        return time_ranges(frame.times, frame.run_starts, window, fill=query.empty == "emit")
    if isinstance(window, Session):
        return session_ranges(frame.times, frame.run_starts, window)
    return data_ranges(frame, window)


def _rolled(query: Spec, frame: Frame) -> pa.Table:
    """The input with a result column an aggregate, rows where they were."""
    over = query.rolling_over
    assert over is not None
    if over.policy is not None:
        results = [frame.scattered(column) for column in policy_results(query, frame, over.policy)[1]]
    else:
        rows = _rolling_rows(frame, over)
        results = [aggregate_column(frame, a, rows, query.min_count) for _, a in query.aggregates]
    table = frame.table
    for (name, _), column in zip(query.aggregates, results, strict=True):
        if name in table.column_names:
            raise ValueError(f"the table has a column {name!r} already: choose another name for the result")
        table = table.append_column(name, column)
    return table


def _rolling_rows(frame: Frame, over: Rolling) -> RowRanges | LastRows:
    if over.rows is not None:
        return LastRows(frame.run_starts, over.rows)
    assert over.size is not None
    fronts, stops = np.empty(len(frame), np.int64), np.empty(len(frame), np.int64)
    rolling_time(frame.times, frame.run_starts, over.size.units, fronts, stops)
    return RowRanges(fronts, stops, one_a_row=True)
