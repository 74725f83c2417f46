"""``windrow check``: what is wrong with a job, found before it runs.

The file is read and checked; the user's own monoids are tried on the laws; the job runs on its first rows,
on the local engine, and writes nothing; a checkpoint that is there is held against the job."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from windrow.cli.commands.check_expressions import tried_expressions
from windrow.cli.commands.reading import job_of
from windrow.cli.errors import JobError, JobFailed
from windrow.cli.job import FILE_FORMATS, Job, Source
from windrow.cli.show.out import say, say_line

__all__ = ["execute"]


def execute(options: argparse.Namespace) -> int:
    if options.rows < 1:
        raise JobError("--rows: give 1 or more")
    job = job_of(options)
    say_line(f"ok    file: {_described(job)}")
    if options.engine == "local":
        from windrow.cli.execution.local.files import check_readable

        for source in job.sources:
            check_readable(source, job.file)
    else:
        from windrow.cli.execution.spark.packages import check_packages

        check_packages(job)
    try:
        tables = []
        for source in job.sources:
            rows, origin = _first_rows(job, source, options.rows)
            tables.append(tried_expressions(job, source, rows, origin, options.engine))
        _check_laws(job, tables[0][0])
        _dry_run(job, *tables[: 1 if job.labels is None else 2])
        _check_checkpoint(job)
    except JobFailed as error:
        raise JobError(f"{options.job}: {error}") from error
    return 0


def _described(job: Job) -> str:
    query = job.query
    windows = "rolling" if query.is_rolling else _counted(len(query.windows), "window")
    source = job.source.format
    if job.labels is not None:
        windows, source = "as-of windows", f"{source} and labels of {job.labels.source.format}"
    if job.history is not None:
        source = f"{source} with history of {job.history.source.format}"
    return f"{windows}, {_counted(len(query.aggregates), 'aggregate')}, {source} to {job.sink.format}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _first_rows(job: Job, source: Source, count: int) -> tuple[Any, str]:
    """Rows of a source, or made-up rows of its schema, or none."""
    of = "the source" if source is job.source else f"[{source.table}]"
    if source.format in FILE_FORMATS and "://" not in str(source.path):
        from windrow.cli.execution.local.files import check_readable, list_files, read_batches

        if source.is_stream and Path(str(source.path)).is_dir() and not list_files(source):
            return None, f"{of} has no files yet"
        check_readable(source, job.file)
        first = next(read_batches(source, count), None)
        return (first, f"of {of}") if first is not None else (None, f"{of} has no rows yet")
    schema = source.read_columns or _known_schemas().get(source.format, ())
    if schema:
        from windrow.cli.execution.local.made_up import made_up_rows

        return made_up_rows(schema), "made up from the schema"
    return None, f"{source.format!r} can only be read on Spark, and there is no [{source.table}.schema]"


def _known_schemas() -> dict[str, tuple[tuple[str, str], ...]]:
    return {"rate": (("timestamp", "timestamp"), ("value", "long"))}


def _check_laws(job: Job, rows: Any) -> None:
    from windrow.monoids import laws

    for name, aggregate in job.query.aggregates:
        if aggregate.monoid.builtin:
            continue
        passing = _passing(aggregate, rows)
        if passing is None:
            say_line(f"skip  laws of {name} = {aggregate!r}: no rows to try it on")
            continue
        columns = [passing.column(column).to_pylist() for column in aggregate.columns]
        samples = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        try:
            say_line(f"ok    laws of {name}: {laws.check(aggregate.monoid, samples, extend=False)}")
        except laws.LawViolation as violation:
            raise JobError(f"[agg] {name} = {aggregate!r}: {violation}") from violation
        except ValueError as error:
            raise JobError(f"[agg] {name} = {aggregate!r}: {error}") from error
        _try_more(laws, name, aggregate, samples)


def _passing(aggregate: Any, rows: Any) -> Any:
    """The rows that an aggregate sees; None: there are none, or not with its columns. A column that holds no
    flags is an error of the dry run."""
    if rows is None or not set(aggregate.reads) <= set(rows.column_names):
        return None
    if aggregate.where is None:
        return rows
    import pyarrow as pa

    flags = rows.column(aggregate.where).to_pylist()
    passing = rows.filter(pa.array([flag is True for flag in flags], pa.bool_()))
    return passing if passing.num_rows else None


def _try_more(laws: Any, name: str, aggregate: Any, samples: list[Any]) -> None:
    """Values that the first rows do not hold: zero, negatives, NaN."""
    try:
        laws.check(aggregate.monoid, samples)
    except laws.LawViolation as violation:
        say_line(f"note  {name}: with values that the first rows do not hold, {violation}")


def _dry_run(job: Job, events: tuple[Any, str], labels: tuple[Any, str] | None = None) -> None:
    for table, why in [events] if labels is None else [events, labels]:
        if table is None:
            say_line(f"skip  dry run: {why}")
            return
    import warnings

    from windrow.cli.execution.local.run import guarded
    from windrow.cli.show.tables import text_table

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows, origin = events
        at = {} if job.labels is None or labels is None else job.labels.arguments(labels[0])
        result = guarded(job.query.run, rows, **at)
    beside = "" if labels is None else f" and {labels[0].num_rows:,} labels ({labels[1]})"
    say_line(f"ok    dry run: {rows.num_rows:,} rows ({origin}){beside} gave {result.num_rows:,} results")
    for warning in caught:
        say_line(f"note  {warning.message}")
    say(text_table(result, 3))


def _check_checkpoint(job: Job) -> None:
    """Whether the job goes on from what it left behind. Only Spark can read that: it is started if there is
    something to read, and if it starts on this machine."""
    from windrow.cli.execution.spark.failures import guarded
    from windrow.cli.execution.spark.restarts import check_goes_on, check_results, has_begun
    from windrow.cli.execution.spark.session import master_of, missing, open_session

    checkpoint = job.sink.checkpoint
    if checkpoint is None or not job.source.is_stream:
        return
    check_results(job)
    if not has_begun(checkpoint):
        return
    why = "it is not on this machine" if "://" in checkpoint else missing(job)
    if why is None and not master_of(job).startswith("local"):
        why = f"Spark would be at {master_of(job).partition(';')[0]}"
    if why is not None:
        say_line(f"skip  checkpoint: windrow run checks it at its start; here {why}")
        return
    with open_session(job) as spark:
        notes = guarded(check_goes_on, job, spark)
    say_line("ok    checkpoint: the job goes on from it")
    for note in notes:
        say_line(f"note  {note}")
