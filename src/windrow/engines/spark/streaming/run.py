"""A query on a streaming DataFrame: packed by bucket, stepped with state; Spark unfolds the results.

Spark's watermark is made of clocks (see ``pack_task``) and judges no row: rows are judged by windrow, with
the watermark of the micro-batch before, as Spark judges them for its own windows. A stream that already has a
watermark, as results of another query do, keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.spark.compat import check_streams, on_start, set_setting, setting
from windrow.engines.spark.frames import arrow_schema, column, mapped, microseconds, spark_field
from windrow.engines.spark.session import PROVIDER, SETTINGS, warn_of_partitions
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.streaming.chained import Input, check_output, input_of
from windrow.engines.spark.streaming.checkpoint import bucket_count
from windrow.engines.spark.streaming.even_buckets import even_buckets
from windrow.engines.spark.streaming.event_time import lag_ms, marks_of
from windrow.engines.spark.streaming.history import cut_of, history_blobs
from windrow.engines.spark.streaming.packed_type import PACKED, WITHOUT_CLOCK
from windrow.engines.spark.streaming.plan_of_checkpoint import description_of
from windrow.engines.spark.streaming.spark_plan import groups_of, results_of_groups, takes_sparks_plan
from windrow.engines.spark.types import result_type
from windrow.engines.spark.windows.run import result_schema
from windrow.engines.spark.worker.streaming.pack_task import AHEAD, pack_batches
from windrow.engines.spark.worker.streaming.silence import pack_beats
from windrow.engines.spark.worker.streaming.step import COUNTED, LATE_AT, LATE_PAIRS
from windrow.engines.stream.late import MOST_TIMES
from windrow.engines.stream.watermark import delay_ms
from windrow.result_names import LATE, REJECTED, REJECTED_ROWS, extra_columns
from windrow.rows.columns import needed_columns
from windrow.rows.times import TimeAxis
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = [
    "METRICS",
    "bucket_numbers",
    "check_stream",
    "packed_events",
    "run_stream",
    "sparks_plan",
    "unfolded",
]

#: what the name begins with under which counts are in Spark's progress; the identity of the query follows
METRICS = "windrow"

_EXTRAS = {"revision": pa.int64(), "retracted": pa.bool_(), "is_final": pa.bool_()}


def run_stream(
    query: Spec, frame: DataFrame, history: DataFrame | None = None, history_until: Any = None
) -> DataFrame:
    """The results as a streaming DataFrame, which begins with the state of history."""
    check_streams(frame.sparkSession)
    from windrow.engines.spark.streaming.processor import BucketProcessor, stepped_type

    known = check_stream(query, frame)
    rows = frame.select(*map(column, _columns(query, frame)))
    source = arrow_schema(rows)
    warn_of_partitions(frame.sparkSession, 5)
    if sparks_plan(query, frame, known.has_watermark, history is not None)[0]:
        return _on_sparks_plan(query, rows, source)
    buckets = bucket_numbers(query, frame.sparkSession)
    lag = lag_ms(query, frame) if known.has_watermark else 0
    since = cut_of(query, source, history_until)
    payload, encoded = packed(query), bytes(source.serialize())
    timed = packed_events(query, rows, known, payload, buckets, since)
    mode = "Update" if query.output == "update" else "Append"
    results = _spark_schema(query, rows, _results(query, source))
    idle_ms = None
    if query.idle_timeout is not None:
        idle_ms = delay_ms(query.idle_timeout)
        timed = timed.unionByName(_heartbeats(frame.sparkSession, buckets))
    processor = BucketProcessor(payload, encoded, results, len(buckets), since, lag, idle_ms)
    initial = None
    if history is not None:
        initial = history_blobs(query, rows, history, buckets, since).groupBy("bucket")
    stepped = timed.groupBy("bucket").transformWithState(
        processor, stepped_type(results), mode, "eventTime", initial
    )
    return unfolded(stepped, results, known, marks_of(query, results, lag))


def _heartbeats(session: SparkSession, buckets: list[int]) -> DataFrame:
    """A row per bucket and second, in which it is the same when Spark repeats a micro-batch."""
    ticks = session.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()

    def beats(batches: Iterable[Any]) -> Iterator[Any]:
        return pack_beats(buckets, batches)

    return mapped(ticks.select("timestamp"), beats, PACKED).select(*WITHOUT_CLOCK)


def sparks_plan(query: Spec, frame: DataFrame, has_watermark: bool, has_history: bool) -> tuple[bool, str]:
    """Whether a stream runs on Spark's own plan, and why or why not."""
    beside = "the stream has a watermark already" if has_watermark else ""
    beside = "history is computed for windrow's state" if has_history else beside
    return takes_sparks_plan(query, frame, beside)


def _on_sparks_plan(query: Spec, rows: DataFrame, source: pa.Schema) -> DataFrame:
    """The results of groups of Spark's. Nothing is observed, which would cost time in each micro-batch."""
    description = description_of(query)
    groups = groups_of(query, rows, source, description)
    results = _spark_schema(query, rows, _results(query, source))
    return results_of_groups(query, groups, results, source, description, marks_of(query, results, 0))


def bucket_numbers(query: Spec, session: SparkSession) -> list[int]:
    """The numbers of the buckets over which keys are spread."""
    count = bucket_count(session, bool(query.by))
    return even_buckets(count, count)


