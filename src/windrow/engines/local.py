"""The local engine: a finite table through a query, Arrow in, Arrow out, no Spark.

rows -> frame (sorted by key and time) -> what windows are ranges of: rows or slices -> windows found ->
aggregates over them -> table; :mod:`windrow.engines.found_windows` has the middle of it.
Each aggregate sees its columns in native form where it has one. Aggregates that pick a row (first, last,
arg_max, arg_min) carry row numbers instead of values, so that text and structs are picked natively too.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.engines.data_windows.policy import policy_results
from windrow.engines.found_windows import find_windows
from windrow.engines.frames.tables import rolling_rows, rolling_sizes
from windrow.engines.result_tables import result_table, with_results
from windrow.partials.aggregate import aggregate_columns, aggregate_sizes
from windrow.partials.raising import RaisingRows, raising_rows
from windrow.partials.rejected import rejected_table
from windrow.partials.result_types import check_inputs
from windrow.result_names import check_table_names
from windrow.rows.columns import require_columns
from windrow.rows.frame import Frame, build_frame
from windrow.rows.tables import read_table
from windrow.rows.times import check_time_kind, concat_results, in_zone_of
from windrow.slicing.limits import one_step
from windrow.spec import Spec

__all__ = ["rejected_rows", "rolled", "run", "windowed"]


def run(query: Spec, data: Any) -> Any:
    """Evaluate a query on a finite table; the result is the kind of table that came in."""
    table, back = read_table(data, query)
    query = in_zone_of(query, table)
    require_columns(table, [c for _, a in query.aggregates for c in a.reads])
    check_inputs(query, table.schema)
    check_table_names(query, table.column_names, endless=False)
    raising = _raising(query, table)
    frame = build_frame(query, table, rejected=None if raising is None else ~raising.others(table.num_rows))
    check_time_kind(query, frame.axis)
    frame.warn_of_rejected(query.time)
    if raising is not None:
        raising.warn(table.num_rows)
    with one_step():
        return back(rolled(query, frame) if query.is_rolling else windowed(query, frame))


def rejected_rows(query: Spec, data: Any) -> Any:
    """The rows that ``run`` leaves out, with why; a table of the kind that came in."""
    table, back = read_table(data)
    require_columns(table, [query.time, *(c for _, a in query.aggregates for c in a.reads)])
    return back(rejected_table(query, table))


def _raising(query: Spec, table: pa.Table) -> RaisingRows | None:
    return raising_rows(query.aggregates, table) if query.on_error == "reject" else None


def windowed(query: Spec, frame: Frame) -> pa.Table:
    """Results by window as named in the query, then by key as keys first appear, then by time."""
    found = find_windows(query, frame)
    return concat_results(
        [result_table(query, each.frame, each.names, each.ranges, each.results(query)) for each in found]
    )


def rolled(query: Spec, frame: Frame) -> pa.Table:
    """The input with a result column per aggregate, rows where they were."""
    over = query.rolling_over
    assert over is not None
    aggregates = [aggregate for _, aggregate in query.aggregates]
    if over.frames is not None:
        results = aggregate_sizes(frame, aggregates, rolling_sizes(frame, over.frames))
    elif over.policy is not None:
        results = [frame.scattered(column) for column in policy_results(query, frame, over.policy)[1]]
    else:
        rows = rolling_rows(frame, over)
        results = aggregate_columns(frame, aggregates, rows)
    return with_results(query, frame.table, results)
