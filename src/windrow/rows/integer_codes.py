"""Integers in a small range, numbered in the order in which they appear.

The first rows are numbered one after the other; they hold most of the values. The rest is then looked up in
pieces that threads share, and only what was not found there is numbered in order, too. Cost: O(1) per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.threads import are_several, even_pieces, in_threads, is_one_piece

__all__ = ["numbered_in_range"]

#: rows that are numbered before others are looked up
_FIRST_ROWS = 1 << 16


def numbered_in_range(values: Any, low: int, count: int) -> tuple[Any, Ints]:
    """Numbers for integers in [low, low + count), in the order in which they appear; and the first row of
    each.

    >>> codes, rows = numbered_in_range(np.array([7, 5, 7, 6]), 5, 3)
    >>> codes.tolist(), rows.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    numbers, rows = np.full(count, -1, np.int32), np.empty(min(count, len(values)), np.int64)
    codes = np.empty(len(values), np.int32)
    if is_one_piece(len(values)) or not are_several():
        return codes, rows[: _number(values, low, numbers, rows, 0, codes, 0)]
    known = _number(values[:_FIRST_ROWS], low, numbers, rows, 0, codes, 0)

    def look_up(piece: slice) -> int:
        return int(_look_up(values[_FIRST_ROWS:][piece], low, numbers, codes[_FIRST_ROWS:][piece]))

    look_up(slice(0, 0))  # compiles, before threads do
    pieces = even_pieces(len(values) - _FIRST_ROWS)
    for piece, unknown in zip(pieces, in_threads(look_up, pieces), strict=True):
        if unknown:
            begin, stop = _FIRST_ROWS + piece.start, _FIRST_ROWS + piece.stop
            known = _number(values[begin:stop], low, numbers, rows, known, codes[begin:stop], begin)
    return codes, rows[:known]


@kernel
def _number(values: Any, low: int, numbers: Any, rows: Ints, known: int, codes: Any, first: int) -> int:
    """Values that have no number get the next one, and their row, counted from ``first``, is noted; how many
    numbers there are then."""
    for i in range(len(values)):
        place = np.int64(values[i]) - low
        number = numbers[place]
        if number < 0:
            number = numbers[place] = known
            rows[known] = first + i
            known += 1
        codes[i] = number
    return known


@kernel
def _look_up(values: Any, low: int, numbers: Any, codes: Any) -> int:
    """The numbers of values; how many have none."""
    unknown = 0
    for i in range(len(values)):
        number = numbers[np.int64(values[i]) - low]
        codes[i] = number
        unknown += number < 0
    return unknown
