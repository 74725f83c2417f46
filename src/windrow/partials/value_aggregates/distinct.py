"""Distinct values of a window: how many there are (``count_distinct``), and which, in the order of first
appearance (``collect_distinct``).

Values are numbered once. To count, a table says how many rows of the window have each number. To list, a bit
for each row says whether it is the first of its value in the window: when it leaves, the next row of the same
value, which it is linked to, becomes the first.

Cost: O(1) per value; a list costs its length and one step for 64 rows of the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.monoids.base import Monoid
from windrow.partials.value_aggregates.bags import Bag, codes_of, without_repeats
from windrow.partials.value_aggregates.base import Covering, Family
from windrow.partials.value_aggregates.bits import lowest_bit
from windrow.partials.value_aggregates.lists import lists_of
from windrow.partials.value_aggregates.slide import slide_in_pieces

__all__ = ["Counted", "Distinct", "is_encodable"]

_WORD = 6


def is_encodable(kind: Any) -> bool:
    """Whether values of an Arrow type can be numbered natively."""
    nested = pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind)
    return not (nested or pa.types.is_float16(kind) or pa.types.is_dictionary(kind))


class Counted(Family):
    """``count_distinct``."""

    how = "a table of distinct values, O(1) per row and window; native code"
    held = "the distinct values of each slice"
    covers = True

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return is_encodable(kind)

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        return without_repeats(bag, offsets, keeps_counts=False)

    def coverings(self, monoid: Monoid, values: Any) -> list[Covering]:
        codes, distinct = codes_of(values)
        return [Covering(codes, np.zeros(len(codes), np.int8), distinct)]

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        codes, distinct = codes_of(bag.values)
        out = np.zeros(len(fronts), np.int64)

        def new_state() -> tuple[Any, ...]:
            return np.zeros(distinct, np.int32), np.zeros(1, np.int64)

        slide_in_pieces((_add, _remove, _answer), new_state, codes, None, (fronts, stops), out)
        return pa.array(out)


def _add(state: Any, code: int, count: int) -> None:
    rows, distinct = state
    rows[code] += 1
    if rows[code] == 1:
        distinct[0] += 1


def _remove(state: Any, code: int, count: int) -> None:
    rows, distinct = state
    rows[code] -= 1
    if rows[code] == 0:
        distinct[0] -= 1


def _answer(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    out[window] = state[1][0]


class Distinct(Family):
    """``collect_distinct``."""

    how = "a table of distinct values and their first rows, O(1) per row; native code"
    held = "the distinct values of each slice"

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return is_encodable(kind)

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        return without_repeats(bag, offsets, keeps_counts=False)

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        codes, distinct = codes_of(bag.values)
        rows, windows = np.arange(len(codes)), (fronts, stops)

        def new_state() -> tuple[Any, ...]:
            latest, following = np.full(distinct, -1), np.zeros(len(codes), np.int64)
            firsts = np.zeros((len(codes) >> _WORD) + 1, np.uint64)
            return codes, latest, following, firsts, np.zeros(1, np.int64)

        sizes = np.zeros(len(fronts), np.int64)
        slide_in_pieces((_enter, _leave, _size), new_state, rows, None, windows, sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.zeros(offsets[-1], np.int64)
        slide_in_pieces((_enter, _leave, _list), new_state, rows, None, windows, places, offsets)
        return lists_of(monoid, bag.values, offsets, places)


def _enter(state: Any, row: int, count: int) -> None:
    codes, latest, following, firsts, distinct = state[0], state[1], state[2], state[3], state[4]
    before = latest[codes[row]]
    latest[codes[row]] = row
    if before >= 0:
        following[before] = row
    else:
        _flip(firsts, row)
        distinct[0] += 1


def _leave(state: Any, row: int, count: int) -> None:
    codes, latest, following, firsts, distinct = state[0], state[1], state[2], state[3], state[4]
    _flip(firsts, row)
    if latest[codes[row]] == row:
        latest[codes[row]] = -1
        distinct[0] -= 1
    else:
        _flip(firsts, following[row])


def _flip(bits: Any, row: int) -> None:
    bits[row >> _WORD] ^= np.uint64(1) << np.uint64(row & 63)


def _size(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    out[window] = state[4][0]


def _list(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    firsts, place = state[3], state[5][window]
    for word in range(front >> _WORD, ((stop - 1) >> _WORD) + 1):
        bits = firsts[word]
        while bits != np.uint64(0):
            out[place] = (word << _WORD) + lowest_bit(bits)
            place += 1
            bits &= bits - np.uint64(1)
