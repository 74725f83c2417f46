"""The page: what ran, how it ended, results over time, how the run went, the plan.

All that comes from data or the job is escaped, and control characters are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from windrow.cli.charts.figures import comparison_figure, figures, without_constants
from windrow.cli.charts.layout import layout_of_job
from windrow.cli.charts.lines import Lines
from windrow.cli.charts.results import lines_of, result_charts
from windrow.cli.charts.steps import step_charts
from windrow.cli.commands.explain import explained
from windrow.cli.job.secrets import scrubbed
from windrow.cli.record import Record
from windrow.cli.report.parts import head, list_of, table_of
from windrow.cli.show.moments import plain_rows
from windrow.cli.show.out import visible
from windrow.cli.show.progress import human_bytes, human_seconds, human_time, quantile

__all__ = ["page"]

_STATUS = {"done": "It ran to its end.", "stopped": "It was stopped.", "failed": "It failed."}
_SHOWN_ROWS = 12
#: keys in the table of changes
_MOST_CHANGED = 10
#: what a late pair is, by its reason
_PAIRS = {
    "window_fired": "a row and a window that had fired",
    "session_closed": "a row and a session that had closed",
    "order_passed": "a row behind rows that were taken in order",
}
#: letters of a cell
_LONGEST_CELL = 400


def page(record: Record) -> str:
    """The report of a run as HTML."""
    return visible(scrubbed("\n".join(_parts(record)), record.job.settings))


def _parts(record: Record) -> Iterator[str]:
    name = escape(record.job.name)
    yield head(f"{record.job.name}: windrow report")
    yield f"<h1>{name}</h1>{_lead(record)}"
    yield _numbers(record)
    yield from _notes(record)
    table = record.results.table()
    lines = lines_of(record.job, table)
    charts, constants = without_constants(result_charts(record.job, lines))
    if charts or constants:
        yield "<h2>Results over time</h2>"
        yield f'<p class="soft">{_about_results(record)}</p>{figures(charts)}{list_of(constants)}'
        yield from _changes(lines)
    yield from _result_rows(record, table)
    for comparison in record.comparisons:
        yield f"<h2>{escape(comparison.title)}</h2><p>{escape(comparison.about)}</p>"
        yield comparison_figure(comparison) + table_of(comparison.rows())
    charts, constants = without_constants(step_charts(record.steps, record.engine, record.job))
    if charts or constants:
        yield f"<h2>How the run went</h2>{figures(charts)}{list_of(constants)}"
    yield '<h2>The job</h2><p class="soft">Where rows come from and go to, and what is done in between.</p>'
    yield f"<pre>{escape(chr(10).join(explained(record.job)))}</pre>"
    yield "</body></html>"


def _lead(record: Record) -> str:
    kind = "A stream" if record.job.source.is_stream else "A finite table"
    where = "Apache Spark" if record.engine == "spark" else "the local engine"
    query = record.job.query
    windows = ", ".join(f"{name or 'one window'}: {window!r}" for name, window in query.windows)
    windows = windows or ("a result for every row" if query.is_rolling else "a result for every label")
    keys = f", for each {escape(' and '.join(query.by))}" if query.by else ""
    took = human_seconds(record.seconds)
    started = f", after {human_seconds(record.startup)} in which Spark started" if record.startup else ""
    return (
        f"<p>{kind} aggregated with windrow on {where}{keys}. Windows: {escape(windows)}.</p>"
        f'<p class="soft">Began {human_time(record.started)} UTC, took {took}{started}. '
        f'<span class="status">{_STATUS.get(record.status, "")}</span></p>'
    )


def _numbers(record: Record) -> str:
    totals, steps = record.totals, record.steps
    found = [(f"{totals.rows:,}", "rows in")]
    if record.written is not None:
        found.append((f"{record.written:,}", "results"))
    steady = steps[1:] if len(steps) > 2 else steps  # the first one starts workers and compiles
    if busy := sum(step.seconds for step in steady):
        found.append((f"{sum(step.rows for step in steady) / busy:,.0f}", "rows per second, on average"))
    if len(steps) > 1:
        half, most = (human_seconds(quantile([step.seconds for step in steps], q)) for q in (0.5, 0.99))
        found.append((f"{half} / {most}", "of a micro-batch: p50 / p99"))
    if record.job.source.is_stream:
        found.append((f"{totals.late:,}", "rows late for all their windows"))
        found += [(f"{n:,}", f"late pairs: {_PAIRS[reason]}") for reason, n in totals.late_pairs.items()]
        found.append((f"{totals.windows:,}", "windows fired"))
        found.append((human_bytes(max((step.state_bytes for step in steps), default=0)), "largest state"))
    if totals.corrected:
        found.append((f"{totals.corrected:,}", "windows corrected"))
    if totals.rejected:
        found.append((f"{totals.rejected:,}", "rows without a time or window"))
    if totals.filtered:
        found.append((f"{totals.filtered:,}", "rows left out by where"))
    if steps and steps[-1].watermark is not None:
        found.append((human_time(steps[-1].watermark), "last watermark (event time)"))
    cells = (f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in found)
    return f'<div class="numbers">{"".join(cells)}</div>'


def _notes(record: Record) -> Iterator[str]:
    for note in record.notes:
        yield f"<p><b>Note.</b> {escape(note)}</p>"


def _changes(lines: Lines) -> Iterator[str]:
    """The keys whose last value differs most from their first, of the first column that is drawn."""
    window, column = (lines.windows or [""])[0], (lines.columns or ("",))[0]
    changes = [change for change in lines.changes(window, column) if change.by] if column else []
    if len(lines.keys(window)) < 2 or not changes:
        return
    rows = [["key", "first", "last", "change", "smallest", "largest", "results"]]
    for change in changes[:_MOST_CHANGED]:
        figures_of = (change.first, change.last, change.by, change.low, change.high)
        rows.append([_cut(change.key), *(f"{value:,.6g}" for value in figures_of), f"{change.results:,}"])
    name = f"{column}, window {window}" if window else column
    about = f"{name}: the last value of a key, less its first; {len(changes):,} keys changed."
    yield f'<h2>What changed most</h2><p class="soft">{escape(about)}</p>{table_of(rows)}'


def _about_results(record: Record) -> str:
    sample = record.results
    part = "" if sample.kept >= sample.seen else f" Drawn from {sample.kept:,} of {sample.seen:,} results."
    return f"One line per key, for the keys with the most results.{part}"


def _result_rows(record: Record, table: Any) -> Iterator[str]:
    if table is None or not table.num_rows:
        return
    axis = layout_of_job(record.job).time
    ordered = table.sort_by(axis) if axis in table.column_names else table
    shown = ordered.slice(max(0, table.num_rows - _SHOWN_ROWS))
    rows = [list(shown.column_names)]
    rows += [[_cell(value) for value in row.values()] for row in plain_rows(shown)]
    yield f"<h2>The last results</h2>{table_of(rows)}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return _cut(human_time(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 3] + "..."
