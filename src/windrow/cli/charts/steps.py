"""How the run went: throughput, lateness, state and time of each step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from windrow.cli.charts.svg import Chart, Series
from windrow.cli.job import Job
from windrow.cli.show.progress import Progress, human_bytes

__all__ = ["step_charts"]

Steps = Sequence[Progress]


def step_charts(steps: Steps, engine: str, job: Job | None) -> list[tuple[str, str, Chart]]:
    """(title, what it shows, chart); empty for a run of one step."""
    if len(steps) < 2:
        return []
    step = "micro-batch" if engine == "spark" else "batch"
    over = f"{step} number"
    charts = [
        (
            "Throughput",
            f"Rows per second, while a {step} ran.",
            Chart([_series(steps, "rows/s", lambda s: s.rows_per_second)], "rows/s", over, kind="bar"),
        ),
        (
            f"Time of a {step}",
            f"From the start of a {step} until its results and state were kept.",
            Chart([_series(steps, "s", lambda s: s.seconds)], "seconds", over, kind="bar", colours=[1]),
        ),
        _state(steps, engine, job, over),
    ]
    if any(each.late_pairs for each in steps):
        about = "A pair is a row and one window that lacks it, since the row came after the window fired."
        pairs = _series(steps, "pairs", lambda s: sum(s.late_pairs.values()))
        charts.append(("Late pairs", about, Chart([pairs], "pairs", over, kind="bar", colours=[3])))
    return [*charts, *_event_time(steps, over)]


def _state(steps: Steps, engine: str, job: Job | None, over: str) -> tuple[str, str, Chart]:
    largest = max(step.state_bytes for step in steps)
    unit, size = ("MB", 1e6) if largest >= 1e6 else ("kB", 1e3)
    line = _series(steps, "state", lambda s: s.state_bytes / size)
    about = (
        "What windrow holds from one to the next: slices, keys, open sessions and rows that a window still "
        "needs. It grows until the longest window is full; from then on old slices leave as new ones come."
    )
    if engine == "spark":
        about += (
            " RocksDB's files in the checkpoint are not counted: they also hold what is not compacted yet."
        )
    levels = [(largest / size, f"largest: {human_bytes(largest)}")]
    return "State", about, Chart([line], unit, over, colours=[2], levels=levels, moments=_full(steps, job))


def _full(steps: Steps, job: Job | None) -> list[tuple[float, str]]:
    """The step by which the watermark had moved as far as the longest window is long."""
    known = [
        (k, _units(step.watermark)) for k, step in enumerate(steps) if _seconds(step.watermark) is not None
    ]
    if not known or job is None:
        return []
    first = known[0][1]
    longest = max(
        (end - start for window in job.query.time_windows for start, end in window.assign(first)),
        default=None,
    )
    full = [k for k, watermark in known if longest is not None and watermark - first >= longest]
    return [(float(full[0]), "from here on the longest window is full")] if full else []


def _units(moment: Any) -> int:
    """A time as windows count it: microseconds, or as it is."""
    seconds = _seconds(moment)
    assert seconds is not None
    return round(seconds * 1e6) if isinstance(moment, dt.datetime) else int(moment)


def _series(steps: Steps, name: str, value: Callable[[Progress], float]) -> Series:
    return Series(name, [(float(k), float(value(step))) for k, step in enumerate(steps)])


def _event_time(steps: Steps, over: str) -> list[tuple[str, str, Chart]]:
    """The largest time seen and the watermark: the distance is how long rows are waited for."""
    lines = []
    for name, of in (("largest time seen", "largest"), ("watermark", "watermark")):
        points = [(float(k), _seconds(getattr(step, of))) for k, step in enumerate(steps)]
        lines.append(Series(name, [(x, y) for x, y in points if y is not None]))
    if not all(line.points for line in lines):
        return []
    is_time = isinstance(steps[-1].watermark, dt.datetime)
    chart = Chart(lines, "event time", over, y_is_time=is_time, colours=[0, 3])
    about = "Windows fire once the watermark has reached their end; rows behind it may be late."
    return [("Event time", about, chart)]


def _seconds(moment: Any) -> float | None:
    """None, too, for a time that is beyond Python's, which is text."""
    if isinstance(moment, dt.datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    return None if moment is None or isinstance(moment, str) else float(moment)
