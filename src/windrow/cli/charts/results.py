"""Results over time: which columns are drawn, and for which keys."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.charts.layout import layout_of_job
from windrow.cli.charts.lines import Lines
from windrow.cli.charts.svg import Chart, Series
from windrow.cli.job import Job
from windrow.monoids.base import Aggregate

__all__ = ["is_regular", "lines_of", "result_chart", "result_charts"]

#: lines in a chart, and charts of results
_MOST_KEYS, _MOST_CHARTS = 6, 8
#: buckets of a line; more cannot be told apart
_BUCKETS = 300


def lines_of(job: Job, table: pa.Table | None) -> Lines:
    """The lines of results; of those that go on changing the final ones."""
    lines = Lines(layout_of_job(job))
    if table is not None:
        final = "is_final" in table.column_names
        lines.add(table.filter(pc.fill_null(table.column("is_final"), False)) if final else table)
    return lines


def result_charts(job: Job, lines: Lines) -> list[tuple[str, str, Chart]]:
    """(title, what it shows, chart) for each number that is computed."""
    found = []
    for window in lines.windows:
        for name, aggregate in _results(job):
            if name in lines.columns:
                title = name if not window else f"{name}, window {window}"
                keys = lines.busiest(window, _MOST_KEYS)
                chart = result_chart(lines, window, name, keys, is_regular(job, window))
                found.append((title, f"{name} = {aggregate!r}, at {_moment(job)}", chart))
    return found[:_MOST_CHARTS]


def result_chart(
    lines: Lines,
    window: str,
    column: str,
    keys: list[str],
    regular: bool,
    between: tuple[int, int] | None = None,
    buckets: int = _BUCKETS,
) -> Chart:
    """One line per key, ``between`` two times or over all; ``regular``: a line between results means
    something."""
    span = between or lines.span() or (0, 0)
    unit = 1e6 if lines.is_time else 1.0
    series = []
    for key in keys:
        line = lines.of(window, key)
        points = [] if line is None else line.points(column, *span, buckets)
        series.append(Series(key, [(x / unit, y) for x, y in points]))
    name = lines.layout.time.replace("_", " ")
    return Chart(series, "", name, x_is_time=lines.is_time, kind="line" if regular else "dots", is_thin=True)


def is_regular(job: Job | None, window: str) -> bool:
    """Whether windows follow each other evenly, so that a line between results means something."""
    if job is None:
        return True
    found = dict(job.query.windows).get(window)
    return job.query.is_rolling or (found is not None and found.decided_by == "time")


def _results(job: Job) -> Iterator[tuple[str, Aggregate]]:
    """The result columns, each with its aggregate: one for each size."""
    query = job.query
    sizes = len(query.result_names) // len(query.aggregates)
    yield from zip(query.result_names, (a for _, a in query.aggregates for _ in range(sizes)), strict=True)


def _moment(job: Job) -> str:
    return "the end of each window" if job.labels is None else "each label"
