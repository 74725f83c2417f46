"""Insertion into a finger B-tree: find the leaf from the nearer finger, put the entry there, split what
overflows.

The search asks the root which side the time is on and climbs the spine of that side until a node covers the
time, so an entry d places from an end costs O(log d); an entry at the very end that finds room there costs
two combines. Entries of equal time keep the order in which they came. Splits are amortised O(1). A node that
overflows at the end of the window keeps all that it can, so that rows in order fill their nodes; any other is
cut in halves. A split node may leave a spine: the highest node of each spine that has changed is noted on the
way up, and what the nodes below it cover is repaired from there down to the finger. Source: [FiBA] 4.1-4.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.compile.access import Function, cast, load, store
from windrow.swag.finger_tree.front import front_steps
from windrow.swag.finger_tree.layout import (
    BOTH,
    CHILD,
    COUNT,
    COVERED,
    ENTRIES,
    LEFT,
    LEFT_FINGER,
    NULL_COUNT,
    NULLS,
    OWN,
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
from windrow.swag.finger_tree.nodes import node_steps, refreshing_steps
from windrow.swag.native.drivers import Jit

__all__ = ["Search", "insertion", "search_steps"]


class Search(NamedTuple):
    """Finding the leaf for a time."""

    locate: Function
    descend: Function


@shared
def search_steps(jit: Jit, mu: int) -> Search:
    width = 2 * mu
    stride = stride_of(mu)
    upper = node_steps(jit, mu).upper

    @jit
    def descend(tree: Any, node: int, time: Any) -> int:
        """The leaf below a node in which the time belongs, behind its equals."""
        while load(tree.links, node * stride + CHILD) >= 0:
            node = load(tree.links, node * stride + CHILD + upper(tree, node, time))
        return node

    @jit
    def last_time(tree: Any, node: int) -> Any:
        return load(tree.times, node * width + load(tree.links, node * stride + ENTRIES) - 1)

    @jit
    def locate(tree: Any, time: Any) -> int:
        """The same for the whole tree, from the finger that is nearer."""
        root = node = tree.marks[ROOT]
        if load(tree.links, root * stride + CHILD) < 0:
            return root
        if not time < last_time(tree, root):
            node = tree.marks[RIGHT_FINGER]
            while node != root and time < load(tree.times, node * width):
                node = load(tree.links, node * stride + PARENT)
        elif time < load(tree.times, root * width):
            node = tree.marks[LEFT_FINGER]
            while node != root and not time < last_time(tree, node):
                node = load(tree.links, node * stride + PARENT)
        return descend(tree, node, time)

    return Search(locate, descend)


def _splitting(jit: Jit, combine: Function, mu: int) -> Function:
    width = 2 * mu
    stride = stride_of(mu)
    nodes = node_steps(jit, mu)
    renew = refreshing_steps(jit, combine, mu).renew
    allocate, index_of, put, recount = nodes.allocate, nodes.index_of, nodes.put, nodes.recount
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

    @jit
    def move_up(tree: Any, node: int, at: int, right: int) -> None:
        """Entry ``at`` of a node goes into its parent, in front of the new right part."""
        parent, slot = tree.links[node * stride + PARENT], node * width + at
        entry = load(tree.times, slot), load(tree.partials, slot), load(tree.nulls, slot)
        put(tree, parent, index_of(tree, parent, node), *entry, right)

    @apart(jit)
    def split(tree: Any, identity: Any, node: int, at: int) -> int:
        """Cut a node of 2 * mu entries in two, entry ``at`` going up; the new right part. Own aggregates
        of both are right then, and what they cover is not."""
        links = tree.links
        if node == tree.marks[ROOT]:
            grow(tree)
        right = allocate(tree)
        copy_entries(tree, node, at + 1, right, 0, width - 1 - at)
        copy_children(tree, node, at + 1, right, 0, width - at)
        links[node * stride + ENTRIES] = at
        links[right * stride + ENTRIES] = width - 1 - at
        spine = links[node * stride + SPINE]
        links[node * stride + SPINE] = spine & LEFT
        links[right * stride + SPINE] = spine & RIGHT
        if spine & RIGHT and links[node * stride + CHILD] < 0:
            tree.marks[RIGHT_FINGER] = right
        move_up(tree, node, at, right)
        for part in (node, right):
            recount(tree, part)
            renew(tree, identity, part)
        return right

    return split


@shared
def insertion(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``insert(tree, identity, time, partial, null)``."""
    width = 2 * mu
    stride = stride_of(mu)
    nodes = node_steps(jit, mu)
    refreshing = refreshing_steps(jit, combine, mu)
    locate = search_steps(jit, mu).locate
    split = _splitting(jit, combine, mu)
    restore = front_steps(jit, combine, mu).restore
    upper, put, set_entry, recount = nodes.upper, nodes.put, nodes.set_entry, nodes.recount
    renew, cover_down = refreshing.renew, refreshing.cover_down

    @jit
    def append(tree: Any, identity: Any, node: int, time: Any, partial: Any, null: Any) -> None:
        """An entry at the end of the right finger, which has room."""
        links, aggregates, head = tree.links, tree.aggregates, node * stride
        entries = load(links, head + ENTRIES)
        own = partial
        if entries > 0:
            own = cast(identity, combine(load(aggregates, 2 * node + OWN), partial))
        set_entry(tree, node, entries, time, partial, null)
        store(links, head + ENTRIES, entries + 1)
        store(links, head + COUNT, load(links, head + COUNT) + 1)
        store(links, head + NULLS, load(links, head + NULLS) + null)
        store(aggregates, 2 * node + OWN, own)
        if node != tree.marks[ROOT]:
            covered = load(aggregates, 2 * node + COVERED)
            store(aggregates, 2 * node + COVERED, cast(identity, combine(covered, partial)))

    @jit
    def climb(tree: Any, identity: Any, node: int, null: Any, was_split: bool) -> int:
        """Make counts and own aggregates right from a node with a new entry up to a spine; the last one."""
        links = tree.links
        while True:
            head = node * stride
            if was_split:
                recount(tree, node)
            else:
                store(links, head + COUNT, load(links, head + COUNT) + 1)
                store(links, head + NULLS, load(links, head + NULLS) + null)
            renew(tree, identity, node)
            if load(links, head + SPINE) != 0:
                return node
            node = load(links, head + PARENT)
            was_split = False

    @jit
    def settle(tree: Any, identity: Any, node: int, null: Any, at_end: bool) -> None:
        """Split upwards from a leaf with a new entry, then make all aggregates right."""
        links = tree.links
        left_top, right_top = -1, -1
        was_split = False
        while load(links, node * stride + ENTRIES) == width:
            spine = load(links, node * stride + SPINE)
            right = split(tree, identity, node, width - 2 if at_end else mu)
            if spine & LEFT:
                left_top = node
            if spine & RIGHT:
                right_top = right
            at_end = spine & RIGHT != 0
            was_split = True
            node = load(links, node * stride + PARENT)
        node = climb(tree, identity, node, null, was_split)
        spine = load(links, node * stride + SPINE)
        if spine == LEFT:
            left_top = node
        if spine == RIGHT:
            right_top = node
        if left_top >= 0:
            restore(tree, identity)
            cover_down(tree, identity, left_top, LEFT)
        cover_down(tree, identity, right_top, RIGHT)

    @jit
    def insert(tree: Any, identity: Any, time: Any, partial: Any, null: Any) -> None:
        last = tree.marks[RIGHT_FINGER]
        entries = load(tree.links, last * stride + ENTRIES)
        at_end = entries == 0 or not time < load(tree.times, last * width + entries - 1)
        if at_end and entries < width - 1:
            append(tree, identity, last, time, partial, null)
        else:
            leaf = last if at_end else locate(tree, time)
            if leaf == tree.marks[LEFT_FINGER]:
                restore(tree, identity)
            put(tree, leaf, upper(tree, leaf, time), time, partial, null, -1)
            settle(tree, identity, leaf, null, at_end)
        tree.marks[SIZE] += 1
        tree.marks[NULL_COUNT] += null

    return insert
