"""Insertion into a finger B-tree: find the leaf from the nearer finger, put the entry there, split what
overflows.

The search climbs both spines at once until a node of one covers the time, so an entry d places from an
end costs O(log d); an entry at the very end that finds room there costs one combine. Entries of equal
time keep the order in which they came. Splits are amortised O(1). A split node may leave a spine: the
highest node of each spine that has changed is noted on the way up, and the spine is repaired from there
down to its finger. Source: [FiBA] 4.1-4.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.compile.access import Function, cast, load, store
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
    RIGHT,
    RIGHT_FINGER,
    ROOT,
    SIZE,
    SPINE,
    apart,
    shared,
    stride_of,
)
from windrow.swag.finger_tree.nodes import Nodes, node_steps
from windrow.swag.native.drivers import Jit

__all__ = ["Search", "insertion", "search_steps"]


class Search(NamedTuple):
    """Finding the leaf for a time."""

    locate: Function
    descend: Function


@shared
def search_steps(jit: Jit, nodes: Nodes, mu: int) -> Search:
    width = 2 * mu
    stride = stride_of(mu)
    upper = nodes.upper

    @jit
    def descend(tree: Any, node: int, time: Any) -> int:
        """The leaf below a node in which the time belongs, behind its equals."""
        while tree.links[node * stride + CHILD] >= 0:
            node = tree.links[node * stride + CHILD + upper(tree, node, time)]
        return node

    @jit
    def locate(tree: Any, time: Any) -> int:
        """The same for the whole tree, from the fingers: both climb level by level and meet in the root."""
        left, right = tree.marks[LEFT_FINGER], tree.marks[RIGHT_FINGER]
        while left != right:
            if not time < tree.times[right * width]:
                left = right
            elif time < tree.times[left * width + tree.links[left * stride + ENTRIES] - 1]:
                right = left
            else:
                left, right = tree.links[left * stride + PARENT], tree.links[right * stride + PARENT]
        return descend(tree, left, time)

    return Search(locate, descend)


def _splitting(jit: Jit, nodes: Nodes, mu: int) -> Function:
    width = 2 * mu
    stride = stride_of(mu)
    allocate, index_of, put = nodes.allocate, nodes.index_of, nodes.put
    copy_entries, copy_children = nodes.copy_entries, nodes.copy_children

    @jit
    def grow(tree: Any) -> None:
        """A new root above the old one, which keeps both marks until it is split."""
        root = allocate(tree)
        old = tree.marks[ROOT]
        tree.links[root * stride + SPINE] = BOTH
        tree.links[root * stride + CHILD] = old
        tree.links[old * stride + PARENT] = root
        tree.marks[ROOT] = root

    @apart(jit)
    def split(tree: Any, node: int) -> int:
        """Cut a node of 2 * mu entries in two, the middle one going up; the new right part."""
        links = tree.links
        if node == tree.marks[ROOT]:
            grow(tree)
        right = allocate(tree)
        copy_entries(tree, node, mu + 1, right, 0, mu - 1)
        copy_children(tree, node, mu + 1, right, 0, mu)
        links[node * stride + ENTRIES] = mu
        links[right * stride + ENTRIES] = mu - 1
        spine = links[node * stride + SPINE]
        links[node * stride + SPINE] = spine & LEFT
        links[right * stride + SPINE] = spine & RIGHT
        if spine & RIGHT and links[node * stride + CHILD] < 0:
            tree.marks[RIGHT_FINGER] = right
        parent = links[node * stride + PARENT]
        slot = node * width + mu
        place = index_of(tree, parent, node)
        put(tree, parent, place, tree.times[slot], load(tree.partials, slot), tree.nulls[slot], right)
        return right

    return split


@shared
def insertion(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``insert(tree, identity, time, partial, null)``."""
    width = 2 * mu
    stride = stride_of(mu)
    nodes = node_steps(jit, combine, mu)
    locate = search_steps(jit, nodes, mu).locate
    split = _splitting(jit, nodes, mu)
    upper, put, set_entry = nodes.upper, nodes.put, nodes.set_entry
    refresh, repair = nodes.refresh, nodes.repair

    @jit
    def noted(tops: Any, node: int, spine: int) -> Any:
        """The highest changed node of each spine, with this one, which is above the others."""
        left, right, root = tops
        if spine == LEFT:
            left = node
        elif spine == RIGHT:
            right = node
        elif spine == BOTH:
            root = node
        return left, right, root

    @jit
    def settle(tree: Any, identity: Any, node: int) -> None:
        """Split upwards from a leaf with a new entry, then make all aggregates right."""
        links = tree.links
        tops = (-1, -1, -1)  # what has changed on the left spine, on the right one, and the root
        while True:
            right = split(tree, node) if links[node * stride + ENTRIES] == width else -1
            for part in (node, right):
                if part >= 0 and links[part * stride + SPINE] == 0:
                    refresh(tree, identity, part)
                elif part >= 0:
                    tops = noted(tops, part, links[part * stride + SPINE])
            if right < 0 and links[node * stride + SPINE]:
                break
            node = links[node * stride + PARENT]
        for top in tops:
            repair(tree, identity, top)

    @jit
    def insert(tree: Any, identity: Any, time: Any, partial: Any, null: Any) -> None:
        links = tree.links
        last = tree.marks[RIGHT_FINGER]
        entries = links[last * stride + ENTRIES]
        at_end = entries == 0 or not time < tree.times[last * width + entries - 1]
        if at_end and entries < width - 1:
            total = partial
            if entries > 0:
                total = cast(identity, combine(load(tree.aggregates, last), partial))
            set_entry(tree, last, entries, time, partial, null)
            links[last * stride + ENTRIES] = entries + 1
            links[last * stride + COUNT] += 1
            links[last * stride + NULLS] += null
            store(tree.aggregates, last, total)
        else:
            leaf = last if at_end else locate(tree, time)
            put(tree, leaf, upper(tree, leaf, time), time, partial, null, -1)
            settle(tree, identity, leaf)
        tree.marks[SIZE] += 1
        tree.marks[NULL_COUNT] += null

    return insert
