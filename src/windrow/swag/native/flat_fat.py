"""FlatFAT on a count or time window in native code: paths up a flat tree of partials.

The ring of a :class:`~windrow.swag.fifo.FifoSwag` is the tree here: 2 * capacity nodes, leaf of position p at
capacity + (p & mask), free leaves hold the identity. Source: [RA] algorithms 2 and 3.
"""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, cast, load, store
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["build_tree", "operations"]


def operations(jit: Jit, combine: Function) -> Operations:
    @jit
    def renew(tree: Any, identity: Any, node: int) -> None:
        both = combine(load(tree, 2 * node), load(tree, 2 * node + 1))
        store(tree, node, cast(identity, both))

    @jit
    def change(tree: Any, mask: int, identity: Any, position: int, partial: Any) -> None:
        node = mask + 1 + (position & mask)
        store(tree, node, partial)
        node >>= 1
        while node >= 1:
            renew(tree, identity, node)
            node >>= 1

    @jit
    def insert(tree: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        front, end = registers
        change(tree, mask, identity, end, partial)
        return front, end + 1

    @jit
    def evict(tree: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end = registers
        change(tree, mask, identity, front, identity)
        return front + 1, end

    @jit
    def slide(tree: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        """One update of two leaves: their paths are walked together from where they meet."""
        front, end = registers
        old = mask + 1 + (front & mask)
        new = mask + 1 + (end & mask)
        store(tree, old, identity)
        store(tree, new, partial)
        old >>= 1
        new >>= 1
        while old != new:
            renew(tree, identity, old)
            renew(tree, identity, new)
            old >>= 1
            new >>= 1
        while new >= 1:
            renew(tree, identity, new)
            new >>= 1
        return front + 1, end + 1

    @jit
    def query(tree: Any, mask: int, identity: Any, registers: Any) -> Any:
        front, end = registers
        low = front & mask
        high = (end - 1) & mask
        if front == end:
            return identity
        if low <= high:
            return load(tree, 1)
        node = mask + 1 + low
        suffix = load(tree, node)
        while node > 1:
            if node & 1 == 0:
                suffix = cast(identity, combine(suffix, load(tree, node + 1)))
            node >>= 1
        node = mask + 1 + high
        prefix = load(tree, node)
        while node > 1:
            if node & 1 == 1:
                prefix = cast(identity, combine(load(tree, node - 1), prefix))
            node >>= 1
        return cast(identity, combine(suffix, prefix))

    return Operations(insert, evict, query, slide)


def _builder(jit: Jit, combine: Function) -> Function:
    @jit
    def fill(tree: Any, identity: Any, capacity: int) -> None:
        node = capacity - 1
        while node >= 1:
            store(tree, node, cast(identity, combine(load(tree, 2 * node), load(tree, 2 * node + 1))))
            node -= 1

    return fill


def build_tree(tree: Any, capacity: Any, form: Any) -> None:
    """Compute all inner nodes from the leaves. [RA] algorithm 1."""
    from windrow.compile.native import build

    arguments = (tree, form.identity, capacity)
    if _builder not in form.kernels:
        form.kernels[_builder] = build(_builder, form.jit, form.combine, arguments=arguments)
    fill = form.kernels[_builder]
    assert fill is not None
    fill(*arguments)
