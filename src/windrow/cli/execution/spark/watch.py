"""Watching a stream: every micro-batch is shown and recorded, and Ctrl-C lets the running one finish."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windrow.cli.errors import JobFailed, JobInterrupted
from windrow.cli.execution.spark.brokers import BrokerWatch, kafka_servers
from windrow.cli.execution.spark.failures import causes, first_line
from windrow.cli.execution.spark.progress import step_of
from windrow.cli.job import Job
from windrow.cli.record import Record
from windrow.cli.show import Reporter
from windrow.cli.stopping import Stopping

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["failure_line", "watch"]

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


_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk")
_NO_BROKER = re.compile(
    r"org\.apache\.kafka\.\S*(?:TimeoutException|DisconnectException|NetworkException|BrokerNotAvailable\w*)"
    r"|Timed out waiting for a node assignment|Failed to update metadata|Failed to (?:create|construct) "
    r"(?:new )?Kafka|No resolvable bootstrap urls|TimeoutException: Timeout of \d+ms expired"
)


def failure_line(job: Job, error: BaseException) -> str:
    """The one line for a stream that has failed. For a disk without room and a Kafka that does not answer it
    names the disk and the broker, which Spark's message does not."""
    text, line = "\n".join(map(str, causes(error))), first_line(error)
    if room := _NO_ROOM.search(text):
        return f"{room[0]}: the job writes to {_places(job)}; make room, then {_again(job)}"
    servers = ", ".join(kafka_servers(job))
    if servers and _NO_BROKER.search(text):
        return f"Kafka at {servers} does not answer, and its client has given up: {_again(job)} ({line})"
    return line


def _places(job: Job) -> str:
    paths = [sink.path for sink in job.sinks if sink.path] + [job.sink.checkpoint]
    return ", ".join([*dict.fromkeys(path for path in paths if path), "and Spark to its temporary folder"])


def _again(job: Job) -> str:
    goes_on = "" if job.sink.checkpoint is None else ", which goes on from its checkpoint"
    return f"start the job again{goes_on}"
