"""Which rows a row's window holds: from batch to batch, as absolute positions [front, stop)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from windrow.arrays import Ints
from windrow.engines.spark.worker.rolling.kernels import count_fronts, time_fronts
from windrow.engines.spark.worker.rolling.tails import Tail
from windrow.engines.spark.worker.sorted_rows import SortedRows

__all__ = ["CountFronts", "Fronts", "TimeFronts"]


class Fronts(Protocol):
    def push(self, rows: SortedRows, base: int) -> tuple[Ints, Ints]: ...


class CountFronts:
    """The last ``size`` rows of the key."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._run = 0

    def push(self, rows: SortedRows, base: int) -> tuple[Ints, Ints]:
        fronts = np.empty(len(rows), np.int64)
        self._run = count_fronts(base, rows.starts, self._size, self._run, fronts)
        return fronts, np.arange(base + 1, base + len(rows) + 1)


class TimeFronts:
    """The rows of the key in (t - size, t]; the last row of a batch must have no peer in the next one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._front = 0
        self._clock = Tail(np.int64)

    def push(self, rows: SortedRows, base: int) -> tuple[Ints, Ints]:
        old = base - self._clock.first
        self._clock.append(rows.times)
        fronts, stops = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        clock: Any = self._clock.values
        self._front = time_fronts(
            clock, self._clock.first, old, rows.starts, self._size, self._front, fronts, stops
        )
        self._clock.forget(self._front)
        return fronts, stops
