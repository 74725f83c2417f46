"""A job on Spark: what is read, what is run, what is written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from windrow.cli.errors import JobInterrupted
from windrow.cli.execution.spark.derive import derived, with_value_columns
from windrow.cli.execution.spark.failures import first_line, guarded
from windrow.cli.execution.spark.restarts import check_goes_on
from windrow.cli.execution.spark.sinks import stream_writer, write_frame
from windrow.cli.execution.spark.watch import watch
from windrow.cli.job import FILE_FORMATS, Job, Source
from windrow.cli.record import Record
from windrow.cli.show import Progress, Reporter
from windrow.windows import parse_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

__all__ = ["keep_results", "read_source", "run_spark", "start_stream"]

#: results that are read back for a report
_MOST = 50_000


def run_spark(job: Job, spark: SparkSession, record: Record, reporter: Reporter, read_back: bool) -> None:
    """Run to the end, or until asked to stop. ``read_back``: keep results for a report."""
    frame = guarded(read_source, job, spark)
    if job.source.is_stream:
        for note in guarded(check_goes_on, job, spark):
            reporter.note(note)
        stream, schema = guarded(start_stream, job, frame)
        was_stopped = watch(job, stream, record, reporter)
        reporter.note(
            "open windows stay in the checkpoint for the next run; --engine local emits them when its input "
            "ends"
        )
    else:
        schema = _run_once(job, spark, frame, record, reporter)
        was_stopped = False
    record.work_ended()
    if read_back:
        keep_results(job, spark, schema, record)
    if was_stopped:
        raise JobInterrupted


def read_source(job: Job, spark: SparkSession, of: Source | None = None) -> DataFrame:
    """The rows of the job's source, of its labels or of its history, as the query sees them."""
    source = job.source if of is None else of
    reader: Any = spark.readStream if source.is_stream else spark.read
    reader = reader.format(source.format).options(**{o.name: o.value for o in source.options})
    if source.schema and source.value is None:
        reader = reader.schema(source.ddl)
    found: DataFrame = reader.load(source.path) if source.path else reader.load()
    if source.value is not None:
        found = with_value_columns(found, source, keeps_value=job.query.on_error == "reject")
    return derived(found, job, source)


def _run_once(
    job: Job, spark: SparkSession, frame: DataFrame, record: Record, reporter: Reporter
) -> StructType:
    from pyspark.sql import Observation, functions

    before = time.perf_counter()
    seen = Observation("windrow input")
    watched = frame.observe(seen, functions.count(functions.lit(1)).alias("rows"))
    result = guarded(job.query.run, watched, **guarded(_labels, job, spark))
    guarded(write_frame, job, job.sink, result)
    if job.rejected is not None:
        guarded(write_frame, job, job.rejected, job.query.rejected_rows(frame))
    step = Progress(0, record.elapsed(), _rows_read(seen), seconds=time.perf_counter() - before)
    record.add(step)
    reporter.progress(step, record.totals)
    schema: StructType = result.schema
    return schema


def _labels(job: Job, spark: SparkSession) -> dict[str, Any]:
    """What as-of windows are given besides the events."""
    labels = job.labels
    return {} if labels is None else labels.arguments(read_source(job, spark, labels.source))


def _history(job: Job, spark: SparkSession) -> dict[str, Any]:
    """What a stream begins with."""
    if job.history is None:
        return {}
    found = job.history.arguments(read_source(job, spark, job.history.source))
    if job.history.takes_over is not None:
        from windrow.spark import find_cut

        found["history_until"] = find_cut(job.history.takes_over, str(job.sink.checkpoint), spark)
    return found


def _rows_read(seen: Observation) -> int:
    """How many rows were read: 0 where Spark saw beforehand that nothing comes of them, as where no label is
    left. It has no count then, and to ask for it is an assertion that fails. The results are written."""
    try:
        return int(seen.get["rows"])
    except Exception:
        return 0


def start_stream(job: Job, frame: DataFrame) -> tuple[StreamingQuery, StructType]:
    """The running stream, and the schema of its results."""
    sink = job.sink
    spark = frame.sparkSession
    result = job.query.run(frame, **_labels(job, spark), **_history(job, spark))
    writer = stream_writer(job, result).queryName(job.name.replace("-", "_"))
    writer = writer.outputMode("update" if job.query.output == "update" else "append")
    if sink.checkpoint is not None:
        writer = writer.option("checkpointLocation", sink.checkpoint)
    if sink.trigger == "available_now":
        writer = writer.trigger(availableNow=True)
    elif sink.trigger != "continuously":
        milliseconds = parse_duration(sink.trigger, "trigger").units // 1000
        writer = writer.trigger(processingTime=f"{milliseconds} milliseconds")
    return writer.start(), result.drop(*job.dead_letters).schema


def keep_results(job: Job, spark: SparkSession, schema: StructType, record: Record) -> None:
    """Results for a report, read from where they were written; other sinks cannot be read back."""
    sink = job.sink
    if sink.format not in FILE_FORMATS:
        record.notes.append(f"The results went to {sink.format!r}, from where they are not read back.")
        return
    options = {o.name: o.value for o in sink.options}
    try:
        found = spark.read.format(sink.format).schema(schema).options(**options).load(sink.path)
        record.written = found.count()
        if record.written > _MOST:
            found = found.sample(fraction=_MOST / record.written, seed=1)
        record.results.add(found.toArrow())
        record.results.seen = record.written
    except Exception as error:
        record.notes.append(f"The results could not be read back: {first_line(error)}")
