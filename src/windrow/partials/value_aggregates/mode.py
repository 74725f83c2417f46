"""The most frequent value of a window (``mode``): counts by value, and a tournament over them.

Values are numbered in their order, so that of several that occur equally often the smallest wins. A tree over
the numbers has in each node the winner of its two children: when a count changes, the path from its leaf to
the root is played again. Cost: O(log distinct values) per row; a window reads the root. Where windows share
nothing, counts alone do: O(1) per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints
from windrow.monoids.base import Monoid
from windrow.partials.value_aggregates.bags import Bag, codes_of, without_repeats
from windrow.partials.value_aggregates.base import Family
from windrow.partials.value_aggregates.distinct import is_encodable
from windrow.partials.value_aggregates.slide import slide_in_pieces

__all__ = ["MostFrequent"]


class MostFrequent(Family):
    """``mode``."""

    how = "a table of counts by value and a tournament over it, O(log n) per row; native code"
    held = "the distinct values of each slice, with counts"

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return is_encodable(kind)

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        return without_repeats(bag, offsets, keeps_counts=True)

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        codes, distinct = codes_of(bag.values)
        if not distinct:
            return pa.nulls(len(fronts), bag.values.type)
        places = np.zeros(distinct, np.int64)
        places[codes[::-1]] = np.arange(len(codes))[::-1]  # where each value is first seen
        in_order = pc.sort_indices(bag.values.take(pa.array(places))).to_numpy()
        ranks = np.empty(distinct, np.int64)
        ranks[in_order] = np.arange(distinct)
        out = np.zeros(len(fronts), np.int64)
        slide = _count_each if (fronts[1:] >= stops[:-1]).all() else _play_each
        slide(ranks[codes], distinct, bag.tallies, (fronts, stops), out)
        return bag.values.take(pa.array(places[in_order][out]))


def _play_each(
    ranks: Ints, distinct: int, counts: Ints | None, windows: tuple[Ints, Ints], out: Ints
) -> None:
    """The rank that wins in each window."""
    size = 1 << (distinct - 1).bit_length()
    winners = np.arange(2 * size) - size
    for level in range(size.bit_length() - 2, -1, -1):
        winners[1 << level : 2 << level] = winners[2 << level : 4 << level : 2]

    def new_state() -> tuple[Any, ...]:
        return np.zeros(size, np.int64), winners.copy(), size

    slide_in_pieces((_add, _remove, _answer), new_state, ranks, counts, windows, out)


def _count_each(
    ranks: Ints, distinct: int, counts: Ints | None, windows: tuple[Ints, Ints], out: Ints
) -> None:
    """The same for windows that share nothing: counts only rise until the window is answered, so that the
    winner is known all along."""

    def new_state() -> tuple[Any, ...]:
        return np.zeros(distinct, np.int64), np.zeros(1, np.int64)

    slide_in_pieces((_raise, _lower, _leader), new_state, ranks, counts, windows, out)


def _raise(state: Any, rank: int, count: int) -> None:
    counts, leader = state
    counts[rank] += count
    most = counts[leader[0]]
    if counts[rank] > most or (counts[rank] == most and rank < leader[0]):
        leader[0] = rank


def _lower(state: Any, rank: int, count: int) -> None:
    state[0][rank] -= count


def _leader(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    out[window] = state[1][0]


def _add(state: Any, rank: int, count: int) -> None:
    counts, winners, size = state
    counts[rank] += count
    node = (size + rank) >> 1
    while node > 0:
        left, right = winners[2 * node], winners[2 * node + 1]
        winners[node] = left if counts[left] >= counts[right] else right
        node >>= 1


def _remove(state: Any, rank: int, count: int) -> None:
    _add(state, rank, -count)


def _answer(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    out[window] = state[1][1]
