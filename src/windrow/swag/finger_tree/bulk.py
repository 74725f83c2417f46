"""Bulk insertion into a finger B-tree: a sorted batch goes in level by level, each node that it touches
once.

The leaf of each row is found from the leaf of the row before it. Then, from the leaves up, every node
takes all that is for it at once: if it overflows it becomes as many nodes as needed, of even size, and
the entries between them are what the level above has to take. A node that took something without
overflowing passes on a *touch*, so that the aggregates above it are renewed, once, however many rows lie
below. m rows at distance d cost O(m log(d / m)) beside the sorting, and a run at the end about one
combine a row. Source: [FiBA-bulk] 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.compile.access import Function, load, store
from windrow.swag.finger_tree.insert import search_steps
from windrow.swag.finger_tree.layout import (
    BOTH,
    CHILD,
    ENTRIES,
    LEFT,
    NULL_COUNT,
    PARENT,
    RIGHT,
    RIGHT_FINGER,
    ROOT,
    SIZE,
    SPINE,
    stride_of,
)
from windrow.swag.finger_tree.nodes import node_steps, refreshing_steps
from windrow.swag.native.drivers import Jit

__all__ = ["Batch", "bulk_insertion"]

_TOUCH = -1


class Batch(NamedTuple):
    """Entries on their way into nodes, in two halves: one is read, one written for the next level.

    Each goes in front of entry ``places[i]`` of the node ``targets[i]``, with the child ``rights[i]`` behind
    it; a touch has no place. At first the rows are in the first half, sorted, without target.
    """

    times: Any
    partials: Any
    nulls: Any
    targets: Any
    places: Any
    rights: Any


def _placing(jit: Jit, mu: int) -> Function:
    width = 2 * mu
    stride = stride_of(mu)
    locate, descend = search_steps(jit, mu)
    nodes = node_steps(jit, mu)
    upper, index_of = nodes.upper, nodes.index_of

    @jit
    def onward(tree: Any, leaf: int, time: Any) -> int:
        """The leaf for a time that is not before those of this leaf: up no further than needed."""
        links = tree.links
        node = leaf
        while links[node * stride + SPINE] & RIGHT == 0:
            parent = links[node * stride + PARENT]
            i = index_of(tree, parent, node)
            if i < links[parent * stride + ENTRIES] and time < tree.times[parent * width + i]:
                break
            node = parent
        return descend(tree, node, time)

    @jit
    def place(tree: Any, batch: Any, count: int) -> None:
        leaf = locate(tree, batch.times[0])
        for i in range(count):
            leaf = onward(tree, leaf, batch.times[i])
            batch.targets[i] = leaf
            batch.places[i] = upper(tree, leaf, batch.times[i])
            batch.rights[i] = -1

    return place


def _dealing(jit: Jit, mu: int) -> tuple[Function, Function]:
    """The steps ``stage``, merging a node with what is for it, and ``deal``, making nodes of that."""
    width = 2 * mu
    stride = stride_of(mu)
    nodes = node_steps(jit, mu)
    allocate, index_of, set_entry = nodes.allocate, nodes.index_of, nodes.set_entry

    @jit
    def write(batch: Any, at: int, source: Any, slot: int, right: int) -> None:
        """An entry of a tree or of the batch itself into the batch."""
        batch.times[at] = source.times[slot]
        store(batch.partials, at, load(source.partials, slot))
        batch.nulls[at] = source.nulls[slot]
        batch.rights[at] = right

    @jit
    def stage(tree: Any, batch: Any, node: int, first: int, after: int, at: int) -> int:
        """The entries of a node and the rows ``first`` up to ``after``, in order, to ``at`` ...; how many."""
        head = node * stride
        entries, inner = tree.links[head + ENTRIES], tree.links[head + CHILD] >= 0
        start = at
        for i in range(entries + 1):
            while first < after and batch.places[first] <= i:
                if batch.places[first] != _TOUCH:
                    write(batch, at, batch, first, batch.rights[first])
                    at += 1
                first += 1
            if i < entries:
                write(batch, at, tree, node * width + i, tree.links[head + CHILD + i + 1] if inner else -1)
                at += 1
        return at - start

    @jit
    def set_child(tree: Any, node: int, i: int, child: int) -> None:
        if child >= 0:
            tree.links[node * stride + CHILD + i] = child
            tree.links[child * stride + PARENT] = node

    @jit
    def parent_of(tree: Any, node: int) -> int:
        """The parent of a node that is to be split; the root gets one."""
        if node == tree.marks[ROOT]:
            root = allocate(tree)
            tree.links[root * stride + SPINE] = BOTH
            set_child(tree, root, 0, node)
            tree.marks[ROOT] = root
        return tree.links[node * stride + PARENT]

    @jit
    def deal(tree: Any, batch: Any, node: int, at: int, total: int, out: int) -> int:
        """As few nodes as hold the staged entries, evenly. What comes between them is written to ``out`` ...;
        how many that are."""
        pieces = (total + width) // width
        parent = parent_of(tree, node) if pieces > 1 else -1
        place = index_of(tree, parent, node) if pieces > 1 else -1
        for piece in range(pieces):
            entries = (total + 1) // pieces + (1 if piece < (total + 1) % pieces else 0) - 1
            for i in range(entries):
                set_entry(tree, node, i, batch.times[at], load(batch.partials, at), batch.nulls[at])
                set_child(tree, node, i + 1, batch.rights[at])
                at += 1
            tree.links[node * stride + ENTRIES] = entries
            if piece + 1 < pieces:
                node = allocate(tree)
                set_child(tree, node, 0, batch.rights[at])
                write(batch, out + piece, batch, at, node)
                batch.targets[out + piece] = parent
                batch.places[out + piece] = place
                at += 1
        return pieces - 1

    return stage, deal


def bulk_insertion(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``insert(tree, identity, batch, count)``; the batch has room for 3 * count + 2 * mu."""
    stride = stride_of(mu)
    refreshing = refreshing_steps(jit, combine, mu)
    place = _placing(jit, mu)
    stage, deal = _dealing(jit, mu)
    refresh, repair = refreshing.refresh, refreshing.repair

    @jit
    def absorb(tree: Any, identity: Any, batch: Any, first: int, after: int, at: int, out: int) -> int:
        """Bring the rows ``first`` up to ``after`` into their node; how much the level above has to take."""
        links = tree.links
        node = batch.targets[first]
        spine, inner = links[node * stride + SPINE], links[node * stride + CHILD] >= 0
        made = deal(tree, batch, node, at, stage(tree, batch, node, first, after, at), out)
        if made > 0:
            last = batch.rights[out + made - 1]
            links[node * stride + SPINE] = spine & LEFT
            links[last * stride + SPINE] = spine & RIGHT
            if spine & RIGHT and not inner:
                tree.marks[RIGHT_FINGER] = last
        for i in range(-1, made):
            piece = node if i < 0 else batch.rights[out + i]
            if links[piece * stride + SPINE] == 0:
                refresh(tree, identity, piece)
        if made == 0 and spine == 0:
            batch.targets[out] = links[node * stride + PARENT]
            batch.places[out] = _TOUCH
            batch.rights[out] = node
            made = 1
        return made

    @jit
    def repair_spines(tree: Any, identity: Any, left_top: int, right_top: int) -> None:
        for top in (tree.marks[ROOT], left_top, right_top):
            repair(tree, identity, top)

    @jit
    def insert(tree: Any, identity: Any, batch: Any, count: int) -> None:
        place(tree, batch, count)
        tree.marks[SIZE] += count
        for i in range(count):
            tree.marks[NULL_COUNT] += batch.nulls[i]
        read, write, staged = 0, count, 2 * count
        left_top = right_top = tree.marks[ROOT]
        while count > 0:
            made, first = 0, read
            while first < read + count:
                node = batch.targets[first]
                after = first + 1
                while after < read + count and batch.targets[after] == node:
                    after += 1
                passed = absorb(tree, identity, batch, first, after, staged, write + made)
                last = batch.rights[write + made + passed - 1] if passed > 0 else node
                if tree.links[node * stride + SPINE] == LEFT:
                    left_top = node
                if tree.links[last * stride + SPINE] == RIGHT:
                    right_top = last
                made += passed
                first = after
            read, write, count = write, read, made
        repair_spines(tree, identity, left_top, right_top)

    return insert
