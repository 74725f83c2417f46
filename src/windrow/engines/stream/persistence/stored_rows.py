"""The rows that an operator holds, where its state is kept: chunks as entries of their own.

A chunk is written once, under a name that no other ever has, and deleted when nobody needs it; beside its
rows are its wholes, a level each, where rolling reads these. The header lists the chunks. The rows that are
too few for a chunk are in the header itself.

Cost: a step writes the chunks it has made and their wholes, whatever else there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from windrow.engines.in_order.chunks import Chunk, check_facts
from windrow.engines.in_order.held_rows import Held
from windrow.engines.in_order.rows import OrderedRows
from windrow.engines.in_order.summaries import Whole
from windrow.errors import AggregateError

__all__ = ["RowEntries", "StoredRows", "highest_number", "is_of_rows", "listed_rows"]

_PREFIX = "c"
#: what the header lists of a chunk: number of its name, rows, first and last time, bytes, levels of wholes
_KINDS = (np.int64, np.int32, np.int64, np.int64, np.int64, np.int8)


def is_of_rows(name: str) -> bool:
    """Whether an entry is rows or wholes, and not a block of slices."""
    return name.startswith(_PREFIX)


def highest_number(parts: Iterable[Mapping[str, Any]]) -> int:
    """The highest number among the chunks that a header lists for its parts; -1: there are none."""
    numbers = [listed[0] for part in parts for listed in part.get("chunks", ())]
    return max((int(column.max(initial=-1)) for column in numbers), default=-1)


def listed_rows(chunks: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The names of all entries that a header lists for one part."""
    for numbers, *_, levels in chunks:
        for number, count in zip(numbers.tolist(), levels.tolist(), strict=True):
            yield _rows_name(number)
            yield from (_whole_name(number, level) for level in range(count))


class RowEntries(Protocol):
    """Where chunks are kept: plain values by name."""

    def read(self, name: str, make: Callable[[dict[str, Any]], Any]) -> Any: ...

    def write(self, name: str, value: Any) -> None: ...

    def delete(self, name: str) -> None: ...


#: what make rows, and wholes, of plain values
_Readers = tuple[Callable[[dict[str, Any]], Held], Callable[[dict[str, Any]], Whole]]


def _readers(part: OrderedRows, waits: bool) -> _Readers:
    return part.reads_rows(waits), part.reads_whole()


class _Entry:
    """A chunk as it is stored."""

    __slots__ = ("_entries", "_readers", "levels", "number")

    def __init__(self, entries: RowEntries, readers: _Readers, number: int, levels: int) -> None:
        self._entries, self._readers, self.number, self.levels = entries, readers, number, levels

    def load(self) -> Held:
        rows: Held = self._entries.read(_rows_name(self.number), self._readers[0])
        return rows

    def load_whole(self, level: int) -> Whole:
        whole: Whole = self._entries.read(_whole_name(self.number, level), self._readers[1])
        return whole

    def with_levels(self, levels: int) -> _Entry:
        """With so many levels of wholes."""
        return self if levels == self.levels else _Entry(self._entries, self._readers, self.number, levels)

    def names(self, levels: int = -1) -> Iterator[str]:
        """The name of the rows, unless some levels stay; and those of the wholes beyond them."""
        if levels < 0:
            yield _rows_name(self.number)
        for level in range(max(levels, 0), self.levels):
            yield _whole_name(self.number, level)


