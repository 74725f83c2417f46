"""Watching a stream: every micro-batch is shown and recorded, and Ctrl-C lets the running one finish."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windrow.cli.errors import JobFailed, JobInterrupted
from windrow.cli.execution.spark.brokers import BrokerWatch
from windrow.cli.execution.spark.outages import failure_line
from windrow.cli.execution.spark.progress import step_of
from windrow.cli.job import Job
from windrow.cli.record import Record
from windrow.cli.show import Reporter
from windrow.cli.stopping import Stopping

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["watch"]

_PAUSE = 0.2


def watch(
    job: Job,
    stream: StreamingQuery,
    record: Record,
    reporter: Reporter,
    is_fed: Callable[[], bool] | None = None,
) -> bool:
    """Until the stream ends; whether it was asked to. ``is_fed``: more input may come; once it does not and
    all is done, the stream is stopped."""
    seen: set[tuple[int, str]] = set()
    brokers = BrokerWatch(job, reporter.note)
    with Stopping(lambda: reporter.note("stopping after this micro-batch (again: at once) ...")) as stopping:
        try:
            while stream.isActive:
                fresh = _drained(job, stream, record, reporter, seen)
                brokers.look(fresh)
                if stopping.asked and (fresh or not stream.status["isTriggerActive"]):
                    break
                if is_fed is not None and not is_fed():
                    stream.processAllAvailable()
                    break
                time.sleep(_PAUSE)
            stream.stop()
            _drained(job, stream, record, reporter, seen)
            _raise_failure(job, stream)
        except KeyboardInterrupt:
            stream.stop()
            raise JobInterrupted from None
    return stopping.asked


def _drained(job: Job, stream: Any, record: Record, reporter: Reporter, seen: set[tuple[int, str]]) -> bool:
    """Take progress that is new; whether there was any."""
    integers = job.query.watermark is not None and job.query.watermark.kind == "integer"
    fresh = False
    for progress in stream.recentProgress:
        mark = (progress["batchId"], str(progress["timestamp"]))
        if mark not in seen:
            seen.add(mark)
            fresh = True
            held = record.steps[-1].state_bytes if record.steps else 0
            step = step_of(progress, record.elapsed(), integers, held)
            record.add(step)
            reporter.progress(step, record.totals)
    return fresh


def _raise_failure(job: Job, stream: Any) -> None:
    error = stream.exception()
    if error is not None:
        raise JobFailed(failure_line(job, error)) from error
