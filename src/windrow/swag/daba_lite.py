"""DABA Lite: DABA with one partial per value and two running sums.

Invariant: front <= left <= right <= accum <= back <= end. Positions hold

    [front, left)  sums up to back - 1        [left, right)  sums up to right - 1
    [right, accum) single values              [accum, back)  sums up to back - 1        [back, end)  single
    values

``mid_sum`` is the sum of [right, back) while [left, right) is not empty, ``back_sum`` that of [back, end).
The sizes obey [DABA] lemma 4.1: |left, right| = |right, accum| and left + right + accum + 1 = front - back,
or the window is empty. Cost: at most 3 combines per insert, 2 per evict, 1 per query, in the worst case.
Source: [DABA] figs 8-12, with the caching the paper refers to in 4.4."""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.fifo import FifoSwag
from windrow.swag.native import sketch_rows
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["DABALite", "operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def step(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, left, right, accum, back, mid_sum, back_sum = registers
        if left == back:  # flip: [DABA] fig 10, lines 13-14
            left = front
            accum = back = end
            mid_sum = back_sum
            back_sum = identity
        if left == right:  # shift: lines 15-16
            right += 1
            accum += 1
        else:  # shrink: lines 17-21; sums before writes, so that a combine that raises changes nothing
            accum -= 1
            of_accum = load(ring, accum & mask)
            if accum + 1 != back:
                of_accum = cast(identity, combine(of_accum, load(ring, (accum + 1) & mask)))
            of_left = cast(identity, combine(load(ring, left & mask), mid_sum))
            store(ring, left & mask, of_left)
            store(ring, accum & mask, of_accum)
        return front, end, left + 1, right, accum, back, mid_sum, back_sum

    @jit
    def fixup(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, back = registers[0], registers[1], registers[5]
        if front == back:  # singleton, or empty: lines 10-11
            return front, end, end, end, end, end, identity, identity
        return step(ring, mask, identity, registers)

    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end, left, right, accum, back, mid_sum, back_sum = registers
        grown = cast(identity, combine(back_sum, partial))
        store(ring, end & mask, partial)
        return fixup(ring, mask, identity, (front, end + 1, left, right, accum, back, mid_sum, grown))

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, left, right, accum, back, mid_sum, back_sum = registers
        return fixup(ring, mask, identity, (front + 1, end, left, right, accum, back, mid_sum, back_sum))

    @jit
    def slide(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        """With two values or more neither half can leave the front list empty."""
        front, end, left, right, accum, back, mid_sum, back_sum = registers
        registers = step(ring, mask, identity, (front + 1, end, left, right, accum, back, mid_sum, back_sum))
        front, end, left, right, accum, back, mid_sum, back_sum = registers
        grown = cast(identity, combine(back_sum, partial))
        store(ring, end & mask, partial)
        return step(ring, mask, identity, (front, end + 1, left, right, accum, back, mid_sum, grown))

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        """Of a window that is not empty: its oldest value is in the front list, by the size invariants."""
        front, back_sum = registers[0], registers[7]
        return cast(identity, combine(load(ring, front & mask), back_sum))

    return Operations(insert, evict, query, slide)


class DABALite(FifoSwag):
    """Constant time in the worst case: no operation is ever slow. The default where latency counts.

    >>> import windrow as wr
    >>> wr.swag.DABALite(wr.max).roll([2, 6, 3, 5], size=2)
    [2, 6, 6, 5]
    """

    cost = "at most 3 combines per insert, 2 per evict, 1 per query"
    source = "[DABA] figs 8-12, one partial per value"
    operations = staticmethod(operations)
    wide_operations = staticmethod(sketch_rows.daba_lite)

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0, 0, 0, 0, 0, identity, identity

    def _partial(self) -> Any:
        return super()._partial() if self._size else self._identity

    def check_invariants(self) -> None:
        super().check_invariants()
        front, end, left, right, accum, back, _, _ = self._registers
        assert front <= left <= right <= accum <= back <= end
        if end > front:
            assert right - left == accum - right
            assert (right - left) + (accum - right) + (back - accum) + 1 == (back - front) - (end - back)
