"""Many threads at a time, or one alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["ReadWriteLock"]


class ReadWriteLock:
    """``shared`` is for many threads at a time; ``alone`` waits until they are out, and lets none in.
    Neither may be entered again from inside, and only one thread at a time may ask for ``alone``.

    >>> gate = ReadWriteLock()
    >>> with gate.shared():
    ...     pass
    >>> with gate.alone():
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_wanted = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_wanted)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._is_wanted = True
            try:
                self._changed.wait_for(lambda: self._inside == 0)
                yield
            finally:
                self._is_wanted = False
                self._changed.notify_all()
