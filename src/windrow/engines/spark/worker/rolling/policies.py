"""Policy windows from batch to batch: the window of the present key is carried on. Memory is the window's."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.engines.data_windows.policy import PolicyWindow, lowered
from windrow.engines.spark.worker.chunks import conformed
from windrow.engines.spark.worker.rolling.carry import Batch
from windrow.engines.spark.worker.rolling.skipped_rows import ValueCounts
from windrow.engines.spark.worker.sorted_rows import SortedRows, column_of
from windrow.errors import naming_row
from windrow.monoids.base import Aggregate
from windrow.partials.inputs import passing_arrays
from windrow.partials.ranges import RowRanges
from windrow.partials.result_types import type_over
from windrow.partials.results import count_column
from windrow.spec import Spec
from windrow.windows import Policy

__all__ = ["PolicyCarry"]


class PolicyCarry:
    """The windows of one policy over the rows of a partition."""

    def __init__(self, query: Spec, policy: Policy, kinds: Sequence[Any]) -> None:
        self._query = query
        self._kinds = kinds
        self._window = PolicyWindow(query, policy)
        self._base = 0
        self._counts = [ValueCounts(aggregate) for _, aggregate in query.aggregates]

    def push(self, rows: SortedRows) -> tuple[list[Any], Ints]:
        """A result column per aggregate, and where each row's window starts, as absolute positions."""
        fronts, partials = self._slide(rows)
        stops = np.arange(self._base + 1, self._base + len(rows) + 1)
        batch = Batch(self._base, fronts, stops, lambda row: rows.describe(self._query, row))
        self._base += len(rows)
        return [
            self._lowered(k, aggregate, rows, batch, [partial[k] for partial in partials])
            for k, (_, aggregate) in enumerate(self._query.aggregates)
        ], fronts

    def _slide(self, rows: SortedRows) -> tuple[Ints, list[Any]]:
        inputs = [_inputs(rows, aggregate) for _, aggregate in self._query.aggregates]
        places = ((place, is_first, True) for place, is_first in enumerate(rows.starts.tolist()))
        with naming_row(functools.partial(rows.describe, self._query)):
            sizes, partials = self._window.slide(inputs, places)
        stops = np.arange(self._base + 1, self._base + len(rows) + 1)
        return stops - np.array(sizes, np.int64), partials

    def _lowered(
        self, k: int, aggregate: Aggregate, rows: SortedRows, batch: Batch, partials: list[Any]
    ) -> Any:
        if not aggregate.inputs:
            return count_column(aggregate, RowRanges(batch.fronts, batch.stops))
        arrays = passing_arrays(aggregate, functools.partial(column_of, rows.table))
        counts = self._counts[k].push(rows.table, arrays, batch)
        kind = type_over(aggregate, [array.type for array in arrays])
        return conformed(lowered(aggregate, kind, partials, counts, batch.describe), self._kinds[k])


def _inputs(rows: SortedRows, aggregate: Aggregate) -> list[tuple[Any, ...]]:
    if not aggregate.inputs:  # count(): every row counts
        return [(True,)] * len(rows)
    arrays = passing_arrays(aggregate, functools.partial(column_of, rows.table))
    return list(zip(*(array.to_pylist() for array in arrays), strict=True))
