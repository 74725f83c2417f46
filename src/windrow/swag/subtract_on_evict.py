"""Subtract on evict: one running total, from which the oldest value is taken away.

Needs an inverse. A plain float sum would drift and keep a NaN for ever, so an aggregate that has a ``group``
form (compensated sums, counted NaN) runs in that form here. An emptied window starts again from the identity.
Cost: 1 combine per insert, 1 inverse per evict. Source: [DABA] fig 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.monoids.base import as_monoid
from windrow.swag.fifo import FifoSwag
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["SubtractOnEvict", "operations"]


def operations(jit: Jit, combine: Function, inverse: Function) -> Operations:
    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end, total = registers
        grown = cast(identity, combine(total, partial))
        store(ring, end & mask, partial)
        return front, end + 1, grown

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, total = registers
        if front + 1 == end:
            total = identity
        else:
            total = cast(identity, inverse(total, load(ring, front & mask)))
        return front + 1, end, total

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        return registers[2]

    @jit
    def empty(front: int, identity: Any) -> Any:
        return front, front, identity

    return Operations(insert, evict, query, empty=empty)


class SubtractOnEvict(FifoSwag):
    """A running total, for aggregates with an inverse; refuses others.

    >>> import windrow as wr
    >>> wr.swag.SubtractOnEvict(wr.sum).roll([1, 2, 3, 4], size=2)
    [1, 3, 5, 7]
    >>> wr.swag.SubtractOnEvict(wr.max)
    Traceback (most recent call last):
    TypeError: max has no inverse, so nothing can be subtracted on evict; use DABALite or TwoStacksLite
    """

    cost = "1 combine per insert, 1 inverse per evict"
    source = "[DABA] fig 2"
    needs_inverse = True

    def __init__(self, monoid: Any) -> None:
        given = as_monoid(monoid)
        if not given.invertible:
            raise TypeError(
                f"{given.name} has no inverse, so nothing can be subtracted on evict; use DABALite or "
                f"TwoStacksLite"
            )
        self._given = given
        if given.group is not None:
            given = given.group.with_rules(given.nulls, given.nan)
        super().__init__(given)

    def insert_partial(self, partial: Any) -> None:
        """Add what several values were combined to, as one value: a partial of the aggregate, or one that
        ``query_partial()`` gives here.

        >>> import windrow as wr
        >>> window = wr.swag.SubtractOnEvict(wr.sum)
        >>> window.insert_partial(7)
        >>> window.insert(1)
        >>> window.query()
        8
        """
        given = self._given
        if given.group is not None and not _has_form_of(self.monoid.identity, partial):
            if given.to_group is None:
                raise TypeError(
                    f"SubtractOnEvict cannot subtract from the partial {partial!r} of {given.name}: pass "
                    f"what query_partial() of another SubtractOnEvict gives, or use DABALite or TwoStacksLite"
                )
            partial = given.to_group(partial)
        super().insert_partial(partial)

    @classmethod
    def _make_operations(cls, jit: Callable[..., Any], functions: Any) -> Operations:
        return operations(jit, functions.combine, functions.inverse)

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0, identity


def _has_form_of(identity: Any, partial: Any) -> bool:
    """Whether a partial has as many members as the identity, and theirs have."""
    if not isinstance(identity, tuple):
        return not isinstance(partial, tuple)
    is_alike = isinstance(partial, tuple) and len(partial) == len(identity)
    return is_alike and all(map(_has_form_of, identity, partial))
