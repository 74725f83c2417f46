"""The two forms of a finger B-tree: lists of any Python objects, or arrays of numbers with compiled steps.

Both run the same step factories: ``form.run(factory, *arguments)``. A form has room for a number of
nodes, grows before an insertion that might need more, and moves into a smaller one when most of it is
free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.compile.access import Function, interpret, load, store
from windrow.monoids.base import Monoid
from windrow.swag.finger_tree.bulk import Batch
from windrow.swag.finger_tree.layout import (
    CHILD,
    COVERED,
    ENTRIES,
    FIRST_NODE,
    FREE,
    FRESH,
    LEFT_FINGER,
    MARKS,
    NULL_COUNT,
    OWN,
    PARENT,
    RIGHT_FINGER,
    ROOT,
    SIZE,
    Tree,
    capacity_for,
    stride_of,
)
from windrow.swag.finger_tree.nodes import node_steps
from windrow.swag.native.drivers import Jit

__all__ = ["Form", "PlainForm", "Unfit", "slots_in_order"]

_SMALLEST = 16
_Factory = Callable[..., Function]


class Unfit(Exception):
    """A time or a partial has no place in the native form."""


def slots_in_order(tree: Tree, mu: int) -> list[int]:
    """The slots of all entries, oldest first."""
    links, stride, width = tree.links, stride_of(mu), 2 * mu
    slots: list[int] = []

    def visit(node: int) -> None:
        head = node * stride
        for i in range(links[head + ENTRIES]):
            if links[head + CHILD] >= 0:
                visit(links[head + CHILD + i])
            slots.append(node * width + i)
        if links[head + CHILD] >= 0:
            visit(links[head + CHILD + links[head + ENTRIES]])

    visit(tree.marks[ROOT])
    return slots


def moving(jit: Jit, combine: Function, mu: int) -> Function:
    """The step ``move(tree, identity, target)``: the same tree, level by level, in the nodes of another.

    A node's old number waits in its first child until it is its turn.
    """
    stride = stride_of(mu)
    width = 2 * mu

    @jit
    def move_node(tree: Any, target: Any, node: int, used: int) -> int:
        old = target.links[node * stride + CHILD]
        for field in range(ENTRIES, CHILD + 1):
            target.links[node * stride + field] = tree.links[old * stride + field]
        for i in range(tree.links[old * stride + ENTRIES]):
            target.times[node * width + i] = tree.times[old * width + i]
            target.nulls[node * width + i] = tree.nulls[old * width + i]
            store(target.partials, node * width + i, load(tree.partials, old * width + i))
        for which in (OWN, COVERED):
            store(target.aggregates, 2 * node + which, load(tree.aggregates, 2 * old + which))
        for finger in (LEFT_FINGER, RIGHT_FINGER):
            if tree.marks[finger] == old:
                target.marks[finger] = node
        if tree.links[old * stride + CHILD] >= 0:
            for i in range(tree.links[old * stride + ENTRIES] + 1):
                target.links[node * stride + CHILD + i] = used
                target.links[used * stride + PARENT] = node
                target.links[used * stride + CHILD] = tree.links[old * stride + CHILD + i]
                used += 1
        return used

    @jit
    def move(tree: Any, identity: Any, target: Any) -> None:
        target.links[FIRST_NODE * stride + PARENT] = -1
        target.links[FIRST_NODE * stride + CHILD] = tree.marks[ROOT]
        target.marks[SIZE] = tree.marks[SIZE]
        target.marks[NULL_COUNT] = tree.marks[NULL_COUNT]
        node, used = FIRST_NODE, FIRST_NODE + 1
        while node < used:
            used = move_node(tree, target, node, used)
            node += 1
        target.marks[ROOT] = FIRST_NODE
        target.marks[FREE] = -1
        target.marks[FRESH] = used

    return move


class Form:
    """What both forms share."""

    tree: Tree
    identity: Any
    #: stands for a time where none is needed
    no_time: Any = None

    def __init__(self, mu: int) -> None:
        self.mu = mu
        self.capacity = _SMALLEST
        self.tree = self._buffers(self.capacity)
        node_steps(interpret, mu).clear(self.tree)

    def saved(self) -> tuple[Tree, int]:
        """What ``restore`` needs to bring back the tree as it is now."""
        return Tree(*(buffer.copy() for buffer in self.tree)), self.capacity

    def restore(self, saved: tuple[Tree, int]) -> None:
        self.tree, self.capacity = saved

    def _buffers(self, capacity: int) -> Tree:
        raise NotImplementedError

    def _enlarged(self, capacity: int) -> Tree:
        raise NotImplementedError

    def run(self, factory: _Factory, *arguments: Any) -> Any:
        """Run a step on this tree."""
        raise NotImplementedError

    def typed_time(self, time: Any) -> Any:
        """A time as the steps want it; raises Unfit."""
        return time

    def typed_partial(self, partial: Any, null: int) -> Any:
        """A partial as the steps want it; raises Unfit."""
        return partial

    def batch(self, times: Any, partials: Any, nulls: Any) -> Batch:
        """Sorted rows for bulk insertion."""
        raise NotImplementedError

    def entries(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Times, partials and nulls of all entries, oldest first."""
        raise NotImplementedError

    def plain_tree(self) -> Tree:
        """The tree as lists."""
        raise NotImplementedError

    def __len__(self) -> int:
        return int(self.tree.marks[SIZE])

    @property
    def null_count(self) -> int:
        return int(self.tree.marks[NULL_COUNT])

    def oldest(self) -> Any:
        """The time of the oldest entry as the caller knows it."""
        return self.first_time()

    def youngest(self) -> Any:
        return self.last_time()

    def first_time(self) -> Any:
        """The first time of the left finger."""
        return self.tree.times[2 * self.mu * self.tree.marks[LEFT_FINGER]]

    def last_time(self) -> Any:
        """The last time of the right finger."""
        finger = self.tree.marks[RIGHT_FINGER]
        return self.tree.times[
            2 * self.mu * finger + self.tree.links[stride_of(self.mu) * finger + ENTRIES] - 1
        ]

    def reserve(self, more: int) -> None:
        """Make room for this many entries more."""
        needed = capacity_for(self.tree.marks[SIZE] + more, self.mu)
        if needed > self.capacity:
            self.capacity = max(needed, 2 * self.capacity)
            self.tree = self._enlarged(self.capacity)

    def tidy(self) -> None:
        """Give memory back if an eighth of it would do."""
        needed = capacity_for(self.tree.marks[SIZE], self.mu)
        if 8 * needed < self.capacity:
            target = self._buffers(max(2 * needed, _SMALLEST))
            self.run(moving, target)
            self.tree, self.capacity = target, max(2 * needed, _SMALLEST)


