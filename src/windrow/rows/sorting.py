"""Rows sorted by time and by key: stable, and faster than NumPy's general sort where times allow it.

Cost: O(n) by key, O(n log n) by time; nothing where rows are in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.rows.merging import sort_in_pieces
from windrow.rows.pieces import extremes, key_pieces, sort_pieces
from windrow.threads import even_pieces, in_threads, is_one_piece

__all__ = [
    "are_sorted",
    "counting_sort",
    "first_rows",
    "order_of_floats",
    "order_of_integers",
    "radix_sort",
    "rank_keys",
    "stable_order",
]

_LARGEST = (1 << 63) - 1
#: rows that are looked at before pieces of the others are
_FIRST_ROWS = 1 << 12
#: rows that are compared before it is asked whether one falls
_BLOCK = 1024
#: if fewer than one row in so many falls behind the one before it, times are best sorted by merging
_FEW_FALLS = 16


@kernel
def _counting_sort(keys: Any, count: int, order: Any, out: Ints) -> None:
    starts = np.zeros(count + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for k in range(count):
        starts[k + 1] += starts[k]
    for i in range(len(keys)):
        row = i if order is None else order[i]
        key = keys[row]
        out[starts[key]] = row
        starts[key] += 1


def are_sorted(keys: Any, times: Ints) -> bool:
    """Whether rows are sorted by key, and those of a key by time; without keys, by time."""
    if is_one_piece(len(times)):
        return bool(_are_sorted(keys, times))
    if not _are_sorted(keys[:_FIRST_ROWS], times[:_FIRST_ROWS]):  # most that are not show it early
        return False

    def is_sorted(piece: slice) -> bool:
        part = slice(max(piece.start - 1, 0), piece.stop)
        return bool(_are_sorted(keys[part], times[part]))

    return all(in_threads(is_sorted, even_pieces(len(times))))


@kernel
def _are_sorted(keys: Any, times: Ints) -> bool:
    """Ends with the first block of rows that is not: within one there is no branch, so that several rows are
    compared at once."""
    for begin in range(1, len(times), _BLOCK):
        end = min(begin + _BLOCK, len(times))
        before, now = times[begin - 1 : end - 1], times[begin:end]
        falls = 0
        if len(keys) == 0:
            for i in range(len(now)):
                falls += now[i] < before[i]
        else:
            old, new = keys[begin - 1 : end - 1], keys[begin:end]
            for i in range(len(now)):
                falls += (new[i] < old[i]) | ((new[i] == old[i]) & (now[i] < before[i]))
        if falls:
            return False
    return True


@kernel
def rank_keys(keys: Any, order: Ints) -> Any:
    """Other numbers for keys: the first in this order is 0."""
    ranks, found = np.empty(len(order), np.int32), np.empty(len(keys), np.int32)
    for i in range(len(order)):
        ranks[order[i]] = i
    for i in range(len(keys)):
        found[i] = ranks[keys[i]]
    return found


@kernel
def first_rows(keys: Any, count: int) -> Ints:
    """The first row of each key. Keys are 0 ... count - 1, numbered as they appear."""
    found = np.zeros(count, np.int64)
    known = 0
    for i in range(len(keys)):
        if keys[i] == known:
            found[known] = i
            known += 1
    return found


def counting_sort(keys: Any, count: int, order: Ints | None) -> Ints:
    """The rows by key; those of a key in the given order (None: as they lie). Keys are 0 ... count - 1."""
    out = np.empty(len(keys), np.int64)
    if len(pieces := key_pieces(len(keys), count)) == 1:
        _counting_sort(keys, count, order, out)
    else:
        sort_pieces(keys, count, order, pieces, out)
    return out


def stable_order(times: Ints) -> Ints:
    """What ``np.argsort(times, kind="stable")`` gives, sooner: a time becomes an integer that holds its row,
    too, and NumPy sorts integers much faster than it sorts rows by them."""
    count = len(times)
    falls = np.count_nonzero(times[1:] < times[:-1])
    low, high = extremes(times) if count else (_LARGEST, -_LARGEST)
    digits = count.bit_length()
    if falls * _FEW_FALLS < count or (high - low).bit_length() + digits > 63:
        return np.argsort(times, kind="stable")  # which goes from rise to rise
    marked = np.empty(count, np.int64)

    def mark(piece: slice) -> None:
        marked[piece] = ((times[piece] - low) << digits) | np.arange(piece.start, piece.stop)

    in_threads(mark, even_pieces(count))
    marked = sort_in_pieces(marked)
    marked &= (1 << digits) - 1
    return marked


#: bits that a pass of the radix sort looks at
_DIGIT = 11
_RADIX = 1 << _DIGIT
#: bits that floats are sorted by at first
_LEADING = 3 * _DIGIT


def order_of_floats(numbers: Any) -> Any:
    """What ``np.argsort(numbers, kind="stable")`` gives for float64 without NaN, but for the order of zeros
    by sign. Numbers are sorted by the first 33 bits in which any two of them differ, and then those that
    share these are put in order: few, or all bits are sorted by.

    >>> order_of_floats(np.array([2.0, -0.5, -3.0, 2.0])).tolist()
    [2, 1, 0, 3]
    """
    bits = np.ascontiguousarray(numbers).view(np.int64)
    # as integers, which have the order of the numbers: -0.0 comes before 0.0, which it equals
    return order_of_integers(bits ^ ((bits >> 63) & _LARGEST))


def order_of_integers(numbers: Ints) -> Ints:
    """What ``np.argsort(numbers, kind="stable")`` gives for integers of 64 bits, as :func:`order_of_floats`.

    >>> order_of_integers(np.array([2, -1, 2**62, -3])).tolist()
    [3, 1, 0, 2]
    """
    keys = np.ascontiguousarray(numbers).view(np.uint64) ^ np.uint64(1 << 63)
    if len(keys).bit_length() > 63 - _LEADING:
        return np.argsort(keys, kind="stable")
    differing = (int(keys.min()) ^ int(keys.max())).bit_length() if len(keys) else 0
    shift = max(differing - _LEADING, 0)
    order = _order_by_bits(keys, shift, differing)
    if shift and not _settle(keys, order):
        order = _order_by_bits(keys, 0, shift)
        order = order[_order_by_bits(keys[order], shift, differing)]
    return order


def _order_by_bits(keys: Any, low: int, high: int) -> Ints:
    """The stable order of keys by their bits from ``low`` to before ``high``."""
    places = len(keys).bit_length()
    chosen = (keys & np.uint64((1 << high) - 1)) >> np.uint64(low) << np.uint64(places)
    marked = radix_sort(chosen.view(np.int64) | np.arange(len(keys)), places)
    marked &= (1 << places) - 1
    return marked


@kernel
def _settle(keys: Any, order: Ints) -> bool:
    """Insert each key where it belongs among those before it; False: that takes more than a step each."""
    steps = len(keys)
    for i in range(1, len(keys)):
        row, k = order[i], i
        while k > 0 and keys[order[k - 1]] > keys[row]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = row
        steps -= i - k
        if steps < 0:
            return False
    return True


def radix_sort(numbers: Ints, bits: int) -> Ints:
    """Integers from 0 on, sorted by all but their last bits, those that differ in no others as they came. The
    array itself may be overwritten. Cost: a pass over it for each 11 bits that differ.

    >>> radix_sort(np.array([8, 2, 9, 0]), 1).tolist()
    [0, 2, 8, 9]
    """
    spare = np.empty_like(numbers)
    largest = int(numbers.max(initial=0)) >> bits
    for digit in range(-(-largest.bit_length() // _DIGIT)):
        if _sort_digit(numbers, bits + _DIGIT * digit, spare):
            numbers, spare = spare, numbers
    return numbers


@kernel
def _sort_digit(numbers: Ints, shift: int, out: Ints) -> bool:
    """Numbers by one digit, into ``out``; False: they are in order."""
    places = np.zeros(_RADIX + 1, np.int64)
    falls, last = False, 0
    for i in range(len(numbers)):
        digit = (numbers[i] >> shift) & (_RADIX - 1)
        places[digit + 1] += 1
        falls |= digit < last
        last = digit
    if not falls:
        return False
    for k in range(_RADIX):
        places[k + 1] += places[k]
    for i in range(len(numbers)):
        digit = (numbers[i] >> shift) & (_RADIX - 1)
        out[places[digit]] = numbers[i]
        places[digit] += 1
    return True
