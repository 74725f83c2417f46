"""Rolling over one partition: sorted batches in, the same rows with results out.

Rows come sorted by key, time and order, keys together. What is kept between chunks is the present window of
each aggregate, and for windows by time the rows of the last moment, since peers that are still to come count
for them. Memory: O(window), however many rows a key has. Rows without a time are in no window; they come
first in their key, and their results are null.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.engines.spark.worker.chunks import CHUNK_ROWS, chunked, conformed
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.rolling.carry import Batch, Carry, carry_for
from windrow.engines.spark.worker.rolling.fronts import CountFronts, Fronts, TimeFronts
from windrow.engines.spark.worker.rolling.policies import PolicyCarry
from windrow.engines.spark.worker.rolling.skipped_rows import ValueCounts
from windrow.engines.spark.worker.sorted_rows import RowReader, SortedRows, column_of
from windrow.errors import naming_row
from windrow.monoids.base import Aggregate
from windrow.partials.inputs import passing_arrays
from windrow.partials.ranges import RowRanges
from windrow.partials.results import count_column, with_nulls
from windrow.rows.columns import plain_type
from windrow.spec import Spec

__all__ = ["CONTEXT", "SEGMENT", "RollingTask", "roll_batches"]

#: the columns that tell which segment of its key a row belongs to, and whether it is there as context only
SEGMENT = "__windrow_segment"
CONTEXT = "__windrow_context"


def roll_batches(
    payload: bytes,
    kinds: Sequence[Any],
    batches: Iterable[Any],
    rows: int = CHUNK_ROWS,
    segmented: bool = False,
) -> Iterator[Any]:
    """What mapInArrow runs: batches of a partition in, the same with result columns of these types out.

    With ``segmented`` a segment of a key is a key, and context rows are not given back."""
    query = unpacked(payload)
    if segmented:
        query = replace(query, by=(*query.by, SEGMENT))
        yield from map(without_context, _rolled(query, kinds, chunked(batches, rows)))
    else:
        yield from _rolled(query, kinds, chunked(batches, rows))


def _rolled(query: Spec, kinds: Sequence[Any], tables: Iterable[pa.Table]) -> Iterator[Any]:
    task: RollingTask | None = None
    for table in tables:
        if task is None:
            task = RollingTask(query, table.schema, kinds)
        yield from task.push(table).to_batches()
    if task is not None:
        yield from task.finish().to_batches()


def without_context(batch: Any) -> Any:
    """A batch without context rows and without the columns of segments."""
    kept = batch.filter(pc.invert(batch.column(batch.schema.get_field_index(CONTEXT))))
    return kept.drop_columns([SEGMENT, CONTEXT])


class RollingTask:
    """One partition on its way through."""

    def __init__(self, query: Spec, schema: pa.Schema, kinds: Sequence[Any]) -> None:
        over = query.rolling_over
        assert over is not None
        self._query = query
        self._schema = schema
        self._kinds = kinds
        self._reader = RowReader(query)
        self._base = 0
        #: rows of the last moment: peers of theirs may come
        self._held: list[SortedRows] = []
        self._waits = over.size is not None
        self._policy = None if over.policy is None else PolicyCarry(query, over.policy, kinds)
        by_time = None if over.size is None else TimeFronts(over.size.units)
        self._fronts: Fronts = by_time or CountFronts(over.rows or 1)
        self._results = [_Result(aggregate, query, schema) for _, aggregate in query.aggregates]

    def push(self, table: pa.Table) -> pa.Table:
        rows = self._reader.read(table)
        if not self._waits:
            return self._done(rows)
        cut = self._last_moment(rows)
        if cut is None:  # all of them are peers of the rows held
            self._held.append(rows)
            return self._done(rows.slice(0, 0))
        ready = SortedRows.concat([*self._held, rows.slice(0, cut)])
        self._held = [rows.slice(cut, len(rows))] if cut < len(rows) else []
        return self._done(ready)

    def finish(self) -> pa.Table:
        if not self._held:
            return self._done(self._reader.read(self._schema.empty_table()))
        return self._done(SortedRows.concat(self._held))

    def _last_moment(self, rows: SortedRows) -> int | None:
        """Where the last row's peers start; None: before these rows."""
        differs = rows.starts.copy()
        differs[1:] |= rows.times[1:] != rows.times[:-1]
        if self._held:
            differs[0] |= self._held[-1].times[-1] != rows.times[0]
        if rows.missing[-1]:  # they wait for nothing
            return len(rows)
        places = np.flatnonzero(differs)
        return int(places[-1]) if len(places) else None

    def _done(self, rows: SortedRows) -> pa.Table:
        columns = self._columns(rows)
        table = rows.table
        for (name, _), column, kind in zip(self._query.aggregates, columns, self._kinds, strict=True):
            if rows.missing.any():
                column = pc.if_else(pa.array(rows.missing), pa.scalar(None, column.type), column)
            table = table.append_column(name, conformed(column, kind))
        self._base += len(rows)
        return table

    def _columns(self, rows: SortedRows) -> list[Any]:
        if not len(rows):
            return [pa.nulls(0, kind) for kind in self._kinds]
        if self._policy is not None:
            return self._policy.push(rows)[0]
        fronts, stops = self._fronts.push(rows, self._base)
        batch = Batch(self._base, fronts, stops, functools.partial(rows.describe, self._query))
        with naming_row(batch.describe):
            return [result.push(rows.table, batch) for result in self._results]


class _Result:
    """One aggregate's results, nulls and too small windows accounted for."""

    def __init__(self, aggregate: Aggregate, query: Spec, schema: pa.Schema) -> None:
        self._aggregate = aggregate
        self._counts = ValueCounts(aggregate)
        kinds = [plain_type(schema.field(name).type) for name in aggregate.inputs]
        counts = not aggregate.inputs or query.rolling_over is None or query.rolling_over.policy is not None
        self._carry: Carry | None = None if counts else carry_for(aggregate, kinds)

    def push(self, table: pa.Table, batch: Batch) -> Any:
        if self._carry is None:
            return count_column(self._aggregate, RowRanges(batch.fronts, batch.stops))
        arrays = passing_arrays(self._aggregate, functools.partial(column_of, table))
        values, nulls = self._counts.push(table, arrays, batch)
        return with_nulls(self._aggregate, self._carry.push(arrays, batch), values, nulls)
