"""DABA, the De-Amortized Banker's Aggregator: worst-case constant time for any associative aggregate.

The window lies in a chunked-array queue with six pointers, front <= left <= right <= accum <= back <= end.
Slot 2p is the value at position p, slot 2p + 1 its aggregate:

    [front, left)   p ... back - 1       [left, right)  p ... right - 1      [right, accum)  right ... p
    [accum, back)   p ... back - 1       [back, end)    back ... p

Each operation does one step of the reversal that Two-Stacks does all at once. The *size invariants* (lemma
4.1) say that the steps suffice: the window is empty, or |left, right| = |right, accum| and
|left, right| + |right, accum| + |accum, back| + 1 = |front, back| - |back, end|.
Cost: at most 4 combines per insert, 3 per evict, 1 per query; 2.5 and 1.5 on average. Source: [DABA] figs
8-12."""

from __future__ import annotations

from functools import reduce
from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.checks import agree
from windrow.swag.fifo import FifoSwag
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["DABA", "operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def fixup(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, left, right, accum, back = registers
        if front == back:  # singleton: [DABA] fig 10, lines 10-11
            left = right = accum = back = end
        else:
            if left == back:  # flip: lines 13-14
                left = front
                accum = back = end
            if left == right:  # shift: lines 15-16
                right += 1
                accum += 1
            else:  # shrink: lines 17-21; sums before writes, so that a combine that raises changes nothing
                of_left = load(ring, 2 * (left & mask) + 1)
                of_left = cast(identity, combine(of_left, load(ring, 2 * ((accum - 1) & mask) + 1)))
                of_accum = load(ring, 2 * ((accum - 1) & mask))
                if accum != back:  # nothing to add while the accumulated part is empty
                    beyond = load(ring, 2 * (accum & mask) + 1)
                    of_left = cast(identity, combine(of_left, beyond))
                    of_accum = cast(identity, combine(of_accum, beyond))
                accum -= 1
                store(ring, 2 * (left & mask) + 1, of_left)
                store(ring, 2 * (accum & mask) + 1, of_accum)
            left += 1
        return front, end, left, right, accum, back

    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end, left, right, accum, back = registers
        aggregate = partial
        if back != end:
            aggregate = cast(identity, combine(load(ring, 2 * ((end - 1) & mask) + 1), partial))
        store(ring, 2 * (end & mask), partial)
        store(ring, 2 * (end & mask) + 1, aggregate)
        return fixup(ring, mask, identity, (front, end + 1, left, right, accum, back))

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, left, right, accum, back = registers
        return fixup(ring, mask, identity, (front + 1, end, left, right, accum, back))

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, _, _, _, back = registers
        if front == end:
            return identity
        # a window with a value has a front list, lemma 4.1
        total = load(ring, 2 * (front & mask) + 1)
        if back != end:
            total = cast(identity, combine(total, load(ring, 2 * ((end - 1) & mask) + 1)))
        return total

    return Operations(insert, evict, query)


class DABA(FifoSwag):
    """As in its paper: a value and an aggregate an element. DABALite does the same with half the memory.

    >>> import windrow as wr
    >>> window = wr.swag.DABA(wr.max)
    >>> for v in (2, 6, 3, 5, 3):
    ...     window.insert(v)
    >>> window.evict()
    >>> window.insert(1)
    >>> window.query()
    6
    """

    cost = "at most 4 combines per insert, 3 per evict, 1 per query"
    source = "[DABA] figs 8-12"
    operations = staticmethod(operations)
    slots = 2

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0, 0, 0, 0, 0

    @property
    def pointers(self) -> dict[str, int]:
        """The six pointers by their names in the paper, counted from the front of the window."""
        front, end, left, right, accum, back = self._registers
        named = {"F": front, "L": left, "R": right, "A": accum, "B": back, "E": end}
        return {name: position - front for name, position in named.items()}

    def check_invariants(self) -> None:
        """The size invariants of lemma 4.1 and the aggregate invariants of 4.2."""
        super().check_invariants()
        front, end, left, right, accum, back = self._registers
        assert front <= left <= right <= accum <= back <= end
        if front == end:
            return
        assert right - left == accum - right
        assert (right - left) + (accum - right) + (back - accum) + 1 == (back - front) - (end - back)
        if self._window is None:
            self._check_aggregates(front, end, left, right, accum, back)

    def _check_aggregates(self, front: int, end: int, left: int, right: int, accum: int, back: int) -> None:
        def folded(first: int, last: int) -> Any:
            return reduce(
                self.monoid.combine, (self._queue[2 * p] for p in range(first, last)), self.monoid.identity
            )

        expected = [folded(p, back) for p in range(front, left)]
        expected += [folded(p, right) for p in range(left, right)]
        expected += [folded(right, p + 1) for p in range(right, accum)]
        expected += [folded(p, back) for p in range(accum, back)]
        expected += [folded(back, p + 1) for p in range(back, end)]
        for position, value in zip(range(front, end), expected, strict=True):
            assert agree(self._queue[2 * position + 1], value), (
                position,
                self._queue[2 * position + 1],
                value,
            )
