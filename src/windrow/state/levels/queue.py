"""A queue of numbers in a window's store: where nulls are, and the times of the values.

It has what :class:`collections.deque` has of what a window uses, and finds where to cut its front by value in
O(log n) reads. Local memory is that of one level, however long the queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windrow.state.levels.stored import StoredLevels

__all__ = ["StoredQueue"]


class StoredQueue:
    """Values that do not fall, oldest first."""

    __slots__ = ("_end", "_head", "_level", "_levels")

    def __init__(self, levels: StoredLevels, level: int, head: int = 0, end: int = 0) -> None:
        self._levels = levels
        self._level = level
        self._head = head
        self._end = end

    @property
    def ends(self) -> tuple[int, int]:
        """The numbers of the first value and of the one after the last, ever counted up."""
        return self._head, self._end

    def __len__(self) -> int:
        return self._end - self._head

    def __getitem__(self, index: int) -> Any:
        number = self._head + index if index >= 0 else self._end + index
        if not self._head <= number < self._end:
            raise IndexError(f"item {index} of a queue of {len(self)}")
        return self._levels.get(self._level, number)[0]

    def __iter__(self) -> Iterator[Any]:
        return (self._levels.get(self._level, number)[0] for number in range(self._head, self._end))

    def append(self, value: Any) -> None:
        self._levels.put(self._level, self._end, (value, None))
        self._end += 1

    def drop(self, count: int) -> None:
        """Remove the first ``count`` values."""
        self._head = min(self._head + count, self._end)
        self._levels.drop(self._level, self._head)

    def count_below(self, limit: Any) -> int:
        """How many values at the front are below a limit."""
        if not len(self) or self[0] >= limit:
            return 0
        low, high = 0, 1
        while high < len(self) and self[high] < limit:
            low, high = high, 2 * high
        high = min(high, len(self))
        while high - low > 1:
            middle = (low + high) // 2
            if self[middle] < limit:
                low = middle
            else:
                high = middle
        return low + 1
