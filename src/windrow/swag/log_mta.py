"""Log MTA: a binary tree over the window in which both flanks are kept up to date, level by level.

Nodes, pairs and the store are those of :mod:`windrow.swag.mta`. A node is the partial of those of its leaves
that are in the window, so that every level is the whole window, and the top level is the lowest with at most
two nodes. The first node of a level loses leaves after its pair was written: its value is kept here, beside
the last pairs, O(log n) in all.

Invariant: [MTA] invariants 1 and 2, and every node is the sum of its children.
Cost: with h = ceil(log2(n)), n after an insert and before an evict, at most h - 1 combines per insert, h - 2
per evict of any number, h + 2 to find how many a policy evicts, 1 per query.
Source: [MTA] alg 1 and 2. The paper roots a window in one pair and numbers levels anew when the root goes.
Here the two nodes at the top may lie in two pairs, which keeps the height below h however the window has
moved.
"""

from __future__ import annotations

from typing import Any

from windrow.state.levels import Key, LevelStore
from windrow.swag.checks import agree
from windrow.swag.mta import EMPTY, MonoidTree, Policy

__all__ = ["LogMTA"]


class LogMTA(MonoidTree):
    """Evicts any number of values at once in O(log n) combines, by count or by a policy.

    >>> from windrow.monoids import monoid
    >>> latest = monoid(lift=int, combine=max, identity=0)
    >>> window = LogMTA(latest)
    >>> for time in (1, 2, 3, 4, 8):
    ...     window.insert(time)
    >>> window.evict_while(lambda total, old: total - old >= 4)
    4
    >>> window.query(), len(window)
    (8, 1)
    """

    cost = "fewer than ceil(log2(n)) combines per insert, or per evict of any number, 1 per query"
    source = "[MTA] alg 1 and 2"

    def __init__(self, monoid: Any, store: LevelStore | None = None) -> None:
        super().__init__(monoid, store)
        #: of each level the first node
        self._heads: list[Any] = []

    def _state(self) -> tuple[Any, ...]:
        return *super()._state(), list(self._heads)

    def _restore(self, state: tuple[Any, ...]) -> None:
        super()._restore(state)
        self._heads = list(state[3])

    def _level_end(self, level: int) -> int:
        return ((self._end - 1) >> level) + 1

    def _node(self, level: int, position: int) -> Any:
        return self._heads[level] if position == self._front >> level else super()._node(level, position)

    # -- insert ----------------------------------------------------------------------------------------------

    def _insert(self, partial: Any) -> None:
        if not self._tails:
            self._heads = [partial]
            self._tails = [[self.monoid.identity, partial] if self._end & 1 else [partial]]
        else:
            # all combines come before any change, so that one that raises leaves the window as it was
            branch = self._last_branch(partial)
            root = self._new_root(branch[-1])
            self._replace_last_branch(branch)
            if root is not None:
                is_one_pair = (self._end >> len(self._tails)) & 1
                self._heads.append(root[0])
                self._tails.append([*root] if is_one_pair else [root[1]])
        self._end += 1

    def _last_branch(self, leaf: Any) -> list[Any]:
        """The last node of each level once there is another leaf: [MTA] alg 1, lines 2-16."""
        branch = [leaf]
        for level in range(len(self._tails) - 1):
            if (self._end >> level) & 1:  # line 13
                leaf = self.monoid.combine(self._tails[level][0], leaf)
            branch.append(leaf)
        return branch

    def _new_root(self, last: Any) -> tuple[Any, Any] | None:
        """The two nodes of a level on top, if ``last`` is the third node of the top level so far.

        [MTA] alg 1, line 18 starts the level with the new element only; what is older belongs to its left.
        """
        top = len(self._tails) - 1
        first = self._front >> top
        if (self._end >> top) - first < 2:
            return None
        if first & 1:
            return self._heads[top], self.monoid.combine(self._tails[top][0], last)
        return self.monoid.combine(self._heads[top], self._tails[top][1]), last

    def _replace_last_branch(self, branch: list[Any]) -> None:
        end, tails = self._end, self._tails
        # below this level a pair begins with the new leaf, at it a right side does, above it nodes grow
        turn = (end & -end).bit_length() - 1
        full = range(min(turn, len(tails)))
        if turn:
            self.store.put_many([((level, (end >> (level + 1)) - 1), (*tails[level],)) for level in full])
        for level in full:  # line 9
            tails[level] = [branch[level]]
        if turn < len(tails):  # line 6
            tails[turn].append(branch[turn])
        for level in range(turn + 1, len(tails)):
            tails[level][-1] = branch[level]

    # -- evict -----------------------------------------------------------------------------------------------

    def _find(self, policy: Policy) -> int:
        """[MTA] alg 2, lines 2-20; its lines 11 and 16 mean one running value, here ``old``."""
        total = self._partial()
        old = None
        position = self._front
        top = len(self._tails) - 1
        for level in range(top, -1, -1):
            # of two nodes at the top both may go; below one at most, as the node above has to stay
            for _ in range(2 if level == top else 1):
                node = self._node(level, position >> level)
                prefix = node if position == self._front else self.monoid.combine(old, node)
                if not policy(total, prefix):
                    break
                old = prefix
                position = ((position >> level) + 1) << level
                if position >= self._end:
                    return self._end
        return position

    def _evict(self, count: int) -> None:
        """[MTA] alg 2, lines 21-27."""
        front = self._front + count
        levels = 0
        if front < self._end:
            levels = 1
            while ((self._end - 1) >> (levels - 1)) - (front >> (levels - 1)) > 1:
                levels += 1
        heads = self._first_branch(front, levels)
        self._drop_before(front)  # line 5
        self._heads = heads
        del self._tails[levels:]
        self._front = front

    def _first_branch(self, front: int, levels: int) -> list[Any]:
        """The first node of each level once leaf ``front`` is the first."""
        # A node that begins with the first leaf is whole; above, it is the one below with its right sibling.
        whole = min((front & -front).bit_length(), levels)
        keys: list[Key] = [(level, front >> (level + 1)) for level in range(whole)]
        lefts = [level for level in range(whole, levels) if not (front >> (level - 1)) & 1]
        pairs = iter(self._pairs(keys + [(level - 1, front >> level) for level in lefts]))
        heads = [next(pairs)[(front >> level) & 1] for level in range(whole)]
        for level in range(whole, levels):
            node = heads[-1]
            if not (front >> (level - 1)) & 1:
                node = self.monoid.combine(node, next(pairs)[1])
            heads.append(node)
        return heads

    # -- query -----------------------------------------------------------------------------------------------

    def _partial(self) -> Any:
        if not self._tails:
            return self.monoid.identity
        if self._end - self._front == 1:
            return self._heads[0]
        return self.monoid.combine(self._heads[-1], self._tails[-1][-1])

    def check_invariants(self) -> None:
        super().check_invariants()
        levels = self.levels()
        assert len(self._heads) == len(levels)
        sums: list[Any] = []
        for level, pairs in enumerate(levels):
            nodes = [node for pair in pairs for node in pair if node is not EMPTY]
            assert (len(nodes) <= 2) == (level == len(levels) - 1), (
                "the lowest level of at most two nodes is the top"
            )
            assert level == 0 or agree(nodes, sums), f"level {level} is not the sums of the pairs below"
            sums = [self._sum(*pair) for pair in pairs]

    def _sum(self, left: Any, right: Any) -> Any:
        if left is EMPTY or right is EMPTY:
            return right if left is EMPTY else left
        return self.monoid.combine(left, right)
