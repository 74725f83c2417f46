"""Queries of a finger B-tree: the whole window from the two fingers and the root, a range of times from two
paths.

The whole window takes two combines ([FiBA] 3.2). A range goes down from the root to the node in which its
two ends part; left of the middle it needs suffixes, right of it prefixes of the nodes on the two paths.
None of the children between is on a spine, so their aggregates are whole: O(log n) combines. Source:
[FiBA] 4.5.
"""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, cast, load
from windrow.swag.finger_tree.layout import (
    CHILD,
    COUNT,
    COVERED,
    ENTRIES,
    LEFT_FINGER,
    NULLS,
    OWN,
    RIGHT_FINGER,
    ROOT,
    SIZE,
    shared,
    stride_of,
)
from windrow.swag.native.drivers import Jit

__all__ = ["query", "range_query"]


@shared
def query(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``query(tree, identity)``: the partial of the window."""

    @jit
    def whole(tree: Any, identity: Any) -> Any:
        root, left, right = tree.marks[ROOT], tree.marks[LEFT_FINGER], tree.marks[RIGHT_FINGER]
        if tree.marks[SIZE] == 0:
            return identity
        total = load(tree.aggregates, 2 * root + OWN)
        if left == right:
            return total
        total = cast(identity, combine(load(tree.aggregates, 2 * left + COVERED), total))
        return cast(identity, combine(total, load(tree.aggregates, 2 * right + COVERED)))

    return whole


def _gathering(jit: Jit, combine: Function, mu: int) -> Function:
    width = 2 * mu
    stride = stride_of(mu)

    @jit
    def gather(tree: Any, identity: Any, node: int, low: int, high: int, lead: bool, tail: bool) -> Any:
        """(partial, values, nulls) of entries ``low`` up to ``high`` and of the children between them; with
        ``lead`` and ``tail`` of the child in front of and behind them too."""
        links = tree.links
        head, slot = node * stride, node * width
        total, count, nulls = identity, 0, 0
        for i in range(low, high + 1):
            inside = lead if i == low else (tail if i == high else True)
            if low < high and inside and links[head + CHILD] >= 0:
                child = links[head + CHILD + i]
                total = cast(identity, combine(total, load(tree.aggregates, 2 * child + OWN)))
                count += links[child * stride + COUNT]
                nulls += links[child * stride + NULLS]
            if i < high:
                total = cast(identity, combine(total, load(tree.partials, slot + i)))
                count += 1
                nulls += tree.nulls[slot + i]
        return total, count, nulls

    return gather


def range_query(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``range_query(tree, identity, low, high)``: (partial, values, nulls) for [low, high)."""
    width = 2 * mu
    stride = stride_of(mu)
    gather = _gathering(jit, combine, mu)

    @jit
    def earlier(tree: Any, node: int, time: Any) -> int:
        """How many entries of a node are before the time."""
        count = tree.links[node * stride + ENTRIES]
        i = 0
        while i < count and tree.times[node * width + i] < time:
            i += 1
        return i

    @jit
    def child_of(tree: Any, node: int, i: int) -> int:
        """A child, or -1 below a leaf."""
        return tree.links[node * stride + CHILD + i] if tree.links[node * stride + CHILD] >= 0 else -1

    @jit
    def add_suffix(tree: Any, identity: Any, found: Any, node: int, low: Any) -> Any:
        """What is below a node from ``low`` on, in front of what was found: the lower, the earlier."""
        total, count, nulls = found
        while node >= 0:
            i = earlier(tree, node, low)
            part, more, missing = gather(
                tree, identity, node, i, tree.links[node * stride + ENTRIES], False, True
            )
            total = cast(identity, combine(part, total))
            count, nulls = count + more, nulls + missing
            node = child_of(tree, node, i)
        return total, count, nulls

    @jit
    def add_prefix(tree: Any, identity: Any, found: Any, node: int, high: Any) -> Any:
        """What is below a node before ``high``, behind what was found."""
        total, count, nulls = found
        while node >= 0:
            i = earlier(tree, node, high)
            part, more, missing = gather(tree, identity, node, 0, i, True, False)
            total = cast(identity, combine(total, part))
            count, nulls = count + more, nulls + missing
            node = child_of(tree, node, i)
        return total, count, nulls

    @jit
    def between(tree: Any, identity: Any, low: Any, high: Any) -> Any:
        node = tree.marks[ROOT]
        i, j = earlier(tree, node, low), earlier(tree, node, high)
        while i == j and tree.links[node * stride + CHILD] >= 0:
            node = tree.links[node * stride + CHILD + i]
            i, j = earlier(tree, node, low), earlier(tree, node, high)
        found = gather(tree, identity, node, i, j, False, False)
        if i < j:
            found = add_suffix(tree, identity, found, child_of(tree, node, i), low)
            found = add_prefix(tree, identity, found, child_of(tree, node, j), high)
        return found

    return between
