"""Stored rows at the speed of their own time, or a multiple of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.cli.errors import JobError
from windrow.rows.times import read_times

__all__ = ["paced", "read_speed"]


def read_speed(text: str) -> float:
    """
    >>> read_speed("60"), read_speed("1.5x"), read_speed("max")
    (60.0, 1.5, inf)
    """
    if text == "max":
        return float("inf")
    try:
        speed = float(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not speed > 0:
        raise JobError(f"--speed {text}: give a number such as 60 (a minute in a second), or max")
    return speed


def paced(
    tables: Iterable[pa.Table],
    column: str,
    speed: float,
    tick: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[pa.Table]:
    """Rows in stored order. A row is due when the largest time so far is: what is out of order stays so.

    Integers count as seconds."""
    began, first, largest = clock(), None, None
    for table in tables:
        if speed == float("inf") or not table.num_rows:
            yield table
            continue
        seconds = _seconds(table, column)
        first = float(np.nanmin(seconds[:1])) if first is None else first
        reached = np.fmax.accumulate(np.concatenate([[first if largest is None else largest], seconds]))[1:]
        largest = float(reached[-1])
        ticks = np.maximum(np.ceil((reached - first) / speed / tick), 0)
        edges = [0, *(np.flatnonzero(np.diff(ticks)) + 1).tolist(), len(ticks)]
        for low, high in itertools.pairwise(edges):
            _wait_until(began + ticks[low] * tick, clock, sleep, is_stopped)
            if is_stopped():
                return
            yield table.slice(low, high - low)


def _seconds(table: pa.Table, column: str) -> Any:
    """Times in seconds; rows without a time are due with the row before."""
    values = table.column(column)
    axis, times, _ = read_times(values.drop_null(), column)
    found = np.full(table.num_rows, np.nan)
    found[np.asarray(values.is_valid())] = times if axis.is_integer else times / 1e6
    if np.isnan(found[0]):
        found[0] = np.nanmin(found) if np.isfinite(found).any() else 0.0
    return found


def _wait_until(
    moment: float, clock: Callable[[], float], sleep: Callable[[float], None], is_stopped: Callable[[], bool]
) -> None:
    while (left := moment - clock()) > 0 and not is_stopped():
        sleep(min(left, 0.5))