@dataclass
class StoredRows:
    """Which chunks are stored. ``keeps``: chunks keep what they load; otherwise they let go of their rows
    once these are safe."""

    entries: RowEntries
    keeps: bool
    #: the number of the next chunk; none is used again
    following: int = 0
    _stored: dict[Chunk, _Entry] = field(default_factory=dict[Chunk, _Entry])
    _saved: dict[Chunk, _Entry] = field(default_factory=dict[Chunk, _Entry])

    @property
    def names(self) -> set[str]:
        """All entries of stored chunks."""
        return {name for entry in self._stored.values() for name in entry.names()}

    # -- in --------------------------------------------------------------------------------------------------

    def load(self, part: OrderedRows, state: dict[str, Any], is_same: bool) -> None:
        """Restore a part from what a header has of it. If aggregates or columns have changed (not
        ``is_same``) its chunks are written anew, since their wholes, or rows, are of the others."""
        found = [
            list(self._listed(part, k, listed, is_same)) for k, listed in enumerate(state.get("chunks", ()))
        ]
        part.restore(state, *found)

    def _listed(self, part: OrderedRows, k: int, listed: Sequence[Any], is_same: bool) -> Iterator[Chunk]:
        readers = _readers(part, waits=k == 1)
        check_facts(*listed[1:])
        for number, *facts, levels in zip(*(column.tolist() for column in listed), strict=True):
            entry = _Entry(self.entries, readers, number, levels)
            chunk = Chunk.stored((*facts, levels), entry.load, entry.load_whole, self.keeps)
            self._stored[chunk] = entry
            if not is_same:
                chunk = Chunk.stored((*facts, 0), entry.load, entry.load_whole, self.keeps)
            yield chunk

    # -- out -------------------------------------------------------------------------------------------------

    def save(self, parts: Mapping[int, OrderedRows]) -> dict[int, Any]:
        """Write chunks that are new, delete those that are gone; what the header lists of each part."""
        self._saved = {}
        found = {}
        for number, part in parts.items():
            log, first = part.log.chunks, part.log.first
            kept = [self._kept(part, chunk, first + place) for place, chunk in enumerate(log)]
            waiting = [self._kept(part, chunk, None) for chunk in part.waiting.chunks]
            found[number] = [_columns_of(log, kept), _columns_of(part.waiting.chunks, waiting)]
        for chunk, entry in self._stored.items():
            levels = self._saved[chunk].levels if chunk in self._saved else -1
            for name in entry.names(levels):
                self.entries.delete(name)
        return found

    def _kept(self, part: OrderedRows, chunk: Chunk, place: int | None) -> _Entry:
        """A chunk where it is, with the wholes that its log can still use; a new one is written."""
        known = self._stored.get(chunk)
        usable = 0 if place is None or not part.folds else part.levels(place, chunk)
        if known is None:
            known = self._put(part, chunk, place, usable)
        self._saved[chunk] = known.with_levels(min(known.levels, usable))
        return self._saved[chunk]

    def _put(self, part: OrderedRows, chunk: Chunk, place: int | None, usable: int) -> _Entry:
        number, self.following = self.following, self.following + 1
        self.entries.write(_rows_name(number), chunk.rows)
        levels = 0
        try:
            for level in range(usable):
                assert place is not None
                self.entries.write(_whole_name(number, level), part.whole(place, level, chunk))
                levels += 1
        except (AggregateError, TypeError):
            pass  # what does not combine is asked of the rows, and raises where it is needed
        return _Entry(self.entries, _readers(part, waits=place is None), number, levels)

    def settle(self) -> None:
        """What was saved is safe."""
        self._stored = self._saved
        for chunk, entry in self._stored.items():
            chunk.levels = entry.levels
            if not self.keeps:  # also where it was read from an entry that this one replaces
                chunk.release(entry.load, entry.load_whole, self.keeps)


def _columns_of(chunks: Sequence[Chunk], entries: Sequence[_Entry]) -> list[Any]:
    facts = [(e.number, *c.facts[:-1], e.levels) for c, e in zip(chunks, entries, strict=True)]
    columns = zip(*facts, strict=True) if facts else [()] * len(_KINDS)
    return [np.array(column, kind) for column, kind in zip(columns, _KINDS, strict=True)]


def _rows_name(number: int) -> str:
    return f"{_PREFIX}{number}"


def _whole_name(number: int, level: int) -> str:
    return f"{_PREFIX}{number}w{level}"
