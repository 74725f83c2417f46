"""The stateful processor that Spark calls for each bucket: entries in Spark's state, timers, rows out.

The engine is loaded when the first rows come. Before a stream starts, Spark asks the processor for its
variables, in a Python of their own, and the stream waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import ArrayType, BinaryType, LongType, StringType, StructField, StructType

from windrow.engines.spark.worker.lifetime import engine_begins, task_begins
from windrow.engines.spark.worker.streaming.entry_names import FENCE, HEADER
from windrow.errors import CorruptState

if TYPE_CHECKING:
    from windrow.engines.spark.worker.streaming.history_task import History
    from windrow.engines.spark.worker.streaming.label_step import Labels
    from windrow.engines.spark.worker.streaming.step import Stepped

__all__ = [
    "ENTRIES",
    "FENCE",
    "HEADER",
    "BucketProcessor",
    "LabelProcessor",
    "result_columns",
    "stepped_type",
]

#: the variable of Spark's state: a map of blobs by name
ENTRIES = "entries"
#: the property of Spark's tasks that says of which stream they are: the same after every restart
_QUERY_ID = "sql.streaming.queryId"

# as text, Spark would be asked to parse them in each task
_NAME = StructType([StructField("name", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


def stepped_type(results: StructType) -> StructType:
    """What a step gives, as Spark has it: a list for each column of the results, and counts."""
    from windrow.engines.spark.worker.streaming.result_rows import VALUE
    from windrow.engines.spark.worker.streaming.step import COUNTED, LATE_AT

    lists = [
        StructField(name, ArrayType(kind if at == name else StructType([StructField(VALUE, kind)])))
        for (name, at), kind in zip(result_columns(results), (f.dataType for f in results), strict=True)
    ]
    counts = [StructField(name, LongType()) for name in COUNTED]
    return StructType([*lists, *counts, StructField(LATE_AT, ArrayType(LongType()))])


def result_columns(results: StructType) -> list[tuple[str, str]]:
    """For each column of the results, the name of its list, and where its value is in a row of all lists."""
    from windrow.engines.spark.worker.streaming.result_rows import VALUE, goes_as_it_is

    kinds = [field.type for field in _arrow_fields(results)]
    names = [f"rows_{k}" for k in range(len(kinds))]
    return [
        (name, name if goes_as_it_is(kind) else f"{name}.{VALUE}")
        for name, kind in zip(names, kinds, strict=True)
    ]


def _arrow_fields(results: StructType) -> list[Any]:
    from windrow.engines.spark.compat import arrow_type

    return list(arrow_type(results, "UTC"))  # what Spark makes of it in a stateful function, in any session


class BucketProcessor(StatefulProcessor):
    """Keys of one bucket share one state, so that many keys cost few calls. ``results``: the type of rows
    that come out. ``since``: where history ended that the state begins with. ``lag_ms``: by how much the
    watermark of the query stays behind Spark's. ``idle_ms``: after how long without rows it goes on."""

    def __init__(
        self,
        payload: bytes,
        schema: bytes,
        results: StructType,
        buckets: int,
        since: int,
        lag_ms: int,
        idle_ms: int | None = None,
    ) -> None:
        self._payload = payload
        self._since = since
        self._idle_ms = idle_ms
        self._lag_ms = lag_ms
        self._buckets = buckets
        self._schema_bytes = schema
        self._results = results

    def init(self, handle: StatefulProcessorHandle) -> None:
        task_begins()
        self._handle = handle
        #: the buckets that this micro-batch has stepped: their timers, which expire after rows, add nothing
        self._seen: set[int] = set()
        #: what history has of each bucket that was not stepped yet
        self._histories: dict[int, History] = {}
        # one variable: each costs a task milliseconds before it starts
        self._entries = handle.getMapState(ENTRIES, _NAME, _VALUE)
        context = TaskContext.get()  # there is none where Spark only asks for the variables
        self._query_id = None if context is None else context.getLocalProperty(_QUERY_ID)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        from windrow.engines.spark.worker.streaming.pack_task import LEFT_OUT, REJECTED
        from windrow.engines.spark.worker.streaming.silence import beat_of, silent_ms

        blobs: list[bytes] = []
        left_out: list[bytes] = []
        beats: list[int] = []
        rejected: Counter[str] = Counter()
        have_come = False
        for row in rows:
            counts = {reason: row[reason] for reason in REJECTED if row[reason] is not None}
            rejected.update(counts)
            if row[LEFT_OUT] is not None:
                left_out.append(bytes(row[LEFT_OUT]))
            blob = None if row.blob is None else bytes(row.blob)
            beat = None if blob is None or self._idle_ms is None else beat_of(blob)
            if beat is not None:
                beats.append(beat)
                continue
            have_come |= not counts  # rejected rows reach one bucket alone, and do not end silence
            if blob is not None:
                blobs.append(blob)
        watermark_ms = timerValues.getCurrentWatermarkInMs()
        if self._idle_ms is None:
            return self._step(key[0], blobs, watermark_ms, rejected, left_out)
        entries = _SparkEntries(self, key[0])
        silent = silent_ms(entries, beats, have_come, self._idle_ms) if watermark_ms > 0 or have_come else 0
        if not (have_come or rejected or silent):  # a watermark that has moved is a timer's
            return iter(())
        return self._step(key[0], blobs, watermark_ms, rejected, left_out, silent)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: N802
        """A part of history, in the first micro-batch: the bucket's step, which comes after, begins with all
        of it. Where the micro-batch has nothing for the bucket, a timer that has expired already asks for the
        step."""
        from windrow.engines.spark.worker.streaming.history_task import History

        bucket = key[0]
        if bucket in self._seen:
            raise RuntimeError(
                "Spark gave a part of history after rows of the stream: raise "
                "spark.sql.execution.arrow.maxRecordsPerBatch, so that a bucket comes as a whole"
            )
        if bucket not in self._histories:
            self._histories[bucket] = History(self._payload, self._schema, self._since)
            self._handle.registerTimer(max(timerValues.getCurrentWatermarkInMs(), 0))
        self._histories[bucket].add(initialState.clock, initialState.blob)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802
        if key[0] in self._seen:
            return iter(())
        return self._step(key[0], [], timerValues.getCurrentWatermarkInMs(), {})

    def _step(
        self,
        bucket: int,
        blobs: list[bytes],
        watermark_ms: int,
        rejected: Mapping[str, int],
        left_out: Sequence[bytes] = (),
        silent_ms: int = 0,
    ) -> Iterator[Row]:
        from windrow.engines.spark.worker.streaming.result_rows import list_columns
        from windrow.engines.spark.worker.streaming.step import COUNTED, LATE_AT

        engine_begins()
        self._seen.add(bucket)
        history = self._histories.pop(bucket, None)
        entries = _SparkEntries(self, bucket)
        about = (watermark_ms - self._lag_ms + silent_ms, rejected, self._buckets, self._query_id)
        stepped = self._stepped_with(entries, blobs, about, None if history is None else history.settled())
        # Called again as soon as the watermark moves, with rows or without: it judges the rows of the next
        # micro-batch, and lets windows out. The timer before this one has expired by itself,
        # as it may have where Spark's watermark moves and the lag holds this one back.
        if stepped.has_moved or self._lag_ms:
            self._handle.registerTimer(max(watermark_ms, 0) + 1)
        names = [name for name, _ in result_columns(self._results)]
        # in the order of the columns
        nothing = dict.fromkeys(names) | dict.fromkeys(COUNTED, 0) | {LATE_AT: None}
        counts = dict(zip(COUNTED, stepped.counts, strict=True))
        yield Row(**nothing | counts | {LATE_AT: self._some(stepped.late_times)})
        fields = _arrow_fields(self._results)
        for lists in list_columns(fields, stepped.results, stepped.handed_back(left_out)):
            yield Row(**nothing | dict(zip(names, lists, strict=True)))

    def _some(self, moments: Sequence[int]) -> list[int] | None:
        """So few that those of all buckets together are few."""
        from windrow.engines.stream.late import MOST_TIMES

        most = max(1, MOST_TIMES // self._buckets)
        return list(moments[:: -(-len(moments) // most)]) if moments else None

    def _stepped_with(
        self, entries: _SparkEntries, blobs: list[bytes], about: tuple[Any, ...], past: Any
    ) -> Stepped:
        from windrow.engines.spark.worker.streaming.step import step

        about = (*about, self._since, past)
        return step(self._payload, self._schema, entries, blobs, *about)

    @property
    def _schema(self) -> Any:
        import pyarrow as pa

        return pa.ipc.read_schema(pa.py_buffer(self._schema_bytes))

    def close(self) -> None:
        """State is safe when a step has ended, and every bucket with history has had one."""
        if self._histories:
            raise RuntimeError(f"buckets {sorted(self._histories)} were given history, and were not stepped")


class LabelProcessor(BucketProcessor):
    """The same for events and labels of an as-of query."""

    def __init__(
        self,
        payload: bytes,
        schema: bytes,
        results: StructType,
        buckets: int,
        since: int,
        lag_ms: int,
        labels: Labels,
    ) -> None:
        super().__init__(payload, schema, results, buckets, since, lag_ms)
        self._labels = labels

    def _stepped_with(
        self, entries: _SparkEntries, blobs: list[bytes], about: tuple[Any, ...], past: Any
    ) -> Stepped:
        from windrow.engines.spark.worker.streaming.label_step import label_step

        return label_step(self._payload, self._schema, self._labels, entries, blobs, *about)


class _SparkEntries:
    """The entries of one bucket in Spark's state."""

    def __init__(self, processor: BucketProcessor, bucket: int) -> None:
        from windrow.engines.spark.worker.streaming.step import bucket_place

        self.place = bucket_place(bucket)
        self._entries = processor._entries

    def header(self) -> bytes | None:
        return self.found(HEADER)

    def set_header(self, data: bytes) -> None:
        self.set_block(HEADER, data)

    def fence(self) -> bytes | None:
        return self.found(FENCE)

    def set_fence(self, data: bytes) -> None:
        self.set_block(FENCE, data)

    def block(self, name: str) -> bytes:
        found = self.found(name)
        if found is None:
            raise CorruptState(f"block {name!r} of a bucket is missing from Spark's state")
        return found

    def set_block(self, name: str, data: bytes) -> None:
        self._entries.updateValue((name,), (data,))

    def delete_block(self, name: str) -> None:
        self._entries.removeKey((name,))

    def found(self, name: str) -> bytes | None:
        found = self._entries.getValue((name,))
        return None if found is None else bytes(found[0])
