"""Numbers for the values of a column in order of first appearance, by one pass over its buffers.

Text and bytes, integers and moments without nulls: everything else is left to Arrow, whose function gives the
same numbers and costs some tens of microseconds however short the column is.
Cost: O(rows): a hash of each, and a comparison of bytes for texts of more than seven.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel

__all__ = ["fast_codes", "texts_at"]

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
        numbers = column.to_numpy(zero_copy_only=False)
        return _code_numbers(numbers.view(np.int64) if numbers.dtype.kind == "M" else numbers)
    width = _OFFSETS.get(kind)
    if width is None:
        return None
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, width, count + 1, column.offset * np.dtype(width).itemsize)
    text = _NOTHING if data is None else np.frombuffer(data, np.uint8)
    return _code_texts(places, text)


def texts_at(column: Any, rows: Ints) -> list[Any] | None:
    """The texts in these rows of an array without nulls; None: it is not of text. Arrow's take costs as much
    as some hundred of them.

    >>> texts_at(pa.array(["b", "a", "b"]), np.array([1, 2]))
    ['a', 'b']
    """
    width = _OFFSETS.get(column.type)
    if width is None or column.null_count:
        return None
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, width, len(column) + 1, column.offset * np.dtype(width).itemsize)
    found = _gather_texts(places, _NOTHING if data is None else np.frombuffer(data, np.uint8), rows)
    buffers = [None, *map(pa.py_buffer, found)]
    return pa.Array.from_buffers(column.type, len(rows), buffers).to_pylist()


@kernel
def _gather_texts(offsets: Any, data: Any, rows: Ints) -> Any:
    """The offsets and the bytes of some texts."""
    found = np.zeros(len(rows) + 1, offsets.dtype)
    for i in range(len(rows)):
        found[i + 1] = found[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    text = np.empty(found[-1], np.uint8)
    for i in range(len(rows)):
        begin = offsets[rows[i]]
        for k in range(found[i + 1] - found[i]):
            text[found[i] + k] = data[begin + k]
    return found, text


_NOTHING = np.frombuffer(b"", np.uint8)
#: places of the table at first; it is kept at most half full
_FIRST_SIZE = 256


@kernel
def _rehashed(hashes: Any, found: int, size: int) -> Any:
    """A table of another size with the numbers so far."""
    table, last = np.full(size, -1, np.int32), np.uint64(size - 1)
    for code in range(found):
        place = hashes[code] & last
        while table[place] >= 0:
            place = (place + np.uint64(1)) & last
        table[place] = code
    return table


@kernel
def _mixed(word: Any) -> Any:
    mixed = np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@kernel
def _code_numbers(numbers: Any) -> Any:
    count = len(numbers)
    table, hashes = np.full(_FIRST_SIZE, -1, np.int32), np.empty(count, np.uint64)
    codes, firsts = np.empty(count, np.int32), np.empty(count, np.int64)
    last = np.uint64(len(table) - 1)
    found = 0
    for i in range(count):
        if i > 0 and numbers[i] == numbers[i - 1]:
            codes[i] = codes[i - 1]
            continue
        mixed = _mixed(numbers[i])
        place = mixed & last
        code = table[place]
        while code >= 0 and numbers[firsts[code]] != numbers[i]:
            place = (place + np.uint64(1)) & last
            code = table[place]
        if code < 0:
            code = np.int32(found)
            table[place], hashes[found], firsts[found] = code, mixed, i
            found += 1
            if 2 * found > len(table):
                table = _rehashed(hashes, found, 4 * len(table))
                last = np.uint64(len(table) - 1)
        codes[i] = code
    return codes, firsts[:found].copy()


@kernel
def _same(data: Any, a: int, b: int, length: int) -> bool:
    same = True
    for k in range(length):
        same &= data[a + k] == data[b + k]
    return same


@kernel
def _word(data: Any, begin: int, length: int) -> Any:
    """A text of up to seven bytes as a number that no other text has; of a longer one, a hash."""
    word = np.uint64(length)
    if length <= 7:
        for k in range(begin, begin + length):
            word = (word << np.uint64(8)) | np.uint64(data[k])
        return word
    k, end = begin, begin + length
    while k < end:
        part, stop = np.uint64(0), min(k + 8, end)
        while k < stop:
            part = (part << np.uint64(8)) | np.uint64(data[k])
            k += 1
        word = (word ^ part) * np.uint64(0x9E3779B97F4A7C15)
        word ^= word >> np.uint64(29)
    return word | np.uint64(1 << 63)


@kernel
def _code_texts(offsets: Any, data: Any) -> Any:
    count = len(offsets) - 1
    table, words = np.full(_FIRST_SIZE, -1, np.int32), np.empty(count, np.uint64)
    hashes = np.empty(count, np.uint64)
    codes, firsts = np.empty(count, np.int32), np.empty(count, np.int64)
    last = np.uint64(len(table) - 1)
    found = 0
    for i in range(count):
        begin = np.int64(offsets[i])
        length = np.int64(offsets[i + 1]) - begin
        word = _word(data, begin, length)
        mixed = _mixed(word)
        place = mixed & last
        code = table[place]
        while code >= 0:
            if words[code] == word:
                first = firsts[code]
                begins = np.int64(offsets[first])
                if length <= 7:
                    break
                if np.int64(offsets[first + 1]) - begins == length and _same(data, begins, begin, length):
                    break
            place = (place + np.uint64(1)) & last
            code = table[place]
        if code < 0:
            code = np.int32(found)
            table[place], words[found], hashes[found], firsts[found] = code, word, mixed, i
            found += 1
            if 2 * found > len(table):
                table = _rehashed(hashes, found, 4 * len(table))
                last = np.uint64(len(table) - 1)
        codes[i] = code
    return codes, firsts[:found].copy()
