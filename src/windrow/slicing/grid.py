"""Slices by time alone: those that rows from one time to another may be in, numbered.

By arithmetic where all edges are one progression, otherwise by a search in a list of the edges. Cost: O(1)
per row, O(log edges) for edges in a list; of a row in the slice of the one before it, without a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from windrow.arrays import END_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.slicing.slicer import Slicer
from windrow.threads import even_pieces, in_threads, is_one_piece
from windrow.values import lazy

__all__ = ["MOST_PLACES", "Grid", "Listed", "Uniform", "grid_between"]

#: slices, and the places of a grid that rows are scattered over, are numbered with 32 bits
MOST_PLACES = 1 << 31
#: what 64 bits do not hold
_BEYOND = 1 << 63


@dataclass(frozen=True)
class Uniform:
    """Slices of one length, from ``base`` on."""

    base: int
    period: int
    count: int

    def numbers(self, times: Ints) -> tuple[Any, bool]:
        return _in_pieces(lambda part, found: _number_uniform(part, self.base, self.period, found), times)

    def starts(self, numbers: Ints) -> Ints:
        return self.base + self.period * numbers

    def ends(self, numbers: Ints) -> Ints:
        return self.base + self.period * (numbers + 1)


@dataclass(frozen=True)
class Listed:
    """Slices between edges; the first begins with the first row."""

    low: int
    edges: Ints

    @lazy
    def count(self) -> int:
        return len(self.edges) + 1

    def numbers(self, times: Ints) -> tuple[Any, bool]:
        return _in_pieces(lambda part, found: _number_listed(part, self.edges, found), times)

    def starts(self, numbers: Ints) -> Ints:
        return np.concatenate([[self.low], self.edges])[numbers]

    def ends(self, numbers: Ints) -> Ints:
        found: Ints = _ends_in(self.edges, numbers)
        return found


Grid: TypeAlias = Uniform | Listed


def _in_pieces(number: Callable[[Ints, Any], bool], times: Ints) -> tuple[Any, bool]:
    """What ``number`` finds for times, and whether none is smaller than the one before it."""
    found = np.empty(len(times), np.int32)
    if is_one_piece(len(times)):
        return found, number(times, found)
    pieces = even_pieces(len(times))
    rises = in_threads(lambda piece: number(times[piece], found[piece]), pieces)
    return found, all(rises) and all(found[piece.start - 1] <= found[piece.start] for piece in pieces[1:])


def grid_between(slicer: Slicer, low: int, high: int, rows: int) -> Grid | None:
    """The slices that so many rows from one time to another may be in; None: there are too many."""
    only = slicer.only_progression
    if only is None:
        edges = slicer.edges_between(low, high, rows)
        return None if edges is None or len(edges) + 1 >= MOST_PLACES else Listed(low, edges)
    base = low - (low - only.anchor) % only.period
    count = (high - base) // only.period + 1
    fits = base >= -_BEYOND and high - base < _BEYOND and base + count * only.period < _BEYOND
    return Uniform(base, only.period, count) if count < MOST_PLACES and fits else None


@kernel
def _number_uniform(times: Ints, base: int, period: int, found: Any) -> bool:
    """Whether the numbers rise. The quotient of a product with the inverse is off by one at most, as there
    are few slices."""
    inverse = 1.0 / period
    last: Any = 0
    falls: Any = False
    for i in range(len(times)):
        distance = times[i] - base
        number = np.int64(distance * inverse)
        rest = distance - number * period
        number += np.int64(rest >= period) - np.int64(rest < 0)
        found[i] = number
        falls |= number < last
        last = number
    return not falls


@kernel
def _ends_in(edges: Ints, numbers: Ints) -> Ints:
    """The edges with these numbers; after the last of them there is the end of time."""
    found = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        found[i] = edges[numbers[i]] if numbers[i] < len(edges) else END_OF_TIME
    return found


@kernel
def _number_listed(times: Ints, edges: Ints, found: Any) -> bool:
    """How many edges are at or before each time; of a row in the slice of the one before it, without a
    search. Whether the numbers rise."""
    number, rises = 0, True
    for i in range(len(times)):
        is_after = number == 0 or times[i] >= edges[number - 1]
        if not is_after or (number < len(edges) and times[i] >= edges[number]):
            number = np.searchsorted(edges, times[i], side="right")
            rises = rises and is_after
        found[i] = number
    return rises
