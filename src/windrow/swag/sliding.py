"""Sliding windows of queries: the algorithm that :func:`~windrow.swag.choose` picks, as engines drive it.

Native drivers keep four registers whatever the algorithm: front, end, a position and a partial of its own. So
an algorithm that is picked for sliding windows needs steps over these four: Two-Stacks Lite has them, and
Subtract on Evict leaves the position alone. Measured natively, the latter is the faster one for what it is
picked for (`count`, `share`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.compile.native import NativeMonoid
from windrow.monoids.base import Monoid
from windrow.swag import subtract_on_evict, two_stacks_lite
from windrow.swag.base import Swag
from windrow.swag.choose import choose
from windrow.swag.native.drivers import Jit, Operations
from windrow.swag.subtract_on_evict import SubtractOnEvict
from windrow.swag.two_stacks_lite import TwoStacksLite

__all__ = ["own_registers", "sliding_steps", "sliding_window"]


def sliding_window(monoid: Monoid) -> Swag:
    """An empty window, for any Python objects."""
    return choose(monoid)(monoid)


def sliding_steps(form: NativeMonoid) -> Operations:
    """The steps for drivers."""
    return _STEPS[choose(form.monoid).algorithm](form)


def own_registers(monoid: Monoid, registers: tuple[Any, ...]) -> tuple[Any, ...]:
    """The four registers of drivers as those of :func:`sliding_window`."""
    front, end, back, total = registers
    return (front, end, total) if choose(monoid).algorithm is SubtractOnEvict else (front, end, back, total)


def _two_stacks_lite(form: NativeMonoid) -> Operations:
    return two_stacks_lite.operations(form.jit, form.combine)


def _subtract_on_evict(form: NativeMonoid) -> Operations:
    return _with_position(form.jit, subtract_on_evict.operations(form.jit, form.combine, form.inverse))


def _with_position(jit: Jit, steps: Operations) -> Operations:
    """Steps over (front, end, partial) as steps over four registers, of which the third is not used."""
    own_insert, own_evict, own_query = steps.insert, steps.evict, steps.query

    @jit
    def insert(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end, back, total = registers
        front, end, total = own_insert(ring, mask, identity, (front, end, total), partial)
        return front, end, back, total

    @jit
    def evict(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, back, total = registers
        front, end, total = own_evict(ring, mask, identity, (front, end, total))
        return front, end, back, total

    @jit
    def query(ring: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end, _, total = registers
        return own_query(ring, mask, identity, (front, end, total))

    return Operations(insert, evict, query)


_STEPS: dict[type[Swag], Callable[[NativeMonoid], Operations]] = {
    TwoStacksLite: _two_stacks_lite,
    SubtractOnEvict: _subtract_on_evict,
}
