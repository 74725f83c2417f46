"""Results over time: which columns are drawn, and for which keys."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.job import Job
from windrow.cli.report.svg import Chart, Series
from windrow.cli.show.moments import plain_values, seconds_of
from windrow.monoids.base import Aggregate

__all__ = ["result_charts", "time_column"]

#: lines in a chart, and charts of results
_MOST_KEYS, _MOST_CHARTS = 6, 8


def result_charts(job: Job, table: pa.Table | None) -> list[tuple[str, str, Chart]]:
    """(title, what it shows, chart) for each number that is computed."""
    if table is None or not table.num_rows:
        return []
    axis = time_column(job)
    if axis not in table.column_names:
        return []
    table = table.filter(pc.is_valid(table.column(axis))).sort_by(axis)
    if "is_final" in table.column_names:
        table = table.filter(table.column("is_final"))
    found = []
    for window in _windows(table):
        part = table if window is None else table.filter(pc.equal(table.column("window"), window))
        for name, aggregate in _results(job):
            if name in part.column_names and _is_number(part.column(name).type):
                title = name if window is None else f"{name}, window {window}"
                chart = _chart(job, part, axis, name, _is_regular(job, window))
                found.append((title, f"{name} = {aggregate!r}, at {_moment(job)}", chart))
    return found[:_MOST_CHARTS]


def _results(job: Job) -> Iterator[tuple[str, Aggregate]]:
    """The result columns, each with its aggregate: one for each size."""
    query = job.query
    sizes = len(query.result_names) // len(query.aggregates)
    yield from zip(query.result_names, (a for _, a in query.aggregates for _ in range(sizes)), strict=True)


def _moment(job: Job) -> str:
    return "the end of each window" if job.labels is None else "each label"


def time_column(job: Job) -> str:
    """The column by which results are ordered."""
    if job.labels is not None:
        return job.labels.time
    return job.query.time if job.query.is_rolling else "window_end"


def _windows(table: pa.Table) -> list[str | None]:
    if "window" not in table.column_names:
        return [None]
    return [name for name in pc.unique(table.column("window")).to_pylist() if name is not None]


def _is_regular(job: Job, window: str | None) -> bool:
    """Whether windows follow each other evenly, so that a line between results means something."""
    kinds = dict(job.query.windows)
    found = kinds.get(window or "")
    return job.query.is_rolling or (found is not None and found.decided_by == "time")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _chart(job: Job, table: pa.Table, axis: str, name: str, is_regular: bool) -> Chart:
    times = seconds_of(table.column(axis))
    values = [None if value is None else float(value) for value in table.column(name).to_pylist()]
    keys = _keys(job, table)
    lines: dict[str, dict[float, float]] = {}
    for key, x, y in zip(keys, times, values, strict=True):
        if x is not None and y is not None and y == y and abs(y) != float("inf"):
            lines.setdefault(key, {})[x] = y  # of several results for one moment the last counts
    largest = sorted(lines, key=lambda key: -len(lines[key]))[:_MOST_KEYS]
    series = [Series(key, sorted(lines[key].items())) for key in sorted(largest)]
    kind = "line" if is_regular else "dots"
    return Chart(series, "", axis.replace("_", " "), x_is_time=_is_time(table, axis), kind=kind)


def _keys(job: Job, table: pa.Table) -> list[str]:
    by = job.query.by if job.labels is None else job.labels.by
    if not by:
        return ["all"] * table.num_rows
    columns = [plain_values(table.column(name)) for name in by]
    return [" / ".join("null" if v is None else str(v) for v in row) for row in zip(*columns, strict=True)]


def _is_time(table: pa.Table, axis: str) -> bool:
    kind = table.schema.field(axis).type
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
