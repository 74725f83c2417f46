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
from windrow.engines.spark.worker.sorted_rows import named_by_time
from windrow.engines.spark.worker.windows.slice_tables import SliceRun, SliceTable
from windrow.partials.partials import Partials
from windrow.rows.frame import Frame, build_frame
from windrow.slicing import Slicer
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
        firsts, run = folded_slices(query, frame, slicer)
        keys = frame.key_columns(query, frame.keys[firsts])
        yield from tables.table(keys, run, (part << 32) + chunk).to_batches()


def slicer_of(query: Spec) -> Slicer:
    return Slicer(query.time_windows, gap=smallest_gap(query))


def folded_slices(query: Spec, frame: Frame, slicer: Slicer) -> tuple[Any, SliceRun]:
    """The slices of a frame, and for each the position of its first row."""
    slices = slicer.slices(frame.times, frame.run_starts)
    aggregates = [aggregate for _, aggregate in query.aggregates]
    partials = Partials.of_rows(frame, aggregates, slices.rows)
    starts, times = slices.rows, frame.times
    keys = frame.table.select([]).slice(0, 0)
    return starts[:-1], SliceRun(keys, times[starts[:-1]], times[starts[1:] - 1], slices.ends, partials)
