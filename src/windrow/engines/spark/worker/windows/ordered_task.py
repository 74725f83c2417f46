"""Windows over one partition of rows that are sorted by key, time and order: the path that serves everything.

Windows whose slices times decide are folded in order and assembled
(:mod:`windrow.engines.spark.worker.windows.assembly`), so that aggregates that do not commute are right, too.
Windows that rows decide keep the rows of the present key that their open windows need; keys that lie whole in
a chunk go through together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME
from windrow.engines.data_windows.operator import DataWindowRows
from windrow.engines.spark.worker.chunks import CHUNK_ROWS, chunked, conformed_table
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.sorted_rows import RowReader, SortedRows, named_by_time
from windrow.engines.spark.worker.windows.assembly import Assembly
from windrow.engines.spark.worker.windows.fold_task import folded_slices, slicer_of
from windrow.engines.spark.worker.windows.limited_sessions import LimitedSessions
from windrow.rows.times import TimeAxis
from windrow.slicing.slices import KeyedSlices
from windrow.spec import Spec
from windrow.windows import Window, decided_by_gaps

__all__ = ["OrderedTask", "order_batches"]


def order_batches(
    payload: bytes, schema: pa.Schema, batches: Iterable[Any], rows: int = CHUNK_ROWS
) -> Iterator[Any]:
    """What mapInArrow runs on sorted rows; ``schema`` is that of the results."""
    task: OrderedTask | None = None
    for table in chunked(batches, rows):
        if task is None:
            task = OrderedTask(unpacked(payload), table.schema)
        for found in task.push(table):
            yield from conformed_table(found, schema).to_batches()
    for found in task.finish() if task is not None else ():
        yield from conformed_table(found, schema).to_batches()


class _Part(Protocol):
    """One window over the rows of some keys."""

    def push(self, table: pa.Table, arrivals: Any) -> None: ...

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None: ...


class OrderedTask:
    """One partition on its way through."""

    def __init__(self, query: Spec, schema: pa.Schema) -> None:
        axis = TimeAxis(schema.field(query.time).type)
        self._query = query
        self._reader = RowReader(query)
        sliced = any(window.is_sliced for _, window in query.windows)
        self._sliced = _SortedSlices(query, axis) if sliced else None
        self._decided = [_ByKey(_maker(query, name, w)) for name, w in query.windows if not w.is_sliced]

    def push(self, table: pa.Table) -> list[pa.Table]:
        rows = self._reader.read(table)
        found = [] if self._sliced is None else self._sliced.push(rows)
        return found + [result for part in self._decided for result in part.push(rows)]

    def finish(self) -> list[pa.Table]:
        found = [] if self._sliced is None else self._sliced.finish()
        return found + [result for part in self._decided for result in part.finish()]


class _SortedSlices:
    """Sorted rows, folded into slices and assembled."""

    def __init__(self, query: Spec, axis: TimeAxis) -> None:
        self._query = query
        self._axis = axis
        self._slicer = slicer_of(query)
        self._assembly = Assembly(query, axis)

    def push(self, rows: SortedRows) -> list[pa.Table]:
        frame = rows.frame(self._query, self._axis)
        slices = folded_slices(self._query, frame, self._slicer)
        keys = rows.table.select(list(self._query.by)).take(pa.array(frame.key_rows))
        return self._assembly.push(KeyedSlices(keys, slices))

    def finish(self) -> list[pa.Table]:
        return self._assembly.finish()


def _maker(query: Spec, name: str, window: Window) -> Callable[[], _Part]:
    if decided_by_gaps(window):
        return lambda: LimitedSessions(query, name, window)
    return lambda: DataWindowRows(query, name, window, naming=lambda f, _: named_by_time(f, query.time))


class _ByKey:
    """One window that rows decide, key after key. Of the last key more rows may come; others are whole."""

    def __init__(self, make: Callable[[], _Part]) -> None:
        self._make = make
        self._open: _Part | None = None
        self._arrived = 0

    def push(self, rows: SortedRows) -> Iterator[pa.Table]:
        starts = np.flatnonzero(rows.starts).tolist()
        first, last = (starts[0], starts[-1]) if starts else (len(rows), len(rows))
        if first:
            yield from self._feed(self._open, rows.slice(0, first), closing=bool(starts))
        elif starts:
            yield from self._closed()
        if last > first:
            yield from self._feed(self._make(), rows.slice(first, last), closing=True)
        if starts:
            self._open = self._make()
            yield from self._feed(self._open, rows.slice(last, len(rows)), closing=False)

    def finish(self) -> Iterator[pa.Table]:
        yield from self._closed()

    def _closed(self) -> Iterator[pa.Table]:
        found = None if self._open is None else self._open.due(END_OF_TIME, closing=True)
        self._open = None
        if found is not None:
            yield found

    def _feed(self, part: _Part | None, rows: SortedRows, closing: bool) -> Iterator[pa.Table]:
        assert part is not None
        part.push(rows.table, np.arange(self._arrived, self._arrived + len(rows)))
        self._arrived += len(rows)
        found = part.due(END_OF_TIME if closing else int(rows.times[-1]), closing)
        if found is not None:
            yield found
