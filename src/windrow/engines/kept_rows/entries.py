"""Chunks of rows as they are stored: under which names, and what is listed of them.

A chunk is written once, under a name that no other ever has; beside its rows are its wholes, a level each.
A list of chunks is a column for each fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from windrow.engines.kept_rows.chunk import Chunk
from windrow.engines.kept_rows.key_partials import KeyPartials
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.kept_rows.row_table import Held

__all__ = [
    "ChunkEntry",
    "Pages",
    "Readers",
    "RowEntries",
    "columns_of",
    "is_of_rows",
    "joined_columns",
    "listed_names",
    "page_name",
    "readers_of",
    "rows_name",
    "whole_name",
]

_PREFIX = "c"
#: what is listed of a chunk: number of its name, rows, first and last time, bytes, levels of wholes
_KINDS = (np.int64, np.int32, np.int64, np.int64, np.int64, np.int8)


def is_of_rows(name: str) -> bool:
    """Whether an entry is rows or wholes, or lists them, and is not a block of slices."""
    return name.startswith(_PREFIX)


def rows_name(number: int) -> str:
    return f"{_PREFIX}{number}"


def whole_name(number: int, level: int) -> str:
    return f"{_PREFIX}{number}w{level}"


def page_name(number: int) -> str:
    return f"{_PREFIX}{number}p"


def listed_names(listed: Sequence[Any]) -> Iterator[str]:
    """The names of all entries of a list of chunks."""
    numbers, *_, levels = listed
    for number, count in zip(numbers.tolist(), levels.tolist(), strict=True):
        yield rows_name(number)
        yield from (whole_name(number, level) for level in range(count))


class Pages(Protocol):
    """Where lists of chunks are kept."""

    def read_page(self, name: str) -> dict[str, Any]: ...

    def expect(self, sums: Mapping[str, int]) -> None:
        """Entries that are read have these checksums."""
        ...


class RowEntries(Pages, Protocol):
    """Where chunks are kept: plain values by name."""

    def read(self, name: str, make: Callable[[dict[str, Any]], Any]) -> Any: ...

    def write(self, name: str, value: Any) -> None: ...

    def write_page(self, name: str, page: dict[str, Any]) -> None: ...

    def delete(self, name: str) -> None: ...

    def sums_of(self, names: Sequence[str]) -> Any:
        """The checksums of entries."""
        ...


#: what make rows, and wholes, of plain values
Readers = tuple[Callable[[dict[str, Any]], Held], Callable[[dict[str, Any]], KeyPartials]]


def readers_of(part: OrderedRows, waits: bool) -> Readers:
    return part.reads_rows(waits), part.reads_whole()


class ChunkEntry:
    """A chunk as it is stored."""

    __slots__ = ("_entries", "_readers", "levels", "number")

    def __init__(self, entries: RowEntries, readers: Readers, number: int, levels: int) -> None:
        self._entries, self._readers, self.number, self.levels = entries, readers, number, levels

    def load(self) -> Held:
        rows: Held = self._entries.read(rows_name(self.number), self._readers[0])
        return rows

    def load_whole(self, level: int) -> KeyPartials:
        whole: KeyPartials = self._entries.read(whole_name(self.number, level), self._readers[1])
        return whole

    def with_levels(self, levels: int) -> ChunkEntry:
        """With so many levels of wholes."""
        if levels == self.levels:
            return self
        return ChunkEntry(self._entries, self._readers, self.number, levels)

    def names(self, levels: int = -1) -> Iterator[str]:
        """The name of the rows, unless some levels stay; and those of the wholes beyond them."""
        if levels < 0:
            yield rows_name(self.number)
        for level in range(max(levels, 0), self.levels):
            yield whole_name(self.number, level)


def columns_of(chunks: Sequence[Chunk], entries: Sequence[ChunkEntry]) -> list[Any]:
    """The list of some chunks."""
    facts = [(e.number, *c.facts[:-1], e.levels) for c, e in zip(chunks, entries, strict=True)]
    columns = zip(*facts, strict=True) if facts else [()] * len(_KINDS)
    return [np.array(column, kind) for column, kind in zip(columns, _KINDS, strict=True)]


def joined_columns(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Lists of chunks as one."""
    return [np.concatenate([listed[k] for listed in lists]) for k in range(len(_KINDS))]
