"""Steps on single nodes of a finger B-tree: take and free them, move their entries, renew their aggregates.

``fold`` and ``cover`` are where the rules of :mod:`windrow.swag.finger_tree.layout` are: what an aggregate is
of follows from the spine that the node is on. A node's own aggregate depends on its children and is renewed
from the bottom up; what it covers depends on its parent, so a spine is repaired from the top down."""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.compile.access import Function, cast, load, store
from windrow.swag.finger_tree.layout import (
    BOTH,
    CHILD,
    COUNT,
    COVERED,
    ENTRIES,
    FIRST_NODE,
    FREE,
    FRESH,
    GONE,
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
    shared,
    stride_of,
)
from windrow.swag.native.drivers import Jit

__all__ = ["Nodes", "Refreshing", "node_steps", "refreshing_steps"]


class Nodes(NamedTuple):
    """Steps on single nodes that combine nothing; each takes the tree first."""

    clear: Function
    allocate: Function
    release: Function
    discard: Function
    index_of: Function
    upper: Function
    put: Function
    set_entry: Function
    copy_entries: Function
    copy_children: Function
    recount: Function


class Refreshing(NamedTuple):
    """Steps that make aggregates right; each takes the tree and the identity first."""

    renew: Function
    refresh: Function
    repair: Function
    cover_down: Function


@shared
def node_steps(jit: Jit, mu: int) -> Nodes:
    width = 2 * mu
    stride = stride_of(mu)

    @jit
    def clear(tree: Any) -> None:
        """Make the tree empty: the first node is the root, a leaf."""
        links, marks, head = tree.links, tree.marks, FIRST_NODE * stride
        marks[ROOT] = marks[LEFT_FINGER] = marks[RIGHT_FINGER] = FIRST_NODE
        marks[FREE] = -1
        marks[FRESH] = FIRST_NODE + 1
        marks[SIZE] = marks[NULL_COUNT] = marks[GONE] = 0
        links[head + PARENT] = links[head + CHILD] = -1
        links[head + ENTRIES] = links[head + COUNT] = links[head + NULLS] = 0
        links[head + SPINE] = BOTH

    @jit
    def release(tree: Any, node: int) -> None:
        """Free a whole subtree."""
        tree.links[node * stride + PARENT] = tree.marks[FREE]
        tree.marks[FREE] = node

    @jit
    def discard(tree: Any, node: int) -> None:
        """Free one node whose children live on elsewhere."""
        tree.links[node * stride + CHILD] = -1
        release(tree, node)

    @jit
    def allocate(tree: Any) -> int:
        """A leaf without entries, off the spines."""
        links = tree.links
        node = tree.marks[FREE]
        if node < 0:
            node = tree.marks[FRESH]
            tree.marks[FRESH] = node + 1
        else:
            tree.marks[FREE] = links[node * stride + PARENT]
            if links[node * stride + CHILD] >= 0:
                for i in range(links[node * stride + ENTRIES] + 1):
                    release(tree, links[node * stride + CHILD + i])
        head = node * stride
        links[head + PARENT] = -1
        links[head + CHILD] = -1
        links[head + ENTRIES] = 0
        links[head + SPINE] = 0
        return node

    @jit
    def index_of(tree: Any, parent: int, node: int) -> int:
        """Which child of its parent a node is."""
        i = 0
        while tree.links[parent * stride + CHILD + i] != node:
            i += 1
        return i

    @jit
    def upper(tree: Any, node: int, time: Any) -> int:
        """How many entries of the node are not later than the time."""
        count = load(tree.links, node * stride + ENTRIES)
        i = 0
        while i < count and not time < load(tree.times, node * width + i):
            i += 1
        return i

    @jit
    def set_entry(tree: Any, node: int, i: int, time: Any, partial: Any, null: Any) -> None:
        store(tree.times, node * width + i, time)
        store(tree.partials, node * width + i, partial)
        store(tree.nulls, node * width + i, null)

    @jit
    def copy_entries(tree: Any, source: int, i: int, target: int, j: int, count: int) -> None:
        """Entries i ... of a node to places j ... of another, or further to the front in the same."""
        times, partials, nulls = tree.times, tree.partials, tree.nulls
        old, new = source * width + i, target * width + j
        for k in range(count):
            store(times, new + k, load(times, old + k))
            store(partials, new + k, load(partials, old + k))
            store(nulls, new + k, load(nulls, old + k))

    @jit
    def copy_children(tree: Any, source: int, i: int, target: int, j: int, count: int) -> None:
        """The same for children; nothing for a leaf."""
        links = tree.links
        if links[source * stride + CHILD] >= 0:
            for k in range(count):
                child = links[source * stride + CHILD + i + k]
                links[target * stride + CHILD + j + k] = child
                links[child * stride + PARENT] = target

    @jit
    def put(tree: Any, node: int, i: int, time: Any, partial: Any, null: Any, child: int) -> None:
        """A new entry in front of entry i, and in an inner node its right child behind it."""
        links = tree.links
        count = load(links, node * stride + ENTRIES)
        times, partials, nulls = tree.times, tree.partials, tree.nulls
        for slot in range(node * width + count, node * width + i, -1):
            store(times, slot, load(times, slot - 1))
            store(partials, slot, load(partials, slot - 1))
            store(nulls, slot, load(nulls, slot - 1))
        set_entry(tree, node, i, time, partial, null)
        store(links, node * stride + ENTRIES, count + 1)
        if child >= 0:
            for k in range(count + 1, i + 1, -1):
                store(links, node * stride + CHILD + k, load(links, node * stride + CHILD + k - 1))
            store(links, node * stride + CHILD + i + 1, child)
            store(links, child * stride + PARENT, node)

    @jit
    def recount(tree: Any, node: int) -> None:
        links = tree.links
        head = node * stride
        entries, spine = links[head + ENTRIES], links[head + SPINE]
        count, nulls = entries, 0
        for i in range(entries):
            nulls += load(tree.nulls, node * width + i)
        if links[head + CHILD] >= 0:
            for i in range(spine & LEFT, entries + 1 - (spine >> 1)):
                child = links[head + CHILD + i] * stride
                count += links[child + COUNT]
                nulls += links[child + NULLS]
        links[head + COUNT] = count
        links[head + NULLS] = nulls

    return Nodes(
        clear,
        allocate,
        release,
        discard,
        index_of,
        upper,
        put,
        set_entry,
        copy_entries,
        copy_children,
        recount,
    )


