"""The front of a finger B-tree that many evictions follow one another at: the left finger, drained in place.

The first eviction from a left finger folds its entries from the back to the front, into scratch space (what
it covers after each further eviction), as Two-Stacks does when it flips. Each eviction after that counts one
more entry as *gone* and looks up what the finger now covers: no combine, no entry moves. Whatever changes
the left finger, or what it covers, first *restores* it: moves the entries to the front of their node.

Invariant: while entries are gone, the left finger is not the root and one more entry at least is not gone; of
the finger only what it covers is up to date, its counts and its own aggregate are not. Entries are gone
within a driver only: it restores the finger before it returns, so that no other code has to know.
Cost: m evictions m combines at most, and a merge for each node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.compile.access import Function, cast, load, store
from windrow.swag.finger_tree.layout import (
    COVERED,
    ENTRIES,
    GONE,
    LEFT,
    LEFT_FINGER,
    NULL_COUNT,
    PARENT,
    ROOT,
    SIZE,
    SPINE,
    apart,
    shared,
    stride_of,
)
from windrow.swag.finger_tree.nodes import node_steps, refreshing_steps
from windrow.swag.native.drivers import Jit

__all__ = ["Front", "front_steps"]


class Front(NamedTuple):
    """Steps on the left finger; each takes the tree and the identity first."""

    restore: Function
    drain: Function


@shared
def front_steps(jit: Jit, combine: Function, mu: int) -> Front:
    width = 2 * mu
    stride = stride_of(mu)
    nodes = node_steps(jit, mu)
    renew = refreshing_steps(jit, combine, mu).renew
    copy_entries, recount = nodes.copy_entries, nodes.recount

    @apart(jit)
    def close_gap(tree: Any, identity: Any) -> None:
        node, gone = tree.marks[LEFT_FINGER], tree.marks[GONE]
        entries = tree.links[node * stride + ENTRIES] - gone
        copy_entries(tree, node, gone, node, 0, entries)
        tree.links[node * stride + ENTRIES] = entries
        tree.marks[GONE] = 0
        recount(tree, node)
        renew(tree, identity, node)

    @jit
    def restore(tree: Any, identity: Any) -> None:
        """Make the left finger a node like others; what it covers stays as it is."""
        if tree.marks[GONE] > 0:
            close_gap(tree, identity)

    @jit
    def fold_back(tree: Any, identity: Any, node: int) -> None:
        """What the left finger covers without its first entry, without its first two, ... into scratch."""
        partials = tree.partials
        at = load(tree.links, node * stride + ENTRIES) - 1
        total = load(partials, node * width + at)
        parent = load(tree.links, node * stride + PARENT)
        if parent != tree.marks[ROOT]:
            total = cast(identity, combine(total, load(tree.aggregates, 2 * parent + COVERED)))
        store(partials, at, total)
        while at > 1:
            at -= 1
            total = cast(identity, combine(load(partials, node * width + at), total))
            store(partials, at, total)

    @jit
    def drain(tree: Any, identity: Any, latest: Any, size: Any) -> bool:
        """Evict from the left finger what is not within ``size`` of the latest time; whether there may be
        more, for which the tree must change."""
        marks = tree.marks
        node, gone = marks[LEFT_FINGER], marks[GONE]
        while latest - load(tree.times, node * width + gone) >= size:
            head = node * stride
            if gone + 1 >= load(tree.links, head + ENTRIES) or load(tree.links, head + SPINE) != LEFT:
                return True
            if gone == 0:
                fold_back(tree, identity, node)
            marks[SIZE] -= 1
            marks[NULL_COUNT] -= load(tree.nulls, node * width + gone)
            gone += 1
            marks[GONE] = gone
            store(tree.aggregates, 2 * node + COVERED, load(tree.partials, gone))
        return False

    return Front(restore, drain)
