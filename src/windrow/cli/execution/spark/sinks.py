"""Where a job's rows go on Spark: results by Spark's own sink, or, where late or rejected rows go elsewhere,
all of them micro-batch by micro-batch.

Files of a micro-batch lie in a folder of its own, which a repetition of the micro-batch writes anew: exactly
once. Tables of Delta and Iceberg take a micro-batch once. Other formats may get a micro-batch again that was
written when the job was killed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windrow.cli.execution.spark.kafka import with_kafka_values
from windrow.cli.execution.spark.tables import append_once, create_table, is_table
from windrow.cli.job import FILE_FORMATS, Job, Sink
from windrow.cli.show.tables import text_table
from windrow.engines.spark.streaming.late import sink_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["stream_writer", "write_frame"]


def stream_writer(job: Job, result: DataFrame) -> DataStreamWriter:
    """What writes a stream; its checkpoint and trigger are set by the caller."""
    sink = job.sink
    if job.late is None and job.rejected is None:
        frame = with_kafka_values(job.query, result) if sink.format == "kafka" else result
        create_table(sink, frame.sparkSession, frame.schema)
        writer = frame.writeStream.format(sink.format).options(**_options(sink))
        return writer.option("path", sink.path) if sink.path else writer
    others = {name: _batch_writer(job, to) for name, to in job.dead_letters.items()}
    write = sink_all(_batch_writer(job, sink), **others)

    def materialised(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            batch.count()  # every bucket steps once, whatever is asked of its rows
            write(batch, number)
        finally:
            batch.unpersist()

    return result.writeStream.foreachBatch(materialised)


def _batch_writer(job: Job, sink: Sink) -> Callable[[Any, int], None]:
    def write(frame: DataFrame, number: int) -> None:
        if frame.isEmpty():
            return
        if sink.format in FILE_FORMATS:
            folder = f"{sink.path}/micro_batch={number}"
            frame.write.format(sink.format).options(**_options(sink)).mode("overwrite").save(folder)
        elif is_table(sink):
            append_once(sink, frame, job.sink.checkpoint, number)
        else:
            write_frame(job, sink, frame, "append")

    return write


def write_frame(job: Job, sink: Sink, frame: DataFrame, mode: str | None = None) -> None:
    """Rows to a sink, once."""
    if sink.format == "console":
        print(text_table(frame.limit(21).toArrow(), 20, shutil.get_terminal_size().columns), flush=True)
        return
    frame = with_kafka_values(job.query, frame) if sink.format == "kafka" else frame
    writer = frame.write.format(sink.format).options(**_options(sink))
    chosen = mode or ("overwrite" if sink.format == "noop" else sink.mode)
    writer = writer if sink.format == "kafka" else writer.mode(chosen)
    writer.save(sink.path) if sink.path else writer.save()


def _options(sink: Sink) -> dict[str, str]:
    return {option.name: option.value for option in sink.options}
