"""Where a tree aggregator keeps its levels: queues of pairs, addressed by (level, position).

The trees of [MTA] are lists of queues, one per level, of sibling nodes in pairs ([MTA] 4.1.1). An aggregator
holds the ends of these queues itself and needs the middle only now and then, one pair a level at most, so the
middle can be anywhere ([MTA] 4.1.5). A :class:`LevelStore` says what is asked of that place;
:class:`MemoryLevels` is the place in memory.

Invariant: positions are absolute and only grow. A level is written at its end, read anywhere between its head
and its end, and dropped at its head; positions may be left out. A pair is written once, complete; only the
last pair of a level may be written again.
Cost: every operation is O(1). Dropping moves the head of a level, however far, and frees nothing but a
bounded share of what was dropped before ([MTA] 4.1.4: the elements can be removed in the background).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Protocol

__all__ = ["Key", "LevelStore", "MemoryLevels", "Pair"]

#: two sibling nodes, the older on the left; a side that never was in the window holds the identity
Pair = tuple[Any, Any]
#: level (0: the leaves) and position of a pair in it
Key = tuple[int, int]

_BITS = 6
_SLOTS = 1 << _BITS
_LOW = _SLOTS - 1
#: chunks freed when one is opened, and at a drop: more than one, so that the dead go faster than others come
_FREED_AT_ONCE = 2


class LevelStore(Protocol):
    """What a tree aggregator asks of the place where its levels are.

    The batched forms are for stores where a call costs a round trip. ``get`` of a pair that was dropped, or
    never put, is a KeyError.
    """

    def get(self, level: int, position: int) -> Pair: ...

    def get_many(self, keys: Iterable[Key]) -> list[Pair]: ...

    def put(self, level: int, position: int, pair: Pair) -> None: ...

    def put_many(self, items: Iterable[tuple[Key, Pair]]) -> None: ...

    def drop(self, level: int, before: int) -> None:
        """Give up all pairs of a level before a position, which may be past its end."""
        ...


class _Queue:
    """One level: chunks of pairs by position, so that nothing ever moves."""

    __slots__ = ("chunks", "head", "numbers")

    def __init__(self) -> None:
        self.head = 0
        self.chunks: dict[int, list[Pair | None]] = {}
        #: of the chunks held, in order; those before the head's are dead and wait to be freed
        self.numbers: deque[int] = deque()

    def copy(self) -> _Queue:
        """With the same chunks: a pair is never overwritten."""
        twin = _Queue()
        twin.head, twin.chunks, twin.numbers = self.head, self.chunks.copy(), self.numbers.copy()
        return twin

    def open(self, number: int) -> list[Pair | None]:
        self.free(_FREED_AT_ONCE)
        chunk: list[Pair | None] = [None] * _SLOTS
        self.chunks[number] = chunk
        self.numbers.append(number)
        return chunk

    def free(self, limit: int) -> None:
        first_alive = self.head >> _BITS
        numbers = self.numbers
        while limit and numbers and numbers[0] < first_alive:
            del self.chunks[numbers.popleft()]
            limit -= 1


class MemoryLevels:
    """Levels in memory.

    >>> levels = MemoryLevels()
    >>> for position in range(1000):
    ...     levels.put(0, position, (position, position + 1))
    >>> levels.get(0, 500)
    (500, 501)
    >>> levels.drop(0, before=999)
    >>> levels.get_many([(0, 999)])
    [(999, 1000)]
    >>> levels.get(0, 500)
    Traceback (most recent call last):
    KeyError: 'no pair at level 0, position 500: it was dropped, or never put'
    """

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        self._queues: list[_Queue] = []

    def get(self, level: int, position: int) -> Pair:
        if level < len(self._queues):
            queue = self._queues[level]
            chunk = queue.chunks.get(position >> _BITS)
            if chunk is not None and position >= queue.head:
                pair = chunk[position & _LOW]
                if pair is not None:
                    return pair
        raise KeyError(f"no pair at level {level}, position {position}: it was dropped, or never put")

    def get_many(self, keys: Iterable[Key]) -> list[Pair]:
        return [self.get(level, position) for level, position in keys]

    def put(self, level: int, position: int, pair: Pair) -> None:
        queues = self._queues
        while level >= len(queues):
            queues.append(_Queue())
        queue = queues[level]
        number = position >> _BITS
        chunk = queue.chunks.get(number)
        if chunk is None:
            chunk = queue.open(number)
        chunk[position & _LOW] = pair

    def put_many(self, items: Iterable[tuple[Key, Pair]]) -> None:
        for (level, position), pair in items:
            self.put(level, position, pair)

    def drop(self, level: int, before: int) -> None:
        if level >= len(self._queues):
            return
        queue = self._queues[level]
        if before > queue.head:
            queue.head = before
            if queue.numbers and queue.numbers[0] < before >> _BITS:
                queue.free(_FREED_AT_ONCE)

    def copy(self) -> MemoryLevels:
        """The levels as they are: they keep what is dropped from now on."""
        twin = MemoryLevels()
        twin._queues = [queue.copy() for queue in self._queues]
        return twin

    def sweep(self) -> None:
        """Free all that was dropped, now: takes as long as there is to free."""
        for queue in self._queues:
            queue.free(len(queue.numbers))

    @property
    def capacity(self) -> int:
        """How many pairs there is room for in the memory held."""
        return sum(len(queue.numbers) for queue in self._queues) * _SLOTS

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self._queues)} levels, room for {self.capacity} pairs>"
