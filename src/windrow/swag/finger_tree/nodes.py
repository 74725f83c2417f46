"""Steps on single nodes of a finger B-tree: take and free them, move their entries, renew their aggregates.

``refresh`` is where the rules of :mod:`windrow.swag.finger_tree.layout` are: what an aggregate covers follows
from the spine that the node is on. A node off the spines depends on its children and is refreshed from the
bottom up; a node on a spine depends on its parent too, so a spine is repaired from the top down."""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.compile.access import Function, cast, load, store
from windrow.swag.finger_tree.layout import (
    BOTH,
    CHILD,
    COUNT,
    ENTRIES,
    FREE,
    FRESH,
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
    shared,
    stride_of,
)
from windrow.swag.native.drivers import Jit

__all__ = ["Nodes", "node_steps"]


class Nodes(NamedTuple):
    """Steps on single nodes; each takes the tree first."""

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
    refresh: Function
    repair: Function


@shared
def node_steps(jit: Jit, combine: Function, mu: int) -> Nodes:
    width = 2 * mu
    stride = stride_of(mu)

    @jit
    def clear(tree: Any) -> None:
        """Make the tree empty: node 0 is the root, a leaf."""
        tree.marks[ROOT] = tree.marks[LEFT_FINGER] = tree.marks[RIGHT_FINGER] = 0
        tree.marks[FREE] = -1
        tree.marks[FRESH] = 1
        tree.marks[SIZE] = tree.marks[NULL_COUNT] = 0
        tree.links[PARENT] = tree.links[CHILD] = -1
        tree.links[ENTRIES] = tree.links[COUNT] = tree.links[NULLS] = 0
        tree.links[SPINE] = BOTH

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
        links[node * stride + PARENT] = links[node * stride + CHILD] = -1
        links[node * stride + ENTRIES] = links[node * stride + SPINE] = 0
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
        count = tree.links[node * stride + ENTRIES]
        i = 0
        while i < count and not time < tree.times[node * width + i]:
            i += 1
        return i

    @jit
    def set_entry(tree: Any, node: int, i: int, time: Any, partial: Any, null: Any) -> None:
        tree.times[node * width + i] = time
        store(tree.partials, node * width + i, partial)
        tree.nulls[node * width + i] = null

    @jit
    def copy_entries(tree: Any, source: int, i: int, target: int, j: int, count: int) -> None:
        """Entries i ... of a node to places j ... of another, or further to the front in the same."""
        times, partials, nulls = tree.times, tree.partials, tree.nulls
        old, new = source * width + i, target * width + j
        for k in range(count):
            times[new + k] = times[old + k]
            store(partials, new + k, load(partials, old + k))
            nulls[new + k] = nulls[old + k]

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
        count = links[node * stride + ENTRIES]
        times, partials, nulls = tree.times, tree.partials, tree.nulls
        for slot in range(node * width + count, node * width + i, -1):
            times[slot] = times[slot - 1]
            store(partials, slot, load(partials, slot - 1))
            nulls[slot] = nulls[slot - 1]
        set_entry(tree, node, i, time, partial, null)
        links[node * stride + ENTRIES] = count + 1
        if child >= 0:
            for k in range(count + 1, i + 1, -1):
                links[node * stride + CHILD + k] = links[node * stride + CHILD + k - 1]
            links[node * stride + CHILD + i + 1] = child
            links[child * stride + PARENT] = node

    @jit
    def own(tree: Any, identity: Any, node: int) -> Any:
        """The entries of a node and its children off the spines."""
        links = tree.links
        head, slot = node * stride, node * width
        entries, spine = links[head + ENTRIES], links[head + SPINE]
        if entries == 0:
            return identity
        total = load(tree.partials, slot)
        if links[head + CHILD] < 0:
            for i in range(1, entries):
                total = cast(identity, combine(total, load(tree.partials, slot + i)))
            return total
        if spine & LEFT == 0:
            total = cast(identity, combine(load(tree.aggregates, links[head + CHILD]), total))
        for i in range(1, entries):
            total = cast(identity, combine(total, load(tree.aggregates, links[head + CHILD + i])))
            total = cast(identity, combine(total, load(tree.partials, slot + i)))
        if spine & RIGHT == 0:
            total = cast(identity, combine(total, load(tree.aggregates, links[head + CHILD + entries])))
        return total

    @jit
    def recount(tree: Any, node: int) -> None:
        links = tree.links
        head = node * stride
        entries, spine = links[head + ENTRIES], links[head + SPINE]
        count, nulls = entries, 0
        for i in range(entries):
            nulls += tree.nulls[node * width + i]
        if links[head + CHILD] >= 0:
            for i in range(spine & LEFT, entries + 1 - (spine >> 1)):
                count += links[links[head + CHILD + i] * stride + COUNT]
                nulls += links[links[head + CHILD + i] * stride + NULLS]
        links[head + COUNT] = count
        links[head + NULLS] = nulls

    @jit
    def refresh(tree: Any, identity: Any, node: int) -> None:
        """Recompute what a node's aggregate covers, from its children and, on a spine, its parent."""
        recount(tree, node)
        total = own(tree, identity, node)
        spine = tree.links[node * stride + SPINE]
        parent = tree.links[node * stride + PARENT]
        if spine in (LEFT, RIGHT) and parent != tree.marks[ROOT]:
            beyond = load(tree.aggregates, parent)
            if spine == LEFT:
                total = cast(identity, combine(total, beyond))
            else:
                total = cast(identity, combine(beyond, total))
        store(tree.aggregates, node, total)

    @jit
    def repair(tree: Any, identity: Any, node: int) -> None:
        """Refresh a spine from this node of it down to the finger: each depends on its parent. Nothing below
        the root depends on the root; a node of -1 is none."""
        links = tree.links
        while node >= 0:
            refresh(tree, identity, node)
            spine = links[node * stride + SPINE]
            if spine == BOTH or links[node * stride + CHILD] < 0:
                break
            node = links[node * stride + CHILD + (0 if spine == LEFT else links[node * stride + ENTRIES])]

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
        refresh,
        repair,
    )
