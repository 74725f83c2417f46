"""A replay on Spark: stored rows are put, file by file, where a stream looks for files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet

from windrow.cli.errors import JobFailed, JobInterrupted
from windrow.cli.execution.local.derive import DerivedRows
from windrow.cli.execution.local.files import read_batches
from windrow.cli.execution.spark.failures import guarded
from windrow.cli.execution.spark.run import keep_results, start_stream
from windrow.cli.execution.spark.watch import watch
from windrow.cli.job import Job
from windrow.cli.record import Record
from windrow.cli.replay import paced
from windrow.cli.show import Reporter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["play"]

_ROWS = 10_000


class _Feed(threading.Thread):
    """Writes tables as files; each gets its name when it is complete. The first micro-batch, in which Spark
    starts its workers, is waited for and does not count as time."""

    def __init__(
        self, job: Job, folder: Path, speed: float, tick: float, has_begun: Callable[[], bool]
    ) -> None:
        super().__init__(daemon=True)
        rows = DerivedRows(job).of(read_batches(job.source, _ROWS))
        self._tables = paced(rows, job.query.time, speed, tick, self._clock, is_stopped=self._has_stopped)
        self._folder = folder
        self._has_begun = has_begun
        self._waited = 0.0
        self.error: BaseException | None = None
        self.is_stopped = False

    def _has_stopped(self) -> bool:
        return self.is_stopped

    def _clock(self) -> float:
        return time.monotonic() - self._waited

    def run(self) -> None:
        try:
            for number, table in enumerate(self._tables):
                hidden = self._folder / f".{number:06}.parquet"
                pyarrow.parquet.write_table(table, hidden)
                hidden.rename(self._folder / f"{number:06}.parquet")
                if number == 0:
                    self._wait()
        except BaseException as error:
            self.error = error

    def _wait(self) -> None:
        before = time.monotonic()
        while not self._has_begun() and not self.is_stopped:
            time.sleep(0.2)
        self._waited = time.monotonic() - before


def play(
    job: Job,
    spark: SparkSession,
    folder: Path,
    speed: float,
    tick: float,
    record: Record,
    reporter: Reporter,
    read_back: bool,
) -> None:
    """Feed and watch until all is played."""
    folder.mkdir()
    first = next(DerivedRows(job).of(read_batches(job.source, 1)), None)
    if first is None:
        raise JobFailed("the source has files, but no rows")
    sample = folder.parent / "sample.parquet"
    pyarrow.parquet.write_table(first, sample)
    schema = spark.read.parquet(str(sample)).schema
    frame = spark.readStream.schema(schema).format("parquet").load(str(folder))
    streaming = replace(job, source=replace(job.source, is_stream=True))
    stream, result_schema = guarded(start_stream, streaming, frame)
    feed = _Feed(job, folder, speed, tick, lambda: stream.lastProgress is not None or not stream.isActive)
    feed.start()
    try:
        was_stopped = watch(job, stream, record, reporter, feed.is_alive)
    finally:
        feed.is_stopped = True
        feed.join(5)
    if feed.error is not None:
        raise JobFailed(str(feed.error)) from feed.error
    record.work_ended()
    if read_back:
        keep_results(job, spark, result_schema, record)
    if was_stopped:
        raise JobInterrupted
