"""B-Int on a count or time window in native code: dyadic intervals in one flat array.

The ring of a :class:`~windrow.swag.fifo.FifoSwag` has 2 * capacity slots here. Interval j of level l lies at
(capacity >> l) + (j modulo capacity >> l), so that a level is one stretch of the array. Source: [RA] 6.
"""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end = registers
        length = mask + 1
        position = end
        width = 1
        interval = partial
        store(ring, length + (position & (length - 1)), interval)
        # the interval that ends here is the right half of another one, which lies in the window, too
        while length > 1 and position & 1 == 1 and (position - 1) * width >= front:
            left = load(ring, length + ((position - 1) & (length - 1)))
            interval = cast(identity, combine(left, interval))
            position >>= 1
            length >>= 1
            width *= 2
            store(ring, length + (position & (length - 1)), interval)
        return front, end + 1

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end = registers
        return front + 1, end

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        low, high = registers
        length = mask + 1
        first = identity
        last = identity
        has_first = False
        has_last = False
        while low < high:
            if low & 1 == 1:
                interval = load(ring, length + (low & (length - 1)))
                first = cast(identity, combine(first, interval)) if has_first else interval
                has_first = True
                low += 1
            if high & 1 == 1:
                high -= 1
                interval = load(ring, length + (high & (length - 1)))
                last = cast(identity, combine(interval, last)) if has_last else interval
                has_last = True
            low >>= 1
            high >>= 1
            length >>= 1
        if has_first and has_last:
            return cast(identity, combine(first, last))
        return first if has_first else last

    return Operations(insert, evict, query)
