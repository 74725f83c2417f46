"""How many rows of each window an aggregate skips, from batch to batch.

Kept as running counts by position, and only from the first skipped row on: a partition without nulls pays
nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.engines.spark.worker.rolling.carry import Batch
from windrow.engines.spark.worker.rolling.tails import Tail

__all__ = ["SkippedRows"]

_NONE = np.zeros(1, np.int64)


class SkippedRows:
    """Counts the skipped rows of windows; ``push`` takes the mask of a batch (None: nothing skipped)."""

    def __init__(self) -> None:
        #: skipped rows before each position; None: no row was skipped yet
        self._before: Tail | None = None

    def push(self, mask: Any, batch: Batch) -> tuple[Ints, Ints]:
        """For each window how many rows count, and how many are skipped."""
        rows = batch.stops - batch.fronts
        count = len(rows)
        if self._before is None:
            if mask is None:
                return rows, _NONE
            self._before = Tail(np.int64, batch.base)
            self._before.append(_NONE)
        last = self._before.values[-1]
        more = np.zeros(count, np.int64) if mask is None else np.cumsum(mask)
        self._before.append(last + more)
        skipped = self._at(batch.stops) - self._at(batch.fronts)
        self._before.forget(min(batch.oldest, batch.base + count))
        return rows - skipped, skipped

    def _at(self, positions: Ints) -> Any:
        """The count before each position; 0 before the first skipped row, where all counts were the same."""
        assert self._before is not None
        values = self._before.values
        return values[np.maximum(positions - self._before.first, 0)]
