"""Amortized MTA: a forest in which a node is made once its value is final, with the next results on a stack.

Nodes, pairs and the store are those of :mod:`windrow.swag.mta`. A pair gets its parent when the next pair of
its level begins, so that level l ends before node ((end + 1) >> l) - 1. It begins with node front >> l, and
is there if there is a node between. The top level then has one pair; the tree below it is the leftmost.

The result pair is the sum of the leftmost tree (R0) and that of all the others (R1). The stack holds what R0
will be: on top without the first leaf, then without the first node of level 1, 2, ..., where that node has a
right sibling. Evicting pops, and pushes for the pairs that come to the front of their levels. First nodes
that have lost leaves are not brought up to date, and never read: the stack is made of right siblings alone.

When the leftmost tree has grown or is gone, or many values were evicted, R0, R1 and the stack have to be made
anew. This waits until they are asked for, so that it happens once ([MTA] 5.2).

Invariant: [MTA] invariants 1 to 3 (the last pair of each level is the root of a tree of its own), every node
without an evicted leaf is the sum of its children, and R0, R1 and the stack are as above, or asked for anew.
Cost: amortised 2 combines per insert, 1 per evict, 1 per query. Evicting any number, finding how many a
policy evicts, and the query after it: each at most 3·ceil(log2(n)) + 1. Local memory is O(log n): stack,
result pair, last pairs. Source: [MTA] alg 3-7 and 4.2.4."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from windrow.state.levels import Key, LevelStore, Pair
from windrow.swag.checks import agree
from windrow.swag.mta import MonoidTree, Policy

__all__ = ["AMTA"]


class AMTA(MonoidTree):
    """Amortised constant time; evicts any number of values at once, by count or by a policy, in O(log n).

    >>> from windrow.monoids import monoid
    >>> total = monoid(lift=int, combine=lambda a, b: a + b, identity=0)
    >>> window = AMTA(total)
    >>> for value in (1, 3, 2, 1, 2, 1, 1, 0, 3, 1):
    ...     window.insert(value)
    >>> window.result_pair
    (7, 8)
    >>> window.evict_many(5)
    >>> window.query()
    6
    >>> window.evict_while(lambda total, old: total - old >= 4)
    3
    """

    cost = "amortised 2 combines per insert, 1 per evict, 1 per query; O(log n) to evict any number"
    source = "[MTA] alg 3-7"

    def __init__(self, monoid: Any, store: LevelStore | None = None) -> None:
        super().__init__(monoid, store)
        self._r0: Any = self.monoid.identity
        self._r1: Any = self.monoid.identity
        self._stack: list[Any] = []
        #: R0, R1 and the stack are to be made anew; the stack is empty
        self._is_stale = False

    def _state(self) -> tuple[Any, ...]:
        return *super()._state(), self._r0, self._r1, list(self._stack), self._is_stale

    def _restore(self, state: tuple[Any, ...]) -> None:
        super()._restore(state)
        self._r0, self._r1, stack, self._is_stale = state[3:]
        self._stack = list(stack)

    def _level_end(self, level: int) -> int:
        return ((self._end + 1) >> level) - 1

    # -- insert ----------------------------------------------------------------------------------------------

    def _insert(self, partial: Any) -> None:
        """[MTA] alg 3; combines come before changes, so that one that raises leaves the window as it was."""
        tails = self._tails
        if not tails:
            self._start(partial)
            return
        r1 = self._r1 if self._is_stale else self.monoid.combine(self._r1, partial)  # line 3
        if self._end & 1:
            tails[0].append(partial)  # line 11
            is_grown = len(tails) == 1
        else:
            is_grown = self._carry(partial)
        self._end += 1
        if is_grown:
            self._ask_anew()  # lines 18-20
        else:
            self._r1 = r1

    def _start(self, leaf: Any) -> None:
        """The first leaf of an empty window is the leftmost tree."""
        self._tails.append([self.monoid.identity, leaf] if self._end & 1 else [leaf])
        self._r0 = leaf
        self._end += 1

    def _carry(self, leaf: Any) -> bool:
        """Begin a pair of leaves; pairs that end thereby get parents. Whether the leftmost tree grew."""
        tails = self._tails
        begins: list[Any] = []
        ended: list[tuple[Key, Pair]] = []
        node, position, level = leaf, self._end, 0
        while level < len(tails) and not position & 1:  # lines 7-9
            begins.append(node)
            position = (position >> 1) - 1
            left, right = tails[level]
            ended.append(((level, position), (left, right)))
            level += 1
            # a parent that begins before the window is a first node: never read, so never made
            is_read = position << level >= self._front
            node = self.monoid.combine(left, right) if is_read else self.monoid.identity
        self.store.put_many(ended)
        for below, first in enumerate(begins):
            tails[below] = [first]
        if level < len(tails):
            tails[level].append(node)
            return level == len(tails) - 1
        # line 17: a level on top changes no result, as its tree is what the leftmost was
        tails.append([self.monoid.identity, node] if position & 1 else [node])
        return False

    # -- evict -----------------------------------------------------------------------------------------------

    def _evict(self, count: int) -> None:
        """[MTA] alg 6; where its line 3 finds the stack empty, the leftmost tree goes with its last leaf."""
        # [MTA] 4.2.4: a bulk eviction pays off from about log n values on
        popped = self._pop(count) if count <= len(self._tails) else 0
        if popped < count:
            self._skip(count - popped)

    def _pop(self, count: int) -> int:
        """Evict leaf by leaf, ``count`` or as many as the stack is for; how many. Combines come before
        changes, so that one that raises leaves the window as it was."""
        r0, front = self._r0, self._front
        stack = self._stack if count == 1 else self._stack.copy()
        while stack and front < self._front + count:
            front += 1
            if front & 1:  # line 13
                r0 = stack.pop()
            else:
                pushed = self._pushed(front, stack[-2:-1])
                r0 = stack[-1]  # line 3
                stack[-2:] = pushed
        popped = front - self._front
        self._drop_before(front)
        self._r0, self._stack, self._front = r0, stack, front
        return popped

    def _pushed(self, front: int, pushed: list[Any]) -> list[Any]:
        """What the stack has in place of its last two when leaf ``front``, an even one, is the first: pairs
        that begin with it come first in their levels. ``pushed``: the one before the last, if there is."""
        levels = (front & -front).bit_length() - 1
        if levels == 1:
            heads = [self.store.get(0, front >> 1)]
        else:
            heads = self.store.get_many([(n, front >> (n + 1)) for n in range(levels - 1, -1, -1)])
        for _, right in heads:  # alg 7, line 4
            pushed.append(self.monoid.combine(right, pushed[-1]) if pushed else right)
        return pushed

    def _skip(self, count: int) -> None:
        """Let ``count`` leaves go, and with them the levels that end before the rest."""
        front, tails = self._front + count, self._tails
        self._drop_before(front)
        self._front = front
        while tails and front >> (len(tails) - 1) >= self._level_end(len(tails) - 1):
            tails.pop()
        self._ask_anew()
        if not tails:
            self._r0 = self._r1 = self.monoid.identity
            self._is_stale = False

    def _find(self, policy: Policy) -> int:
        """The first leaf is asked first, then ever larger nodes, so that finding few costs little.

        [MTA] 4.2.4 brings the left branch up to date to search from the root; right siblings need no update.
        """
        total = self._partial()
        old: list[Any] = []
        for level, position in self._parts():
            if self._goes(policy, total, old, level, position):
                continue
            while level:  # a part of this node goes
                level, position = level - 1, 2 * position
                position += self._goes(policy, total, old, level, position)
            return position
        return self._end

    def _goes(self, policy: Policy, total: Any, old: list[Any], level: int, position: int) -> bool:
        """Whether a node may follow the prefix ``old`` out of the window; if so it is added to it."""
        node = self._node(level, position)
        prefix = self.monoid.combine(old[0], node) if old else node
        if not policy(total, prefix):
            return False
        old[:] = [prefix]
        return True

    def _parts(self) -> Iterator[tuple[int, int]]:
        """The window as the fewest nodes that are up to date, in order, as (level, position)."""
        top = len(self._tails) - 1
        yield 0, self._front
        for level in range(top + 1):
            right = (self._front >> level) + 1
            if right & 1 and right < self._level_end(level):
                yield level, right
        for level in range(top - 1, -1, -1):
            end = self._level_end(level)
            for position in range((end - 1) & ~1, end):
                yield level, position

    # -- query -----------------------------------------------------------------------------------------------

    def _partial(self) -> Any:
        if self._is_stale:
            self._make_anew()
        if len(self._tails) <= 1:
            return self._r0
        return self.monoid.combine(self._r0, self._r1)

    def _ask_anew(self) -> None:
        self._is_stale = True
        self._stack.clear()

    def _make_anew(self) -> None:
        r0, stack = self._left_result()
        self._r1 = self._right_result()
        self._r0, self._stack = r0, stack
        self._is_stale = False

    def _left_result(self) -> tuple[Any, list[Any]]:
        """R0 and the stack: [MTA] alg 4."""
        front = self._front
        top = len(self._tails) - 1
        stack = []
        if not (front >> top) & 1 and len(self._tails[top]) == 2:
            stack.append(self._tails[top][1])
        levels = [level for level in range(top - 1, -1, -1) if level == 0 or not (front >> level) & 1]
        heads = self.store.get_many([(level, front >> (level + 1)) for level in levels])
        for level, (_, right) in zip(levels, heads, strict=True):
            if not (front >> level) & 1:
                stack.append(self.monoid.combine(right, stack[-1]) if stack else right)  # lines 5-6
        leaf = (heads[-1] if heads else self._tails[0])[front & 1]
        return (self.monoid.combine(leaf, stack[-1]) if stack else leaf), stack  # lines 9-10

    def _right_result(self) -> Any:
        """R1: [MTA] alg 5, which must start from nothing and leave out the top level, the leftmost tree."""
        r1 = self.monoid.identity
        for level, tail in enumerate(self._tails[:-1]):
            tree = self.monoid.combine(*tail) if len(tail) == 2 else tail[0]
            r1 = self.monoid.combine(tree, r1) if level else tree
        return r1

    # -- reading ---------------------------------------------------------------------------------------------

    @property
    def result_pair(self) -> tuple[Any, Any]:
        """(R0, R1): the partials of the leftmost tree and of the rest."""
        self._partial()
        return self._r0, self._r1

    @property
    def stack(self) -> tuple[Any, ...]:
        """What R0 will be after the next evictions, the next one last."""
        self._partial()
        return tuple(self._stack)

    def check_invariants(self) -> None:
        super().check_invariants()
        above = len(self._tails)
        assert self._front >> above >= self._level_end(above), "a level is missing"
        for level, pairs in enumerate(self.levels()):
            # [MTA] invariant 3: all pairs of a level but the last have a parent
            assert self._level_end(level + 1) == (self._level_end(level) - 1) >> 1
            assert level < above - 1 or len(pairs) == 1, "the top level is one tree"
            self._check_sums(level)
        if not self._is_stale:
            self._check_results()

    def _check_sums(self, level: int) -> None:
        """Nodes whose leaves are all in the window are the sums of their children."""
        first_whole = -(-self._front >> level)
        for position in range(first_whole, self._level_end(level) if level else 0):
            children = self._node(level - 1, 2 * position), self._node(level - 1, 2 * position + 1)
            total = self.monoid.combine(*children)
            assert agree(self._node(level, position), total), f"node {position} of level {level}"

    def _check_results(self) -> None:
        if not self._tails:
            assert not self._stack
            return
        r0, stack = self._left_result()
        assert agree(self._r0, r0)
        assert agree(self._stack, stack)
        assert agree(self._r1, self._right_result())
        leaves = (self._node(0, position) for position in range(self._front, self._end))
        assert agree(self._partial(), functools.reduce(self.monoid.combine, leaves))
