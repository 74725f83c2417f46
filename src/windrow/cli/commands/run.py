"""``windrow run``: a job, on Spark or without it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from windrow.cli.addresses import read_address
from windrow.cli.commands.reading import job_of
from windrow.cli.errors import JobError, JobFailed, JobInterrupted
from windrow.cli.job import Job
from windrow.cli.job.secrets import scrubbed
from windrow.cli.record import Record
from windrow.cli.show import Reporter, reporter_for
from windrow.cli.show.lines import Several
from windrow.cli.show.out import say_line
from windrow.cli.stopping import Stopping

__all__ = ["execute", "recorded", "run_job"]

_PAUSE = 0.2


def execute(options: argparse.Namespace) -> int:
    if options.batch_rows < 1:
        raise JobError("--batch-rows: give 1 or more")
    job = job_of(options)
    recorded(job, options, lambda record, reporter: run_job(job, options, record, reporter))
    return 0


def run_job(job: Job, options: argparse.Namespace, record: Record, reporter: Reporter) -> None:
    if options.engine == "local":
        from windrow.cli.execution.local.run import run_local

        run_local(job, record, reporter, options.batch_rows, options.overwrite)
        return
    from windrow.cli.execution.spark.restarts import check_results
    from windrow.cli.execution.spark.run import run_spark
    from windrow.cli.execution.spark.session import open_session

    check_results(job)
    reporter.note("starting Spark ...")
    with open_session(job, options.verbose) as spark:
        record.engine_started()
        run_spark(job, spark, record, reporter, read_back=options.report is not None)


def recorded(job: Job, options: argparse.Namespace, work: Callable[[Record, Reporter], Any]) -> Record:
    """Do the work, show how it goes, and write the report, however it ends. No message holds a secret."""
    if options.report is not None and not Path(options.report).resolve().parent.is_dir():
        raise JobError(f"--report {options.report}: there is no such folder")
    if options.report is not None and Path(options.report).is_dir():
        raise JobError(f"--report {options.report}: this is a folder: name a file in it, as report.html")
    record = Record(job, options.engine)
    reporter = _reporter(job, options)
    try:
        work(record, reporter)
        record.end("done")
    except (JobInterrupted, KeyboardInterrupt):
        record.end("stopped")
        raise
    except (JobFailed, JobError) as error:
        record.end("failed")
        message = scrubbed(str(error), job.settings)
        record.notes.append(message)
        raise type(error)(message) from (error.__cause__ if options.verbose else None)
    finally:
        _finish(record, reporter, options)
    return record


def _reporter(job: Job, options: argparse.Namespace) -> Reporter:
    """All that shows the run. Programs that call ``recorded`` need not name what they do not want."""
    terminal = reporter_for(options.json, options.quiet)
    found: list[Reporter] = [terminal]
    if getattr(options, "metrics", None) is not None:
        from windrow.cli.show.prometheus import PrometheusEndpoint

        endpoint = PrometheusEndpoint(job.name, read_address(options.metrics, "--metrics"), terminal.note)
        terminal.note(f"metrics: {endpoint.address.url}/metrics")
        found.append(endpoint)
    if getattr(options, "serve", None) is not None:
        from windrow.cli.live.page import RunPage

        page = RunPage(job, options.engine, read_address(options.serve, "--serve"), terminal.note)
        say_line(f"the page: {page.printed_url}", sys.stderr)  # quiet or not: nobody else knows its token
        found.append(page)
    return terminal if len(found) == 1 else Several(found)


def _finish(record: Record, reporter: Reporter, options: argparse.Namespace) -> None:
    if record.status == "running":  # something that nobody foresaw
        record.end("failed")
    if options.report is not None and (record.steps or record.status != "failed"):
        _report(record, reporter, Path(options.report))
    reporter.ended(record.summary(), record.summary_text() if record.status != "failed" else "")
    if getattr(options, "stay", False):
        _stay(reporter)
    reporter.close()


def _stay(reporter: Reporter) -> None:
    """The page and the metrics stay until somebody has seen enough."""
    reporter.note("the run has finished and the page is still served; press Ctrl-C to stop")
    with Stopping() as stopping:
        while not stopping.asked:
            time.sleep(_PAUSE)


def _report(record: Record, reporter: Reporter, path: Path) -> None:
    """Write the report. Whatever is wrong with it, the run is what it was."""
    from windrow.cli.report import write_report

    try:
        write_report(record, path)
        reporter.note(f"report: {path}")
    except Exception as error:
        reporter.note(f"the report could not be written: {type(error).__name__}: {error}")
