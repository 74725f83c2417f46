"""Eviction from a finger B-tree: cut off everything in front of a boundary, in one step of O(log m) for m
values.

Climb the left spine until a node covers the boundary (a time, or a number of values), then descend along
it: at each level what lies in front goes away, whole subtrees at O(1) each. The nodes along the cut are
the new left spine; each may be too thin, down to a single child. They are *fattened* from the top down
with their right sibling, merged with it or given half of what both have, to one child more than they
need: so the next level may take one away by merging. Above the cut, merges go on upwards as in any
B-tree, amortised O(1).

Each fattening changes the parent's separator, and the sibling may be on the right spine (below a root of
two children): both must be repaired, not only the nodes that were cut. Source: [FiBA] 4.4, [FiBA-bulk] 4.
"""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, load
from windrow.swag.finger_tree.front import front_steps
from windrow.swag.finger_tree.layout import (
    BOTH,
    CHILD,
    COUNT,
    ENTRIES,
    LEFT,
    LEFT_FINGER,
    NULL_COUNT,
    NULLS,
    PARENT,
    RIGHT_FINGER,
    ROOT,
    SIZE,
    SPINE,
    apart,
    shared,
    stride_of,
)
from windrow.swag.finger_tree.nodes import node_steps, refreshing_steps
from windrow.swag.native.drivers import Jit

__all__ = ["eviction"]


def _cutting(jit: Jit, mu: int) -> tuple[Function, Function, Function]:
    """The steps ``takes_all``, ``climb`` and ``cut``. A boundary is (limit, inclusive, rank): the first
    ``rank`` values, or if that is negative all values before the limit, ``inclusive`` with those at it."""
    width = 2 * mu
    stride = stride_of(mu)
    nodes = node_steps(jit, mu)
    release, copy_entries, copy_children = nodes.release, nodes.copy_entries, nodes.copy_children

    @jit
    def beyond(tree: Any, slot: int, limit: Any, inclusive: bool) -> bool:
        """Whether an entry stays."""
        if inclusive:
            return limit < tree.times[slot]
        return not tree.times[slot] < limit

    @jit
    def takes_all(tree: Any, limit: Any, inclusive: bool, rank: int) -> bool:
        if rank >= 0:
            return rank >= tree.marks[SIZE]
        last = tree.marks[RIGHT_FINGER]
        return not beyond(tree, last * width + tree.links[last * stride + ENTRIES] - 1, limit, inclusive)

    @jit
    def climb(tree: Any, limit: Any, inclusive: bool, rank: int) -> int:
        """The lowest node of the left spine that covers the boundary, or the root."""
        node = tree.marks[LEFT_FINGER]
        below = 0
        while tree.links[node * stride + SPINE] != BOTH:
            below += tree.links[node * stride + COUNT]
            last = node * width + tree.links[node * stride + ENTRIES] - 1
            covers = rank <= below
            if rank < 0:
                covers = beyond(tree, last, limit, inclusive)
            if covers:
                break
            node = tree.links[node * stride + PARENT]
        return node

    @jit
    def weigh(tree: Any, node: int) -> Any:
        """Values and nulls in a subtree off the right spine."""
        count, nulls = tree.links[node * stride + COUNT], tree.links[node * stride + NULLS]
        while tree.links[node * stride + SPINE] and tree.links[node * stride + CHILD] >= 0:
            node = tree.links[node * stride + CHILD]
            count += tree.links[node * stride + COUNT]
            nulls += tree.links[node * stride + NULLS]
        return count, nulls

    @jit
    def drop(tree: Any, node: int, limit: Any, inclusive: bool, rank: int) -> Any:
        """How many entries of this node go, and what is left of the rank for the child behind them. Frees the
        children in front."""
        links = tree.links
        entries, inner = links[node * stride + ENTRIES], links[node * stride + CHILD] >= 0
        i = 0
        while i < entries:
            count, nulls = 0, 0
            if rank < 0:
                if beyond(tree, node * width + i, limit, inclusive):
                    break
                if inner:
                    count, nulls = weigh(tree, links[node * stride + CHILD + i])
            else:
                if inner:
                    count, nulls = weigh(tree, links[node * stride + CHILD + i])
                if rank <= count:
                    break
                rank -= count + 1
            if inner:
                release(tree, links[node * stride + CHILD + i])
            tree.marks[SIZE] -= count + 1
            tree.marks[NULL_COUNT] -= nulls + tree.nulls[node * width + i]
            i += 1
        return i, rank

    @jit
    def cut(tree: Any, node: int, limit: Any, inclusive: bool, rank: int) -> None:
        """Remove what is in front of the boundary from this node and from those below it along the cut."""
        links = tree.links
        while True:
            gone, rank = drop(tree, node, limit, inclusive, rank)
            entries = links[node * stride + ENTRIES] - gone
            if gone > 0:
                copy_entries(tree, node, gone, node, 0, entries)
                copy_children(tree, node, gone, node, 0, entries + 1)
                links[node * stride + ENTRIES] = entries
            links[node * stride + SPINE] |= LEFT
            if links[node * stride + CHILD] < 0:
                break
            node = links[node * stride + CHILD]
        tree.marks[LEFT_FINGER] = node

    return takes_all, climb, cut


