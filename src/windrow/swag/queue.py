"""The chunked-array queue of [DABA] 4.1: a FIFO with pointers into it and no element ever moved.

Elements lie in fixed-size chunks. A pointer is an integer position: its high bits name the chunk, its low
bits the slot, so that ``p + 1``, ``p - 1``, comparison, reading and writing are constant time. Writing at a
position whose chunk does not exist makes the chunk; ``release`` gives back chunks that lie wholly before the
front. What is written while the queue is ``watched`` can be undone, at a cost of what was written.

The only cost that is not strictly constant is the directory of chunks, one entry for 512 elements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["ChunkedArrayQueue"]

_BITS = 9
_SLOTS = 1 << _BITS
_LOW = _SLOTS - 1


class ChunkedArrayQueue:
    """
    >>> queue = ChunkedArrayQueue()
    >>> for position in range(1000):
    ...     queue[position] = position * position
    >>> queue[999], queue.chunks
    (998001, 2)
    >>> queue.release(600)
    >>> queue.chunks
    1
    """

    __slots__ = ("_directory", "_first", "_overwritten", "_watched_end")

    def __init__(self, front: int = 0) -> None:
        self._directory: dict[int, list[Any]] = {}
        self._first = front >> _BITS
        #: what lay at the positions that were written to since the queue is watched; None: it is not
        self._overwritten: dict[int, Any] | None = None
        self._watched_end = 0

    def __getitem__(self, position: int) -> Any:
        return self._directory[position >> _BITS][position & _LOW]

    def __setitem__(self, position: int, value: Any) -> None:
        chunk = self._directory.get(position >> _BITS)
        if chunk is None:
            chunk = self._directory[position >> _BITS] = [None] * _SLOTS
        if position < self._watched_end and self._overwritten is not None:
            self._overwritten.setdefault(position, chunk[position & _LOW])
        chunk[position & _LOW] = value

    def release(self, front: int) -> None:
        """Free the chunks before the one that holds ``front``; not while the queue is watched."""
        number = front >> _BITS
        while self._overwritten is None and self._first < number:
            self._directory.pop(self._first, None)
            self._first += 1

    @contextlib.contextmanager
    def watched(self, end: int) -> Iterator[None]:
        """Undo what is written in here before ``end``, that of the queue as it is, if that raises.

        >>> queue = ChunkedArrayQueue()
        >>> queue[7] = "a"
        >>> with contextlib.suppress(KeyError), queue.watched(8):
        ...     queue[7] = "b"
        ...     raise KeyError
        >>> queue[7]
        'a'
        """
        if self._overwritten is not None:  # whoever watches already undoes this, too
            yield
            return
        overwritten: dict[int, Any] = {}
        self._overwritten, self._watched_end = overwritten, end
        try:
            yield
        except BaseException:
            self._watched_end = 0
            for position, value in overwritten.items():
                self[position] = value
            raise
        finally:
            self._overwritten, self._watched_end = None, 0

    @property
    def chunks(self) -> int:
        return len(self._directory)
