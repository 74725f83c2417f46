"""``windrow replay``: a job over stored input, at a chosen speed. The job's own results, checkpoint and sink
are left alone: results go to ``--out``, or nowhere."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from windrow.cli.commands.reading import job_of
from windrow.cli.commands.run import recorded
from windrow.cli.errors import JobError
from windrow.cli.job import Job, Sink
from windrow.cli.record import Record
from windrow.cli.show import Reporter

__all__ = ["execute"]

_ROWS = 10_000


def execute(options: argparse.Namespace) -> int:
    from windrow.cli.execution.local.files import check_readable
    from windrow.cli.replay import read_speed

    job = job_of(options)
    check_readable(job.source, job.file)
    _check_replayed(job)
    speed = read_speed(options.speed)
    if not options.tick > 0:
        raise JobError("--tick: give seconds, more than 0")
    if job.query.watermark is None:
        raise JobError(f"{options.job}: [events] watermark: a replay is a stream and needs it, as in '10m'")
    with tempfile.TemporaryDirectory(prefix="windrow-replay-") as scratch:
        playing = _redirected(job, options.out, scratch)
        play = _on_spark if options.engine == "spark" else _locally
        recorded(playing, options, lambda r, shown: play(playing, options, speed, Path(scratch), r, shown))
    return 0


def _check_replayed(job: Job) -> None:
    if job.query.asof_over is not None:
        raise JobError(
            f"{job.file}: [asof]: a replay is a stream, and this is for tables that end: use windrow run"
        )


def _redirected(job: Job, out: str | None, scratch: str) -> Job:
    """The same job, writing elsewhere and keeping its state elsewhere. Rows that no result holds go nowhere:
    late ones are counted as such, and not as results."""
    checkpoint = str(Path(scratch) / "checkpoint")
    if out is None:
        sink = Sink("noop", None, "append", checkpoint, "continuously", ())
    else:
        sink = Sink("parquet", str(Path(out).resolve()), "append", checkpoint, "continuously", ())
    nowhere = Sink("noop", None, "append", None, "continuously", (), "rejected")
    rejected = nowhere if job.query.on_error == "reject" else None
    return replace(job, query=replace(job.query, late="count"), sink=sink, late=None, rejected=rejected)


def _locally(
    job: Job, options: argparse.Namespace, speed: float, scratch: Path, record: Record, reporter: Reporter
) -> None:
    from windrow.cli.execution.local.derive import DerivedRows
    from windrow.cli.execution.local.files import read_batches
    from windrow.cli.execution.local.run import run_batches
    from windrow.cli.execution.local.sinks import open_sink
    from windrow.cli.replay import paced

    derived = DerivedRows(job)
    rows = paced(derived.of(read_batches(job.source, _ROWS)), job.query.time, speed, options.tick)
    micro_batches = ([table] for table in rows)
    sink = open_sink(job.sink, options.overwrite)
    run_batches(job, micro_batches, sink, record, reporter, derived)


def _on_spark(
    job: Job, options: argparse.Namespace, speed: float, scratch: Path, record: Record, reporter: Reporter
) -> None:
    from windrow.cli.execution.spark.feed import play
    from windrow.cli.execution.spark.session import open_session

    reporter.note("starting Spark ...")
    with open_session(job, options.verbose) as spark:
        record.engine_started()
        play(job, spark, scratch / "input", speed, options.tick, record, reporter, options.report is not None)
