"""Micro-batches in tables of Delta Lake and Apache Iceberg: each once, also where a job writes them itself.

A stream has an id, which it keeps for as long as its checkpoint; micro-batches are numbered. Delta takes both
and leaves out a micro-batch that it has. For Iceberg they are noted in the snapshot, and looked for before a
micro-batch is written: a table that has it is left as it is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from windrow.cli.job import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["append_once", "create_table", "is_table", "with_plain_durations"]

_STREAM, _NUMBER = "windrow.stream", "windrow.micro-batch"
#: what Iceberg notes in the snapshot that it writes
_NOTE = "snapshot-property"


def is_table(sink: Sink) -> bool:
    return sink.format.lower() in ("delta", "iceberg")


def create_table(sink: Sink, spark: SparkSession, schema: Any) -> None:
    """A table for rows of these columns, unless there is one: Iceberg makes none for what is appended."""
    if sink.format.lower() == "iceberg":
        writer = spark.createDataFrame([], schema).write.format(sink.format).mode("ignore")
        _saved(writer.options(**_options(sink)), sink)


def append_once(sink: Sink, frame: DataFrame, checkpoint: str | None, number: int) -> None:
    """The rows of a micro-batch, unless the table has them. A stream without a checkpoint never repeats one,
    and begins again with the first."""
    frame = with_plain_durations(frame)
    writer = frame.write.format(sink.format).mode("append").options(**_options(sink))
    create_table(sink, frame.sparkSession, frame.schema)
    if checkpoint is not None:
        stream = f"{_stream_id(frame.sparkSession, checkpoint)} {sink.table}"
        if sink.format.lower() == "delta":
            writer = writer.options(txnAppId=stream, txnVersion=str(number))
        elif _has(sink, frame.sparkSession, stream, number):
            return
        else:
            notes = {f"{_NOTE}.{_STREAM}": stream, f"{_NOTE}.{_NUMBER}": str(number)}
            writer = writer.options(**notes)
    _saved(writer, sink)


def with_plain_durations(frame: DataFrame) -> DataFrame:
    """Durations as numbers of microseconds, as in files of parquet: tables have no type for them."""
    from pyspark.sql.functions import expr
    from pyspark.sql.types import DayTimeIntervalType

    for field in frame.schema:
        if isinstance(field.dataType, DayTimeIntervalType):
            name = field.name.replace("`", "``")
            frame = frame.withColumn(field.name, expr(f"unix_micros(timestamp_micros(0) + `{name}`)"))
    return frame


def _stream_id(spark: SparkSession, checkpoint: str) -> str:
    found = spark.read.text(f"{checkpoint}/metadata").first()
    assert found is not None  # Spark writes it before the first micro-batch
    return str(json.loads(found[0])["id"])


def _has(sink: Sink, spark: SparkSession, stream: str, number: int) -> bool:
    """Whether a snapshot of the table is that of this micro-batch."""
    from pyspark.sql.functions import col

    table = sink.path or dict(_options(sink))["path"]
    snapshots = f"{table}{'#' if '/' in table else '.'}snapshots"
    summary = spark.read.format(sink.format).load(snapshots).select("summary")
    found = (col("summary")[_STREAM] == stream) & (col("summary")[_NUMBER] == str(number))
    return not summary.where(found).isEmpty()


def _saved(writer: Any, sink: Sink) -> None:
    writer.save(sink.path) if sink.path else writer.save()


def _options(sink: Sink) -> dict[str, str]:
    return {option.name: option.value for option in sink.options}