def _fattening(jit: Jit, combine: Function, mu: int) -> tuple[Function, Function]:
    """The steps ``collapse`` and ``fatten``."""
    width = 2 * mu
    stride = stride_of(mu)
    nodes, refresh = node_steps(jit, mu), refreshing_steps(jit, combine, mu).refresh
    discard, set_entry = nodes.discard, nodes.set_entry
    copy_entries, copy_children = nodes.copy_entries, nodes.copy_children

    @jit
    def collapse(tree: Any) -> None:
        """Drop roots that have a single child."""
        links = tree.links
        root = tree.marks[ROOT]
        while links[root * stride + ENTRIES] == 0 and links[root * stride + CHILD] >= 0:
            child = links[root * stride + CHILD]
            discard(tree, root)
            root = child
            links[root * stride + PARENT] = -1
            links[root * stride + SPINE] = BOTH
            tree.marks[ROOT] = root

    @apart(jit)
    def take(tree: Any, node: int, sibling: int, count: int) -> None:
        """Move ``count`` children (entries of a leaf) from the right sibling, by way of the separator."""
        links = tree.links
        parent = links[node * stride + PARENT]
        entries, others = links[node * stride + ENTRIES], links[sibling * stride + ENTRIES]
        copy_entries(tree, parent, 0, node, entries, 1)
        copy_entries(tree, sibling, 0, node, entries + 1, count - 1)
        copy_children(tree, sibling, 0, node, entries + 1, count)
        links[node * stride + ENTRIES] = entries + count
        if count <= others:
            slot = sibling * width + count - 1
            set_entry(tree, parent, 0, tree.times[slot], load(tree.partials, slot), tree.nulls[slot])
            copy_entries(tree, sibling, count, sibling, 0, others - count)
            copy_children(tree, sibling, count, sibling, 0, others - count + 1)
            links[sibling * stride + ENTRIES] = others - count

    @jit
    def merge(tree: Any, node: int, sibling: int) -> None:
        links = tree.links
        parent = links[node * stride + PARENT]
        take(tree, node, sibling, links[sibling * stride + ENTRIES] + 1)
        rest = links[parent * stride + ENTRIES] - 1
        copy_entries(tree, parent, 1, parent, 0, rest)
        copy_children(tree, parent, 2, parent, 1, rest)
        links[parent * stride + ENTRIES] = rest
        links[node * stride + SPINE] |= links[sibling * stride + SPINE]
        if tree.marks[RIGHT_FINGER] == sibling:
            tree.marks[RIGHT_FINGER] = node
        discard(tree, sibling)

    @apart(jit)
    def fatten(tree: Any, identity: Any, node: int) -> bool:
        """Merge a node of the left spine with its right sibling or share; whether the right spine changed."""
        links = tree.links
        sibling = links[links[node * stride + PARENT] * stride + CHILD + 1]
        on_spine = links[sibling * stride + SPINE] != 0
        arity, other = links[node * stride + ENTRIES] + 1, links[sibling * stride + ENTRIES] + 1
        if arity + other <= width:
            merge(tree, node, sibling)
        else:
            take(tree, node, sibling, (arity + other + 1) // 2 - arity)
            if not on_spine:
                refresh(tree, identity, sibling)
        return on_spine

    return collapse, fatten


@shared
def eviction(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``evict(tree, identity, limit, inclusive, rank)``; see :func:`_cutting` for the boundary."""
    stride = stride_of(mu)
    clear = node_steps(jit, mu).clear
    refreshing = refreshing_steps(jit, combine, mu)
    restore = front_steps(jit, combine, mu).restore
    takes_all, climb, cut = _cutting(jit, mu)
    collapse, fatten = _fattening(jit, combine, mu)
    refresh, repair = refreshing.refresh, refreshing.repair

    @jit
    def thin(tree: Any, node: int, spare: int) -> bool:
        """Whether a node below the root has fewer children than it must, plus some to spare."""
        return node != tree.marks[ROOT] and tree.links[node * stride + ENTRIES] + 1 < 2 + spare

    @jit
    def fatten_up(tree: Any, identity: Any, node: int, spare: int) -> Any:
        """From the top of the cut upwards; the highest node changed, and whether the right spine is."""
        crossed = False
        while thin(tree, node, spare):
            crossed = fatten(tree, identity, node) or crossed
            node = tree.links[node * stride + PARENT]
            spare = 0
        return node, crossed

    @jit
    def fatten_down(tree: Any, identity: Any, node: int) -> bool:
        """The nodes of the cut below this one; whether the right spine has changed."""
        links = tree.links
        crossed = False
        while links[node * stride + CHILD] >= 0:
            node = links[node * stride + CHILD]
            if thin(tree, node, 1 if links[node * stride + CHILD] >= 0 else 0):
                crossed = fatten(tree, identity, node) or crossed
                collapse(tree)
        return crossed

    @jit
    def evict(tree: Any, identity: Any, limit: Any, inclusive: bool, rank: int) -> None:
        links = tree.links
        if tree.marks[SIZE] == 0 or takes_all(tree, limit, inclusive, rank):
            clear(tree)
            return
        restore(tree, identity)
        before = tree.marks[ROOT]
        top = climb(tree, limit, inclusive, rank)
        cut(tree, top, limit, inclusive, rank)
        collapse(tree)
        if top == before:
            top = tree.marks[ROOT]
        spare = 1 if links[top * stride + CHILD] >= 0 else 0
        highest, crossed = fatten_up(tree, identity, top, spare)
        collapse(tree)
        crossed = fatten_down(tree, identity, top) or crossed
        root = tree.marks[ROOT]
        left_top, right_top = highest, -1
        if root != before or links[highest * stride + SPINE] != LEFT:
            refresh(tree, identity, root)
            left_top = links[root * stride + CHILD]
            if left_top >= 0 and (crossed or root != before):
                right_top = links[root * stride + CHILD + links[root * stride + ENTRIES]]
        for top in (left_top, right_top):
            repair(tree, identity, top)

    return evict
