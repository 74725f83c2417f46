"""The rows and the results of a job, read without Spark; and what a stream gives for these rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.errors import JobError, JobFailed
from windrow.cli.execution.local.derive import DerivedRows
from windrow.cli.execution.local.files import check_readable, list_files, read_batches, read_files
from windrow.cli.execution.local.micro_batches import micro_batches
from windrow.cli.execution.local.run import guarded
from windrow.cli.job import FILE_FORMATS, Job, Sink, Source
from windrow.cli.job.secrets import Setting
from windrow.cli.spark_log import logged_files
from windrow.cli.verification.comparison import Streamed, conformed, of_keys

__all__ = ["LocalTables", "as_streamed"]

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
        source = Source(sink.format, sink.path, False, (*sink.options, *self._header(sink)), ())
        tables = list(read_batches(source, _ROWS)) if list_files(source) else []
        return pa.concat_tables(tables, promote_options="permissive") if tables else None

    def _header(self, sink: Sink) -> tuple[Setting, ...]:
        """The local engine writes csv with a header where nothing else is said, and Spark without."""
        if sink.format != "csv" or any(option.name.lower() == "header" for option in sink.options):
            return ()
        for file in list_files(Source(sink.format, sink.path, False, (), ())):
            with file.open(encoding="utf-8", newline="") as lines:
                names = set(next(csv.reader(lines), ()))
            if names:
                expected = {"late_by"} if sink.table == "late" else set(self._job.query.result_names)
                return (Setting("header", "true"),) if expected <= names else ()
        return ()


def as_streamed(job: Job, keys: pa.Table | None, like: pa.Schema) -> Streamed:
    """The results of these keys, and their late rows, where rows come in the micro-batches of Spark's file
    source."""
    check_readable(job.source, job.file)
    query = replace(job.query, late="count")
    operator = guarded(query.open, lateness="spark")
    derived, names = DerivedRows(job), [*query.by, query.time]
    results, behind = [], list[pa.Table]()

    def judged(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        watermark = operator.metrics.watermark
        for table in tables:
            if watermark is not None:
                mark = pa.scalar(watermark).cast(table.schema.field(query.time).type)
                late = table.filter(pc.less(table.column(query.time), mark))
                behind.append(of_keys(late.select(names), keys))
            yield table

    for files in _micro_batches(job):
        tables = read_files(job.source, files, _ROWS)
        results.append(guarded(operator.push_parts, judged(derived.of(tables))))
    results += [guarded(operator.push_parts, ()), guarded(operator.finish)]
    found = pa.concat_tables([conformed(table, like) for table in results], promote_options="permissive")
    return Streamed(of_keys(found, keys), behind, query.time)


def _micro_batches(job: Job) -> list[list[Path]]:
    """The files of each micro-batch: of those that Spark ran as the job's checkpoint has them, else as Spark
    makes them of all files."""
    checkpoint = Path(str(job.sink.checkpoint).removeprefix("file:"))
    log, offsets = checkpoint / "sources" / "0", checkpoint / "offsets"
    if not log.is_dir() or not offsets.is_dir():
        return micro_batches(job.source, list_files(job.source))
    found: dict[int, list[Path]] = {}
    for file, number in logged_files(log):
        found.setdefault(number, []).append(file)
    ran = [_reached(file) for file in offsets.iterdir() if file.name.isdigit()]  # of the last hundred
    empty: list[list[Path]] = [[]]
    return [
        files
        for number in sorted(found)
        for files in ([found[number]] + empty * (ran.count(number) - 1))
        if number <= max(ran, default=-1)
    ]


def _reached(offset: Path) -> int:
    """Up to which entry of its log the source was read in a micro-batch."""
    lines = offset.read_text(encoding="utf-8").splitlines()
    try:
        return int(json.loads(lines[2])["logOffset"])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{offset}: this is not in the log of a Spark stream") from error
