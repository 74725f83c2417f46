"""What the Monoid Tree Aggregators share: levels of nodes in pairs, most of them in a store.

Leaves are counted from the first value ever inserted; leaves [front, end) are in the window. Node j of level
l covers the leaves j·2^l ... (j+1)·2^l - 1. Nodes 2q and 2q+1 of a level are its pair q, and the children of
node q one level up. A level begins with node front >> l and ends where the algorithm says (``_level_end``).
Positions being absolute, a node never moves, and which sides of a pair are empty follows from front and end
alone: [MTA] theorem 1 without its cases.

The last pair of each level is kept here; those before it are written to the store once, complete, and never
change there ([MTA] 4.1.1 and 4.1.5).

Invariant ([MTA] invariants 1 and 2): in every level only the first pair may lack its left side and only the
last pair its right side; no pair lacks both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from windrow.state.levels import Key, LevelStore, MemoryLevels
from windrow.swag.base import Swag

if TYPE_CHECKING:
    from windrow.state.store import Store
    from windrow.swag.mta_stored import Durability, StoredTree

__all__ = ["EMPTY", "MonoidTree", "Policy"]

#: the window slide policy of [MTA] 4.1.3: ``policy(total, old)`` on partials
Policy = Callable[[Any, Any], Any]


class _Empty:
    def __repr__(self) -> str:
        return "·"


#: the empty side of a pair, where a tree is shown
EMPTY: Any = _Empty()


class MonoidTree(Swag):
    """The base of :class:`~windrow.swag.log_mta.LogMTA` and :class:`~windrow.swag.amta.AMTA`."""

    def __init__(self, monoid: Any, store: LevelStore | None = None) -> None:
        super().__init__(monoid)
        self.store: LevelStore = MemoryLevels() if store is None else store
        self._front = 0
        self._end = 0
        #: of each level the last pair, or its left side
        self._tails: list[list[Any]] = []

    @classmethod
    def open(
        cls,
        store: Store,
        window_id: str,
        monoid: Any,
        *,
        buffer: int = 512,
        cache: int = 512,
        block: int | None = None,
        durability: Durability = "buffered",
    ) -> StoredTree:
        """The window of that id in a key-value store, as it was at its last checkpoint, or a new one.

        ``buffer`` pairs are written together, ``cache`` pairs of each level are kept at its head, ``block``
        pairs share a key; ``durability`` says when the window is stored: :mod:`windrow.swag.mta_stored`.

        >>> import windrow as wr
        >>> from windrow.state import MemoryStore
        >>> window = wr.swag.LogMTA.open(MemoryStore(), "calls", wr.max, buffer=100)
        >>> window.insert(3)
        >>> window.flush()
        """
        from windrow.swag.mta_open import open_window

        sizes: dict[str, Any] = {"buffer": buffer, "cache": cache, "block": block}
        return open_window(cls, store, window_id, monoid, durability=durability, **sizes)

    def _state(self) -> tuple[Any, ...]:
        """All that is not in the store, as plain values that stay as they are."""
        return self._front, self._end, [tuple(tail) for tail in self._tails]

    def _restore(self, state: tuple[Any, ...]) -> None:
        """Take up what ``_state`` gave."""
        self._front, self._end, tails = state[:3]
        self._tails = [list(tail) for tail in tails]

    @contextlib.contextmanager
    def _atomically(self) -> Iterator[None]:
        """Pairs dropped from any other store than that in memory are gone: there each step stays."""
        if not isinstance(self.store, MemoryLevels):
            yield
            return
        state, store = self._state(), self.store.copy()
        with super()._atomically():
            try:
                yield
            except BaseException:
                self._restore(state)
                self.store = store
                raise

    def _level_end(self, level: int) -> int:
        """The position after the last node of a level."""
        raise NotImplementedError

    def _find(self, policy: Policy) -> int:
        """The first leaf that a policy lets stay; for a window that is not empty."""
        raise NotImplementedError

    def evict_while(self, policy: Policy) -> int:
        """Evict the longest prefix of the window for which ``policy(total, old)`` holds; return its length.

        ``old`` is the partial of a prefix, ``total`` that of the whole window. What holds for a prefix must
        hold for every shorter one. The partial of a prefix of nulls alone is the identity.
        """
        if self._front == self._end:
            return 0
        count = self._find(policy) - self._front
        self.evict_many(count)
        return count

    def _pairs(self, keys: Sequence[Key]) -> list[Sequence[Any]]:
        """Pairs by level and position, in one call to the store for all that are not at hand."""
        is_last = [position == (self._level_end(level) - 1) >> 1 for level, position in keys]
        stored = iter(
            self.store.get_many([key for key, at_hand in zip(keys, is_last, strict=True) if not at_hand])
        )
        return [
            self._tails[key[0]] if at_hand else next(stored)
            for key, at_hand in zip(keys, is_last, strict=True)
        ]

    def _drop_before(self, front: int) -> None:
        """Give up the pairs that end before a leaf."""
        for level in range(len(self._tails)):
            if self._front >> (level + 1) == front >> (level + 1):
                break
            self.store.drop(level, front >> (level + 1))

    def _node(self, level: int, position: int) -> Any:
        if position >> 1 == (self._level_end(level) - 1) >> 1:
            return self._tails[level][position & 1]
        return self.store.get(level, position >> 1)[position & 1]

    def levels(self) -> list[list[tuple[Any, Any]]]:
        """The nodes level by level, from the leaves, in pairs; :data:`EMPTY` where a side is."""
        shown: list[list[tuple[Any, Any]]] = []
        for level in range(len(self._tails)):
            first, end = self._front >> level, self._level_end(level)
            nodes = {position: self._node(level, position) for position in range(first, end)}
            pairs = range(first >> 1, (end + 1) >> 1)
            shown.append([(nodes.get(2 * q, EMPTY), nodes.get(2 * q + 1, EMPTY)) for q in pairs])
        return shown

    def check_invariants(self) -> None:
        super().check_invariants()
        assert self._end - self._front == self._size
        for level, pairs in enumerate(self.levels()):
            assert pairs, f"level {level} is empty"
            assert len(self._tails[level]) == 2 - (self._level_end(level) & 1)
            for index, (left, right) in enumerate(pairs):
                assert left is not EMPTY or right is not EMPTY  # [MTA] invariant 2
                assert left is not EMPTY or index == 0  # [MTA] invariant 1
                assert right is not EMPTY or index == len(pairs) - 1
