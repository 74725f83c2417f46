"""Log MTA: a binary tree over the window in which both flanks are kept up to date, level by level.

Nodes, pairs and the store are those of :mod:`windrow.swag.mta`. A node is the partial of its leaves in the
window, so that every level is the whole window; the top is the lowest with at most two nodes, which may lie
in two pairs ([MTA] has one). The first node of a level may lose leaves once stored, and is kept here.
Invariant: [MTA] invariants 1 and 2, and every node is the sum of its children. Cost: with h = ceil(log2(n)),
n after an insert and before an evict, at most h - 1 combines per insert, h - 2 per evict of any number, h + 2
to find how many a policy evicts, 1 per query. Source: [MTA] alg 1 and 2.
"""

from __future__ import annotations

from typing import Any

from windrow.state.levels import Key, LevelStore
from windrow.swag.checks import agree
from windrow.swag.mta import EMPTY, MonoidTree, Policy

__all__ = ["LogMTA"]


class LogMTA(MonoidTree):
    """Evicts any number of values at once in O(log n) combines, by count or by a policy.

    >>> from windrow.monoids import max
    >>> window = LogMTA(max)
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
        self._heads: list[Any] = []  # of each level the first node

    def _state(self) -> tuple[Any, ...]:
        return *super()._state(), list(self._heads)

    def _restore(self, state: tuple[Any, ...]) -> None:
        super()._restore(state)
        self._heads = list(state[3])

    def _level_end(self, level: int) -> int:
        return ((self._end - 1) >> level) + 1

    def _node(self, level: int, position: int) -> Any:
        return self._heads[level] if position == self._front >> level else super()._node(level, position)

    def _insert(self, partial: Any) -> None:
        if not self._tails:
            self._heads = [partial]
            self._tails = [[self.monoid.identity, partial] if self._end & 1 else [partial]]
        else:
            # all combines come before any change, so that one that raises leaves the window as it was
            branch = [partial]  # the last node of each level: [MTA] alg 1, lines 2-16
            for level, tail in enumerate(self._tails[:-1]):
                is_right = (self._end >> level) & 1  # line 13
                branch.append(self.monoid.combine(tail[0], branch[-1]) if is_right else branch[-1])
            root = self._new_root(branch[-1])
            self._replace_last_branch(branch)
            if root is not None:
                self._heads.append(root[0])
                self._tails.append([*root] if (self._end >> len(self._tails)) & 1 else [root[1]])
        self._end += 1

    def _new_root(self, last: Any) -> tuple[Any, Any] | None:
        """The two nodes of a level on top, if ``last`` is the third of the top: [MTA] alg 1, line 18."""
        top = len(self._tails) - 1
        if (self._end >> top) - (self._front >> top) < 2:
            return None
        if (self._front >> top) & 1:
            return self._heads[top], self.monoid.combine(self._tails[top][0], last)
        return self.monoid.combine(self._heads[top], self._tails[top][1]), last

    def _replace_last_branch(self, branch: list[Any]) -> None:
        end, tails = self._end, self._tails
        # below this level a pair begins with the new leaf, at it a right side does, above it nodes grow
        turn = (end & -end).bit_length() - 1
        if turn:
            self.store.put_many(
                [((n, (end >> (n + 1)) - 1), (*tail,)) for n, tail in enumerate(tails[:turn])]
            )
        for level, (tail, node) in enumerate(zip(tails, branch, strict=True)):  # lines 6 and 9
            tail[0 if level < turn else len(tail) - (level > turn) :] = [node]

    def _find(self, policy: Policy) -> int:
        """[MTA] alg 2, lines 2-20; its lines 11 and 16 mean one running value, here ``old``."""
        total, old = self._partial(), None
        position, top = self._front, len(self._tails) - 1
        for level in range(top, -1, -1):
            # of two nodes at the top both may go; below one at most, as the node above has to stay
            for _ in range(2 if level == top else 1):
                node = self._node(level, position >> level)
                prefix = node if position == self._front else self.monoid.combine(old, node)
                if not policy(total, prefix):
                    break
                old, position = prefix, ((position >> level) + 1) << level
                if position >= self._end:
                    return self._end
        return position

    def _evict(self, count: int) -> None:
        """[MTA] alg 2, lines 21-27."""
        front = self._front + count
        heads = self._first_branch(front)
        self._drop_before(front)  # line 5
        del self._tails[len(heads) :]
        self._heads, self._front = heads, front

    def _height(self, front: int) -> int:
        """How many levels a window has that begins with leaf ``front``."""
        levels = int(front < self._end)
        while levels and ((self._end - 1) >> (levels - 1)) - (front >> (levels - 1)) > 1:
            levels += 1
        return levels

    def _first_branch(self, front: int) -> list[Any]:
        """The first node of each level once leaf ``front`` is the first."""
        levels = self._height(front)  # a node that begins with it is whole; above, right siblings are added
        whole = min((front & -front).bit_length(), levels)
        keys: list[Key] = [(level, front >> (level + 1)) for level in range(whole)]
        lefts = [level for level in range(whole, levels) if not (front >> (level - 1)) & 1]
        pairs = iter(self._pairs(keys + [(level - 1, front >> level) for level in lefts]))
        heads = [next(pairs)[(front >> level) & 1] for level in range(whole)]
        for level in range(whole, levels):
            is_whole = (front >> (level - 1)) & 1
            heads.append(heads[-1] if is_whole else self.monoid.combine(heads[-1], next(pairs)[1]))
        return heads

    def _partial(self) -> Any:
        if self._end - self._front < 2:
            return self._heads[0] if self._heads else self.monoid.identity
        return self.monoid.combine(self._heads[-1], self._tails[-1][-1])

    def check_invariants(self) -> None:
        super().check_invariants()
        levels = self.levels()
        assert len(self._heads) == len(levels)
        sums: list[Any] = []
        for level, pairs in enumerate(levels):
            sides = [[node for node in pair if node is not EMPTY] for pair in pairs]
            assert (sum(map(len, sides)) <= 2) == (level == len(levels) - 1), f"level {level} is no top"
            assert level == 0 or agree([n for pair in sides for n in pair], sums), f"sums of level {level}"
            sums = [self.monoid.combine(*pair) if len(pair) == 2 else pair[0] for pair in sides]
