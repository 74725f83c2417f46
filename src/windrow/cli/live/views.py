"""What the page asks for, as plain values for JSON. Text in SVG is escaped where it is drawn; all else is put
on the page as text."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from windrow.cli.charts.figures import figures, without_constants
from windrow.cli.charts.lines import Lines
from windrow.cli.charts.results import is_regular, result_chart
from windrow.cli.charts.steps import step_charts
from windrow.cli.charts.svg import draw
from windrow.cli.live.plan import axis_units, lanes_of
from windrow.cli.live.state import LiveState
from windrow.cli.show.progress import Progress, human_bytes, human_seconds, human_time, quantile

__all__ = ["MOST_KEYS", "keys_view", "run_view", "state_view", "timeline_view"]

#: lines that a person can tell apart
MOST_KEYS = 6
#: steps of which rates and quantiles are taken
_RECENT = 200


def state_view(state: LiveState) -> dict[str, Any]:
    """All but charts."""
    lines = state.lines
    return {
        "version": state.version,
        "name": state.name,
        "engine": state.engine,
        "status": state.status,
        "message": state.message,
        "elapsed": human_seconds((state.ended_at or time.time()) - state.began),
        "notes": list(state.notes),
        "numbers": [{"name": name, "value": value, "about": about} for name, value, about in _numbers(state)],
        "windows": [] if lines is None else lines.windows,
        "columns": [] if lines is None else list(lines.columns),
        "results": 0 if lines is None else lines.count,
        "forgotten": 0 if lines is None else lines.forgotten,
        "has_results": lines is not None,
    }


def _numbers(state: LiveState) -> list[tuple[str, str, str]]:
    totals, steps = state.totals, list(state.steps)[-_RECENT:]
    lag = Progress(0, 0.0, watermark=state.watermark).lag()
    times_of = [
        ("watermark", human_time(state.watermark), "event time up to which windows have fired"),
        ("lag", "-" if lag is None else human_seconds(lag), "the watermark, behind the clock"),
    ]
    count = f"{0 if state.lines is None else state.lines.count:,}"
    if state.engine == "checkpoint":
        batches = ("micro-batches", f"{state.steps[-1].batch + 1:,}" if steps else "0", "begun so far")
        return [("slices", count, "slices that the stream keeps"), batches, *times_of]
    if not steps:
        return [("results", count, "windows that are kept for this page")]
    busy = [step for step in steps if step.rows]
    seconds = sum(step.seconds for step in busy)
    times = [step.seconds for step in steps]
    found = [
        ("rows", f"{totals.rows:,}", "rows that came in"),
        ("rows/s", f"{sum(s.rows for s in busy) / seconds:,.0f}" if seconds else "-", "while batches ran"),
        ("windows", f"{totals.windows:,}", "windows that came out"),
        ("corrected", f"{totals.corrected:,}", "windows that came out again"),
        ("late", totals.late_text, "rows late for all their windows; pairs of a row and a window"),
        ("rejected", f"{totals.rejected:,}", "rows without a time or a window, or that raised an error"),
        *times_of,
        ("state", human_bytes(steps[-1].state_bytes), "bytes that are held between batches"),
        ("p50", human_seconds(quantile(times, 0.5)), f"of the last {len(times)} micro-batches"),
        ("p99", human_seconds(quantile(times, 0.99)), f"of the last {len(times)} micro-batches"),
    ]
    return [each for each in found if not (each[0] == "corrected" and not totals.corrected)]


def keys_view(
    state: LiveState, window: str, column: str, search: str, order: str, limit: int
) -> dict[str, Any]:
    """Keys by name, or by how much they changed, with their last value."""
    lines = state.lines
    if lines is None or column not in lines.columns:
        return {"total": 0, "matching": 0, "keys": []}
    changes = lines.changes(window, column)
    total = len(changes)
    changes = [change for change in changes if search.lower() in change.key.lower()]
    if order == "name":
        changes.sort(key=lambda change: change.key)
    shown = [
        {"key": c.key, "count": c.results, "last": _figure(c.last), "change": _signed(c.by)}
        for c in changes[:limit]
    ]
    return {"total": total, "matching": len(changes), "keys": shown}


def timeline_view(
    state: LiveState,
    window: str,
    column: str,
    keys: Sequence[str],
    between: tuple[int, int] | None,
    width: int,
) -> dict[str, Any]:
    """The chart of results over the lanes of the plan, for a stretch of time; None: all of it."""
    lines = state.lines
    whole = _whole(state)
    if lines is None or whole is None:
        return {"svg": "", "between": None, "whole": None, "keys": [], "rows": []}
    low, high = between or whole
    high = max(high, low + 1)
    chosen = [key for key in keys if lines.of(window, key) is not None][:MOST_KEYS]
    chosen = chosen or lines.busiest(window, 3)
    unit = 1e6 if lines.is_time else 1.0
    regular = is_regular(state.job, window)
    has_column = column in lines.columns
    chart = result_chart(lines, window, column, chosen if has_column else [], regular, (low, high), width)
    watermark = axis_units(state.watermark)
    chart = replace(
        chart,
        is_marked=True,
        shown=(low / unit, high / unit),
        x_label="",
        width=float(width),
        height=260.0,
        moments=[(watermark / unit, "watermark")] if watermark is not None else [],
        lanes=list(lanes_of(state, (low, high), window, chosen)),
    )
    title = (
        f"{column} by {lines.layout.time}, window {window}" if window else f"{column} by {lines.layout.time}"
    )
    return {
        "svg": draw(chart, title),
        "between": [str(low), str(high)],
        "whole": [str(each) for each in whole],
        "keys": chosen,
        "rows": _rows(lines, window, column, chosen, (low, high)) if has_column else [],
    }


def _whole(state: LiveState) -> tuple[int, int] | None:
    """From the first result to the last, or to the largest time seen."""
    span = state.lines.span() if state.lines is not None else None
    if span is None:
        return None
    low, high = span
    largest = axis_units(state.largest)
    high = max(high, largest) if largest is not None else high
    return (low, high) if high > low else (low - 1, high + 1)


def _rows(
    lines: Lines, window: str, column: str, keys: Sequence[str], between: tuple[int, int], most: int = 40
) -> list[dict[str, str]]:
    """The last results of a stretch, newest first, as a table."""
    found: list[tuple[int, str, float, float]] = []
    for key in keys:
        line = lines.of(window, key)
        if line is None:
            continue
        first, last = np.searchsorted(line.times, [between[0], between[1] + 1])
        begin = max(int(first), int(last) - most)
        starts = line.columns.get(lines.layout.start or "", np.full(len(line), np.nan))
        for k in range(begin, int(last)):
            found.append((int(line.times[k]), key, float(starts[k]), float(line.columns[column][k])))
    found.sort(key=lambda row: (-row[0], row[1]))
    return [
        {
            "key": key,
            "start": "" if math.isnan(start) else _moment(start, lines.is_time),
            "end": _moment(end, lines.is_time),
            "value": "-" if math.isnan(value) else _figure(value),
        }
        for end, key, start, value in found[:most]
    ]


def run_view(state: LiveState) -> dict[str, Any]:
    """How the run goes: the charts of a report; those that say nothing are sentences."""
    charts, sentences = without_constants(step_charts(list(state.steps), state.engine, state.job))
    return {"html": figures(charts), "sentences": sentences}


def _moment(units: float, is_time: bool) -> str:
    if not is_time:
        return f"{units:.0f}"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(units / 1e6))
    except (OverflowError, ValueError, OSError):  # beyond the years that the clock knows
        return f"{units:.0f}"


def _figure(value: float) -> str:
    return f"{value:,.6g}" if abs(value) < 1e6 or not value.is_integer() else f"{value:,.0f}"


def _signed(value: float) -> str:
    return "0" if not value else f"{value:+,.6g}"
