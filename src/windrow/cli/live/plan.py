"""The plan on the time line: rows as they came, slices that are cut once, windows over them.

Where there are more stretches than can be told apart, a lane says how many, and how long they are.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from windrow.cli.charts.lanes import Lane, Span
from windrow.cli.charts.lines import Lines
from windrow.cli.job import Job
from windrow.cli.live.state import LiveState
from windrow.cli.show.progress import Progress, human_seconds
from windrow.windows.base import TimeWindow

__all__ = ["axis_units", "lanes_of"]

#: stretches of a lane, and rows of windows that overlap
_MOST_SPANS, _MOST_ROWS = 160, 12


def lanes_of(state: LiveState, between: tuple[int, int], window: str, keys: Sequence[str]) -> Iterator[Lane]:
    """For a stretch of time, in microseconds or integers."""
    is_time = state.lines is None or state.lines.is_time
    unit = 1e6 if is_time else 1.0
    yield from _row_lanes(list(state.steps), unit)
    watermark = axis_units(state.watermark)
    if state.job is not None:
        yield from _slice_lane(state.job, between, unit)
        for name, kind in state.job.query.windows:
            if kind.decided_by == "time":
                yield _window_lane(name or "window", kind, between, watermark, unit)
    named = dict(state.job.query.windows).get(window) if state.job is not None else None
    if state.lines is not None and (named is None or named.decided_by != "time"):
        yield from _result_lanes(state.lines, between, window, keys, unit)


def axis_units(moment: Any) -> int | None:
    """A time as results count it: microseconds, or an integer."""
    if isinstance(moment, dt.datetime):
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return round(zoned.timestamp() * 1e6)
    return moment if isinstance(moment, int) else None


def _row_lanes(steps: Sequence[Progress], unit: float) -> Iterator[Lane]:
    """Rows of each step, up to the largest time that it brought; late ones at their own times."""
    marks = [(axis_units(step.largest), step.rows) for step in steps if step.rows]
    known = [(at, rows) for at, rows in marks if at is not None]
    most = max((rows for _, rows in known), default=0)
    spans = [
        Span(before / unit, at / unit, "span-rows", rows / most, 1 - rows / most)
        for (before, _), (at, rows) in pairwise(known)
        if at > before
    ]
    if spans:
        yield Lane("rows", spans, f"rows of each micro-batch, at most {most:,}", 18.0)
    late = {at for step in steps for at in map(axis_units, step.late_at) if at is not None}
    if late:
        rows, pairs = sum(s.late for s in steps), sum(sum(s.late_pairs.values()) for s in steps)
        counted = f"{rows:,} too late for all windows, {pairs:,} pairs of a row and a window"
        text = f"late rows at their own times: {counted}"
        yield Lane("late", [Span(at / unit, at / unit, "span-late") for at in sorted(late)], text, 10.0)


def _slice_lane(job: Job, between: tuple[int, int], unit: float) -> Iterator[Lane]:
    """Between two edges of any window by time there is one slice."""
    windows = job.query.time_windows
    count = sum(window.count_ending_in(*between) for window in windows)
    if not windows:
        return
    if count > _MOST_SPANS:
        yield Lane("slices", (), f"about {count:,} edges of slices: zoom in to see them")
        return
    edges = sorted({edge for window in windows for edge in window.edges(*between)})
    edges = [between[0], *edges, between[1]] if edges else list(between)
    spans = [
        Span(low / unit, high / unit, "span-slice odd" if k % 2 else "span-slice")
        for k, (low, high) in enumerate(pairwise(edges))
        if high > low
    ]
    yield Lane("slices", spans, f"{len(spans):,} slices, each folded once for all windows")


def _window_lane(
    name: str, window: TimeWindow | Any, between: tuple[int, int], watermark: int | None, unit: float
) -> Lane:
    low, high = between
    reach = window.latest_end(high) or high
    count = window.count_ending_in(low, max(reach, high))
    if count > _MOST_SPANS * 2:
        length = next(iter(window.assign(low)), (0, 0))
        size = human_seconds((length[1] - length[0]) / unit) if unit > 1 else f"{length[1] - length[0]:,}"
        return Lane(name, (), f"{count:,} windows of {size}: zoom in to see them")
    found = [(start, end) for start, end in window.windows_ending_in(low, max(reach, high)) if start < high]
    rows = min(_overlap(found), _MOST_ROWS)
    spans = [
        Span(start / unit, end / unit, _look(start, end, watermark), 0.8 / rows, k % rows / rows)
        for k, (start, end) in enumerate(found)
    ]
    fired = sum(watermark is not None and end <= watermark for _, end in found)
    text = f"{window!r}: {fired:,} of {len(found):,} windows here have fired"
    return Lane(name, spans, text, 14.0 if rows == 1 else 4.0 * rows + 6)


def _overlap(windows: Sequence[tuple[int, int]]) -> int:
    """How many windows at most hold one time."""
    moves = sorted([(start, 1) for start, _ in windows] + [(end, -1) for _, end in windows])
    depth = most = 0
    for _, move in moves:
        depth += move
        most = max(most, depth)
    return max(most, 1)


def _look(start: int, end: int, watermark: int | None) -> str:
    if watermark is None or start > watermark:
        return "span-ahead"
    return "span-fired" if end <= watermark else "span-open"


def _result_lanes(
    lines: Lines, between: tuple[int, int], window: str, keys: Sequence[str], unit: float
) -> Iterator[Lane]:
    """Windows that data decides, as they came out for the first of the chosen keys."""
    line = lines.of(window, keys[0]) if keys else None
    start = lines.layout.start
    if line is None or start is None or start not in line.columns:
        return
    first, last = np.searchsorted(line.times, [between[0], between[1]])
    last = min(int(last) + 1, len(line))
    count = last - int(first)
    if count > _MOST_SPANS * 2:
        yield Lane(window or "window", (), f"{count:,} windows: zoom in to see them")
        return
    pairs = zip(line.columns[start][first:last], line.times[first:last], strict=True)
    found = [(int(low), int(high)) for low, high in pairs if math.isfinite(low)]
    rows = min(_overlap(found), _MOST_ROWS)
    spans = [
        Span(low / unit, high / unit, "span-seen", 0.8 / rows, k % rows / rows)
        for k, (low, high) in enumerate(found)
    ]
    text = f"{len(found):,} windows of {keys[0]}"
    yield Lane(window or "window", spans, text, 14.0 if rows == 1 else 4.0 * rows + 6)
