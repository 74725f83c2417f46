"""Numbers for keys: within a table, across tables, and where keys change in rows that are sorted by them.

Keys become numbers in order of first appearance. What counts as one key is said in
:mod:`windrow.rows.key_values`: null is a key like others, NaN is one key, and 0.0 and -0.0 are one.
Cost: O(rows) to number the rows of a table, in Arrow's code; lists are compared in Python. Integers in a
small range are looked up in a list of them, and not hashed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints, Mask
from windrow.errors import CorruptState, StateError
from windrow.rows.columns import NOWHERE, plain_array
from windrow.rows.integer_codes import numbered_in_range
from windrow.rows.key_codes import fast_codes
from windrow.rows.key_index import KeyIndex, appended, distinct_values
from windrow.rows.key_values import canonical_array, canonical_value, holds_floats
from windrow.rows.pieces import extremes, take_in_pieces
from windrow.rows.selection import take_rows
from windrow.rows.sorting import are_sorted, first_rows, rank_keys
from windrow.state.checks import require
from windrow.threads import even_pieces, in_threads, is_one_piece

__all__ = [
    "KeyRuns",
    "Keys",
    "changes",
    "encoded_keys",
    "numbered_values",
    "restored_keys",
    "shared_keys",
]

#: columns are numbered in pieces if a value is there so many times in the first of them, on average
_REPEATED = 4
#: more keys than this at once, and than a quarter of those that are known, are numbered without the index,
#: and longer columns by what is faster for them, in pieces
_FEW = 4096
#: integers are looked up, rather than hashed, if they lie in a range that is longer than there are rows by at
#: most so many
_SMALL_RANGE = 1 << 10


# -- within a table ------------------------------------------------------------------------------------------


def encoded_keys(by: tuple[str, ...], table: pa.Table, rows: Ints | None = None) -> tuple[Any, Ints]:
    """Key numbers of the rows (None: of all), and the first row of each key."""
    count = table.num_rows if rows is None else len(rows)
    if not by:
        return np.zeros(count, np.int32), np.zeros(min(count, 1), np.int64) if rows is None else rows[:1]
    codes, firsts = _column_codes(table.column(by[0]), rows)
    for name in by[1:]:
        more, others = _column_codes(table.column(name), rows)
        codes, firsts = _renumbered(codes.astype(np.int64) * len(others) + more)
    return codes, firsts if rows is None else rows[firsts]


def restored_keys(by: tuple[str, ...], keys: pa.Table) -> pa.Table:
    """Distinct keys as they were stored. Earlier versions told floats apart by their bits: two of their keys
    may be one now, and what belongs to them cannot be put together."""
    if tuple(keys.column_names) != by:
        raise CorruptState(f"keys of the columns {keys.column_names}, and the query has {list(by)}")
    has_floats = any(holds_floats(keys.schema.field(name).type) for name in by)
    found = keys
    if has_floats:
        found = _flat(keys)
    if len(encoded_keys(by, found)[1]) < found.num_rows:
        if not has_floats:
            raise CorruptState(f"keys of {', '.join(map(repr, by))}: one is there twice")
        raise StateError(
            f"the state has 0.0 and -0.0, or NaN of different bits, as different keys of "
            f"{', '.join(map(repr, by))}, and was stored by a version that told them apart: start without "
            f"it, from the source"
        )
    return found


def _column_codes(column: Any, rows: Ints | None) -> tuple[Any, Ints]:
    """The number of each value, and the first row of each number."""
    if pa.types.is_dictionary(column.type) and not column.null_count:
        return _dictionary_codes(column, rows)
    column = plain_array(column)
    if rows is not None:
        column = column.take(pa.array(rows))
    found = fast_codes(column) if len(column) <= _FEW else None
    if found is not None:
        return found
    if pa.types.is_nested(column.type):
        known: dict[str, int] = {}
        return _renumbered(np.array([known.setdefault(t, len(known)) for t in _texts(column)], np.int64))
    if pa.types.is_integer(column.type) and not column.null_count:
        return _integer_codes(column.to_numpy())
    codes, values = numbered_values(column)
    if pa.types.is_floating(column.type):
        again = canonical_array(values).dictionary_encode(null_encoding="encode")
        codes = again.indices.to_numpy(zero_copy_only=False)[codes]
    return _with_firsts(codes)


def _with_firsts(codes: Any) -> tuple[Any, Ints]:
    return codes, first_rows(codes, int(codes.max(initial=-1)) + 1)


def numbered_values(column: Any) -> tuple[Any, Any]:
    """The number of each value, in order of first appearance, and the values in the order of their numbers.
    Large columns are numbered in pieces that threads share, unless most values are there once.

    >>> codes, values = numbered_values(pa.array(["a", None, "a"]))
    >>> codes.tolist(), values.to_pylist()
    ([0, 1, 0], ['a', None])
    """
    pieces = even_pieces(len(column))
    if len(pieces) > 1:
        first = _numbered(column.slice(0, pieces[0].stop))
        if len(first[1]) * _REPEATED < pieces[0].stop:
            return _numbered_in_pieces(column, pieces, first)
    return _numbered(column)


def _numbered(column: Any) -> tuple[Any, Any]:
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary


def _numbered_in_pieces(column: Any, pieces: list[slice], first: tuple[Any, Any]) -> tuple[Any, Any]:
    """Each piece by itself, of which the first is known, and then the values of all."""
    others = [column.slice(piece.start, piece.stop - piece.start) for piece in pieces[1:]]
    parts = [first, *in_threads(_numbered, others)]
    numbers, values = _numbered(pa.concat_arrays([values for _, values in parts]))
    codes = np.empty(len(column), numbers.dtype)
    begins = np.cumsum([0, *(len(values) for _, values in parts)])

    def renumber(number: int) -> None:
        take_in_pieces(numbers[begins[number] : begins[number + 1]], parts[number][0], codes[pieces[number]])

    renumber(0)  # compiles, before threads do
    in_threads(renumber, range(1, len(pieces)))
    return codes, values


def _dictionary_codes(column: Any, rows: Ints | None) -> tuple[Any, Ints]:
    """The same for a column that is encoded already: the values that it has are compared once each."""
    chunks = column.unify_dictionaries().chunks
    if not chunks:
        return np.zeros(0, np.int32), np.zeros(0, np.int64)
    values, _ = _column_codes(pa.chunked_array([chunks[0].dictionary]), None)
    indices = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    return _integer_codes(values[indices if rows is None else indices[rows]])


def _texts(array: Any) -> list[str]:
    """Lists and structs, which Arrow does not compare, as texts that are equal where keys are."""
    return [repr(canonical_value(value)) for value in array.to_pylist()]


def _integer_codes(values: Any) -> tuple[Any, Ints]:
    """Numbers for integers, in the order in which they appear, and the first row of each."""
    low, high = extremes(values) if len(values) else (0, 0)
    if high - low < len(values) + _SMALL_RANGE and high < 1 << 63:
        return numbered_in_range(values, low, high - low + 1)
    return _with_firsts(numbered_values(pa.array(values))[0])


def _renumbered(codes: Ints) -> tuple[Any, Ints]:
    """Numbers in order of first appearance for numbers of any sort, and the first row of each."""
    found = fast_codes(pa.array(codes)) if len(codes) <= _FEW else None
    return _integer_codes(codes) if found is None else found


# -- across tables -------------------------------------------------------------------------------------------


def shared_keys(by: tuple[str, ...], tables: Sequence[pa.Table]) -> tuple[pa.Table, list[Ints]]:
    """The keys of several tables, each once, and for each table the numbers of its rows' keys among them.
    Without key columns all rows are of one key.

    >>> known, new = pa.table({"k": ["a", "b"]}), pa.table({"k": ["c", "a", "c"]})
    >>> keys, (_, numbers) = shared_keys(("k",), [known, new])
    >>> keys["k"].to_pylist(), numbers.tolist()
    (['a', 'b', 'c'], [2, 0, 2])
    """
    if not by:
        return pa.table({}), [np.zeros(table.num_rows, np.int64) for table in tables]
    every = pa.concat_tables([table.select(list(by)) for table in tables], promote_options="permissive")
    codes, firsts = encoded_keys(by, every)
    ends = np.cumsum([table.num_rows for table in tables])
    return _flat(take_rows(every, firsts)), np.split(codes.astype(np.int64), ends[:-1])


@dataclass(frozen=True)
class Keys:
    """Key values in the order of their numbers; without key columns there is one key, number 0."""

    by: tuple[str, ...]
    values: pa.Table | None = None
    #: how many were in use when it was last looked at
    settled: int = 0
    _index: KeyIndex = field(default_factory=KeyIndex, compare=False, repr=False)

    @classmethod
    def restored(cls, by: tuple[str, ...], values: pa.Table | None, settled: int) -> Keys:
        if values is None:
            return cls(by, None, settled)
        require(bool(by) and isinstance(values, pa.Table), "keys, and the query has no key columns")
        return cls(by, restored_keys(by, values), settled)

    @property
    def may_be_stale(self) -> bool:
        """Whether so many keys came since then that it is time to look again."""
        return len(self) > 2 * self.settled + 1024

    def __len__(self) -> int:
        return 0 if self.values is None else self.values.num_rows

    @property
    def nbytes(self) -> int:
        return 0 if self.values is None else int(self.values.nbytes)

    def with_rows(
        self, table: pa.Table, places: Mapping[str, int] = NOWHERE
    ) -> tuple[Keys, tuple[Any, Ints], Ints]:
        """With the keys of a table's rows; numbers of their own for these keys, and a row of each; and their
        numbers here, in the same order. ``places``: where columns lie in the table, if that is known."""
        found = self._by_words(table, places)
        if found is None:
            codes, rows = encoded_keys(self.by, table)
            columns = {name: plain_array(table.column(name)) for name in self.by}
            keys, numbers = self.with_values(columns, rows)
        else:
            keys, codes, rows, numbers = found
        if len(numbers) > 1 and not are_sorted(numbers[:0], numbers):
            order = np.argsort(numbers)
            codes, rows, numbers = rank_keys(codes, order), rows[order], numbers[order]
        return keys, (codes, rows), numbers

    def with_row_numbers(self, table: pa.Table, places: Mapping[str, int] = NOWHERE) -> tuple[Keys, Any]:
        """With the keys of a table's rows; and for each row the number of its key here."""
        if not self.by:
            return self, np.zeros(table.num_rows, np.int32)
        column = self._words(table, places)
        found = None if column is None else self._index.words.row_numbers(self.values, column)
        if found is None:
            keys, (codes, _), numbers = self.with_rows(table, places)
            return keys, numbers.astype(np.int32)[codes]
        numbers, new = found
        if not new:
            return self, numbers
        return self._with_words(column, first_rows(numbers - np.int32(len(self)), new)), numbers

    def _words(self, table: pa.Table, places: Mapping[str, int]) -> Any:
        """The key column of a table whose keys may be looked up as words; None: they are not."""
        known, count = self.values, table.num_rows
        if known is None or len(self.by) > 1 or not count or not is_one_piece(count):
            return None
        column = plain_array(table.column(places.get(self.by[0], self.by[0])))
        return column if column.type == known.schema.types[0] else None

    def _by_words(self, table: pa.Table, places: Mapping[str, int]) -> tuple[Keys, Any, Ints, Ints] | None:
        """With the keys of rows that are looked up as words; None: they are not words, or not looked up."""
        column = self._words(table, places)
        found = None if column is None else self._index.words.numbers(self.values, column)
        if found is None or not found[3]:
            return None if found is None else (self, *found[:3])
        codes, rows, numbers, _ = found
        return self._with_words(column, rows[numbers >= len(self)]), codes, rows, numbers

    def _with_words(self, column: Any, rows: Ints) -> Keys:
        """With the keys in these rows of a column, none of which is known."""
        assert self.values is not None
        added = pa.table([column.take(pa.array(rows))], schema=self.values.schema)
        return self._grown(appended(self.values, added))

    def with_values(self, new: Mapping[str, Any], rows: Ints | None = None) -> tuple[Keys, Ints]:
        """With the key values that stand in these rows of arrays by column (None: in all), distinct ones, and
        the number of each of them; without key columns there is one key."""
        if not self.by:
            return self, np.zeros(1 if rows is None else len(rows), np.int64)
        found = self._looked_up([new[name] for name in self.by], rows)
        if found is not None:
            return found
        known = [] if self.values is None else [self.values]
        columns = {name: canonical_array(_at(new[name], rows)) for name in self.by}
        values, numbers = shared_keys(self.by, [*known, pa.table(columns)])
        return self._grown(values), numbers[-1]

    def _grown(self, values: pa.Table) -> Keys:
        """The keys and others after them."""
        if self.values is None or values.schema.equals(self.values.schema):
            self._index.follow(self.values, values)
        return Keys(self.by, values, self.settled, self._index)

    def _looked_up(self, columns: Sequence[Any], rows: Ints | None) -> tuple[Keys, Ints] | None:
        """The same by the index; None: the values have none, or are so many that it does not pay."""
        asked_for = len(columns[0]) if rows is None else len(rows)
        if self.values is None or 4 * asked_for > len(self) + _FEW:
            return None
        if [column.type for column in columns] != self.values.schema.types:
            return None
        asked = distinct_values(columns, rows)
        if asked is None:
            return None
        numbers, unknown = self._index.numbers(self.values, asked)
        if not unknown:
            return self, numbers
        places = np.array(unknown) if rows is None else rows[unknown]
        added = [canonical_array(_at(column, places)) for column in columns]
        return self._grown(appended(self.values, pa.table(added, schema=self.values.schema))), numbers

    def columns(self, numbers: Ints) -> dict[str, Any]:
        """The key columns of results."""
        if not self.by or self.values is None:
            return {name: pa.nulls(len(numbers)) for name in self.by}
        places = pa.array(numbers)
        columns = [each.chunk(0) if each.num_chunks == 1 else each for each in self.values.columns]
        taken = [each.take(places) for each in columns]
        return {
            name: plain_array(each) if isinstance(each, pa.ChunkedArray) else each
            for name, each in zip(self.by, taken, strict=True)
        }

    def only(self, alive: Ints) -> tuple[Keys, Ints]:
        """The keys with these numbers, sorted; and the new number of each old one."""
        renumbered = np.zeros(max(len(self), 1), np.int64)
        renumbered[alive] = np.arange(len(alive))
        if self.values is None:
            return self, renumbered
        values = _flat(self.values.take(pa.array(alive))) if len(alive) else None
        return Keys(self.by, values, len(alive)), renumbered


