"""A replay on Spark: stored rows are put, file by file, where a stream looks for files."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

from windrow.cli.errors import JobFailed, JobInterrupted
from windrow.cli.job import Job
from windrow.cli.local.files import read_batches
from windrow.cli.record import Record
from windrow.cli.replay import paced
from windrow.cli.show import Reporter
from windrow.cli.spark.failures import guarded
from windrow.cli.spark.run import keep_results, start_stream
from windrow.cli.spark.watch import watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["play"]

_ROWS = 10_000


class _Feed(threading.Thread):
    """Writes tables as files; each gets its name when it is complete."""

    def __init__(self, tables: Iterable[pa.Table], folder: Path) -> None:
        super().__init__(daemon=True)
        self._tables = tables
        self._folder = folder
        self.error: BaseException | None = None
        self.is_stopped = False

    def run(self) -> None:
        try:
            for number, table in enumerate(self._tables):
                hidden = self._folder / f".{number:06}.parquet"
                pyarrow.parquet.write_table(table, hidden)
                hidden.rename(self._folder / f"{number:06}.parquet")
        except BaseException as error:
            self.error = error


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
    first = next(read_batches(job.source, 1), None)
    if first is None:
        raise JobFailed("the source has files, but no rows")
    sample = folder.parent / "sample.parquet"
    pyarrow.parquet.write_table(first, sample)
    schema = spark.read.parquet(str(sample)).schema
    frame = spark.readStream.schema(schema).format("parquet").load(str(folder))
    stream = guarded(start_stream, replace(job, source=replace(job.source, is_stream=True)), frame)
    feed: _Feed
    rows = read_batches(job.source, _ROWS)
    feed = _Feed(paced(rows, job.query.time, speed, tick, is_stopped=lambda: feed.is_stopped), folder)
    feed.start()
    try:
        was_stopped = watch(job, stream, record, reporter, feed.is_alive)
    finally:
        feed.is_stopped = True
        feed.join(5)
    if feed.error is not None:
        raise JobFailed(str(feed.error)) from feed.error
    if read_back:
        keep_results(job, spark, record)
    if was_stopped:
        raise JobInterrupted
