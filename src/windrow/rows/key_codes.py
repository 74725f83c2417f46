"""Numbers for the values of a column in order of first appearance, by one pass over its buffers.

Text and bytes, integers and moments without nulls: everything else is left to Arrow, whose function gives the
same numbers and costs some tens of microseconds however short the column is.
Cost: O(rows), a table of two to four places per row, and a comparison of bytes for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel

__all__ = ["fast_codes"]

_OFFSETS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64}
_OFFSETS[pa.large_binary()] = np.int64


def fast_codes(column: Any) -> tuple[Any, Ints] | None:
    """The number of each value of an array, and the row of each number; None: not by this way.

    >>> codes, firsts = fast_codes(pa.array(["b", "a", "b"]))
    >>> codes.tolist(), firsts.tolist()
    ([0, 1, 0], [0, 1])
    """
    count, kind = len(column), column.type
    if not count or column.null_count:
        return None
    is_ = pa.types
    if is_.is_integer(kind) or is_.is_date(kind) or is_.is_timestamp(kind):
        numbers = column.to_numpy()
        return _code_numbers(numbers.view(np.int64) if numbers.dtype.kind == "M" else numbers)
    width = _OFFSETS.get(kind)
    if width is None:
        return None
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, width, count + 1, column.offset * np.dtype(width).itemsize)
    text = _NOTHING if data is None else np.frombuffer(data, np.uint8)
    return _code_texts(places, text)


_NOTHING = np.frombuffer(b"", np.uint8)


@kernel
def _room(count: int) -> Any:
    size = 4
    while size < 2 * count:
        size *= 2
    return np.full(size, -1, np.int32)


@kernel
def _code_numbers(numbers: Any) -> Any:
    table = _room(len(numbers))
    codes, firsts = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int64)
    found = 0
    for i in range(len(numbers)):
        if i > 0 and numbers[i] == numbers[i - 1]:
            codes[i] = codes[i - 1]
            continue
        mixed = np.uint64(numbers[i]) * np.uint64(0x9E3779B97F4A7C15)
        place = (mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(table) - 1)
        while table[place] >= 0 and numbers[firsts[table[place]]] != numbers[i]:
            place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
        if table[place] < 0:
            table[place], firsts[found] = found, i
            found += 1
        codes[i] = table[place]
    return codes, firsts[:found].copy()


@kernel
def _same(data: Any, a: int, b: int, length: int) -> bool:
    same = True
    for k in range(length):
        same &= data[a + k] == data[b + k]
    return same


@kernel
def _hash(data: Any, begin: int, end: int) -> Any:
    """Eight bytes at a time."""
    mixed, word, k = np.uint64(end - begin), np.uint64(0), 0
    for place in range(begin, end):
        word = (word << np.uint64(8)) | np.uint64(data[place])
        k += 1
        if k == 8:
            mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
            word, k = np.uint64(0), 0
    mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@kernel
def _code_texts(offsets: Any, data: Any) -> Any:
    count = len(offsets) - 1
    table = _room(count)
    codes, firsts = np.empty(count, np.int32), np.empty(count, np.int64)
    found = 0
    for i in range(count):
        begin, length = offsets[i], offsets[i + 1] - offsets[i]
        place = _hash(data, begin, begin + length) & np.uint64(len(table) - 1)
        while table[place] >= 0:
            first = firsts[table[place]]
            if offsets[first + 1] - offsets[first] == length and _same(data, offsets[first], begin, length):
                break
            place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
        if table[place] < 0:
            table[place], firsts[found] = found, i
            found += 1
        codes[i] = table[place]
    return codes, firsts[:found].copy()