def _at(column: Any, rows: Ints | None) -> Any:
    return column if rows is None else column.take(pa.array(rows))


def _flat(keys: pa.Table) -> pa.Table:
    return pa.table({name: canonical_array(plain_array(keys.column(name))) for name in keys.column_names})


# -- in sorted rows ------------------------------------------------------------------------------------------


class KeyRuns:
    """Finds the rows that start a new key, from table to table of one partition.

    Neighbours are compared, and not numbered by :func:`encoded_keys`: for a million rows of a thousand keys
    that takes a third of the time (texts: 4 of 12 ms), for half a million keys 4 of 96 ms."""

    def __init__(self, by: Sequence[str]) -> None:
        self._by = by
        self._last: list[Any] | None = None

    def starts(self, table: pa.Table) -> Mask:
        """True for each row whose key is not that of the row before it, in this table or the last one."""
        found = np.zeros(table.num_rows, np.bool_)
        if not table.num_rows:
            return found
        columns = [plain_array(table.column(name)) for name in self._by]
        for k, column in enumerate(columns):
            found[1:] |= changes(column)
            if self._last is not None:
                found[0] |= changes(pa.concat_arrays([self._last[k], column.slice(0, 1)]))[0]
        if self._last is None:
            found[0] = True
        self._last = [_copied(column.slice(len(column) - 1)) for column in columns]
        return found


