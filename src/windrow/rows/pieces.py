"""Passes over the rows of a large table in pieces that threads share: taking, putting, counting, sorting by
key.

What comes out is what one pass gives. A table of one piece goes through NumPy, and loads none of the kernels
here. Each kernel is called over nothing first, so that it is compiled before threads need it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.compile.cache import kernel
from windrow.threads import even_pieces, in_threads, is_one_piece

__all__ = [
    "between",
    "counts_before",
    "extremes",
    "key_counts",
    "key_pieces",
    "put_in_pieces",
    "sort_pieces",
    "take_array",
    "take_in_pieces",
]

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


def take_array(array: Any, places: Ints, missing: Any = None) -> Any:
    """An Arrow array by places, null where they are missing.

    >>> take_array(pa.array(["a", "b"]), np.array([1, 0, 0]), np.array([False, True, False])).to_pylist()
    ['b', None, 'a']
    """

    pieces = even_pieces(len(places))
    if len(pieces) > 1 and missing is None and not array.null_count and _is_number(array.type):
        return pa.array(take_in_pieces(array.to_numpy(), places))

    def take(piece: slice) -> Any:
        return array.take(pa.array(places[piece], mask=None if missing is None else missing[piece]))

    found = in_threads(take, pieces)
    return found[0] if len(found) == 1 else pa.concat_arrays(found)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def put_in_pieces(values: Any, order: Ints, count: int) -> Any:
    """The reverse of taking: ``count`` numbers of which those at the places of ``order`` are these values,
    and all others 0.

    >>> put_in_pieces(np.array([5, 6]), np.array([2, 0]), 3).tolist()
    [6, 0, 5]
    """
    out = np.zeros(count, values.dtype)
    pieces = even_pieces(len(order))
    if len(pieces) == 1:
        out[order] = values
        return out
    _put(values[:0], order[:0], out)
    in_threads(lambda piece: _put(values[piece], order[piece], out), pieces)
    return out


@kernel
def _put(values: Any, order: Ints, out: Any) -> None:
    for i in range(len(order)):
        out[order[i]] = values[i]


def counts_before(flags: Mask, order: Ints | None = None) -> Ints:
    """How many flags are set before each row, in this order (None: as they lie), and in all.

    >>> counts_before(np.array([True, False, True])).tolist()
    [0, 1, 1, 2]
    """
    pieces = even_pieces(len(flags) if order is None else len(order))
    if len(pieces) == 1:
        return np.concatenate([[0], np.cumsum(flags if order is None else flags[order])])
    found = np.zeros(pieces[-1].stop + 1, np.int64)
    _count_flags(flags, order, 0, 0, found)
    in_threads(lambda piece: _count_flags(flags, order, piece.start, piece.stop, found), pieces)
    before = np.cumsum([0, *(found[piece.stop] for piece in pieces)]).tolist()

    def add(number: int) -> None:
        found[pieces[number].start + 1 : pieces[number].stop + 1] += before[number]

    in_threads(add, range(len(pieces)))
    return found


@kernel
def _count_flags(flags: Mask, order: Any, first: int, last: int, out: Ints) -> None:
    """How many flags are set from the first row on, behind each row."""
    count = 0
    for i in range(first, last):
        if flags[i if order is None else order[i]]:
            count += 1
        out[i + 1] = count


def between(before: Ints, fronts: Ints, stops: Ints) -> Ints:
    """How many of what was counted lies in each range [front, stop).

    >>> between(np.array([0, 1, 1, 2]), np.array([0, 1]), np.array([2, 3])).tolist()
    [1, 1]
    """
    pieces = even_pieces(len(fronts))
    if len(pieces) == 1:
        return before[stops] - before[fronts]
    out = np.empty(len(fronts), np.int64)
    _between(before, fronts[:0], stops[:0], out[:0])
    in_threads(lambda piece: _between(before, fronts[piece], stops[piece], out[piece]), pieces)
    return out


@kernel
def _between(before: Ints, fronts: Ints, stops: Ints, out: Ints) -> None:
    for i in range(len(fronts)):
        out[i] = before[stops[i]] - before[fronts[i]]


def extremes(numbers: Ints) -> tuple[int, int]:
    """The smallest and the largest of some numbers.

    >>> extremes(np.array([3, 1, 2]))
    (1, 3)
    """

    if is_one_piece(len(numbers)):
        return int(numbers.min()), int(numbers.max())
    pieces = even_pieces(len(numbers))
    lows, highs = zip(*in_threads(lambda piece: _extremes(numbers[piece]), pieces), strict=True)
    return int(min(lows)), int(max(highs))


@kernel
def _extremes(numbers: Any) -> tuple[int, int]:
    """Both in one pass over the memory."""
    low = high = numbers[0]
    for i in range(1, len(numbers)):
        low, high = min(low, numbers[i]), max(high, numbers[i])
    return low, high


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
