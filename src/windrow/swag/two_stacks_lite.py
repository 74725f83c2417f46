"""Two-Stacks Lite: Two-Stacks with one partial per value instead of a value and a partial.

Invariant: positions [front, back) hold suffix sums (position p the sum of p ... back - 1), positions [back,
end) hold single values, and ``back_sum`` is their sum. Evicting from an empty front stack flips: one pass
turns the back into suffix sums. Cost: amortised 3 combines per round, O(n) for the flip. Source: [DABA] fig
1; the single-partial form is of the same authors."""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.fifo import FifoSwag
from windrow.swag.native import wide
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["TwoStacksLite", "operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end, back, back_sum = registers
        grown = cast(identity, combine(back_sum, partial))
        store(ring, end & mask, partial)
        return front, end + 1, back, grown

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, back, back_sum = registers
        if front == back:  # flip: [DABA] fig 1, lines 8-11
            position = end - 1
            total = load(ring, position & mask)
            while position > front:
                position -= 1
                total = cast(identity, combine(load(ring, position & mask), total))
                store(ring, position & mask, total)
            back = end
            back_sum = identity
        return front + 1, end, back, back_sum

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, _, back, back_sum = registers
        if front == back:
            return back_sum
        return cast(identity, combine(load(ring, front & mask), back_sum))

    @jit
    def calm(registers: Any) -> int:
        """Until the front stack is empty, evicting only moves the front."""
        front, _, back, _ = registers
        return back - front

    @jit
    def empty(front: int, identity: Any) -> Any:
        return front, front, front, identity

    return Operations(insert, evict, query, None, calm, empty)


class TwoStacksLite(FifoSwag):
    """The highest throughput of the FIFO algorithms; now and then an eviction costs O(n).

    >>> import windrow as wr
    >>> wr.swag.TwoStacksLite(wr.max).roll([2, 6, 3, 5], size=2)
    [2, 6, 6, 5]
    """

    cost = "amortised 3 combines per round; a flip costs n"
    source = "[DABA] fig 1, one partial per value"
    operations = staticmethod(operations)
    wide_operations = staticmethod(wide.two_stacks_lite)

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0, 0, identity

    def check_invariants(self) -> None:
        super().check_invariants()
        front, end, back, _ = self._registers
        assert front <= back <= end
