"""Passes over the rows of a large table in pieces that threads share: taking, counting, sorting by key.

What comes out is what one pass gives. A table of one piece goes through NumPy, and loads none of the kernels
here. Each kernel is called over nothing first, so that it is compiled before threads need it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.threads import even_pieces, in_threads

__all__ = ["extremes", "is_rising", "key_counts", "key_pieces", "sort_pieces", "take_in_pieces"]

#: pieces that are sorted by key have so many times as many rows as there are keys, at least
_ROWS_A_KEY = 4


def take_in_pieces(values: Any, order: Any, out: Any = None) -> Any:
    """``values[order]``, for places that there are.

    >>> take_in_pieces(np.array([5, 6, 7]), np.array([2, 0])).tolist()
    [7, 5]
    """
    pieces = even_pieces(len(order))
    if out is None and len(pieces) == 1:
        return values[order]
    out = np.empty(len(order), values.dtype) if out is None else out
    _take(values, order[:0], out[:0])
    in_threads(lambda piece: _take(values, order[piece], out[piece]), pieces)
    return out


@kernel
def _take(values: Any, order: Any, out: Any) -> None:
    for i in range(len(order)):
        out[i] = values[order[i]]


def is_rising(values: Any, order: Ints | None = None) -> bool:
    """Whether no value is below the one before it, in this order (None: as they lie).

    >>> is_rising(np.array([1, 1, 2])), is_rising(np.array([1, 1, 2]), np.array([0, 2, 1]))
    (True, False)
    """
    pieces = even_pieces(len(values))
    if len(pieces) == 1:
        arranged = values if order is None else values[order]
        return not (arranged[1:] < arranged[:-1]).any()
    _rises(values, order, 0, 0)
    return all(in_threads(lambda piece: _rises(values, order, piece.start, piece.stop), pieces))


@kernel
def _rises(values: Any, order: Any, first: int, last: int) -> bool:
    for i in range(max(first, 1), last):
        row = i if order is None else order[i]
        before = i - 1 if order is None else order[i - 1]
        if values[row] < values[before]:
            return False
    return True


def extremes(numbers: Ints) -> tuple[int, int]:
    """The smallest and the largest of some numbers.

    >>> extremes(np.array([3, 1, 2]))
    (1, 3)
    """

    def both(piece: slice) -> tuple[int, int]:
        return int(numbers[piece].min()), int(numbers[piece].max())

    lows, highs = zip(*in_threads(both, even_pieces(len(numbers))), strict=True)
    return min(lows), max(highs)


# -- by key --------------------------------------------------------------------------------------------------


def key_counts(keys: Any, count: int) -> Ints:
    """How many rows each of the keys 0 ... count - 1 has.

    >>> key_counts(np.array([0, 2, 0]), 3).tolist()
    [2, 0, 1]
    """
    pieces = key_pieces(len(keys), count)
    if len(pieces) == 1:
        return np.bincount(keys, minlength=count).astype(np.int64)
    found: Ints = _counted(keys, count, None, pieces).sum(axis=0)
    return found


def key_pieces(rows: int, count: int) -> list[slice]:
    """Rows in pieces, for passes that keep a number for each key and piece."""
    return even_pieces(rows, _ROWS_A_KEY * count)


def sort_pieces(keys: Any, count: int, order: Ints | None, pieces: list[slice], out: Ints) -> None:
    """The rows by key; those of a key in the given order (None: as they lie). Each piece counts its keys, and
    so knows the places of its rows."""
    counts = _counted(keys, count, order, pieces)
    totals = counts.sum(axis=0)
    # where the rows of a key begin, and of these the rows of each piece
    places = np.cumsum(counts, axis=0) - counts + (np.cumsum(totals) - totals)
    _place_rows(keys, order, 0, 0, places[0], out)

    def place(number: int) -> None:
        piece = pieces[number]
        _place_rows(keys, order, piece.start, piece.stop, places[number], out)

    in_threads(place, range(len(pieces)))


@kernel
def _place_rows(keys: Any, order: Any, first: int, last: int, places: Ints, out: Ints) -> None:
    for i in range(first, last):
        row = i if order is None else order[i]
        key = keys[row]
        out[places[key]] = row
        places[key] += 1


def _counted(keys: Any, count: int, order: Ints | None, pieces: list[slice]) -> Ints:
    """How many rows of each piece each key has."""
    counts = np.zeros((len(pieces), count), np.int64)
    _count_keys(keys, order, 0, 0, counts[0])

    def count_piece(number: int) -> None:
        piece = pieces[number]
        _count_keys(keys, order, piece.start, piece.stop, counts[number])

    in_threads(count_piece, range(len(pieces)))
    return counts


@kernel
def _count_keys(keys: Any, order: Any, first: int, last: int, counts: Ints) -> None:
    for i in range(first, last):
        row = i if order is None else order[i]
        counts[keys[row]] += 1
