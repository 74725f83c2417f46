"""Brokers of Kafka that do not answer while a job runs: one line when they are gone, one when they are back.

Kafka's client waits for a broker without a word, and with it the micro-batch. So where none has ended for
some seconds, the addresses in the job are knocked at: a connection that is opened and closed again.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from windrow.cli.job import Job, Sink, Source

__all__ = ["BrokerWatch", "kafka_servers"]

#: seconds without a micro-batch after which brokers are asked, between two times, and for an answer
_QUIET, _PAUSE, _PATIENCE = 3.0, 3.0, 1.0
_SERVERS = "kafka.bootstrap.servers"


def kafka_servers(job: Job) -> list[str]:
    """What the job gives as addresses of Kafka, each list once."""
    used: list[Source | Sink] = [*job.sources, *job.sinks]
    options = [option for each in used if each.format.lower() == "kafka" for option in each.options]
    return list(dict.fromkeys(option.value for option in options if option.name.lower() == _SERVERS))


def answers(servers: str) -> bool:
    """Whether one of the servers of a list takes connections.

    >>> answers("127.0.0.1:1"), answers("no address")
    (False, True)
    """
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdigit():
            return True  # Kafka will say what is wrong with it
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE):
                return True
        except OSError:
            continue
    return False


class BrokerWatch:
    """Of one run. ``note`` takes the lines."""

    def __init__(
        self,
        job: Job,
        note: Callable[[str], None],
        does_answer: Callable[[str], bool] = answers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = kafka_servers(job)
        self._note, self._does_answer, self._clock = note, does_answer, clock
        self._next = clock() + _QUIET
        self._gone: dict[str, float] = {}

    def look(self, has_progress: bool) -> None:
        """To be called all the time; ``has_progress``: a micro-batch has ended since."""
        now = self._clock()
        if has_progress:
            self._next = max(self._next, now + _QUIET)
        if not self._servers or (now < self._next and not (has_progress and self._gone)):
            return
        self._next = now + _PAUSE
        for servers in self._servers:
            self._ask(servers)

    def _ask(self, servers: str) -> None:
        if not self._does_answer(servers):
            if servers not in self._gone:
                self._gone[servers] = self._clock()
                self._note(f"Kafka at {servers} does not answer: the job waits, and goes on when it does")
        elif servers in self._gone:
            away = self._clock() - self._gone.pop(servers)
            self._note(f"Kafka at {servers} answers again, after {away:.0f} s: the job goes on")
