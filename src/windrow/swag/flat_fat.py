"""FlatFAT, the Reactive Aggregator: a complete binary tree of partials in one flat array.

The leaves are a circular buffer of values; node v has children 2v and 2v + 1, the root is node 1, and each
inner node holds the aggregate of its leaves ([RA] eq 4.1). Free leaves hold a mark that combine never sees.
Inserts, evictions and resizes only write leaves and remember them; a query first updates all their ancestors,
level by level, so that m changes cost at most m(1 + ceil(log2(n/m))) combines ([RA] theorem 4.2). A buffer
that wraps around is *inverted*: its result is suffix + prefix.

Values may also be removed from the middle (``remove``), which leaves holes. A full buffer is compacted if at
most 3/4 of it is in use and doubled otherwise; it is halved when less than 1/4 is in use. A resize moves all
leaves, so that the query after it makes the whole tree anew.

Invariant: an inner node is the aggregate of its leaves, or one of these leaves has changed. Only queries
combine, and one that raises leaves the changes to the next. Source: [RA] algorithms 1-3, sections 4.3 and
5.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from windrow.swag.checks import agree
from windrow.swag.fifo import FifoSwag, NativeWindow
from windrow.swag.native.flat_fat import build_tree, operations

__all__ = ["FlatFAT"]

_SMALLEST = 4


class _Hole:
    """A leaf without a value, or a subtree without one."""

    def __repr__(self) -> str:
        return "HOLE"


HOLE: Any = _Hole()


class FlatFAT(FifoSwag):
    """Logarithmic, but the window need not be FIFO: any value may be removed.

    >>> import windrow as wr
    >>> window = wr.swag.FlatFAT(wr.concat)
    >>> for letter in "abcd":
    ...     window.insert(letter)
    >>> window.remove(2)  # the third value ever inserted
    >>> window.query()
    'abd'
    """

    cost = "m changes: m(1 + ceil(log2(n/m))) combines; a query at most 2 log2(n) more"
    source = "[RA] algorithms 1-3"
    operations = staticmethod(operations)
    slots = 2

    def __init__(self, monoid: Any, capacity: int = _SMALLEST) -> None:
        super().__init__(monoid)
        if capacity < 1 or capacity & (capacity - 1):
            raise ValueError(f"capacity {capacity}: give a power of two")
        self._smallest = self._capacity = capacity
        self._tree: list[Any] = [HOLE] * (2 * capacity)
        #: of the positions that compaction has moved: which value of the stream is there, counted from 0; all
        #: others hold the one of their own number
        self._ordinals: dict[int, int] = {}
        #: slots of leaves that have changed since their ancestors were updated
        self._changed: set[int] = set()

    @staticmethod
    def start(identity: Any) -> tuple[Any, ...]:
        return 0, 0

    @property
    def capacity(self) -> int:
        return self._capacity

    # -- changes
    # ---------------------------------------------------------------------------------------------------

    def _insert(self, partial: Any) -> None:
        self._prepare_insert(partial)
        front, end = self._registers
        if end - front == self._capacity:
            # [RA] 5.1.1: compact if at most 3/4 is in use, else double
            self._resize(self._capacity if 4 * self._size <= 3 * self._capacity else 2 * self._capacity)
            front, end = self._registers
        self._put(end, partial)
        self._registers = front, end + 1

    def _evict(self, count: int) -> None:
        if self._window is not None:
            self._to_plain()
        for _ in range(count):
            self._put(self._registers[0], HOLE)
            self._skip_holes()

    def remove(self, ordinal: int) -> None:
        """Remove the value that was the ``ordinal``-th to be inserted, counting from 0: the window need not
        be FIFO."""
        if self._window is not None:
            self._to_plain()
        position = self._position(ordinal)
        if self._times:
            older = sum(self._leaf(p) is not HOLE for p in range(self._registers[0], position))
            if older < len(self._times):
                del self._times[older]
        if position in self._null_positions:
            self._null_positions.remove(position)
        self._put(position, HOLE)
        self._skip_holes()
        self._size -= 1
        self._settle()

    def _position(self, ordinal: int) -> int:
        low, end = self._registers
        high = end
        while low < high:
            middle = (low + high) // 2
            if self._ordinals.get(middle, middle) < ordinal:
                low = middle + 1
            else:
                high = middle
        if low == end or self._ordinals.get(low, low) != ordinal or self._leaf(low) is HOLE:
            raise KeyError(f"value number {ordinal} is not in the window")
        return low

    def _leaf(self, position: int) -> Any:
        return self._tree[self._capacity + (position & (self._capacity - 1))]

    def _put(self, position: int, partial: Any) -> None:
        slot = position & (self._capacity - 1)
        self._tree[self._capacity + slot] = partial
        self._changed.add(slot)

    def _skip_holes(self) -> None:
        """Let the front be the oldest value again."""
        front, end = self._registers
        while front < end and self._leaf(front) is HOLE:
            self._ordinals.pop(front, None)
            front += 1
        self._registers = front, end

    def _next_position(self) -> int:
        return int(self._registers[1])

    def _forget(self, count: int) -> None:
        super()._forget(count)
        self._settle()

    def _settle(self) -> None:
        """After values have left: the front that holes leave, and a tree that is not too large."""
        self._evicted = self._registers[0]
        while self._null_positions and self._null_positions[0] < self._evicted:
            self._null_positions.popleft()
        capacity = self._capacity
        while 4 * self._size < capacity and capacity > self._smallest:
            capacity //= 2
        if capacity < self._capacity:
            self._resize(capacity)

    def _resize(self, capacity: int) -> None:
        """Copy the values into a tree of this capacity, without holes; equal capacity: compact. [RA]
        algorithm 1."""
        front, end = self._registers
        live = [p for p in range(front, end) if self._leaf(p) is not HOLE]
        leaves = [self._leaf(p) for p in live]
        front = end - len(live)
        nulls, ordinals = set(self._null_positions), self._ordinals
        self._null_positions = deque(new for new, old in enumerate(live, front) if old in nulls)
        self._ordinals = {
            new: ordinals.get(old, old)
            for new, old in enumerate(live, front)
            if ordinals.get(old, old) != new
        }
        self._fill(capacity, front, leaves)
        self._registers = front, end
        self._evicted = front

    def _fill(self, capacity: int, front: int, leaves: Iterable[Any]) -> None:
        """Make a tree of these leaves, from position ``front`` on, whose inner nodes a query computes."""
        self._capacity = capacity
        self._tree = [HOLE] * (2 * capacity)
        self._changed = set()
        for position, leaf in enumerate(leaves, front):
            self._put(position, leaf)

    def _update(self, nodes: Iterable[int]) -> None:
        """Recompute inner nodes and all above them, level by level. [RA] algorithm 2, lines 3-9."""
        work = sorted(v for v in nodes if v >= 1)
        while work:
            for v in work:
                self._tree[v] = self._joined(self._tree[2 * v], self._tree[2 * v + 1])
            work = sorted({v // 2 for v in work if v > 1})

    def _joined(self, a: Any, b: Any) -> Any:
        if a is HOLE:
            return b
        return a if b is HOLE else self.monoid.combine(a, b)

    # -- queries
    # ---------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Bring the tree up to date with all changes since the last query."""
        if self._window is not None:
            self._to_plain()
        if self._changed:
            self._update({(self._capacity + slot) // 2 for slot in self._changed})
            self._changed.clear()

    def _partial(self) -> Any:
        self.flush()
        front, end = self._registers
        if front == end:
            return self._identity
        total = self._between(front, end)
        return self._identity if total is HOLE else total

    def _between(self, first: int, last: int) -> Any:
        """The aggregate of positions [first, last); inverted buffers are suffix + prefix ([RA] 5.1.2)."""
        mask = self._capacity - 1
        low, high = first & mask, (last - 1) & mask
        if low == 0 and high == mask:
            return self._tree[1]
        if low <= high:
            whole = first == self._registers[0] and last == self._registers[1]
            return self._tree[1] if whole else self._range(low, high)
        return self._joined(self._suffix(low), self._prefix(high))

    def _prefix(self, slot: int) -> Any:
        """Leaves 0 ... slot. [RA] algorithm 3."""
        v = self._capacity + slot
        total = self._tree[v]
        while v > 1:
            if v & 1:
                total = self._joined(self._tree[v - 1], total)
            v //= 2
        return total

    def _suffix(self, slot: int) -> Any:
        """Leaves slot ... capacity - 1."""
        v = self._capacity + slot
        total = self._tree[v]
        while v > 1:
            if not v & 1:
                total = self._joined(total, self._tree[v + 1])
            v //= 2
        return total

    def _range(self, low: int, high: int) -> Any:
        """Leaves low ... high."""
        left, right = HOLE, HOLE
        a, b = self._capacity + low, self._capacity + high + 1
        while a < b:
            if a & 1:
                left = self._joined(left, self._tree[a])
                a += 1
            if b & 1:
                b -= 1
                right = self._joined(self._tree[b], right)
            a, b = a // 2, b // 2
        return self._joined(left, right)

    def range_query(self, low: int, high: int) -> Any:
        """The lowered result for the values from the ``low``-th oldest up to, not including, the ``high``-th.

        >>> import windrow as wr
        >>> window = wr.swag.FlatFAT(wr.sum)
        >>> for v in (1, 2, 3, 4):
        ...     window.insert(v)
        >>> window.range_query(1, 3)
        5
        """
        if not 0 <= low <= high <= self._size:
            raise IndexError(f"values {low} to {high} of {self._size}: give 0 <= low <= high <= len()")
        if self._window is not None:
            self._to_plain()
        front, end = self._registers
        if end - front != self._size:
            self._resize(self._capacity)
            front = self._registers[0]
        nulls = sum(front + low <= position < front + high for position in self._null_positions)
        if nulls and self.monoid.nulls == "propagate":
            return None
        if nulls == high - low:
            return self.monoid.empty_result()
        self.flush()
        return self.monoid.lower(self._between(front + low, front + high))

    def _backup(self) -> dict[str, Any]:
        copies = {name: getattr(self, name).copy() for name in ("_tree", "_changed", "_ordinals")}
        return {**super()._backup(), **copies, "_capacity": self._capacity}

    def check_invariants(self) -> None:
        """Every inner node is the aggregate of its children; the live leaves are those of the window ([RA]
        eq 4.1)."""
        super().check_invariants()
        if self._window is not None:
            return
        self.flush()
        front, end = self._registers
        assert end - front <= self._capacity
        assert sum(leaf is not HOLE for leaf in self._tree[self._capacity :]) == self._size
        assert front == end or self._tree[self._capacity + (front & (self._capacity - 1))] is not HOLE
        for v in range(1, self._capacity):
            assert agree(self._tree[v], self._joined(self._tree[2 * v], self._tree[2 * v + 1])), v

    # -- the native form
    # -------------------------------------------------------------------------------------------

    def _ring_of_plain(self, capacity: int, form: Any) -> Any:
        import numpy as np

        if self._registers[1] - self._registers[0] != self._size:
            self._resize(self._capacity)
        tree = self._neutral_tree(capacity, form, form.layout.partial_dtype)
        for position in range(*self._registers):
            tree[capacity + (position & (capacity - 1))] = form.to_native(self._leaf(position))
        build_tree(tree, np.int64(capacity), form)
        return tree

    def _larger_ring(self, window: NativeWindow, capacity: int) -> Any:
        import numpy as np

        tree = self._neutral_tree(capacity, window.native, window.ring.dtype)
        positions = np.arange(*self._registers)
        old = window.mask + 1
        tree[capacity + (positions & (capacity - 1))] = window.ring[old + (positions & window.mask)]
        build_tree(tree, np.int64(capacity), window.native)
        return tree

    @staticmethod
    def _neutral_tree(capacity: int, form: Any, dtype: Any) -> Any:
        import numpy as np

        tree = np.zeros(2 * capacity, dtype)
        tree[:] = form.identity
        return tree

    def _plain_of_ring(self, window: NativeWindow) -> None:
        plain = window.native.to_plain
        front, end = self._registers
        capacity = self._smallest
        while capacity < end - front:
            capacity *= 2
        self._ordinals = {position: n for position, n in self._ordinals.items() if position >= front}
        leaves = (window.ring[window.mask + 1 + (p & window.mask)] for p in range(front, end))
        self._fill(capacity, front, map(plain, leaves))
