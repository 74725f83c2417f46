"""Before the shuffle: rows are folded into slices where they lie and leave as one blob a bucket of keys.

Besides, every bucket gets a *clock*: a row without a blob that carries the largest time of the chunk. Spark
makes its watermark of clocks alone; rows with a blob carry none, so that Spark never drops one as late.
Cost: one pass over a chunk, one blob a bucket, however many windows and keys there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.engines.frame import build_frame
from windrow.engines.spark.chunks import chunked
from windrow.engines.spark.sorted_rows import TimedFrame
from windrow.engines.spark.streaming.wire import as_clock, begin, sends_rows, write_folded, write_rows
from windrow.engines.stream.folded import fold
from windrow.engines.stream.intake import with_time
from windrow.engines.stream.plan import Plan
from windrow.engines.times import read_times

__all__ = ["BUCKET", "PACKED", "pack_batches"]

#: the column of Spark's that says in which bucket a row's key is
BUCKET = "__windrow_bucket"
#: rows that are folded at once
FOLD_ROWS = 1 << 18
PACKED = pa.schema([("bucket", pa.int32()), ("clock", pa.timestamp("us", "UTC")), ("blob", pa.binary())])


def pack_batches(
    payload: bytes, schema: pa.Schema, buckets: list[int], batches: Iterable[Any], rows: int = FOLD_ROWS
) -> Iterator[Any]:
    """What mapInArrow runs. ``buckets``: the numbers by which Spark spreads buckets evenly."""
    plan, state = begin(payload, schema)
    assert state.axis is not None
    for table in chunked(batches, rows):
        places = np.asarray(table.column(BUCKET).to_numpy(), np.int64)
        table = table.drop_columns([BUCKET])
        pack = _rows if sends_rows(plan.query) else _folded
        blobs = list(pack(plan, table, places))
        timed, _ = with_time(table, plan.query.time)
        clocks: list[Any] = []
        if timed.num_rows:
            _, times, _ = read_times(timed.column(plan.query.time), plan.query.time)
            clock = as_clock(int(times.max()), state.axis.is_integer)
            clocks = [(bucket, clock, None) for bucket in buckets]
        yield _batch([(buckets[number], None, blob) for number, blob in blobs] + clocks)


def _rows(plan: Plan, table: pa.Table, places: Any) -> Iterator[tuple[int, bytes]]:
    order = np.argsort(places, kind="stable")
    numbers, heads = np.unique(places[order], return_index=True)
    for number, some in zip(numbers.tolist(), np.split(order, heads[1:]), strict=True):
        yield number, write_rows(table.take(pa.array(some)))


def _folded(plan: Plan, table: pa.Table, places: Any) -> Iterator[tuple[int, bytes]]:
    timed, timeless = with_time(table, plan.query.time)
    if timeless:
        places = places[np.asarray(table.column(plan.query.time).is_valid())]
    frame = TimedFrame.like(build_frame(plan.query, timed), plan.query.time)
    folded = fold(plan, frame)
    of_keys = places[frame.key_rows] if plan.query.by else np.zeros(1, np.int64)
    if not timed.num_rows:
        if timeless:
            yield 0, write_folded(folded, timeless)
        return
    for number in np.unique(of_keys).tolist():
        mine = np.flatnonzero(of_keys == number)
        yield number, write_folded(folded.of_keys(mine) if plan.query.by else folded, timeless)
        timeless = 0


def _batch(rows: list[Any]) -> pa.RecordBatch:
    columns = [pa.array([row[k] for row in rows], field.type) for k, field in enumerate(PACKED)]
    return pa.RecordBatch.from_arrays(columns, schema=PACKED)
