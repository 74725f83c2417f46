"""Before the shuffle: rows are folded into slices where they lie and leave as one blob per bucket of keys.

Besides, every bucket gets a *clock*: a row without a blob that carries the largest time of the chunk. Spark
makes its watermark of clocks alone; rows with a blob carry none, so that Spark never drops one as late. Rows
that no window can take (no time, a time out of reach, a time too far ahead) stay here, move no clock, and are
counted with the first clock; where they are handed back, they go with their count. Cost: one pass over a
chunk, one blob per bucket, however many windows and keys there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints
from windrow.engines.spark.worker.chunks import chunked
from windrow.engines.spark.worker.row_names import named_by_time
from windrow.engines.spark.worker.streaming.buckets import places_of
from windrow.engines.spark.worker.streaming.wire import begin, sends_rows, write_folded, write_rows
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.prefolded import fold, without_times
from windrow.engines.stream.rejected import LeftOut
from windrow.engines.stream.watermark import as_clock
from windrow.rows.frame import build_frame
from windrow.rows.keys import shared_keys
from windrow.rows.selection import filter_rows
from windrow.rows.sorting import counting_sort
from windrow.rows.times import TimeAxis

__all__ = ["AHEAD", "LEFT_OUT", "PACKED", "REJECTED", "pack_batches", "packed_rows", "rows_by_bucket"]


#: the Spark column that says whether a row is too far ahead of the clock; only where the query asks
AHEAD = "__windrow_ahead"
#: integer times must be smaller
LARGEST_INTEGER = 1 << 53
#: rows that are folded at once; and bytes of them where there are very many: larger blobs have fewer keys
FOLD_ROWS = 1 << 18
_MANY_BYTES = 24 << 20
#: why rows stay here
REJECTED = ("no_time", "out_of_reach", "in_history", "too_far_ahead")
#: the column of rows that stay here, as a blob
LEFT_OUT = "left_out"
PACKED = pa.schema(
    [
        ("bucket", pa.int32()),
        ("clock", pa.timestamp("us", "UTC")),
        ("blob", pa.binary()),
        (LEFT_OUT, pa.binary()),
        *((reason, pa.int64()) for reason in REJECTED),
    ]
)
_NONE = (None,) * (1 + len(REJECTED))


def pack_batches(
    payload: bytes,
    schema: pa.Schema,
    buckets: list[int],
    batches: Iterable[Any],
    rows: int | None = None,
    *,
    since: int = START_OF_TIME,
    key_types: Sequence[Any] | None = None,
    never_late: bool = False,
) -> Iterator[Any]:
    """What mapInArrow runs. ``buckets``: the numbers by which Spark spreads buckets evenly. ``since``: rows
    before this time were taken from history. ``key_types``: the types in which keys of rows are spread; None:
    their own. ``never_late``: rows are history, and not judged by when they were."""
    plan, state = begin(payload, schema)
    assert state.axis is not None
    nbytes = _MANY_BYTES if rows is None and never_late and not sends_rows(plan.query) else 0
    for table in chunked(batches, rows or FOLD_ROWS, nbytes):
        table, largest, left = _accepted(plan, table, since)
        found: list[Any] = []
        if largest is not None:
            if sends_rows(plan.query):
                blobs = rows_by_bucket(table, plan.query.by, key_types, len(buckets))
            else:
                blobs = _folded(plan, table, len(buckets), never_late)
            found = [(buckets[place], None, blob, *_NONE) for place, blob in blobs]
            clock = as_clock(largest, state.axis.is_integer)
            found += [(bucket, clock, None, *_NONE) for bucket in buckets]
        if any(left.counts.values()):
            rows_left = write_rows(pa.concat_tables(left.tables)) if left.tables else None
            found.append(
                (buckets[0], None, None, rows_left, *(left.counts.get(reason, 0) for reason in REJECTED))
            )
        yield _batch(found)


def _accepted(plan: Plan, table: pa.Table, since: int) -> tuple[pa.Table, int | None, LeftOut]:
    """The rows that windows may take, the largest of their times, and those that they may not."""
    column = table.column(plan.query.time)
    reasons: list[tuple[str, npt.NDArray[np.bool_]]] = []
    if column.null_count:
        reasons.append(("no_time", np.asarray(column.is_null())))
    times, beyond = _times(plan, column)
    reasons.append(("out_of_reach", beyond))
    if since > START_OF_TIME:
        reasons.append(("in_history", times < since))
    if AHEAD in table.column_names:
        reasons.append(("too_far_ahead", np.asarray(table.column(AHEAD).fill_null(False))))
        table = table.drop_columns([AHEAD])
    kept, left = np.ones(len(times), np.bool_), LeftOut(plan.query.on_error == "reject")
    for reason, mask in reasons:
        left.add(reason, table, kept & mask)
        kept &= ~mask
    if not kept.all():
        table, times = filter_rows(table, kept), times[kept]
    return table, int(times.max()) if len(times) else None, left


def _times(plan: Plan, column: Any) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Times, and which of them windows, or clocks, cannot deal with; these are 0."""
    axis = TimeAxis(column.type)
    ticks = axis.ticks(column)
    # clocks are microseconds, and integers count as milliseconds there
    most = LARGEST_INTEGER if axis.is_integer else axis.limit
    beyond = (ticks >= most) | (ticks <= -most)
    times = axis.to_us(np.where(beyond, 0, ticks))
    beyond |= plan.out_of_reach(times)
    return times, beyond


def packed_rows(blobs: Iterable[tuple[int, bytes]]) -> pa.RecordBatch:
    """Blobs by bucket, without a clock."""
    return _batch([(bucket, None, blob, *_NONE) for bucket, blob in blobs])


def rows_by_bucket(
    table: pa.Table, by: tuple[str, ...], key_types: Sequence[Any] | None, buckets: int
) -> Iterator[tuple[int, bytes]]:
    """Rows as they are, in a blob for each bucket."""
    if not by:
        yield 0, write_rows(table)
        return
    keys, (numbers,) = shared_keys(by, [table])
    if key_types is not None:
        keys = keys.cast(pa.schema(list(zip(by, key_types, strict=True))))
    places = places_of(keys, buckets)[numbers]
    for place, rows in _by_place(places, buckets):
        yield place, write_rows(table.take(pa.array(rows)))


def _folded(plan: Plan, table: pa.Table, buckets: int, never_late: bool) -> Iterator[tuple[int, bytes]]:
    frame = named_by_time(build_frame(plan.query, table), plan.query.time)
    folded = fold(plan, frame)
    places: Iterable[tuple[int, Ints | None]] = [(0, None)]
    if plan.query.by:
        places = _by_place(places_of(folded.keys, buckets), buckets)
    for place, keys in places:
        part = folded if keys is None else folded.of_keys(keys)
        yield place, write_folded(without_times(plan, part) if never_late else part)


def _by_place(places: Ints, count: int) -> Iterator[tuple[int, Ints]]:
    """The places that occur, of so many, and what is at each, in the order in which it came."""
    parts = np.split(counting_sort(places, count, None), np.cumsum(np.bincount(places, minlength=count))[:-1])
    return ((place, found) for place, found in enumerate(parts) if len(found))


def _batch(rows: list[Any]) -> pa.RecordBatch:
    columns = [pa.array([row[k] for row in rows], field.type) for k, field in enumerate(PACKED)]
    return pa.RecordBatch.from_arrays(columns, schema=PACKED)
