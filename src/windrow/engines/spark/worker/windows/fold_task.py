"""Rows into slices, on the side of the shuffle where they lie: a table of partials by (key, slice) for each
chunk of rows.

Rows need no order here. Cost: one pass over a chunk, and a shuffle of one row for each key and slice that the
chunk holds, however many windows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from windrow.engines.spark.plan import smallest_gap
from windrow.engines.spark.worker.chunks import chunked
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.row_names import named_by_time
from windrow.engines.spark.worker.windows.slice_tables import SliceTable
from windrow.rows.frame import Frame, build_frame
from windrow.slicing import Slicer
from windrow.slicing.batch import cut_rows
from windrow.slicing.slices import HeldSlices
from windrow.spec import Spec

__all__ = ["FOLD_ROWS", "fold_batches", "folded_slices", "slicer_of"]

#: rows that are folded at once: the more, the fewer partials leave for the same key and slice
FOLD_ROWS = 1 << 18


def fold_batches(payload: bytes, part: int, batches: Iterable[Any], rows: int = FOLD_ROWS) -> Iterator[Any]:
    """What mapInArrow runs before the shuffle. ``part`` is the number of the partition."""
    query = unpacked(payload)
    slicer = slicer_of(query)
    tables: SliceTable | None = None
    for chunk, table in enumerate(chunked(batches, rows)):
        if tables is None:
            tables = SliceTable(query, table.schema)
        frame = named_by_time(build_frame(query, table), query.time)
        slices = folded_slices(query, frame, slicer)
        keys = frame.key_columns(query, slices.keys)
        yield from tables.table(keys, slices, (part << 32) + chunk).to_batches()


def slicer_of(query: Spec) -> Slicer:
    return Slicer(query.time_windows, gap=smallest_gap(query))


def folded_slices(query: Spec, frame: Frame, slicer: Slicer) -> HeldSlices:
    """The slices of a frame, by its numbers of keys."""
    aggregates = [aggregate for _, aggregate in query.aggregates]
    cut = cut_rows(frame, slicer, aggregates)
    return cut.fold(aggregates, cut.keys)
