"""The k largest or smallest values of a window (``top_k``, ``bottom_k``), by their ranks.

The values that a group of windows spans are sorted once. Which ranks are in the window is a set of bits, and
a window reads k members from one end of it. Cost: O(1) per row, O(k) per window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints
from windrow.monoids.base import Monoid
from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.base import Family
from windrow.partials.value_aggregates.bits import discard, empty_bits, following, include, preceding
from windrow.partials.value_aggregates.distinct import is_encodable
from windrow.partials.value_aggregates.lists import lists_of
from windrow.partials.value_aggregates.slide import in_groups, slide
from windrow.rows.sorting import order_of_floats, order_of_integers

__all__ = ["Extremes"]

#: values that are sorted at once, at least
_GROUP = 1 << 15


class Extremes(Family):
    """``top_k`` and ``bottom_k``: NaN is the extreme of either."""

    how = "ranks as bits, k of them read per window, O(1) per row once sorted; native code"
    held = "at most k values of each slice"

    def __init__(self, largest: bool) -> None:
        self._largest = largest

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return is_encodable(kind) and not pa.types.is_boolean(kind)

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        places, kept = self._found(monoid, bag.values, offsets[:-1], offsets[1:])
        return bag.take(places), kept

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        places, offsets = self._found(monoid, bag.values, fronts, stops)
        return lists_of(monoid, bag.values, offsets, places)

    def _found(self, monoid: Monoid, values: Any, fronts: Ints, stops: Ints) -> tuple[Ints, Ints]:
        """The places of the values that each range gives, and where those of each begin, and the end."""
        k = int(monoid.parameters["k"])
        offsets = np.concatenate([[0], np.cumsum(np.minimum(stops - fronts, k))])
        out = np.zeros(offsets[-1], np.int64)
        read = _read_last if self._largest else _read_first

        def answer(windows: slice, low: int, high: int) -> None:
            order = self._order(values.slice(low, high - low))
            ranks = np.empty(high - low, np.int64)
            ranks[order] = np.arange(high - low)
            chosen = fronts[windows] - low, stops[windows] - low
            state = (*empty_bits(high - low), order + low, offsets[windows.start :], k)
            slide((_enter, _leave, read), state, ranks, None, chosen, out)

        in_groups(answer, (fronts, stops), _GROUP)
        return out, offsets

    def _order(self, values: Any) -> Ints:
        """Places in the order of values, NaN at the end that is asked for."""
        if pa.types.is_floating(values.type):
            return self._order_of_floats(values.to_numpy().astype(np.float64) + 0.0)  # no negative zeros
        if pa.types.is_signed_integer(values.type):
            return order_of_integers(values.to_numpy().astype(np.int64))
        return np.asarray(pc.sort_indices(values), np.int64)

    def _order_of_floats(self, numbers: Any) -> Ints:
        is_nan = np.isnan(numbers)
        numbers[is_nan] = np.inf if self._largest else -np.inf
        order = order_of_floats(numbers)
        if is_nan.any():
            first, second = order[~is_nan[order]], order[is_nan[order]]
            order = np.concatenate([first, second] if self._largest else [second, first])
        return order


def _enter(state: Any, rank: int, count: int) -> None:
    include(state[0], state[1], rank)


def _leave(state: Any, rank: int, count: int) -> None:
    discard(state[0], state[1], rank)


def _read_last(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    bits, top, order, offsets, k = state
    rank = order.shape[0]
    for i in range(min(stop - front, k)):
        rank = preceding(bits, top, rank)
        out[offsets[window] + i] = order[rank]


def _read_first(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    bits, top, order, offsets, k = state
    rank = -1
    for i in range(min(stop - front, k)):
        rank = following(bits, top, rank + 1)
        out[offsets[window] + i] = order[rank]
