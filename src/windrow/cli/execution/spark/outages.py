"""What a stream ends in when something outside of it is gone, said so that a person can act on it: a disk
without room, a Kafka that does not answer. What Spark says of these names neither the disk nor the broker."""

from __future__ import annotations

import re

from windrow.cli.execution.spark.brokers import kafka_servers
from windrow.cli.execution.spark.failures import causes, first_line
from windrow.cli.job import Job

__all__ = ["failure_line"]

_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk")
_NO_BROKER = re.compile(
    r"org\.apache\.kafka\.\S*(?:TimeoutException|DisconnectException|NetworkException|BrokerNotAvailable\w*)"
    r"|Timed out waiting for a node assignment|Failed to update metadata|Failed to (?:create|construct) "
    r"(?:new )?Kafka|No resolvable bootstrap urls|TimeoutException: Timeout of \d+ms expired"
)


def failure_line(job: Job, error: BaseException) -> str:
    """The one line for a stream that has failed."""
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
