"""The stateful processor that Spark calls for each bucket: entries in Spark's state, timers, rows out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from windrow.engines.spark.worker.lifetime import task_ended
from windrow.engines.spark.worker.streaming.pack_task import REJECTED
from windrow.engines.spark.worker.streaming.step import COUNTED, bucket_place, step
from windrow.engines.spark.worker.streaming.wire import write_rows
from windrow.errors import CorruptState

__all__ = ["ENTRIES", "FENCE", "HEADER", "STEPPED", "BucketProcessor"]

#: the variable of Spark's state: a map of blobs by name
ENTRIES = "entries"
#: the names of the entries that are not blocks
HEADER, FENCE = "header", "fence"
#: the property of Spark's tasks that says of which stream they are: the same after every restart
_QUERY_ID = "sql.streaming.queryId"

#: what a step gives, as Spark has it: results or late rows as a blob, and counts
STEPPED = "bucket int, kind string, blob binary, " + ", ".join(f"{name} long" for name in COUNTED)
#: rows of results that leave as one blob: a step of very many keys gives very many
_MOST_ROWS = 1 << 18
_NO_COUNTS = (0,) * len(COUNTED)
# as text, Spark would be asked to parse them in each task
_NAME = StructType([StructField("name", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


class BucketProcessor(StatefulProcessor):
    """Keys of one bucket share one state, so that many keys cost few calls."""

    def __init__(self, payload: bytes, schema: bytes, buckets: int) -> None:
        self._payload = payload
        self._buckets = buckets
        self._schema_bytes = schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        #: the buckets that this micro-batch has stepped: their timers, which expire after rows, add nothing
        self._stepped: set[int] = set()
        # one variable: each costs a task milliseconds before it starts
        self._entries = handle.getMapState(ENTRIES, _NAME, _VALUE)
        self._schema = pa.ipc.read_schema(pa.py_buffer(self._schema_bytes))
        context = TaskContext.get()  # there is none where Spark only asks for the variables
        self._query_id = None if context is None else context.getLocalProperty(_QUERY_ID)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        blobs: list[bytes] = []
        rejected: Counter[str] = Counter()
        for row in rows:
            if row.blob is not None:
                blobs.append(bytes(row.blob))
            rejected.update({reason: row[reason] or 0 for reason in REJECTED})
        return self._step(key[0], blobs, timerValues.getCurrentWatermarkInMs(), rejected)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802
        if key[0] in self._stepped:
            return iter(())
        return self._step(key[0], [], timerValues.getCurrentWatermarkInMs(), {})

    def _step(
        self, bucket: int, blobs: list[bytes], watermark_ms: int, rejected: Mapping[str, int]
    ) -> Iterator[Row]:
        self._stepped.add(bucket)
        entries = _SparkEntries(self, bucket)
        about = (watermark_ms, rejected, self._buckets, self._query_id)
        stepped = step(self._payload, self._schema, entries, blobs, *about)
        # Called again as soon as the watermark moves, with rows or without: it judges the rows of the next
        # micro-batch, and lets windows out. The timer before this one has expired by itself.
        if stepped.has_moved:
            self._handle.registerTimer(max(watermark_ms, 0) + 1)
        yield _row(bucket, "counts", None, stepped.counts)
        tables = {"results": stepped.results} | ({} if stepped.late is None else {"late": stepped.late})
        for kind, table in tables.items():
            for start in range(0, table.num_rows, _MOST_ROWS):
                yield _row(bucket, kind, write_rows(table.slice(start, _MOST_ROWS)), _NO_COUNTS)

    def close(self) -> None:
        task_ended()


def _row(bucket: int, kind: str, blob: bytes | None, counts: tuple[int, ...]) -> Row:
    return Row(bucket=bucket, kind=kind, blob=blob, **dict(zip(COUNTED, counts, strict=True)))


class _SparkEntries:
    """The entries of one bucket in Spark's state."""

    def __init__(self, processor: BucketProcessor, bucket: int) -> None:
        self.place = bucket_place(bucket)
        self._entries = processor._entries

    def header(self) -> bytes | None:
        return self._get(HEADER)

    def set_header(self, data: bytes) -> None:
        self.set_block(HEADER, data)

    def fence(self) -> bytes | None:
        return self._get(FENCE)

    def set_fence(self, data: bytes) -> None:
        self.set_block(FENCE, data)

    def block(self, name: str) -> bytes:
        found = self._get(name)
        if found is None:
            raise CorruptState(f"block {name!r} of a bucket is missing from Spark's state")
        return found

    def set_block(self, name: str, data: bytes) -> None:
        self._entries.updateValue((name,), (data,))

    def delete_block(self, name: str) -> None:
        self._entries.removeKey((name,))

    def _get(self, name: str) -> bytes | None:
        found = self._entries.getValue((name,))
        return None if found is None else bytes(found[0])
