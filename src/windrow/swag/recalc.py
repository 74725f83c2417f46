"""Recalculate from scratch: fold the whole window for each query. The oracle, written from the definition.

Cost: n combines per query. It keeps what was inserted and nothing else, and is never optimised: every other
algorithm is tested against it. Source: [DABA] fig 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.fifo import FifoSwag
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["Recalc", "operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end = registers
        store(ring, end & mask, partial)
        return front, end + 1

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end = registers
        return front + 1, end

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end = registers
        total = identity
        for position in range(front, end):  # [DABA] fig 3, lines 2-5
            total = cast(identity, combine(total, load(ring, position & mask)))
        return total

    return Operations(insert, evict, query)


class Recalc(FifoSwag):
    """Folds the window anew for each query.

    >>> import windrow as wr
    >>> wr.swag.Recalc(wr.max).roll([2, 6, 3, 5], size=2)
    [2, 6, 6, 5]
    """

    cost = "n combines per query"
    source = "[DABA] fig 3"
    operations = staticmethod(operations)

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0

    def evict_while(self, policy: Callable[[Any, Any], bool]) -> int:
        """Evict the longest prefix of the window for which ``policy(total, old)`` holds, ``total`` being the
        partial of the window and ``old`` that of the prefix; prefixes are tried one value at a time. Gives
        their number."""
        total = self._partial()
        old = self.monoid.identity
        front, end = self._registers
        count = 0
        while front + count < end:
            old = self.monoid.combine(old, self._queue[front + count])
            if not policy(total, old):
                break
            count += 1
        self.evict_many(count)
        return count
