"""Before the shuffle: rows are folded into slices where they lie and leave as one blob a bucket of keys.

Besides, every bucket gets a *clock*: a row without a blob that carries the largest time of the chunk. Spark
makes its watermark of clocks alone; rows with a blob carry none, so that Spark never drops one as late. Rows
that no window can take (no time, a time out of reach, a time too far ahead) stay here, move no clock, and are
counted with the first clock. Cost: one pass over a chunk, one blob a bucket, however many windows and keys
there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.engines.frame import build_frame
from windrow.engines.spark.chunks import chunked
from windrow.engines.spark.sorted_rows import TimedFrame
from windrow.engines.spark.streaming.wire import as_clock, begin, sends_rows, write_folded, write_rows
from windrow.engines.stream.folded import fold
from windrow.engines.stream.plan import Plan
from windrow.engines.times import TimeAxis
from windrow.engines.views import filter_rows
from windrow.slicing.slicer import END_OF_TIME

__all__ = ["AHEAD", "BUCKET", "PACKED", "REJECTED", "pack_batches"]

#: the column of Spark's that says in which bucket a row's key is
BUCKET = "__windrow_bucket"
#: the column of Spark's that says whether a row is too far ahead of the clock; only where the query asks
AHEAD = "__windrow_ahead"
#: integer times must be smaller
LARGEST_INTEGER = 1 << 53
#: rows that are folded at once
FOLD_ROWS = 1 << 18
#: why rows stay here
REJECTED = ("no_time", "out_of_reach", "too_far_ahead")
PACKED = pa.schema(
    [
        ("bucket", pa.int32()),
        ("clock", pa.timestamp("us", "UTC")),
        ("blob", pa.binary()),
        *((reason, pa.int64()) for reason in REJECTED),
    ]
)
_NONE = (None,) * len(REJECTED)


def pack_batches(
    payload: bytes, schema: pa.Schema, buckets: list[int], batches: Iterable[Any], rows: int = FOLD_ROWS
) -> Iterator[Any]:
    """What mapInArrow runs. ``buckets``: the numbers by which Spark spreads buckets evenly."""
    plan, state = begin(payload, schema)
    assert state.axis is not None
    for table in chunked(batches, rows):
        table, places, largest, rejected = _accepted(plan, table)
        found: list[Any] = []
        if largest is not None:
            pack = _rows if sends_rows(plan.query) else _folded
            found = [(buckets[number], None, blob, *_NONE) for number, blob in pack(plan, table, places)]
            clock = as_clock(largest, state.axis.is_integer)
            found += [(bucket, clock, None, *_NONE) for bucket in buckets]
        if rejected:
            found.append((buckets[0], None, None, *(rejected[reason] for reason in REJECTED)))
        yield _batch(found)


def _accepted(plan: Plan, table: pa.Table) -> tuple[pa.Table, Any, int | None, Counter[str]]:
    """The rows that windows may take, their buckets, the largest of their times, and why others may not."""
    places = np.asarray(table.column(BUCKET).to_numpy(), np.int64)
    column = table.column(plan.query.time)
    reasons: list[tuple[str, npt.NDArray[np.bool_]]] = []
    if column.null_count:
        reasons.append(("no_time", np.asarray(column.is_null())))
    times, beyond = _times(plan, column)
    reasons.append(("out_of_reach", beyond))
    if AHEAD in table.column_names:
        reasons.append(("too_far_ahead", np.asarray(table.column(AHEAD).fill_null(False))))
    table = table.select([name for name in table.column_names if name not in (BUCKET, AHEAD)])
    left = np.ones(len(times), np.bool_)
    rejected: Counter[str] = Counter()
    for reason, mask in reasons:
        rejected[reason] += int((left & mask).sum())
        left &= ~mask
    if not left.all():
        table, places, times = filter_rows(table, left), places[left], times[left]
    return table, places, int(times.max()) if len(times) else None, +rejected


def _times(plan: Plan, column: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Times, and which of them windows, or clocks, cannot deal with; these are 0."""
    axis = TimeAxis(column.type)
    ticks = axis.ticks(column)
    # clocks are microseconds, and integers count as milliseconds there
    most = LARGEST_INTEGER if axis.is_integer else END_OF_TIME // max(1, axis.us_a_tick)
    beyond = (ticks >= most) | (ticks <= -most)
    times = axis.to_us(np.where(beyond, 0, ticks))
    beyond |= plan.out_of_reach(times)
    return times, beyond


def _rows(plan: Plan, table: pa.Table, places: Any) -> Iterator[tuple[int, bytes]]:
    order = np.argsort(places, kind="stable")
    numbers, heads = np.unique(places[order], return_index=True)
    for number, some in zip(numbers.tolist(), np.split(order, heads[1:]), strict=True):
        yield number, write_rows(table.take(pa.array(some)))


def _folded(plan: Plan, table: pa.Table, places: Any) -> Iterator[tuple[int, bytes]]:
    frame = TimedFrame.like(build_frame(plan.query, table), plan.query.time)
    folded = fold(plan, frame)
    if not plan.query.by:
        yield 0, write_folded(folded)
        return
    of_keys = places[frame.key_rows]
    for number in np.unique(of_keys).tolist():
        yield number, write_folded(folded.of_keys(np.flatnonzero(of_keys == number)))


def _batch(rows: list[Any]) -> pa.RecordBatch:
    columns = [pa.array([row[k] for row in rows], field.type) for k, field in enumerate(PACKED)]
    return pa.RecordBatch.from_arrays(columns, schema=PACKED)
