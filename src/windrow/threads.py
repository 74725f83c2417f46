"""Work over several threads: how many there are, and pieces of work shared among them.

Work is cut into pieces by the data alone, about :data:`PIECE` rows each and never by the number of threads,
so that results are the same, bit for bit, with any number of them. Compiled kernels, Arrow and most of NumPy
run without the GIL; what runs Python for each row stays in one thread.

Invariant: pieces are begun in order. When one raises, none after it is begun and those before it are ended,
so that the error is the one that a single thread would have met. Cost: nothing for one piece or one thread,
and elsewhere some 50 microseconds to wake the others. Threads are started when they are first needed, are
shared by all, and wait for more; a forked process starts its own.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = [
    "PIECE",
    "are_several",
    "even_pieces",
    "in_threads",
    "is_one_piece",
    "piece_size",
    "stop_if_cancelled",
    "thread_count",
    "using_threads",
]

#: rows in a piece of work, about; smaller work is not cut
PIECE = 1 << 18

_P = TypeVar("_P")
_R = TypeVar("_R")

#: outside of what chose a number of threads there is one
_current: ContextVar[int] = ContextVar("windrow threads", default=1)


def thread_count(given: Any = None, default: int | None = None) -> int:
    """How many threads to use: what was given, else ``$WINDROW_THREADS``, else ``default``, else one for each
    core that the process may use.

    >>> thread_count(4)
    4
    >>> thread_count(0)
    Traceback (most recent call last):
    ValueError: threads=0: give a whole number of at least 1, or leave it out for all cores
    """
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise ValueError(
                f"threads={given!r}: give a whole number of at least 1, or leave it out for all cores"
            )
        return given
    said = os.environ.get("WINDROW_THREADS", "").strip()
    if said:
        if not said.isdecimal() or int(said) < 1:
            raise ValueError(
                f"WINDROW_THREADS={said!r}: set it to a whole number of at least 1, or unset it for all cores"
            )
        return int(said)
    return _cores() if default is None else default


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Let :func:`in_threads` use so many threads in this block."""
    token = _current.set(count)
    try:
        yield
    finally:
        _current.reset(token)


def piece_size(least: int = 1) -> int:
    """:data:`PIECE`, or ``least`` if that is more."""
    return max(PIECE, least)


def even_pieces(count: int, least: int = 1) -> list[slice]:
    """Slices of about :data:`PIECE` of ``count`` things each, or of ``least`` if that is more.

    >>> even_pieces(PIECE)
    [slice(0, 262144, None)]
    >>> [piece.stop for piece in even_pieces(5 * PIECE // 2)]
    [327680, 655360]
    """
    number = max(1, count // piece_size(least))
    cuts = [count * k // number for k in range(number + 1)]
    return [slice(front, stop) for front, stop in itertools.pairwise(cuts)]


def is_one_piece(count: int) -> bool:
    """Whether :func:`even_pieces` leaves so many things together.

    >>> is_one_piece(PIECE), is_one_piece(2 * PIECE)
    (True, False)
    """
    return count < 2 * PIECE


def in_threads(function: Callable[[_P], _R], pieces: Sequence[_P]) -> list[_R]:
    """What a function gives for each piece, in their order. What it calls in turn stays in its thread.

    >>> with using_threads(2):
    ...     in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    count = min(_current.get(), len(pieces))
    if count <= 1:
        return [function(piece) for piece in pieces]
    return _Shared(function, pieces).results(count)


def are_several() -> bool:
    """Whether :func:`in_threads` uses several threads: for work that costs more in pieces, and of which what
    comes out is the same either way."""
    return _current.get() > 1


def stop_if_cancelled() -> None:
    """For long loops: leave the piece that is worked on in this thread if nobody wants it any more."""
    work, place = getattr(_here, "piece", (None, 0))
    if work is not None and not work.wants(place):
        raise _Cancelled


class _Cancelled(BaseException):
    """The results of this piece are not wanted any more."""


#: the piece that is worked on in this thread: the work that it belongs to, and its place
_here = threading.local()


class _Shared(Generic[_P, _R]):
    """Pieces that threads take one after the other, the caller's among them: it never waits for a thread that
    has not begun."""

    def __init__(self, function: Callable[[_P], _R], pieces: Sequence[_P]) -> None:
        self._function = function
        self._pieces = pieces
        self._found: list[Any] = [None] * len(pieces)
        self._places = itertools.count()
        self._errors: dict[int, Exception] = {}
        #: no piece after this one is wanted; and none at all
        self._last = len(pieces) - 1
        self._is_over = False

    def wants(self, place: int) -> bool:
        return place <= self._last and not self._is_over

    def results(self, count: int) -> list[_R]:
        helpers = _asked_for_help(self._help, count - 1)
        try:
            with using_threads(1):
                self._help()
            _wait_for(helpers)
        except BaseException:  # Ctrl-C
            self._is_over = True
            _wait_for(helpers)
            raise
        if self._errors:
            raise self._errors[min(self._errors)]
        return self._found

    def _help(self) -> None:
        """Take pieces until there are no more."""
        while self.wants(place := next(self._places)):
            _here.piece = self, place
            try:
                self._found[place] = self._function(self._pieces[place])
            except _Cancelled:
                return
            except Exception as error:
                self._errors[place] = error
                self._last = min(self._last, place)
            finally:
                del _here.piece


# -- the threads ---------------------------------------------------------------------------------------------

_pool: ThreadPoolExecutor | None = None
_size = 0
_lock = threading.Lock()


def _asked_for_help(help_: Callable[[], None], count: int) -> list[Future[None]]:
    """The calls of a function that other threads will make when they are free."""
    global _pool, _size
    from concurrent.futures import ThreadPoolExecutor

    asked: list[Future[None]] = []
    with _lock, suppress(RuntimeError):  # no thread can be started: the caller does all of it
        if _pool is None or _size < count:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _size = ThreadPoolExecutor(count, thread_name_prefix="windrow"), count
        for _ in range(count):
            asked.append(_pool.submit(help_))
    return asked


def _wait_for(helpers: list[Future[None]]) -> None:
    """Until those that have begun have ended; the others need not begin."""
    for helper in helpers:
        if not helper.cancel():
            helper.result()


def _forget_threads() -> None:
    """A forked process has none of them."""
    global _pool, _size, _lock
    _pool, _size, _lock = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
