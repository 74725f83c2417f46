"""The stored form of a KLL sketch of doubles, checked before DataSketches reads it.

DataSketches takes the offsets of levels, the number of values and the order within levels as they stand, and
reads and writes outside of its arrays where they lie. Layout, lowest byte first: 5 · version 1 · family 15 ·
flags u8 · k u16 · m u8 · 0 · n u64 · min_k u16 · levels u8 · 0 · offset of each level u32 · least · largest ·
values of all levels, lowest first. Offsets count from the beginning of an array whose size k and the number
of levels decide; a value of level l stands for 2**l values.

Cost: a few passes over the values. Source: the Apache DataSketches library, KLL sketch.
"""

from __future__ import annotations

import struct

import numpy as np

__all__ = ["check_kll", "kll_capacity"]

_HEAD = struct.Struct("<BBBBHBBQHBB")
_START = (5, 1, 15)
#: level zero is sorted; the other flags are those of sketches of no value, or of one
_SORTED = 2
_WIDTH = 8
#: so many values never come; more would overflow 64 bits after some merges
_MOST_VALUES = 1 << 48
_MOST_LEVELS = 49


def kll_capacity(k: int, levels: int) -> int:
    """How many values a sketch has room for.

    >>> kll_capacity(200, 1), kll_capacity(200, 3)
    (200, 422)
    """
    return sum(max(_WIDTH, _level_capacity(k, depth)) for depth in range(levels))


def _level_capacity(k: int, depth: int) -> int:
    if depth > 30:
        return _level_capacity(_level_capacity(k, depth // 2), depth - depth // 2)
    return ((2 * k << depth) // 3**depth + 1) >> 1


def check_kll(data: bytes) -> None:
    """Raise ValueError unless a sketch of these bytes is one that DataSketches could have written.

    >>> check_kll(b"KLL")
    Traceback (most recent call last):
    ValueError: a KLL sketch of 3 bytes
    """
    if len(data) < _HEAD.size:
        raise ValueError(f"a KLL sketch of {len(data)} bytes")
    *start, flags, k, width, _, n, min_k, levels, _ = _HEAD.unpack_from(data)
    if tuple(start) != _START or flags not in (0, _SORTED) or width != _WIDTH:
        raise ValueError("a KLL sketch with another header than that of a sketch of doubles")
    if not 8 <= min_k <= k or not 2 <= n < _MOST_VALUES or not 1 <= levels <= _MOST_LEVELS:
        raise ValueError(f"a KLL sketch of {n} values with k={k}, min_k={min_k} and {levels} levels")
    capacity = kll_capacity(k, levels)
    offsets = np.empty(levels + 1, np.int64)
    begin = _HEAD.size + 4 * levels
    if len(data) < begin + 16:
        raise ValueError(f"a KLL sketch of {levels} levels in {len(data)} bytes")
    offsets[:-1], offsets[-1] = np.frombuffer(data, "<u4", levels, _HEAD.size), capacity
    counts = np.diff(offsets)
    if (counts < 0).any() or (levels > 1 and not counts[-1]):
        raise ValueError(f"a KLL sketch with levels at {offsets.tolist()}")
    if sum(count << level for level, count in enumerate(counts.tolist())) != n:
        raise ValueError(f"a KLL sketch of {n} values with levels at {offsets.tolist()}")
    if len(data) != begin + 8 * (2 + capacity - int(offsets[0])):
        raise ValueError(f"a KLL sketch of {len(data)} bytes with levels at {offsets.tolist()}")
    _check_values(np.frombuffer(data, "<f8", offset=begin), offsets - offsets[0], flags == _SORTED)


def _check_values(values: np.ndarray, places: np.ndarray, is_sorted: bool) -> None:
    least, largest, held = values[0], values[1], values[2:]
    if not least <= largest or not ((least <= held) & (held <= largest)).all():
        raise ValueError(f"a KLL sketch with values that are not from {least} to {largest}")
    falls = np.flatnonzero(held[1:] < held[:-1]) + 1
    # values may fall from one level to the next, and within level zero while it is not sorted
    inside = falls[~np.isin(falls, places)]
    if (inside > (0 if is_sorted else places[1])).any():
        raise ValueError("a KLL sketch with a level that is not sorted")
