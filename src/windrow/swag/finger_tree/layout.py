"""The layout of a finger B-tree: nodes in flat parallel buffers.

A node is a number. Its entries (time, partial, null) lie in slots ``node * width + i``, its links
(parent, entries, spine, count, nulls, children) in ``node * stride + field``, its two aggregates in
``2 * node + which``. In the plain form the buffers are lists of any objects, in the native form arrays: the
code is the same. Only partials go through ``load`` and ``store``; times and links are single numbers (or, in
the plain form, anything that has an order). Node 0 is not in the tree: its partials are scratch space for
the left finger (:mod:`windrow.swag.finger_tree.front`).

Aggregates are *location-sensitive* ([FiBA] 3.2). A node's *own* aggregate is of its entries and of the
children off the spines; the children on a spine are left out:

    off the spines   up      all entries and all children
    left spine       left    all but the leftmost child
    right spine      right   all but the rightmost child
    root             inner   all but the leftmost and the rightmost child

Below the root, nodes on a spine also have what they *cover*: their own, and on to the middle what the parent
covers; it ends below the root. So the window is what the left finger covers, the root, and what the right
finger covers, and a change near a finger changes nothing far from it. Own aggregates are kept so that a
change high up on a spine costs one combine for each node below it. Counts (of values and of nulls) are of
what the own aggregate is of.

Nodes off the spines have mu to 2 * mu children. Those on a spine may have fewer, two at least, for windows
grow and shrink at their ends: a window that is filled in order has full nodes, and one that is emptied in
order merges a node when it has none left, not when it has few.

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
    "COVERED",
    "ENTRIES",
    "FIRST_NODE",
    "FREE",
    "FRESH",
    "GONE",
    "LEFT",
    "LEFT_FINGER",
    "MARKS",
    "NULLS",
    "NULL_COUNT",
    "OWN",
    "PARENT",
    "RIGHT",
    "RIGHT_FINGER",
    "ROOT",
    "SIZE",
    "SPINE",
    "Tree",
    "apart",
    "capacity_for",
    "room_in",
    "shared",
    "stride_of",
]

_Made = TypeVar("_Made")

#: fields of a node's links
PARENT, ENTRIES, SPINE, COUNT, NULLS, CHILD = range(6)
#: values of the spine field; the root is on both
LEFT, RIGHT, BOTH = 1, 2, 3
#: a node's aggregates
OWN, COVERED = 0, 1
#: the registers of a tree; GONE: how many entries of the left finger are evicted, but still there
ROOT, LEFT_FINGER, RIGHT_FINGER, FREE, FRESH, SIZE, NULL_COUNT, GONE, MARKS = range(9)

#: node 0 is scratch space
FIRST_NODE = 1
_SPARE_NODES = 4


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
    """Links of a node: just before it is split it has 2 * mu + 1 children. A multiple of 8: whole cache
    lines, or half ones."""
    return -(-(CHILD + 2 * mu + 1) // 8) * 8


def capacity_for(size: int, mu: int) -> int:
    """As many nodes as suffice for a window of this size: each off the spines has mu - 1 entries; there are
    two spines, each no longer than if all nodes had two children."""
    nodes = int(size) // (mu - 1) + 1
    return nodes + _SPARE_NODES + 2 * (nodes.bit_length() + 3)


def room_in(capacity: int, mu: int) -> int:
    """The reverse: how large a window may become for which there are so many nodes."""
    return (capacity - _SPARE_NODES - 2 * capacity.bit_length()) * (mu - 1)
