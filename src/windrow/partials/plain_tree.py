"""A tree over partials that are Python objects: any range of them in O(log n) combines.

Invariant: node i holds the combination of its two children, 2i and 2i + 1, in this order; the leaves are the
partials in order, and places behind the last one are empty. So what is combined is always neighbours, from
left to right, as aggregates that depend on order need it.
Cost: n - 1 combines to build, at most 2 log2 n a range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["PlainTree"]

_EMPTY = object()


class PlainTree:
    """Ranges of partials, combined.

    >>> tree = PlainTree(lambda a, b: a + b, ["a", "b", "c", "d", "e"])
    >>> tree.fold(1, 4), tree.fold(0, 5)
    ('bcd', 'abcde')
    """

    def __init__(self, combine: Callable[[Any, Any], Any], partials: Sequence[Any]) -> None:
        self._combine = combine
        self._leaves = 1 << max(0, len(partials) - 1).bit_length()
        self._nodes: list[Any] = [_EMPTY] * (2 * self._leaves)
        self._nodes[self._leaves : self._leaves + len(partials)] = partials
        for i in range(self._leaves - 1, 0, -1):
            self._nodes[i] = self._joined(self._nodes[2 * i], self._nodes[2 * i + 1])

    def _joined(self, a: Any, b: Any) -> Any:
        if b is _EMPTY:
            return a
        return b if a is _EMPTY else self._combine(a, b)

    def fold(self, front: int, stop: int) -> Any:
        """The partials [front, stop) combined; there is at least one."""
        left, right = _EMPTY, _EMPTY
        low, high = front + self._leaves, stop + self._leaves
        while low < high:
            if low & 1:
                left = self._joined(left, self._nodes[low])
                low += 1
            if high & 1:
                high -= 1
                right = self._joined(self._nodes[high], right)
            low, high = low >> 1, high >> 1
        return self._joined(left, right)
