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

__all__ = [
    "SHORT",
    "code_numbers",
    "fast_codes",
    "hash_word",
    "text_buffers",
    "text_word",
    "text_words",
    "text_words_in",
    "words_of",
]

#: types of offsets, by the number of a type: types themselves are slow to look up
_OFFSETS: dict[int, Any] = {kind.id: np.dtype(np.int32) for kind in (pa.string(), pa.binary())}
_OFFSETS |= {kind.id: np.dtype(np.int64) for kind in (pa.large_string(), pa.large_binary())}
_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
_NUMBERS = {
    pa.type_for_alias(name).id for name in (*_SIGNED, *_UNSIGNED, "date32", "date64", "timestamp[us]")
}


def fast_codes(column: Any) -> tuple[Any, Ints] | None:
    """The number of each value of an array, and the row of each number; None: not by this way.

    >>> codes, firsts = fast_codes(pa.array(["b", "a", "b"]))
    >>> codes.tolist(), firsts.tolist()
    ([0, 1, 0], [0, 1])
    """
    buffers = text_buffers(column)
    if buffers is not None:
        return _code_texts(*buffers)
    if not len(column) or column.null_count or column.type.id not in _NUMBERS:
        return None
    return code_numbers(_bits(column))


def words_of(column: Any) -> tuple[Any, bool]:
    """A word for each value of an array without nulls, and whether values are equal where their words are:
    words of texts of more than seven bytes are hashes, and some types have none.

    >>> words_of(pa.array([3, 5]))
    (array([3, 5], dtype=uint64), True)
    """
    buffers = text_buffers(column)
    if buffers is not None:
        words, longest = text_words_in(*buffers)
        return words, bool(longest <= SHORT)
    if column.type.id not in _NUMBERS or column.null_count:
        return np.zeros(len(column), np.uint64), not len(column)
    return _bits(column).astype(np.int64, copy=False).view(np.uint64), True


def _bits(column: Any) -> Any:
    """The integers that numbers, dates or timestamps are."""
    numbers = column.to_numpy(zero_copy_only=False)
    return numbers.view(np.int64) if numbers.dtype.kind == "M" else numbers


def text_words(column: Any, rows: Ints) -> list[Any] | None:
    """The texts in these rows of an array without nulls, as values of Python that are equal where the texts
    are: one of up to seven bytes is a number, a longer one is itself. None: they are not of text.

    >>> text_words(pa.array(["b", "a", "longer than that"]), np.array([1, 2]))
    [72057594037928033, 'longer than that']
    """
    buffers = text_buffers(column)
    if buffers is None:
        return None
    words, longest = text_words_in(*buffers)
    words = words[rows]
    found: list[Any] = words.tolist()
    if longest > SHORT:
        places = np.flatnonzero(words >> np.uint64(63))
        for place, text in zip(places.tolist(), _texts_at(column.type, *buffers, rows[places]), strict=True):
            found[place] = text
    return found


def text_word(text: Any) -> Any:
    """The same for one text; None is itself.

    >>> text_word("a"), text_word(None)
    (72057594037928033, None)
    """
    if text is None:
        return None
    data = text.encode() if isinstance(text, str) else text
    return text if len(data) > SHORT else int.from_bytes(data, "little") | len(data) << 56


def text_buffers(column: Any) -> tuple[Any, Any] | None:
    """Offsets and bytes of texts without nulls; None: there are none, or the array is not of text."""
    width, count = _OFFSETS.get(column.type.id), len(column)
    if width is None or column.null_count or not count:
        return None
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, width, count + 1, column.offset * width.itemsize)
    return places, _NOTHING if data is None else np.frombuffer(data, _BYTES)


def _texts_at(kind: Any, offsets: Any, data: Any, rows: Ints) -> list[Any]:
    """Texts in some rows. Arrow's take costs as much as some hundred of them."""
    buffers = [None, *map(pa.py_buffer, _gather_texts(offsets, data, rows))]
    return pa.Array.from_buffers(kind, len(rows), buffers).to_pylist()


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


_BYTES = np.dtype(np.uint8)
_NOTHING = np.frombuffer(b"", _BYTES)
#: texts of up to so many bytes are a number of 64 bits, with their length
SHORT = 7
#: places of the table at first, for few rows and for many; it is kept at most half full
_FEW_ROWS, _FIRST_SIZE, _LARGER_SIZE = 1024, 256, 4096


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
def hash_word(word: Any) -> Any:
    word = np.uint64(word)
    mixed = (word ^ (word >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@kernel
def code_numbers(numbers: Any) -> Any:
    count = len(numbers)
    table = np.full(_FIRST_SIZE if count <= _FEW_ROWS else _LARGER_SIZE, -1, np.int32)
    hashes, codes, firsts = np.empty(count, np.uint64), np.empty(count, np.int32), np.empty(count, np.int64)
    last = np.uint64(len(table) - 1)
    found = 0
    for i in range(count):
        if i > 0 and numbers[i] == numbers[i - 1]:
            codes[i] = codes[i - 1]
            continue
        mixed = hash_word(numbers[i])
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
def _bytes_at(data: Any, begin: int, length: int) -> Any:
    """Up to eight bytes as a number, the first one lowest; in one load where eight of them lie there."""
    word = np.uint64(0)
    if begin + 8 > len(data):
        for k in range(length):
            word |= np.uint64(data[begin + k]) << np.uint64(8 * k)
        return word
    at = np.uint64(begin)
    word |= np.uint64(data[at])
    word |= np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
    word |= np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    return word if length == 8 else word & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))


@kernel
def _word(data: Any, begin: int, length: int) -> Any:
    """A text of up to seven bytes as a number that no other text has; of a longer one, a hash."""
    if length <= SHORT:
        return _bytes_at(data, begin, length) | (np.uint64(length) << np.uint64(56))
    word, end = np.uint64(length), begin + length
    for k in range(begin, end, 8):
        word = (word ^ _bytes_at(data, k, min(8, end - k))) * np.uint64(0x9E3779B97F4A7C15)
        word ^= word >> np.uint64(29)
    return word | np.uint64(1 << 63)


@kernel
def text_words_in(offsets: Any, data: Any) -> Any:
    """The word of each text, and how long the longest text is."""
    words, longest = np.empty(len(offsets) - 1, np.uint64), np.int64(0)
    for i in range(len(words)):
        begin = np.int64(offsets[i])
        length = np.int64(offsets[i + 1]) - begin
        words[i] = _word(data, begin, length)
        longest = max(longest, length)
    return words, longest


@kernel
def _code_texts(offsets: Any, data: Any) -> Any:
    count = len(offsets) - 1
    table = np.full(_FIRST_SIZE if count <= _FEW_ROWS else _LARGER_SIZE, -1, np.int32)
    words, hashes = np.empty(count, np.uint64), np.empty(count, np.uint64)
    codes, firsts = np.empty(count, np.int32), np.empty(count, np.int64)
    word, last = np.uint64(0), np.uint64(len(table) - 1)
    found = 0
    for i in range(count):
        begin = np.int64(offsets[i])
        length = np.int64(offsets[i + 1]) - begin
        before, word = word, _word(data, begin, length)
        if i > 0 and word == before and length <= SHORT:
            codes[i] = codes[i - 1]
            continue
        mixed = hash_word(word)
        place = mixed & last
        code = table[place]
        while code >= 0:
            if words[code] == word:
                first = firsts[code]
                begins = np.int64(offsets[first])
                if length <= SHORT:
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
