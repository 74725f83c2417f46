"""Two-Stacks Lite: Two-Stacks with one partial per value instead of a value and a partial.

Invariant: positions [front, back) hold suffix sums (position p the sum of p ... back - 1), positions [back,
end) hold single values, and ``back_sum`` is their sum. Evicting from an empty front stack flips: one pass
turns the back into suffix sums. Cost: amortised 3 combines per round, O(n) for the flip. Source: [DABA] fig
1; the single-partial form is of the same authors."""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, at, cast, emit, is_null, load, store
from windrow.swag.fifo import FifoSwag
from windrow.swag.native import sketch_rows
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

    def block(jit: Jit, lifted: Function, lower: Function) -> Function:
        """The next flip is known beforehand where the rows are: the sums from their end backwards are made in
        the loop that makes those from their start, two chains of combines that do not wait for each other.
        The combines are the same, and so is every bit."""

        @jit
        def process(
            ring: Any,
            mask: int,
            identity: Any,
            registers: Any,
            size: int,
            columns: Any,
            nulls: Any,
            places: Any,
            bare: Any,
            out: Any,
            valid: Any,
            first: int,
        ) -> Any:
            front, end, back, _ = registers
            if front == back:
                evict(ring, mask, identity, registers)
            back_sum = identity
            total = lifted(identity, columns, nulls, at(places, first + size - 1))
            store(ring, (end + size - 1) & mask, total)
            for i in range(size - 1):
                place = at(places, first + i)
                back_sum = cast(identity, combine(back_sum, lifted(identity, columns, nulls, place)))
                if not is_null(bare, first + i):
                    found = combine(load(ring, (front + 1 + i) & mask), back_sum)
                    emit(out, valid, place, lower(cast(identity, found)))
                behind = size - 2 - i
                partial = lifted(identity, columns, nulls, at(places, first + behind))
                total = cast(identity, combine(partial, total))
                store(ring, (end + behind) & mask, total)
            place = at(places, first + size - 1)
            back_sum = cast(identity, combine(back_sum, lifted(identity, columns, nulls, place)))
            if not is_null(bare, first + size - 1):
                emit(out, valid, place, lower(back_sum))
            return end, end + size, end + size, identity

        return process

    return Operations(insert, evict, query, None, calm, empty, block)


class TwoStacksLite(FifoSwag):
    """The highest throughput of the FIFO algorithms; now and then an eviction costs O(n).

    >>> import windrow as wr
    >>> wr.swag.TwoStacksLite(wr.max).roll([2, 6, 3, 5], size=2)
    [2, 6, 6, 5]
    """

    cost = "amortised 3 combines per round; a flip costs n"
    source = "[DABA] fig 1, one partial per value"
    operations = staticmethod(operations)
    wide_operations = staticmethod(sketch_rows.two_stacks_lite)
    windows_in_ring = 2
    flips_at = 2

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0, 0, identity

    def check_invariants(self) -> None:
        super().check_invariants()
        front, end, back, _ = self._registers
        assert front <= back <= end
