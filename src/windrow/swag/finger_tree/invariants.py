"""The invariants of a finger B-tree, against brute force. For tests: O(n) and more.

Sizes: a node off the spines has mu to 2 * mu children (one entry less); one on a spine two at least, unless
it is a leaf (one entry). All leaves are equally deep. Times do not fall from left to right. Each child knows
its parent, the outermost nodes their spine, the tree its fingers. Each aggregate and each count is what a
fold over the entries that it covers gives.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

from windrow.swag.checks import agree
from windrow.swag.finger_tree.forms import slots_in_order
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
    Tree,
    stride_of,
)

__all__ = ["check_tree"]


def check_tree(tree: Tree, mu: int, combine: Any, identity: Any) -> None:
    """Raise AssertionError if the tree (of lists) breaks an invariant."""
    _Check(tree, mu, combine, identity).all()


class _Check:
    def __init__(self, tree: Tree, mu: int, combine: Any, identity: Any) -> None:
        self.tree, self.mu, self.combine, self.identity = tree, mu, combine, identity
        self.leaf_depths: set[int] = set()
        self.seen: set[int] = set()

    def field(self, node: int, field: int) -> int:
        return int(self.tree.links[node * stride_of(self.mu) + field])

    def children(self, node: int) -> list[int]:
        if self.field(node, CHILD) < 0:
            return []
        return [self.field(node, CHILD + i) for i in range(self.field(node, ENTRIES) + 1)]

    def all(self) -> None:
        marks, root = self.tree.marks, self.tree.marks[ROOT]
        slots = slots_in_order(self.tree, self.mu)
        times = [self.tree.times[s] for s in slots]
        assert all(not b < a for a, b in pairwise(times)), "times fall"
        assert marks[SIZE] == len(slots), (marks[SIZE], len(slots))
        assert marks[NULL_COUNT] == sum(self.tree.nulls[s] for s in slots)
        assert self.field(root, PARENT) == -1
        assert marks[GONE] == 0, "entries of the left finger are gone"
        self.node(root, BOTH, 0, [])
        assert len(self.leaf_depths) == 1, f"leaves at depths {self.leaf_depths}"
        self.free()

    def node(self, node: int, spine: int, depth: int, beyond: list[int]) -> None:
        """Check a subtree; ``beyond`` are the slots that the aggregate of a parent on a spine covers."""
        self.seen.add(node)
        assert self.field(node, SPINE) == spine, (node, self.field(node, SPINE), spine)
        self.size(node, depth)
        covered = self.aggregate(node, spine, beyond)
        children = self.children(node)
        if not children:
            self.leaf_depths.add(depth)
            assert spine & LEFT == 0 or self.tree.marks[LEFT_FINGER] == node
            assert spine & RIGHT == 0 or self.tree.marks[RIGHT_FINGER] == node
        for i, child in enumerate(children):
            assert self.field(child, PARENT) == node, (child, node)
            side = (spine & LEFT if i == 0 else 0) | (spine & RIGHT if i == len(children) - 1 else 0)
            self.node(child, side, depth + 1, covered if side and depth > 0 else [])

    def size(self, node: int, depth: int) -> None:
        entries = self.field(node, ENTRIES)
        assert entries <= 2 * self.mu - 1, f"node {node} has {entries} entries"
        if self.field(node, SPINE) == 0:
            assert entries >= self.mu - 1, f"node {node} has {entries} entries"
        else:
            assert entries >= 1 or self.tree.marks[SIZE] == 0

    def aggregate(self, node: int, spine: int, beyond: list[int]) -> list[int]:
        """Compare the node's aggregate and counts with a fold; the slots it covers."""
        own = self.own_slots(node, spine)
        assert self.field(node, COUNT) == len(own), (node, self.field(node, COUNT), len(own))
        assert self.field(node, NULLS) == sum(self.tree.nulls[s] for s in own)
        covered = beyond + own if spine == RIGHT else own + beyond
        self.fold(node, OWN, own)
        if spine in (LEFT, RIGHT):
            self.fold(node, COVERED, covered)
        return covered

    def fold(self, node: int, which: int, slots: list[int]) -> None:
        if slots:
            expected = reduce(self.combine, [self.tree.partials[s] for s in slots])
            found = self.tree.aggregates[2 * node + which]
            assert agree(found, expected), f"aggregate {which} of node {node}: {found!r}, not {expected!r}"

    def own_slots(self, node: int, spine: int) -> list[int]:
        children = self.children(node)
        slots: list[int] = []
        for i in range(self.field(node, ENTRIES) + 1):
            outermost = (i == 0 and spine & LEFT) or (i == len(children) - 1 and spine & RIGHT)
            if children and not outermost:
                marks = [*self.tree.marks]
                marks[ROOT] = children[i]
                slots += slots_in_order(self.tree._replace(marks=marks), self.mu)
            if i < self.field(node, ENTRIES):
                slots.append(node * 2 * self.mu + i)
        return slots

    def free(self) -> None:
        """No node is both free and in use, and none is lost."""
        free: list[int] = []
        waiting: list[int] = []
        node = self.tree.marks[FREE]
        while node >= 0:
            waiting.append(node)
            node = self.field(node, PARENT)
        while waiting:
            node = waiting.pop()
            free.append(node)
            waiting += self.children(node)
        assert len(free) == len(set(free)), "a node is free twice"
        assert not self.seen & set(free), "a node in use is free"
        assert self.seen | set(free) == set(range(FIRST_NODE, self.tree.marks[FRESH])), "a node is lost"
