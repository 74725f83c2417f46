"""Quantiles: windows over values by their ranks, exact and interpolated.

The values that a group of windows spans are sorted once, whatever the number of quantiles that are asked for,
and each is known by its rank from then on. Which
ranks are in the window is a set of bits, and a cursor stands at the one that was asked for last: values that
enter and leave below it move it in the count, and from one window to the next it walks as many members as the
answer has moved. That is O(1) per row in practice, whatever the window. Where values stand for several rows
(slices of ``approx_quantile``), a Fenwick tree counts by rank, in O(log n). Windows that share little are
selected from a copy instead, in O(n) each.

Source: Fenwick, A new data structure for cumulative frequency tables (1994); Hoare, Find (1961).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.compile.pieces import pieces
from windrow.monoids.base import Monoid
from windrow.monoids.quantiles import dropped_digits, mixed, rounded
from windrow.partials.range_pieces import range_pieces, widest_range
from windrow.partials.value_aggregates.bags import Bag, without_repeats
from windrow.partials.value_aggregates.base import Family
from windrow.partials.value_aggregates.bits import discard, empty_bits, following, include, preceding
from windrow.partials.value_aggregates.slide import in_groups, slide
from windrow.rows.sorting import order_of_floats
from windrow.state.checks import require
from windrow.threads import in_threads

__all__ = ["Ranks"]

#: binary digits of a float64, and of what is kept of a rounded one
_DIGITS, _SHORT = 64, 32
#: values that are sorted at once, at least
_GROUP = 1 << 15
#: windows that hold a value in fewer of them than this, on average, are selected one by one
_FEW = 4


class Ranks(Family):
    """``quantile``, ``median`` and ``approx_quantile``, by their parameters."""

    how = "ranks as bits and a cursor, O(1) per row and window once sorted; native code"
    held = "the distinct rounded values of each slice: few, however many rows there are"

    def held_for(self, monoid: Monoid) -> str:
        if "accuracy" in monoid.parameters:
            return self.held
        return "every value of its windows, so that state grows with the rows; approx_quantile keeps few"

    def shared_by(self, monoid: Monoid) -> Any:
        return ("ranks", monoid.parameters.get("accuracy"))

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

    def kept(self, monoid: Monoid, values: Any) -> Any:
        """Of approx_quantile the digits that are left, as integers of 32 bits where that is enough."""
        numbers = _numbers(values)
        accuracy = monoid.parameters.get("accuracy")
        return pa.array(numbers if accuracy is None else _coded(rounded(numbers, accuracy), monoid))

    def check(self, monoid: Monoid, bag: Bag, name: str) -> None:
        kind = pa.int32() if _is_coded(monoid) else pa.float64()
        require(bag.values.type == kind, f"values of {name} of type {bag.values.type}")

    def partials(self, monoid: Monoid, bag: Bag) -> list[Any]:
        return super().partials(monoid, replace(bag, values=pa.array(_decoded(monoid, bag.values))))

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        if "accuracy" not in monoid.parameters:
            return bag, offsets
        return without_repeats(bag, offsets, keeps_counts=True)

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        q, numbers = float(monoid.parameters.get("q", 0.5)), _decoded(monoid, bag.values)
        out = np.zeros(len(fronts))
        is_nan = np.isnan(numbers)
        numbers = np.where(is_nan, np.inf, numbers) if is_nan.any() else numbers
        if bag.counts is None and (stops - fronts).sum() < _FEW * len(numbers):
            _select_each(numbers, fronts, stops, q, out)
        else:
            _slide_each(numbers, bag, fronts, stops, q, out)
        if is_nan.any():
            before = np.concatenate([[0], np.cumsum(is_nan)])
            out[before[stops] > before[fronts]] = np.nan
        return pa.array(out)


def _numbers(values: Any) -> Any:
    numbers = values.to_numpy(zero_copy_only=False)
    return numbers.astype(np.float64, copy=False)


def _is_coded(monoid: Monoid) -> bool:
    """Whether values are kept as the first of their digits."""
    return "accuracy" in monoid.parameters and _DIGITS - _dropped(monoid) <= _SHORT


def _dropped(monoid: Monoid) -> int:
    return dropped_digits(float(monoid.parameters["accuracy"]))


def _coded(numbers: Any, monoid: Monoid) -> Any:
    """Rounded numbers without the digits that are zero."""
    if not _is_coded(monoid):
        return numbers
    return (numbers.view(np.uint64) >> np.uint64(_dropped(monoid))).astype(np.uint32).view(np.int32)


def _decoded(monoid: Monoid, values: Any) -> Any:
    kept = values.to_numpy()
    if kept.dtype != np.int32:
        return kept
    return (kept.view(np.uint32).astype(np.uint64) << np.uint64(_dropped(monoid))).view(np.float64)


def _select_each(numbers: Any, fronts: Ints, stops: Ints, q: float, out: Any) -> None:
    widest = widest_range(fronts, stops)

    def select(piece: slice) -> None:
        room = np.empty(widest)
        for first, stop in pieces(piece.stop - piece.start, cost=widest):
            chosen = slice(piece.start + first, piece.start + stop)
            _select_windows(numbers, fronts[chosen], stops[chosen], q, room, out[chosen])

    _select_windows(numbers, fronts[:0], stops[:0], q, np.empty(0), out[:0])  # compiles, before threads do
    in_threads(select, range_pieces(fronts, stops, widest, overlap=False))


def _slide_each(numbers: Any, bag: Bag, fronts: Ints, stops: Ints, q: float, out: Any) -> None:
    counts = bag.tallies

    def answer(windows: slice, low: int, high: int) -> None:
        ranks, ordered = _ranked(numbers, low, high, bag.memory)
        chosen = fronts[windows] - low, stops[windows] - low
        if counts is None:
            cursor = np.zeros(3, np.int64)
            state = (*empty_bits(high - low), cursor, ordered, q)
            slide((_enter, _leave, _read), state, ranks, None, chosen, out[windows])
        else:
            tree, total = np.zeros(high - low + 1, np.int64), np.zeros(1, np.int64)
            tallies = (tree, total, ordered, q)
            slide((_add, _remove, _answer), tallies, ranks, counts[low:high], chosen, out[windows])

    in_groups(answer, (fronts, stops), _GROUP)


def _ranked(numbers: Any, low: int, high: int, memory: dict[Any, Any] | None) -> tuple[Ints, Any]:
    """The rank of each value in [low, high), and the values by rank; kept in ``memory``, if there is one."""
    if memory is not None and (low, high) in memory:
        return memory[low, high]
    order = order_of_floats(numbers[low:high])
    ranks = np.empty(high - low, np.int64)
    ranks[order] = np.arange(high - low)
    found = ranks, numbers[low:high][order]
    if memory is not None:
        memory[low, high] = found
    return found


# -- one row for each value: bits, and a cursor of (rank, members below it, members) ------------------------


def _enter(state: Any, rank: int, count: int) -> None:
    include(state[0], state[1], rank)
    cursor = state[2]
    cursor[2] += 1
    if rank < cursor[0]:
        cursor[1] += 1


def _leave(state: Any, rank: int, count: int) -> None:
    discard(state[0], state[1], rank)
    cursor = state[2]
    cursor[2] -= 1
    if rank < cursor[0]:
        cursor[1] -= 1


def _read(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    bits, top, cursor, ordered, q = state
    place = q * (cursor[2] - 1)
    left = math.floor(place)
    share = place - left
    rank, below = cursor[0], cursor[1]
    while below > left:
        rank = preceding(bits, top, rank)
        below -= 1
    rank = following(bits, top, rank)
    while below < left:
        rank = following(bits, top, rank + 1)
        below += 1
    cursor[0], cursor[1] = rank, below
    low = ordered[rank]
    if share == 0.0:
        out[window] = low
        return
    out[window] = mixed(low, ordered[following(bits, top, rank + 1)], share)


# -- values that stand for several rows: a tree of counts ----------------------------------------------------


def _add(state: Any, rank: int, count: int) -> None:
    tree = state[0]
    state[1][0] += count
    place = rank + 1
    while place < tree.shape[0]:
        tree[place] += count
        place += place & -place


def _remove(state: Any, rank: int, count: int) -> None:
    _add(state, rank, -count)


def _kth(tree: Any, ordered: Any, k: int) -> Any:
    """The value with ``k`` values before it."""
    place, step = 0, 1
    while 2 * step < tree.shape[0]:
        step *= 2
    while step > 0:
        if place + step < tree.shape[0] and tree[place + step] <= k:
            place += step
            k -= tree[place]
        step >>= 1
    return ordered[place]


def _answer(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    tree, total, ordered, q = state
    place = q * (total[0] - 1)
    left = math.floor(place)
    share = place - left
    low = _kth(tree, ordered, left)
    if share == 0.0:
        out[window] = low
        return
    out[window] = mixed(low, _kth(tree, ordered, left + 1), share)


@kernel
def _select_windows(numbers: Any, fronts: Ints, stops: Ints, q: float, room: Any, out: Any) -> None:
    for window in range(len(fronts)):
        count = stops[window] - fronts[window]
        if count == 0:
            continue
        for i in range(count):
            room[i] = numbers[fronts[window] + i]
        place = q * (count - 1)
        left = math.floor(place)
        share = place - left
        _select(room, count, left)
        low = room[left]
        if share == 0.0:
            out[window] = low
            continue
        high = room[left + 1]
        for i in range(left + 2, count):
            high = min(high, room[i])
        out[window] = low if low == high else low * (1.0 - share) + high * share


@kernel
def _select(room: Any, count: int, k: int) -> None:
    """The k-th smallest comes to its place, with none larger before it and none smaller behind it."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) >> 1
        a, b, c = room[low], room[middle], room[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while room[i] < pivot:
                i += 1
            while pivot < room[j]:
                j -= 1
            if i <= j:
                room[i], room[j] = room[j], room[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return
