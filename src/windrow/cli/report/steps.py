"""How the run went: throughput, lateness, state and time of each step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from windrow.cli.record import Record
from windrow.cli.report.svg import Chart, Series
from windrow.cli.show.progress import Progress

__all__ = ["step_charts"]


def step_charts(record: Record) -> list[tuple[str, str, Chart]]:
    """(title, what it shows, chart); empty for a run of one step."""
    if len(record.steps) < 2:
        return []
    step = "micro-batch" if record.engine == "spark" else "batch"
    over = f"{step} number"
    charts = [
        (
            "Throughput",
            f"Rows a second, while a {step} ran.",
            Chart([_series(record, "rows/s", lambda s: s.rows_per_second)], "rows/s", over, kind="bar"),
        ),
        (
            f"Time of a {step}",
            f"From the start of a {step} until its results and state were kept.",
            Chart([_series(record, "s", lambda s: s.seconds)], "seconds", over, kind="bar", colours=[1]),
        ),
        _state(record, over),
    ]
    if record.totals.late_pairs:
        about = "A pair is a row and one window that lacks it, since the row came after the window fired."
        pairs = _series(record, "pairs", lambda s: sum(s.late_pairs.values()))
        charts.append(("Late pairs", about, Chart([pairs], "pairs", over, kind="bar", colours=[3])))
    return [*charts, *_event_time(record, over)]


def _state(record: Record, over: str) -> tuple[str, str, Chart]:
    largest = max(step.state_bytes for step in record.steps)
    unit, size = ("MB", 1e6) if largest >= 1e6 else ("kB", 1e3)
    line = _series(record, unit, lambda s: s.state_bytes / size)
    about = "What is kept from one to the next: partial aggregates instead of rows, where possible."
    if record.engine == "spark":
        about += " The size of the state store's files when they were last written."
    return "State", about, Chart([line], unit, over, colours=[2])


def _series(record: Record, name: str, value: Callable[[Progress], float]) -> Series:
    return Series(name, [(float(k), float(value(step))) for k, step in enumerate(record.steps)])


def _event_time(record: Record, over: str) -> list[tuple[str, str, Chart]]:
    """The largest time seen and the watermark: the distance is how long rows are waited for."""
    lines = []
    for name, of in (("largest time seen", "largest"), ("watermark", "watermark")):
        points = [(float(k), _seconds(getattr(step, of))) for k, step in enumerate(record.steps)]
        lines.append(Series(name, [(x, y) for x, y in points if y is not None]))
    if not all(line.points for line in lines):
        return []
    is_time = isinstance(record.steps[-1].watermark, dt.datetime)
    chart = Chart(lines, "event time", over, y_is_time=is_time, colours=[0, 3])
    about = "Windows are given out once the watermark has reached their end; rows behind it may be late."
    return [("Event time", about, chart)]


def _seconds(moment: Any) -> float | None:
    if isinstance(moment, dt.datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    return None if moment is None else float(moment)
