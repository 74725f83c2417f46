"""``windrow explain``: what a job will do, in words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from windrow.cli.commands.reading import job_of
from windrow.cli.derived import computed_columns
from windrow.cli.job import KAFKA_COLUMNS, Job, Labels, Source
from windrow.cli.job.secrets import Setting
from windrow.cli.show.out import one_line, say

__all__ = ["execute", "explained"]


def execute(options: argparse.Namespace) -> int:
    job = job_of(options)
    say("\n".join(explained(job)))
    if options.spark:
        from windrow.cli.execution.spark.failures import guarded
        from windrow.cli.execution.spark.run import read_source
        from windrow.cli.execution.spark.session import open_session

        with open_session(job) as spark:
            say("\non Spark:\n" + guarded(job.query.explain, guarded(read_source, job, spark)))
    return 0


def explained(job: Job) -> Iterator[str]:
    """The job, then the plan of its query."""
    yield from map(one_line, _lines(job))
    yield ""
    yield job.query.explain()


def _lines(job: Job) -> Iterator[str]:
    source, sink, query = job.source, job.sink, job.query
    kind = "stream" if source.is_stream else "batch"
    yield f"job {job.name}: {kind}"
    yield f"from: {source.format}{_at(source.path)}{_options(source.options)}"
    yield from _derived(job, source)
    yield f"time: {query.time}" + (f", by {', '.join(query.by)}" if query.by else "")
    if job.labels is not None:
        yield from _labels(job, job.labels)
    if job.history is not None:
        past, until, old = job.history.source, job.history.until, job.history.takes_over
        until = until if old is None else f"the watermark of {old}, or where this stream took over"
        ends = "" if until is None else f", rows before {until}"
        yield f"history: {past.format}{_at(past.path)}{_options(past.options)}{ends}"
        yield from _derived(job, past)
    if source.is_stream and query.watermark is not None:
        yield f"watermark: {query.watermark} behind the largest time seen; {_late(job)}"
    yield f"to: {sink.format}{_at(sink.path)}{_options(sink.options)}"
    if sink.checkpoint:
        yield f"  checkpoint: {sink.checkpoint}"


def _labels(job: Job, labels: Labels) -> Iterator[str]:
    source = labels.source
    yield f"labels: {source.format}{_at(source.path)}{_options(source.options)}"
    yield from _derived(job, source)
    yield f"  time: {labels.time}" + (f", by {', '.join(labels.by)}" if labels.by else "")


def _derived(job: Job, source: Source) -> Iterator[str]:
    """The columns of a source, and what is made of its rows before the query sees them, in this order."""
    if source.schema:
        yield f"  columns: {', '.join(f'{name} {kind}' for name, kind in source.schema)}"
    if source.value is not None:
        own = ", ".join(name for name, _ in KAFKA_COLUMNS)
        yield f"  from values: {source.value.format}{_options(source.value.options)}; beside them {own}"
    computed = computed_columns(job, source)
    for name, text in source.columns:
        unused = "" if (name, text) in computed else " (not computed: nothing reads it)"
        yield f"  derived: {name} = {text}{unused}"
    if source.where is not None:
        yield f"  where: {source.where}"


def _late(job: Job) -> str:
    query = job.query
    late = {
        "count": "late rows are counted",
        "drop": "late rows are dropped, and counted on windrow's plan",
        "return": "late rows are returned in the column late",
    }[query.late]
    if job.late is not None:
        late = f"late rows go to {job.late.format}{_at(job.late.path)}"
    return f"rows up to {query.allowed_lateness} later correct windows, {late}" if query.corrects else late


def _at(path: str | None) -> str:
    return f" at {path}" if path else ""


def _options(options: tuple[Setting, ...]) -> str:
    """Options by name; secrets show as ***."""
    shown = ", ".join(f"{option.name}={option!r}" for option in options)
    return f" ({shown})" if shown else ""