class PlainForm(Form):
    """Lists; the steps are ordinary functions."""

    def __init__(self, monoid: Monoid, mu: int) -> None:
        self.identity = monoid.identity
        self._combine = self._guarded(monoid.combine)
        self._steps: dict[_Factory, Function] = {}
        #: what combine raised: the step is finished all the same, so that the nodes stay a tree
        self.failure: Exception | None = None
        #: since then aggregates are not right, and combine is not called
        self.is_stale = False
        super().__init__(mu)

    def _guarded(self, combine: Function) -> Function:
        def guarded(a: Any, b: Any) -> Any:
            if self.is_stale:
                return a
            try:
                return combine(a, b)
            except Exception as error:
                self.failure, self.is_stale = error, True
                return a

        return guarded

    def run(self, factory: _Factory, *arguments: Any) -> Any:
        step = self._steps.get(factory)
        if step is None:
            step = self._steps[factory] = factory(interpret, self._combine, self.mu)
        return step(self.tree, self.identity, *arguments)

    def _buffers(self, capacity: int) -> Tree:
        slots = 2 * self.mu * capacity
        sizes = (stride_of(self.mu) * capacity, slots, slots, slots, 2 * capacity, MARKS)
        return Tree(*([0] * size for size in sizes))

    def _enlarged(self, capacity: int) -> Tree:
        more = self._buffers(capacity - len(self.tree.aggregates) // 2)
        for buffer, rest in zip(self.tree[:-1], more, strict=False):
            buffer.extend(rest)
        return self.tree

    def batch(self, times: list[Any], partials: list[Any], nulls: list[Any]) -> Batch:
        room = [0] * (2 * len(times) + 2 * self.mu)
        rows = (times, partials, nulls, [0] * len(times), [0] * len(times), [0] * len(times))
        return Batch(*(column + room for column in rows))

    def entries(self) -> tuple[list[Any], list[Any], list[Any]]:
        slots = slots_in_order(self.tree, self.mu)
        times, partials, nulls = self.tree.times, self.tree.partials, self.tree.nulls
        return [times[s] for s in slots], [partials[s] for s in slots], [nulls[s] for s in slots]

    def plain_tree(self) -> Tree:
        return self.tree