def _copied(array: Any) -> Any:
    """The array alone, without the buffers it is a slice of."""
    return array.take(pa.array([0])) if len(array) else array


def changes(array: Any) -> Any:
    """For each row but the first, whether it differs from the one before.

    >>> changes(pa.array([1, 1, None, None, 2])).tolist()
    [False, True, False, True]
    """
    if len(array) < 2:
        return np.zeros(0, np.bool_)
    if pa.types.is_struct(array.type):
        return _struct_changes(array)
    if pa.types.is_nested(array.type):
        return _object_changes(array)
    before, after = array.slice(0, len(array) - 1), array.slice(1)
    differ = pc.not_equal(before, after)
    if pa.types.is_floating(array.type):
        differ = pc.and_(differ, pc.invert(pc.and_(pc.is_nan(before), pc.is_nan(after))))
    if array.null_count:
        differ = pc.if_else(pc.is_valid(differ), differ, pc.not_equal(pc.is_null(before), pc.is_null(after)))
    return differ.to_numpy(zero_copy_only=False)


def _struct_changes(array: Any) -> Any:
    found = changes(pc.is_valid(array))
    for member in array.flatten():
        found = found | changes(member)
    return found


def _object_changes(array: Any) -> Any:
    return np.array([a != b for a, b in itertools.pairwise(_texts(array))], np.bool_)
