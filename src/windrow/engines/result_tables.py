"""Result columns as tables: the results of windows, and the input with results beside its columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.rows.frame import Frame
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec

__all__ = ["result_table", "with_results"]


def result_table(query: Spec, frame: Frame, name: Any, ranges: Ranges, results: list[Any]) -> pa.Table:
    """The results of one window of the query: keys, name (or the name of each), edges and aggregates."""
    columns: dict[str, Any] = dict(zip(query.by, frame.key_columns(query, ranges.keys), strict=True))
    if query.names_windows:
        columns["window"] = pa.repeat(pa.scalar(name), len(ranges)) if isinstance(name, str) else name
    columns |= frame.axis.edges(ranges.starts, ranges.ends, ranges.without_edges)
    columns |= {result: column for (result, _), column in zip(query.aggregates, results, strict=True)}
    return pa.table(columns)


def with_results(query: Spec, table: pa.Table, results: list[Any]) -> pa.Table:
    """A table with the results of its rows as columns."""
    for name, column in zip(query.result_names, results, strict=True):
        table = table.append_column(name, column)
    return table
