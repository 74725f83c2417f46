"""The state that history leads to, bucket by bucket, as the entries that a stream begins with.

What comes is what ``pack_task`` makes of history: slices or rows in blobs, and clocks, sorted by bucket. They
are taken without a watermark, so that none is late; at the end of a bucket the watermark moves once, to the
cut or to where the clocks lead, and what it passed is gone without results. Every bucket gets all clocks, so
that all arrive at the same watermark.

Cost: memory for the state of one bucket before the watermark has moved, and for 64 MB of blobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.streaming.entry_names import FENCE, HEADER
from windrow.engines.spark.worker.streaming.fenced import FencedEntries
from windrow.engines.spark.worker.streaming.step import bucket_place, kept_by, take_blobs
from windrow.engines.spark.worker.streaming.wire import begin
from windrow.engines.stream.history import settled
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.engines.stream.watermark import delay_ms, watermark_of

__all__ = ["DictEntries", "history_entries"]

_ENTRIES = pa.schema([("bucket", pa.int32()), ("name", pa.string()), ("value", pa.binary())])
#: so many bytes of blobs are taken at once
_MOST_BYTES = 64 << 20

#: a bucket, microseconds of a clock, and a blob
_Packed = tuple[int, int | None, bytes | None]


def history_entries(
    payload: bytes, schema: pa.Schema, buckets: int, until: int, batches: Iterable[Any]
) -> Iterator[Any]:
    """What mapInArrow runs on a partition in which buckets are whole and sorted."""
    for bucket, rows in groupby(_rows(batches), itemgetter(0)):
        entries = _entries(payload, schema, buckets, until, bucket, rows)
        yield _batch([(bucket, name, value) for name, value in entries.items()])


def _rows(batches: Iterable[Any]) -> Iterator[_Packed]:
    for batch in batches:
        clocks = batch.column("clock").cast(pa.int64()).to_pylist()
        yield from zip(
            batch.column("bucket").to_pylist(), clocks, batch.column("blob").to_pylist(), strict=True
        )


def _entries(
    payload: bytes, schema: pa.Schema, buckets: int, until: int, bucket: int, rows: Iterable[_Packed]
) -> dict[str, bytes]:
    plan, state = begin(payload, schema)
    latest, blobs, nbytes = START_OF_TIME, list[bytes](), 0
    for _, clock, blob in rows:
        latest = latest if clock is None else max(latest, clock)
        if blob is None:
            continue
        blobs.append(bytes(blob))
        nbytes += len(blob)
        if nbytes >= _MOST_BYTES:
            (plan, state), blobs, nbytes = _taken(plan, state, blobs), [], 0
    plan, state = _taken(plan, state, blobs)
    found = DictEntries(bucket_place(bucket))
    reached = _watermark(payload, state, latest)
    kept_by(FencedEntries(found), buckets).save(plan, settled(plan, state, max(reached, until), until))
    return found.values


def _taken(plan: Plan, state: State, blobs: list[bytes]) -> tuple[Plan, State]:
    plan, state, _ = take_blobs(plan, state, blobs)
    return plan, state


def _watermark(payload: bytes, state: State, latest: int) -> int:
    """Where Spark's watermark would be after this clock."""
    delay = unpacked(payload).watermark
    assert delay is not None
    assert state.axis is not None
    if latest == START_OF_TIME:
        return START_OF_TIME
    return watermark_of(latest // 1000 - delay_ms(delay), state.axis.is_integer)


@dataclass
class DictEntries:
    """The entries of a bucket in memory."""

    place: bytes
    values: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def header(self) -> bytes | None:
        return self.values.get(HEADER)

    def set_header(self, data: bytes) -> None:
        self.values[HEADER] = data

    def fence(self) -> bytes | None:
        return self.values.get(FENCE)

    def set_fence(self, data: bytes) -> None:
        self.values[FENCE] = data

    def block(self, name: str) -> bytes:
        return self.values[name]

    def set_block(self, name: str, data: bytes) -> None:
        self.values[name] = data

    def delete_block(self, name: str) -> None:
        del self.values[name]


def _batch(rows: list[Any]) -> pa.RecordBatch:
    columns = [pa.array([row[k] for row in rows], field.type) for k, field in enumerate(_ENTRIES)]
    return pa.RecordBatch.from_arrays(columns, schema=_ENTRIES)
