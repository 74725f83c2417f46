"""The clients of what a run serves: not too many, and none that is waited for.

A page and metrics are served by the process that does the work. Whoever reaches their port can open
connections, token or not; each takes a descriptor, which the work needs for its files. So a share of the
descriptors is the limit: beyond it, the connection that has waited longest for its client is closed for a new
one. One whose request is not complete after some seconds, or whose answer is not read, is closed also.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from windrow.cli.show.out import say_line

__all__ = ["PATIENCE", "Connections", "Note", "say_on_errors"]

#: seconds in which a request is complete, or more of an answer is read
PATIENCE = 10.0
#: connections of a server, and which share of the descriptors of a process they may take
_MOST, _LEAST, _SHARE = 128, 4, 8

Note = Callable[[str], None]
C = TypeVar("C")


def say_on_errors(text: str) -> None:
    say_line(text, sys.stderr)


class Connections(Generic[C]):
    """Those of one server.

    >>> open = Connections("--serve", lambda name: print("closed:", name), print, most=2)
    >>> open.opened("silent"), open.opened("asking"), open.answers("asking"), open.opened("new")
    --serve: 2 connections are open, the limit: each new one closes the one that was silent for longest
    closed: silent
    (None, None, None, None)
    """

    def __init__(self, option: str, drop: Callable[[C], None], note: Note, most: int | None = None) -> None:
        """``drop`` closes a connection; ``note`` is told once that there are too many."""
        self._option, self._drop, self._note = option, drop, note
        self.most = _most_connections() if most is None else most
        self._open: set[C] = set()
        #: connections that wait for their client, and since when: the longest first
        self._waiting: dict[C, float] = {}
        self._is_noted = False
        self._lock = threading.Lock()

    def opened(self, connection: C) -> None:
        with self._lock:
            self._open.add(connection)
            self._waiting[connection] = time.monotonic()
            if len(self._open) <= self.most:
                return
            longest = next(iter(self._waiting))
            del self._waiting[longest]
            is_news, self._is_noted = not self._is_noted, True
        if is_news:
            self._note(
                f"{self._option}: {self.most} connections are open, the limit: each new one closes the one "
                f"that was silent for longest"
            )
        self._drop(longest)

    def waits(self, connection: C) -> None:
        """From now on for its client, who is to ask or to read."""
        with self._lock:
            self._waiting.pop(connection, None)
            self._waiting[connection] = time.monotonic()

    def answers(self, connection: C) -> None:
        """And does not wait for its client."""
        with self._lock:
            self._waiting.pop(connection, None)

    def closed(self, connection: C) -> None:
        with self._lock:
            self._open.discard(connection)
            self._waiting.pop(connection, None)

    def drop_overdue(self) -> None:
        """Close those that have waited too long."""
        before = time.monotonic() - PATIENCE
        with self._lock:
            overdue = [connection for connection, since in self._waiting.items() if since < before]
            for connection in overdue:
                del self._waiting[connection]
        for connection in overdue:
            self._drop(connection)


def _most_connections() -> int:
    try:
        import resource
    except ImportError:  # not a Unix
        return _MOST
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(max(soft // _SHARE, _LEAST), _MOST)
