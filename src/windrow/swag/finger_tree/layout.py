"""The layout of a finger B-tree: nodes in flat parallel buffers.

A node is a number. Its entries (time, partial, null) lie in slots ``node * width + i``, its links
(parent, entries, spine, count, nulls, children) in ``node * stride + field``. In the plain form the
buffers are lists of any objects, in the native form arrays: the code is the same. Only partials go
through ``load`` and ``store``; times and links are single numbers (or, in the plain form, anything that
has an order) and are indexed.

Aggregates are *location-sensitive* ([FiBA] 3.2). What a node's own aggregate covers depends on its spine:

    off the spines   up      all entries and all children
    left spine       left    all but the leftmost child, and on to the right what the parent covers
    right spine      right   what the parent covers, and all but the rightmost child
    root             inner   all but the leftmost and the rightmost child

("what the parent covers" ends below the root). So the window is the aggregate of the left finger, of the
root and of the right finger, and a change near a finger changes nothing far from it. Counts (of values
and of nulls) cover the entries and the children off the spines, wherever the node is.

Freed nodes form a list of whole subtrees; a subtree is taken apart when its root is used again, so that
to free one costs O(1) ([FiBA-bulk] 4.3).

Sources: [FiBA] Tangwongsan, Hirzel, Schneider, "Optimal and General Out-of-Order Sliding-Window
Aggregation", VLDB 2019;
[FiBA-bulk] the same, "Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and
Insertions", VLDB 2023.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from windrow.swag.native.drivers import Jit

__all__ = [
    "BOTH",
    "CHILD",
    "COUNT",
    "ENTRIES",
    "FREE",
    "FRESH",
    "LEFT",
    "LEFT_FINGER",
    "MARKS",
    "NULLS",
    "NULL_COUNT",
    "PARENT",
    "RIGHT",
    "RIGHT_FINGER",
    "ROOT",
    "SIZE",
    "SPARE_NODES",
    "SPINE",
    "Tree",
    "apart",
    "capacity_for",
    "shared",
    "stride_of",
]

_Made = TypeVar("_Made")

#: fields of a node's links
PARENT, ENTRIES, SPINE, COUNT, NULLS, CHILD = range(6)
#: values of the spine field; the root is on both
LEFT, RIGHT, BOTH = 1, 2, 3
#: the registers of a tree
ROOT, LEFT_FINGER, RIGHT_FINGER, FREE, FRESH, SIZE, NULL_COUNT, MARKS = range(8)

#: nodes beside those full to the least
SPARE_NODES = 4


class Tree(NamedTuple):
    """All nodes, and the registers: root, fingers, free nodes, sizes."""

    links: Any
    times: Any
    partials: Any
    nulls: Any
    aggregates: Any
    marks: Any


def apart(jit: Jit) -> Jit:
    """The compiler for steps that are large and rare: to call them, where it can, and not inline them."""
    return getattr(jit, "apart", jit)


def shared(factory: Callable[..., _Made]) -> Callable[..., _Made]:
    """A factory that makes its steps once for each compiler that keeps a memo, so that kernels share them."""

    @functools.wraps(factory)
    def made(jit: Jit, *parameters: Any) -> _Made:
        memo: dict[Any, Any] | None = getattr(jit, "memo", None)
        if memo is None:
            return factory(jit, *parameters)
        key = (factory, *parameters)
        if key not in memo:
            memo[key] = factory(jit, *parameters)
        return memo[key]

    return made


def stride_of(mu: int) -> int:
    """Links of a node: just before it is split it has 2 * mu + 1 children."""
    return CHILD + 2 * mu + 1


def capacity_for(size: int, mu: int) -> int:
    """As many nodes as suffice for a window of this size: each but the root has mu - 1 entries."""
    return size // (mu - 1) + SPARE_NODES
