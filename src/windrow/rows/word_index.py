"""Numbers of keys that are one word each, by native code: integers, moments, and texts of up to seven bytes.

The rows of a table are numbered, and their keys looked up among those that are known, in one call. It gives
the numbers that :class:`windrow.rows.key_index.KeyIndex` gives, which serves all other keys.

Invariant: the index holds keys that are known, and no others: those that a table brings enter it when keys
that have them are first asked for, so that a push that fails leaves nothing behind.
Cost: some nanoseconds per row and per key, and about 30 bytes per key that is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel, whole_kernel
from windrow.rows.key_codes import SHORT, code_numbers, hash_word, text_buffers, text_words_in, words_of

__all__ = ["WordIndex"]

#: places of the table at first; it is kept at most half full
_FIRST_SIZE = 256


class WordIndex:
    """The numbers of known keys, of one column, by their words."""

    def __init__(self) -> None:
        #: the keys that are in here, and those with others after them, which are to be added
        self._known: pa.Table | None = None
        self._longer: pa.Table | None = None
        self._count = 0
        self._words = np.empty(_FIRST_SIZE // 2, np.uint64)
        self._table = np.full(_FIRST_SIZE, -1, np.int32)

    def numbers(self, known: pa.Table, column: Any) -> tuple[Any, Ints, Ints, int] | None:
        """Numbers of their own for the keys in an array, in order of first appearance; the first row of each;
        its number among the known keys, or after them; and how many are not known. None: not all are words.

        >>> known = pa.table({"k": ["a", "b"]})
        >>> codes, rows, numbers, new = WordIndex().numbers(known, pa.array(["c", "b", "c"]))
        >>> codes.tolist(), rows.tolist(), numbers.tolist(), new
        ([0, 1, 0], [0, 1], [2, 1], 1)
        """
        if known is not self._known:
            self._take(known)
        found: tuple[Any, Ints, Ints, int]
        buffers = text_buffers(column)
        if buffers is not None:
            found = _number_texts(*buffers, self._words, self._table, self._count)
            return None if found[3] < 0 else found
        words, are_exact = words_of(column)
        if not are_exact:
            return None
        found = _number_words(words, self._words, self._table, self._count)
        return found

    def row_numbers(self, known: pa.Table, column: Any) -> tuple[Any, int] | None:
        """The number of each row's key among the known keys, or after them; and how many are not known. None:
        not all are words.

        >>> known = pa.table({"k": ["a", "b"]})
        >>> numbers, new = WordIndex().row_numbers(known, pa.array(["c", "b", "d", "c"]))
        >>> numbers.tolist(), new
        ([2, 1, 3, 2], 2)
        """
        if known is not self._known:
            self._take(known)
        numbers, buffers = np.empty(len(column), np.int32), text_buffers(column)
        if buffers is not None:
            new = _number_text_rows(*buffers, self._words, self._table, self._count, numbers)
            return None if new < 0 else (numbers, new)
        words, are_exact = words_of(column)
        if not are_exact:
            return None
        return numbers, _number_rows(words, self._words, self._table, self._count, numbers)

    def follow(self, known: pa.Table | None, longer: pa.Table) -> None:
        """Keys that were added to the known ones."""
        if known is self._known or known is self._longer:
            self._longer = longer

    def _take(self, known: pa.Table) -> None:
        """Make this the index of these keys."""
        if known is not self._longer:
            self._count = 0
            self._table[:] = -1
        for chunk in known.column(0).slice(self._count).chunks:
            self._add(chunk)
        self._known = self._longer = known

    def _add(self, chunk: Any) -> None:
        valid = np.ones(len(chunk), np.bool_)
        if chunk.null_count:
            valid = chunk.is_valid().to_numpy(zero_copy_only=False)
            chunk = chunk.drop_null()
        first, count = self._count, self._count + len(valid)
        if count > len(self._words):
            self._words = np.concatenate([self._words[:first], np.empty(max(count, first), np.uint64)])
        numbers = np.arange(first, count)[valid]
        words, are_exact = words_of(chunk)
        self._words[numbers] = words
        numbers = numbers if are_exact else numbers[words < _LONGER]
        if 2 * count > len(self._table):
            numbers = np.concatenate([self._table[self._table >= 0], numbers])
            self._table = np.full(4 << count.bit_length(), -1, np.int32)
        _put(self._words, numbers, self._table)
        self._count = count


#: what longer texts have instead of a word comes from here on
_LONGER = np.uint64(1 << 63)


@whole_kernel
def _put(words: Any, numbers: Any, table: Any) -> None:
    last = np.uint64(len(table) - 1)
    for i in range(len(numbers)):
        place = hash_word(words[numbers[i]]) & last
        while table[place] >= 0:
            place = (place + np.uint64(1)) & last
        table[place] = numbers[i]


@kernel
def _number_texts(offsets: Any, data: Any, known: Any, table: Any, count: int) -> Any:
    """The same for texts; -1 are not known where some of them are not words."""
    words, longest = text_words_in(offsets, data)
    if longest > SHORT:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64), -1
    return _number_words(words, known, table, count)


@kernel
def _number_words(words: Any, known: Any, table: Any, count: int) -> Any:
    codes, rows = code_numbers(words)
    numbers, last = np.empty(len(rows), np.int64), np.uint64(len(table) - 1)
    new = 0
    for code in range(len(rows)):
        word = words[rows[code]]
        place = hash_word(word) & last
        number = np.int64(table[place])
        while number >= 0 and known[number] != word:
            place = (place + np.uint64(1)) & last
            number = np.int64(table[place])
        if number < 0:
            number = np.int64(count + new)
            new += 1
        numbers[code] = number
    return codes, rows, numbers, new


@kernel
def _number_text_rows(offsets: Any, data: Any, known: Any, table: Any, count: int, numbers: Any) -> int:
    """The same for texts; -1 are not known where some of them are not words."""
    words, longest = text_words_in(offsets, data)
    return -1 if longest > SHORT else _number_rows(words, known, table, count, numbers)


@kernel
def _number_rows(words: Any, known: Any, table: Any, count: int, numbers: Any) -> int:
    """How many keys are not known. Written: the number of each row's key."""
    new, others, firsts = 0, np.empty(0, np.int32), np.empty(0, np.int64)
    for i in range(len(words)):
        if i > 0 and words[i] == words[i - 1]:
            numbers[i] = numbers[i - 1]
            continue
        last = np.uint64(len(table) - 1)
        place = hash_word(words[i]) & last
        number = np.int64(table[place])
        while number >= 0 and known[number] != words[i]:
            place = (place + np.uint64(1)) & last
            number = np.int64(table[place])
        if number < 0:
            if not len(others):  # a table of those that are not known, which these rows cannot fill
                others, firsts = _table_for(len(words)), np.empty(len(words), np.int64)
            last = np.uint64(len(others) - 1)
            place = hash_word(words[i]) & last
            number = np.int64(others[place])
            while number >= 0 and words[firsts[number]] != words[i]:
                place = (place + np.uint64(1)) & last
                number = np.int64(others[place])
            if number < 0:
                number = np.int64(new)
                others[place], firsts[new] = new, i
                new += 1
            number += count
        numbers[i] = number
    return new


@kernel
def _table_for(count: int) -> Any:
    """An empty table that is at most half full with so many."""
    size = _FIRST_SIZE
    while size < 2 * count:
        size *= 2
    return np.full(size, -1, np.int32)
