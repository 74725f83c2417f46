"""The rows and the results of a job, read without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.execution.local.derive import DerivedRows
from windrow.cli.execution.local.files import check_readable, list_files, read_batches
from windrow.cli.job import FILE_FORMATS, Job, Sink, Source

__all__ = ["LocalTables"]

_ROWS = 65_536


class LocalTables:
    """Of one job, in files."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def rows(self, source: Source, keys: pa.Table | None) -> pa.Table:
        """All rows, whatever the keys."""
        finite = replace(source, is_stream=False)
        check_readable(finite, self._job.file)
        tables = list(DerivedRows(self._job, finite).of(read_batches(finite, _ROWS)))
        if not tables:
            raise JobFailed(f"[{source.table}] has files, but no rows")
        return pa.concat_tables(tables, promote_options="permissive")

    def written(self, sink: Sink) -> pa.Table | None:
        """What was written to a sink; None: nothing is there."""
        place = f"{self._job.file}: [{sink.table}]"
        if sink.format not in FILE_FORMATS or "://" in str(sink.path):
            raise JobError(
                f"{place} format: without Spark, only files can be read back: leave out --engine local"
            )
        if (Path(str(sink.path)) / "_spark_metadata").exists():
            raise JobError(
                f"{place} path: a Spark stream keeps a log of which files there count, which only "
                f"Spark reads: leave out --engine local"
            )
        source = Source(sink.format, sink.path, False, sink.options, ())
        tables = list(read_batches(source, _ROWS)) if list_files(source) else []
        return pa.concat_tables(tables, promote_options="permissive") if tables else None
