"""How many rows of each window an aggregate skips, and how many values are left, from batch to batch.

Kept as running counts by position, and only from the first skipped row on: a partition without nulls pays
nothing.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.spark.worker.rolling.carry import Batch
from windrow.engines.spark.worker.rolling.tails import Tail
from windrow.engines.spark.worker.sorted_rows import column_of
from windrow.monoids.base import Aggregate
from windrow.partials.inputs import absent_values, skipped_values

__all__ = ["SkippedRows", "ValueCounts"]

_NONE = np.zeros(1, np.int64)


class ValueCounts:
    """How many values, and how many nulls, the windows of one aggregate hold."""

    def __init__(self, aggregate: Aggregate) -> None:
        self._aggregate = aggregate
        self._skipped, self._absent = SkippedRows(), SkippedRows()

    def push(self, table: pa.Table, arrays: list[Any], batch: Batch) -> tuple[Ints, Ints]:
        """``arrays`` are the inputs of the aggregate in this table; rows that are absent are not nulls."""
        values, nulls = self._skipped.push(skipped_values(self._aggregate.monoid, arrays), batch)
        absent = absent_values(self._aggregate, functools.partial(column_of, table))
        return values, nulls - self._absent.push(absent, batch)[1]


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
