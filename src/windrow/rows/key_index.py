"""Numbers of keys by their values: an index that grows with them, so that a push costs what its own keys
cost, however many are known.

Keys are values, and one index is shared by all that come of each other: it is that of the last of them. If
those are given up, since their push failed, it is made anew for the ones before.

Values are looked up as Python's integers (the bits of numbers and moments, and of short texts) or as text and
bytes. Other types have no index. Cost: about 100 ns and 150 bytes per key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.rows.key_codes import text_word, text_words
from windrow.rows.key_values import canonical_array
from windrow.rows.word_index import WordIndex

__all__ = ["KeyIndex", "appended", "distinct_values"]

#: so many keys are in one chunk
_FEW = 4096
_BITS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


class KeyIndex:
    """The number of each key; see the module."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: pa.Table | None = None
        #: the same for keys that are one word each
        self.words = WordIndex()

    def numbers(self, known: pa.Table, asked: list[Any]) -> tuple[Ints, list[int]]:
        """The number of each value, and the places of those that are not among the known keys: they get the
        numbers after them, and belong to the keys that the index is told to ``follow``."""
        index = self._of(known)
        try:
            return np.fromiter(map(index.__getitem__, asked), np.int64, len(asked)), []
        except KeyError:
            unknown = []
        for place, value in enumerate(asked):
            if value not in index:
                unknown.append(place)
                index[value] = len(index)
        return np.fromiter(map(index.__getitem__, asked), np.int64, len(asked)), unknown

    def follow(self, known: pa.Table | None, longer: pa.Table) -> None:
        """Keys that were added to the known ones; an index of other keys stays what it is."""
        self.words.follow(known, longer)
        if self._known is known:
            self._known = longer

    def _of(self, known: pa.Table) -> dict[Any, int]:
        """The index of these keys."""
        index, count = self._numbers, known.num_rows
        if self._known is not known or len(index) > count:
            index = self._numbers = {}
            self._known = known
        if len(index) < count:
            values = distinct_values(known.slice(len(index)).columns)
            assert values is not None
            index.update(zip(values, range(len(index), count), strict=True))
        return index


def distinct_values(columns: Sequence[Any], rows: Ints | None = None) -> list[Any] | None:
    """Keys in these rows (None: in all) as values of Python that are equal where the keys are, and can be
    looked up; None: they cannot.

    >>> distinct_values([pa.array(["a", None]), pa.array([1.5, -0.0])])
    [(72057594037928033, 4609434218613702656), (None, 0)]
    """
    found = [_values_at(column, rows) for column in columns]
    if len(found) == 1:
        return found[0]
    return None if any(each is None for each in found) else list(zip(*found, strict=True))


def _values(column: Any) -> list[Any] | None:
    kind, is_ = column.type, pa.types
    if is_.is_integer(kind) or is_.is_boolean(kind):
        return column.to_pylist()
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_binary(kind) or is_.is_large_binary(kind):
        return _words(column)
    if is_.is_floating(kind) or is_.is_temporal(kind):
        bits = _BITS.get(kind.bit_width)
        return None if bits is None else _viewed(canonical_array(column), bits).to_pylist()
    return None


def _values_at(column: Any, rows: Ints | None) -> list[Any] | None:
    """Values in some rows."""
    if rows is None:
        return _values(column)
    words = text_words(column, rows)
    return _values(column.take(pa.array(rows))) if words is None else words


def _words(column: Any) -> list[Any]:
    """Texts, of which some may be null."""
    found: list[Any] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        words = text_words(chunk, np.arange(len(chunk)))
        found += map(text_word, chunk.to_pylist()) if words is None else words
    return found


def _viewed(column: Any, bits: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([chunk.view(bits) for chunk in column.chunks], bits)
    return column.view(bits)


def appended(known: pa.Table, new: pa.Table) -> pa.Table:
    """The keys with others after them, in few chunks: each is at least twice as long as the next, so that a
    key is copied O(log keys) times. A few thousand are one chunk, of which values are taken sooner."""
    if known.num_rows + new.num_rows <= _FEW:
        return pa.concat_tables([known, new]).combine_chunks()
    tables = [pa.Table.from_batches([batch]) for batch in known.to_batches()]
    tail = [new]
    while tables and tables[-1].num_rows < 2 * sum(each.num_rows for each in tail):
        tail.insert(0, tables.pop())
    return pa.concat_tables([*tables, pa.concat_tables(tail).combine_chunks()])
