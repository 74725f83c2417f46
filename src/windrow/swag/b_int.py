"""B-Int, the base intervals of Arasu and Widom: partials of all complete dyadic intervals of the stream.

Interval j of level l covers the values j·2^l ... (j+1)·2^l - 1, counted from the first ever inserted. It is
summed up once, from its halves, when its last value comes. A query splits the window into the fewest
intervals that lie wholly in it, at most two per level, and sums those up: the steps are those of
:mod:`windrow.swag.native.b_int`. Each level is a circular buffer over absolute positions, and all levels are
one ring. It doubles when the window outgrows it and halves when that fills a quarter.

Invariant: each interval that lies wholly in the window is at its place in the buffer of its level, with the
sum of its values. Cost: amortised 1 combine per insert, at worst floor(log2(n)); none per evict; a query at
most 2·floor(log2(n)) - 1.
Source: B-Int, the baseline of [RA] 6 (fig 11, table 4). The original has windows of a fixed size; these may
grow and shrink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.swag.checks import agree
from windrow.swag.fifo import FifoSwag, NativeWindow
from windrow.swag.native.b_int import operations

__all__ = ["BInt"]

_SMALLEST = 4


class BInt(FifoSwag):
    """O(log n) combines per query: what FlatFAT is measured against.

    >>> from windrow.monoids import monoid
    >>> window = BInt(monoid(lift=str, combine=lambda a, b: a + b, identity=""))
    >>> for letter in "windrow":
    ...     window.insert(letter)
    >>> window.evict_many(4)
    >>> window.query()
    'row'
    """

    cost = "amortised 1 combine per insert, 0 per evict, O(log n) per query"
    source = "Arasu and Widom's B-Int, as in [RA] 6"
    operations = staticmethod(operations)
    slots = 2

    def __init__(self, monoid: Any) -> None:
        super().__init__(monoid)
        self._capacity = _SMALLEST
        self._ring: list[Any] = [None] * (2 * _SMALLEST)

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0

    def _insert(self, partial: Any) -> None:
        self._prepare_insert(partial)
        if self._registers[1] - self._registers[0] == self._capacity:
            self._resize(2 * self._capacity)
        # a combine that raises has written intervals that are not in the window yet
        self._registers = self._steps.insert(
            self._ring, self._capacity - 1, self._identity, self._registers, partial
        )

    def _evict(self, count: int) -> None:
        if self._window is not None:
            self._to_plain()
        for _ in range(count):
            front, end = self._registers
            # all intervals that begin here are in the window no longer
            for level in range(self._capacity.bit_length()):
                if front & ((1 << level) - 1):
                    break
                self._ring[_slot(self._capacity, level, front >> level)] = None
            self._registers = front + 1, end
            if self._capacity > _SMALLEST and end - front - 1 <= self._capacity // 4:
                self._resize(self._capacity // 2)

    def _backup(self) -> dict[str, Any]:
        return {**super()._backup(), "_ring": self._ring.copy(), "_capacity": self._capacity}

    def _partial(self) -> Any:
        if self._window is not None:
            self._to_plain()
        return self._steps.query(self._ring, self._capacity - 1, self._identity, self._registers)

    def _resize(self, capacity: int) -> None:
        self._ring = self._moved(self._ring, [None] * (2 * capacity), lambda interval: interval)
        self._capacity = capacity

    def _moved(self, ring: Any, into: Any, changed: Callable[[Any], Any]) -> Any:
        """The intervals of a ring in another one."""
        old, new = len(ring) // 2, len(into) // 2
        for level in range(min(old, new).bit_length()):
            for position in self._whole(level):
                into[_slot(new, level, position)] = changed(ring[_slot(old, level, position)])
        return into

    def _whole(self, level: int) -> range:
        """The positions of the intervals of a level that lie wholly in the window."""
        front, end = self._registers
        return range(-(-front >> level), end >> level)

    # -- the native form -------------------------------------------------------------------------------------

    def _plain_of_ring(self, window: NativeWindow) -> None:
        self._capacity = _SMALLEST
        while self._capacity < self._registers[1] - self._registers[0]:
            self._capacity *= 2
        self._ring = self._moved(window.ring, [None] * (2 * self._capacity), window.native.to_plain)

    def _ring_of_plain(self, capacity: int, form: Any) -> Any:
        import numpy as np

        return self._moved(self._ring, np.zeros(2 * capacity, form.layout.partial_dtype), form.to_native)

    def _larger_ring(self, window: NativeWindow, capacity: int) -> Any:
        import numpy as np

        larger, old = np.zeros(2 * capacity, window.ring.dtype), window.mask + 1
        for level in range(old.bit_length()):
            positions = np.array(self._whole(level), np.int64)
            larger[_slot(capacity, level, positions)] = window.ring[_slot(old, level, positions)]
        return larger

    def check_invariants(self) -> None:
        super().check_invariants()
        if self._window is not None:
            return
        assert self._registers[1] - self._registers[0] == self._size <= self._capacity
        assert self._capacity == _SMALLEST or self._size > self._capacity // 4
        assert len(self._ring) == 2 * self._capacity
        for level in range(1, self._capacity.bit_length()):
            for position in self._whole(level):
                halves = (_slot(self._capacity, level - 1, 2 * position + side) for side in (0, 1))
                total = self.monoid.combine(*(self._ring[half] for half in halves))
                found = self._ring[_slot(self._capacity, level, position)]
                assert agree(found, total), f"interval {position} of level {level}"


def _slot(capacity: int, level: int, position: Any) -> Any:
    """Where an interval, or each of several, lies in a ring: every level is one stretch of it."""
    length = capacity >> level
    return length + position % length
