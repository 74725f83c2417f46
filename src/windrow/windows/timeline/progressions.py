"""Arithmetic progressions: the edges of windows of fixed length, described by two numbers.

Purpose: let an engine slice arrays of times. An edge is any ``anchor + k * period``; thousands of windows
come down to a few such pairs.
Invariant: 0 <= anchor < period; a tuple of progressions is sorted and holds each pair once, so that edges
that windows share count once.
Source: [Scotty] section III.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import NamedTuple


class Arithmetic(NamedTuple):
    """The integers ``anchor + k * period`` for every integer k.

    >>> Arithmetic(anchor=2, period=5).next_after(7)
    12
    >>> list(Arithmetic(anchor=2, period=5).between(-3, 7))
    [-3, 2, 7]
    """

    anchor: int
    period: int

    def next_after(self, value: int) -> int:
        """The smallest member that is larger than the value."""
        return value + self.period - (value - self.anchor) % self.period

    def between(self, low: int, high: int) -> range:
        """The members from low to high, both included."""
        return range(self.next_after(low - 1), high + 1, self.period)


def progressions(anchors: Iterable[int], period: int) -> tuple[Arithmetic, ...]:
    """The progressions of one period through the given members, equal ones merged.

    >>> progressions([0, 7, 14], 5)
    (Arithmetic(anchor=0, period=5), Arithmetic(anchor=2, period=5), Arithmetic(anchor=4, period=5))
    >>> progressions([3, 13], 5)
    (Arithmetic(anchor=3, period=5),)
    """
    return tuple(Arithmetic(anchor, period) for anchor in sorted({anchor % period for anchor in anchors}))


def members(group: tuple[Arithmetic, ...], low: int, high: int) -> Iterator[int]:
    """The members of progressions of one period from low to high, in order, each once.

    >>> list(members(progressions([0, 7], 5), 0, 10))
    [0, 2, 5, 7, 10]
    """
    return merge(*(each.between(low, high) for each in group))