@shared
def refreshing_steps(jit: Jit, combine: Function, mu: int) -> Refreshing:
    width = 2 * mu
    stride = stride_of(mu)
    recount = node_steps(jit, mu).recount

    @jit
    def fold(tree: Any, identity: Any, node: int) -> Any:
        """The entries of a node and its children off the spines."""
        links, partials, aggregates = tree.links, tree.partials, tree.aggregates
        head, slot = node * stride, node * width
        entries, spine = load(links, head + ENTRIES), load(links, head + SPINE)
        if entries == 0:
            return identity
        total = load(partials, slot)
        if load(links, head + CHILD) < 0:
            for i in range(1, entries):
                total = cast(identity, combine(total, load(partials, slot + i)))
            return total
        if spine & LEFT == 0:
            child = load(links, head + CHILD)
            total = cast(identity, combine(load(aggregates, 2 * child + OWN), total))
        for i in range(1, entries):
            child = load(links, head + CHILD + i)
            total = cast(identity, combine(total, load(aggregates, 2 * child + OWN)))
            total = cast(identity, combine(total, load(partials, slot + i)))
        if spine & RIGHT == 0:
            child = load(links, head + CHILD + entries)
            total = cast(identity, combine(total, load(aggregates, 2 * child + OWN)))
        return total

    @jit
    def renew(tree: Any, identity: Any, node: int) -> None:
        """Compute a node's own aggregate from its entries and children."""
        store(tree.aggregates, 2 * node + OWN, fold(tree, identity, node))

    @jit
    def cover(tree: Any, identity: Any, node: int, spine: int) -> None:
        """Compute what a node on a spine below the root covers, from its own aggregate and its parent."""
        total = load(tree.aggregates, 2 * node + OWN)
        parent = load(tree.links, node * stride + PARENT)
        if parent != tree.marks[ROOT]:
            beyond = load(tree.aggregates, 2 * parent + COVERED)
            if spine == LEFT:
                total = cast(identity, combine(total, beyond))
            else:
                total = cast(identity, combine(beyond, total))
        store(tree.aggregates, 2 * node + COVERED, total)

    @jit
    def refresh(tree: Any, identity: Any, node: int) -> None:
        """Make counts and aggregates of a node right."""
        recount(tree, node)
        renew(tree, identity, node)
        spine = load(tree.links, node * stride + SPINE)
        if spine in (LEFT, RIGHT):
            cover(tree, identity, node, spine)

    @jit
    def below(tree: Any, node: int, spine: int) -> int:
        """The next node of a spine; -1 behind the finger, and below the root."""
        links, head = tree.links, node * stride
        if spine == BOTH or load(links, head + CHILD) < 0:
            return -1
        return load(links, head + CHILD + (0 if spine == LEFT else load(links, head + ENTRIES)))

    @jit
    def repair(tree: Any, identity: Any, node: int) -> None:
        """Refresh a spine from this node of it down to the finger: each depends on its parent. Nothing below
        the root depends on the root; a node of -1 is none."""
        while node >= 0:
            refresh(tree, identity, node)
            node = below(tree, node, load(tree.links, node * stride + SPINE))

    @jit
    def cover_down(tree: Any, identity: Any, node: int, spine: int) -> None:
        """The same for nodes whose own aggregates are right, at one combine a node."""
        while node >= 0:
            cover(tree, identity, node, spine)
            node = below(tree, node, spine)

    return Refreshing(renew, refresh, repair, cover_down)