def packed_events(
    query: Spec,
    rows: DataFrame,
    known: Input,
    payload: bytes,
    buckets: list[int],
    since: int,
    key_types: tuple[Any, ...] | None = None,
) -> DataFrame:
    """Rows as blobs by bucket, with Spark's watermark on their clocks, or the one that they had."""
    from pyspark.sql import functions

    source = arrow_schema(rows)
    judged, encoded = rows, bytes(source.serialize())
    if query.max_ahead is not None:
        # the time of the micro-batch, which is the same when it is repeated
        latest = functions.unix_micros(functions.current_timestamp()) + query.max_ahead.units
        judged = rows.withColumn(AHEAD, functions.expr(microseconds(query.time, source)) > latest)

    def pack(batches: Iterable[Any]) -> Iterator[Any]:
        schema = pa.ipc.read_schema(pa.py_buffer(encoded))
        return pack_batches(payload, schema, buckets, batches, since=since, key_types=key_types)

    blobs = mapped(judged, pack, PACKED)
    if not known.has_watermark:
        assert query.watermark is not None
        blobs = blobs.withWatermark("clock", f"{delay_ms(query.watermark)} milliseconds")
    return blobs.select(*WITHOUT_CLOCK)


def unfolded(
    stepped: DataFrame, results: StructType, known: Input, marks: Mapping[str, dict[str, Any]]
) -> DataFrame:
    """What steps gave, as rows of the type of results; what they counted is observed. ``marks``: metadata of
    result columns."""
    from pyspark.sql import functions

    from windrow.engines.spark.streaming.processor import result_columns

    totals = {name: name for name in COUNTED} | {"late_pairs": " + ".join(LATE_PAIRS)}
    sums = [functions.expr(f"coalesce(sum({of}), 0L) AS {name}") for name, of in totals.items()]
    some = functions.expr(f"slice(flatten(collect_list({LATE_AT})), 1, {MOST_TIMES}) AS {LATE_AT}")
    columns = result_columns(results)
    rows = functions.inline(functions.arrays_zip(*(name for name, _ in columns)))
    found = [
        functions.col(at).alias(field.name, metadata=marks.get(field.name, {}))
        for (_, at), field in zip(columns, results.fields, strict=True)
    ]
    return stepped.observe(f"{METRICS}_{known.identity}", *sums, some).select(rows).select(*found)


def _columns(query: Spec, frame: DataFrame) -> list[str]:
    """Rolling, and rows that are handed back, need every column."""
    if query.is_rolling or query.hands_rows_back:
        return list(frame.columns)
    return needed_columns(query)


def check_stream(query: Spec, frame: DataFrame) -> Input:
    """What is known of the stream of a query; raise what a stream cannot do of it."""
    if query.watermark is None:
        raise ValueError("a stream needs a watermark: say how late rows may be, as in watermark='10 minutes'")
    if query.max_ahead is not None and query.max_ahead.kind == "integer":
        raise ValueError(
            "max_ahead on Spark streams is held against the clock, and integer times have none: use a "
            "column of timestamps, or filter rows before"
        )
    if query.idle_timeout is not None and query.asof_over is not None:
        raise ValueError("idle_timeout is for windows and rolling, not for labels on streams: leave it out")
    _check_provider(frame.sparkSession)
    on_start(frame, check_output)
    return input_of(query, frame)


def _check_provider(session: SparkSession) -> None:
    """Python's state needs RocksDB. Where nobody has chosen a store it is set, and else left as it is."""
    wanted, _ = SETTINGS[PROVIDER]
    chosen = setting(session, PROVIDER)
    if chosen is None and set_setting(session, PROVIDER, wanted) is None:
        return
    if not str(chosen).endswith("RocksDBStateStoreProvider"):
        found = f"the Spark session has {chosen}" if chosen else "the Spark session does not let it be set"
        raise ValueError(
            f"windrow's state on streams needs Spark's RocksDB state store, and {found}: start the session "
            f'with wr.spark.session(), or write spark.conf.set("{PROVIDER}", "{wanted}") before the stream '
            f"starts for the first time. Where a session may not set it: spark-submit and a Spark Connect "
            f"server take --conf {PROVIDER}={wanted}, a declarative pipeline names it under configuration in "
            f"spark-pipeline.yml, and a managed platform in the Spark settings of its cluster or job"
        )


def _results(query: Spec, source: pa.Schema) -> pa.Schema:
    if query.is_rolling:
        added = [(name, result_type(aggregate, source)) for name, aggregate in query.result_columns]
        found = pa.schema([*source, *(pa.field(name, kind) for name, kind in added)])
    else:
        found = result_schema(query, source)
    for name in extra_columns(query):
        found = found.append(pa.field(name, _EXTRAS[name]))
    if query.late == "return":
        found = found.append(pa.field(LATE, _late_type(query, source)))
    if query.on_error == "reject":
        why = [pa.field(name, pa.string()) for name in REJECTED_ROWS]
        found = found.append(pa.field(REJECTED, pa.struct([*source, *why])))
    return found


def _late_type(query: Spec, source: pa.Schema) -> Any:
    axis = TimeAxis(source.field(query.time).type)
    behind = pa.int64() if axis.is_integer else pa.duration("us")
    return pa.struct([*source, pa.field("late_by", behind), pa.field("late_reason", pa.string())])


def _spark_schema(query: Spec, rows: DataFrame, results: pa.Schema) -> StructType:
    """The same as Spark has it; columns of the input keep their fields."""
    from pyspark.sql.types import StructField, StructType

    kept = rows.columns if query.is_rolling else query.by
    known = {name: rows.schema[name] for name in kept}
    fields = []
    for field in results:
        if field.name in known:
            same = known[field.name]
            fields.append(StructField(same.name, same.dataType, True))
        else:
            fields.append(spark_field(field.name, field.type))
    return StructType(fields)
