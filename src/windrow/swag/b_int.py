"""B-Int, the base intervals of Arasu and Widom: partials of all complete dyadic intervals of the stream.

Interval j of level l covers the values j·2^l ... (j+1)·2^l - 1, counted from the first ever inserted. It is
summed up once, from its halves, when its last value comes. A query splits the window into the fewest
intervals that lie wholly in it, at most two per level, and sums those up. Each level is a circular buffer
over absolute positions; the buffers double when the window outgrows them and halve when it fills a quarter.

Invariant: each interval that lies wholly in the window is at its place in the buffer of its level, with the
sum of its values. Cost: amortised 1 combine per insert, at worst floor(log2(n)); none per evict; a query at
most 2·floor(log2(n))
- 1.
Source: B-Int, the baseline of [RA] 6 (fig 11, table 4). The original has windows of a fixed size; these may
grow and shrink.
"""

from __future__ import annotations

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
        self._rings = self._new_rings(_SMALLEST)

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0

    @staticmethod
    def _new_rings(capacity: int) -> list[list[Any]]:
        """One ring a level, of half the slots of the level below."""
        return [[None] * (capacity >> level) for level in range(capacity.bit_length())]

    def _insert(self, partial: Any) -> None:
        self._prepare_insert(partial)
        front, end = self._registers
        if end - front == self._capacity:
            self._resize(2 * self._capacity)
        # all combines come before any change, so that one that raises leaves the window as it was
        complete = [partial]
        for level, ring in enumerate(self._rings[:-1]):
            position = end >> level
            if not position & 1 or (position - 1) << level < front:
                break
            complete.append(self.monoid.combine(ring[(position - 1) % len(ring)], complete[-1]))
        for level, interval in enumerate(complete):
            ring = self._rings[level]
            ring[(end >> level) % len(ring)] = interval
        self._registers = front, end + 1

    def _evict(self, count: int) -> None:
        if self._window is not None:
            self._to_plain()
        for _ in range(count):
            front, end = self._registers
            # all intervals that begin here are in the window no longer
            for level, ring in enumerate(self._rings):
                if front & ((1 << level) - 1):
                    break
                ring[(front >> level) % len(ring)] = None
            front += 1
            self._registers = front, end
            if self._capacity > _SMALLEST and end - front <= self._capacity // 4:
                self._resize(self._capacity // 2)

    def _backup(self) -> dict[str, Any]:
        rings = [ring.copy() for ring in self._rings]
        return {**super()._backup(), "_rings": rings, "_capacity": self._capacity}

    def _partial(self) -> Any:
        """The sum of the intervals that the window splits into, found from both ends inwards."""
        if self._window is not None:
            self._to_plain()
        combine = self.monoid.combine
        first: Any = None
        last: Any = None
        has_first = has_last = False
        low, high = self._registers
        for ring in self._rings:
            if low >= high:
                break
            if low & 1:
                interval = ring[low % len(ring)]
                first, has_first = combine(first, interval) if has_first else interval, True
                low += 1
            if high & 1:
                high -= 1
                interval = ring[high % len(ring)]
                last, has_last = combine(interval, last) if has_last else interval, True
            low, high = low >> 1, high >> 1
        if has_first and has_last:
            return combine(first, last)
        return first if has_first else last if has_last else self.monoid.identity

    def _resize(self, capacity: int) -> None:
        rings = self._new_rings(capacity)
        for level, (old, new) in enumerate(zip(self._rings, rings, strict=False)):
            for position in self._whole(level):
                new[position % len(new)] = old[position % len(old)]
        self._rings = rings
        self._capacity = capacity

    def _whole(self, level: int) -> range:
        """The positions of the intervals of a level that lie wholly in the window."""
        front, end = self._registers
        return range(-(-front >> level), end >> level)

    # -- the native form
    # -------------------------------------------------------------------------------------------

    def _plain_of_ring(self, window: NativeWindow) -> None:
        capacity = _SMALLEST
        while capacity < self._registers[1] - self._registers[0]:
            capacity *= 2
        self._capacity = capacity
        self._rings = self._new_rings(capacity)
        for level, ring in enumerate(self._rings):
            length = (window.mask + 1) >> level
            for position in self._whole(level):
                ring[position % len(ring)] = window.native.to_plain(window.ring[length + position % length])

    def _ring_of_plain(self, capacity: int, form: Any) -> Any:
        import numpy as np

        flat = np.zeros(2 * capacity, form.layout.partial_dtype)
        for level, ring in enumerate(self._rings):
            length = capacity >> level
            for position in self._whole(level):
                flat[length + position % length] = form.to_native(ring[position % len(ring)])
        return flat

    def _larger_ring(self, window: NativeWindow, capacity: int) -> Any:
        import numpy as np

        flat = np.zeros(2 * capacity, window.ring.dtype)
        old, level = window.mask + 1, 0
        while old:
            new = capacity >> level
            positions = np.array(self._whole(level), np.int64)
            flat[new + positions % new] = window.ring[old + positions % old]
            old, level = old >> 1, level + 1
        return flat

    def check_invariants(self) -> None:
        super().check_invariants()
        if self._window is not None:
            return
        assert self._registers[1] - self._registers[0] == self._size <= self._capacity
        assert self._capacity == _SMALLEST or self._size > self._capacity // 4
        for level, ring in enumerate(self._rings):
            assert len(ring) == self._capacity >> level
            for position in self._whole(level) if level else ():
                below = self._rings[level - 1]
                halves = (below[half % len(below)] for half in (2 * position, 2 * position + 1))
                total = self.monoid.combine(*halves)
                assert agree(ring[position % len(ring)], total), f"interval {position} of level {level}"
