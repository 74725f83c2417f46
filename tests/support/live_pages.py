"""States of the live page, made by hand: empty, busy, with very many keys, failed, finished, and hostile."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa

from support.cli_jobs import GOOD, write_job
from windrow.cli.charts.layout import layout_of_job
from windrow.cli.charts.lines import Lines
from windrow.cli.job import read_job
from windrow.cli.live.state import LiveState
from windrow.cli.show.progress import Progress

START = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
MINUTE = 60_000_000
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</svg><script>document.title='owned'</script>",
    '" onmouseover="alert(1)" x="',
    "'; DROP TABLE results; --",
    "\x1b[31mred\x1b]0;owned\x07",
    "\u202eright to left",
    "javascript:alert(1)",
    "${7*7} {{7*7}}",
]


def empty_state(folder: Path) -> LiveState:
    job = read_job(write_job(folder, GOOD))
    return LiveState(job.name, "local", Lines(layout_of_job(job)), job)


def add_steps(state: LiveState, count: int, minutes: int = 30) -> None:
    totals = state.totals
    for k in range(count):
        mark = START + dt.timedelta(minutes=minutes * k)
        late = 3 if k % 7 == 5 else 0
        step = Progress(
            batch=k,
            at=float(k),
            rows=4_000 + 900 * (k % 5),
            late=late // 3,
            windows=60,
            seconds=0.2 + 0.05 * (k % 4),
            state_bytes=60_000 + 4_000 * min(k, 12),
            watermark=mark,
            largest=mark + dt.timedelta(minutes=minutes // 2),
            late_pairs={"window_fired": late} if late else {},
            late_at=[mark - dt.timedelta(minutes=95), mark - dt.timedelta(minutes=65)] if late else (),
        )
        totals.add(step)
        state.progress(step, totals)


def results(keys: list[str], count: int, window: str = "hour", slide: int = 5) -> pa.Table:
    """Results of an hour each, every ``slide`` minutes, for each key."""
    ends = np.tile(np.arange(count, dtype=np.int64) * slide * MINUTE, len(keys)) + int(
        START.timestamp() * 1e6
    )
    which = np.repeat(np.arange(len(keys)), count)
    steps = np.tile(np.arange(count), len(keys))
    values = 40 + 8 * which % 37 + 12 * np.sin(steps / 9 + which) + 5 * np.cos(steps * 0.7)
    kind = pa.timestamp("us", "UTC")
    return pa.table(
        {
            "region": pa.array(keys, pa.string()).take(pa.array(which)),
            "window": pa.array([window] * len(which)),
            "window_start": pa.array(ends - 60 * MINUTE, pa.int64()).cast(kind),
            "window_end": pa.array(ends, pa.int64()).cast(kind),
            "longest": values.round().astype(np.int64),
            "n": (values * 3).round().astype(np.int64),
        }
    )


def busy_state(folder: Path, keys: int = 5) -> LiveState:
    state = empty_state(folder)
    add_steps(state, 40)
    state.results(results([f"region {k:04}" for k in range(keys)], 240 if keys < 100 else 60))
    return state


def failed_state(folder: Path) -> LiveState:
    state = busy_state(folder)
    state.end("failed", "data/calls-7.csv: column 'len' is not of type int64: CSV conversion error")
    return state


def finished_state(folder: Path) -> LiveState:
    state = busy_state(folder)
    state.end("done", "done: 224,000 rows in 12.1 s, 1,200 results, 5 (15 pairs) late")
    return state


def hostile_state(folder: Path) -> LiveState:
    state = empty_state(folder)
    state.name = HOSTILE[0]
    add_steps(state, 3)
    state.results(results(HOSTILE, 20))
    state.results(results(HOSTILE, 20, window=HOSTILE[1]))
    state.note(HOSTILE[1])
    state.end("failed", HOSTILE[0])
    return state


def year_state(folder: Path) -> LiveState:
    """A result a minute, for a year."""
    state = empty_state(folder)
    state.results(results(["north"], 525_600, slide=1))
    return state
