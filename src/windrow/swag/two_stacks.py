"""Two-Stacks: a queue made of two stacks, each element a value and the aggregate of what lies below it.

Slot 2p of the ring is the value at position p, slot 2p + 1 its aggregate. Invariant: for p in [front, back)
the aggregate is the sum of p ... back - 1, for p in [back, end) that of back ... p. Evicting from an empty
front stack flips the back stack over. Cost: amortised 3 combines per round, n for a flip. Source: [DABA] fig
1."""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.fifo import FifoSwag
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["TwoStacks", "operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end, back = registers
        below = identity if back == end else load(ring, 2 * ((end - 1) & mask) + 1)
        aggregate = cast(identity, combine(below, partial))  # [DABA] fig 1, line 6
        store(ring, 2 * (end & mask), partial)
        store(ring, 2 * (end & mask) + 1, aggregate)
        return front, end + 1, back

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, back = registers
        if front == back:  # flip: lines 8-11
            position = end
            total = identity
            while position > front:
                position -= 1
                total = cast(identity, combine(load(ring, 2 * (position & mask)), total))
                store(ring, 2 * (position & mask) + 1, total)
            back = end
        return front + 1, end, back

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, back = registers
        of_front = identity if front == back else load(ring, 2 * (front & mask) + 1)
        of_back = identity if back == end else load(ring, 2 * ((end - 1) & mask) + 1)
        return cast(identity, combine(of_front, of_back))

    return Operations(insert, evict, query)


class TwoStacks(FifoSwag):
    """As in its paper: a value and an aggregate an element. TwoStacksLite does the same with half the memory.

    >>> import windrow as wr
    >>> wr.swag.TwoStacks(wr.max).roll([2, 6, 3, 5], size=2)
    [2, 6, 6, 5]
    """

    cost = "amortised 3 combines per round; a flip costs n"
    source = "[DABA] fig 1"
    operations = staticmethod(operations)
    slots = 2
    flips_at = 2

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0, 0

    def check_invariants(self) -> None:
        super().check_invariants()
        front, end, back = self._registers
        assert front <= back <= end
