"""A stream through the tasks of Spark streaming without Spark: rows are packed, buckets stepped, results
unpacked, with the state of each bucket in a dict."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import START_OF_TIME
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.history_task import LATER, History
from windrow.engines.spark.worker.streaming.pack_task import LEFT_OUT, REJECTED, pack_batches
from windrow.engines.spark.worker.streaming.step import COUNTED, bucket_place, step
from windrow.errors import CorruptState
from windrow.result_names import REJECTED as REJECTED_COLUMN

BUCKETS = [3, 5]


@dataclass
class DictEntries:
    """The entries of a bucket in memory."""

    place: bytes = b""
    head: bytes | None = None
    guard: bytes | None = None
    blocks: dict[str, bytes] = field(default_factory=dict)

    def header(self) -> bytes | None:
        return self.head

    def set_header(self, data: bytes) -> None:
        self.head = data

    def fence(self) -> bytes | None:
        return self.guard

    def set_fence(self, data: bytes) -> None:
        self.guard = data

    def block(self, name: str) -> bytes:
        if name not in self.blocks:
            raise CorruptState(f"block {name!r} of a bucket is missing")
        return self.blocks[name]

    def set_block(self, name: str, data: bytes) -> None:
        self.blocks[name] = data

    def delete_block(self, name: str) -> None:
        del self.blocks[name]


class PackedStream:
    """What Spark does with a query: micro-batches, each judged by the watermark of the one before."""

    def __init__(self, query: Any, schema: pa.Schema, query_id: str | None = None) -> None:
        self.query_id, self.since = query_id, START_OF_TIME
        self.query, self.schema = query, schema
        self.histories: dict[int, History] = {}
        self.entries = {bucket: DictEntries(bucket_place(bucket)) for bucket in BUCKETS}
        self.late: list[Any] = []
        self.rejected: list[Any] = []
        self.counts = dict.fromkeys(COUNTED, 0)

    def begin_with(self, past: pa.Table, until: int = START_OF_TIME) -> None:
        """The state that history leads to, in Arrow batches of few rows. Of rows after the cut, only the keys
        count."""
        payload, self.since = packed(self.query), until
        self.histories = {bucket: History(payload, self.schema, until) for bucket in BUCKETS}
        is_early = pc.less(past[self.query.time], until) if until > START_OF_TIME else None
        for row in self._packed(past if is_early is None else past.filter(is_early)):
            clock = None if row["clock"] is None else round(row["clock"].timestamp() * 1e6)
            self.histories[row["bucket"]].add(clock, row["blob"])
        if is_early is not None and self.query.empty == "include":
            for row in self._packed(past.filter(pc.invert(is_early))):
                if row["blob"] is not None:
                    self.histories[row["bucket"]].add(None, LATER + row["blob"])

    def _packed(self, past: pa.Table) -> list[Any]:
        few = past.to_batches(max_chunksize=3)
        batches = pack_batches(packed(self.query), self.schema, BUCKETS, few, 4, never_late=True)
        return [row for batch in batches for row in batch.to_pylist()]

    def batch(self, table: pa.Table, watermark_ms: int) -> list[Any]:
        """One micro-batch, in two Arrow batches; results as dicts."""
        payload = packed(self.query)
        rows: list[Any] = []
        for part in (table.slice(0, 3), table.slice(3)):
            for packed_batch in pack_batches(
                payload, self.schema, BUCKETS, part.to_batches(), since=self.since
            ):
                rows += packed_batch.to_pylist()
        results: list[Any] = []
        for bucket in BUCKETS:
            blobs = [row["blob"] for row in rows if row["bucket"] == bucket and row["blob"] is not None]
            past = self.histories.pop(bucket, None)
            if blobs or rows or past or self.entries[bucket].head is not None:
                rejected = {
                    reason: sum(row[reason] or 0 for row in rows if row["bucket"] == bucket)
                    for reason in REJECTED
                }
                entries = self.entries[bucket]
                told = (watermark_ms, rejected, len(BUCKETS), self.query_id, self.since)
                begun = None if past is None else past.settled()
                stepped = step(payload, self.schema, entries, blobs, *told, begun)
                results += stepped.results.to_pylist()
                self.late += [] if stepped.late is None else stepped.late.to_pylist()
                left = [
                    row[LEFT_OUT] for row in rows if row["bucket"] == bucket and row[LEFT_OUT] is not None
                ]
                for table in stepped.handed_back(left)[REJECTED_COLUMN]:
                    self.rejected += table.to_pylist()
                for name, count in zip(COUNTED, stepped.counts, strict=True):
                    self.counts[name] += count
        return results


def without_delay(query: Any) -> Any:
    """The query for an operator whose watermark is moved by hand."""
    return replace(query, watermark=None)
