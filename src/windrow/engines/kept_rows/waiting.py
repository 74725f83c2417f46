"""Rows that wait until nothing can come before them.

In memory they are kept as they come. Where state is kept elsewhere they are put into chunks
(:mod:`windrow.engines.kept_rows.chunk`) unless they are few, each chunk of a stretch of time as short as may
be, since it is read when its first row is due. Cost: a step reads and writes the rows it is given, and those
of chunks that some of its due rows are in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.arrays import END_OF_TIME
from windrow.engines.kept_rows.chunk import Chunk, cut, fewest_rows
from windrow.engines.kept_rows.row_table import Held, joined

__all__ = ["Waiting"]

#: parts of few rows that are looked at one by one before they are made one
_MOST_PARTS = 32
#: chunks that the rows of one step become, where they are enough
_PIECES = 8


@dataclass(frozen=True)
class Waiting:
    """Rows by parts and chunks, each in order of time."""

    parts: tuple[Held, ...] = ()
    chunks: tuple[Chunk, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.parts)) + sum(chunk.count for chunk in self.chunks)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts) + sum(chunk.nbytes for chunk in self.chunks)

    @property
    def first(self) -> int:
        """The earliest time, or the end of time if there are no rows."""
        firsts = [int(part.times[0]) for part in self.parts if len(part)]
        return min([END_OF_TIME, *firsts, *(chunk.first for chunk in self.chunks)])

    def with_rows(self, rows: Held) -> Waiting:
        """With rows in any order."""
        parts = (*self.parts, rows.by_time())
        return Waiting((joined(parts).by_time(),) if len(parts) > _MOST_PARTS else parts, self.chunks)

    def chunked(self) -> Waiting:
        """The same in chunks, but for a few rows."""
        many = [part for part in self.parts if len(part) >= fewest_rows()]
        few = [part for part in self.parts if len(part) < fewest_rows()]
        if sum(map(len, few)) >= fewest_rows():
            many, few = [*many, joined(few).by_time()], []
        if not many:
            return self
        return Waiting(tuple(few), (*self.chunks, *(chunk for part in many for chunk in cut(part, _PIECES))))

    def split(self, up_to: int | None) -> tuple[list[Held], Waiting]:
        """The rows before a time (None: all), by parts; and the rest."""
        due: list[Held] = []
        rest = Waiting((), tuple(c for c in self.chunks if up_to is not None and c.first >= up_to))
        for part in self._touched(up_to):
            end = len(part) if up_to is None else int(np.searchsorted(part.times, up_to))
            if end:
                due.append(part.slice(0, end))
            if end < len(part):
                rest = rest.with_rows(part.slice(end, len(part)))
        return due, rest

    def _touched(self, up_to: int | None) -> list[Held]:
        return [*self.parts, *(c.rows for c in self.chunks if up_to is None or c.first < up_to)]

    def all(self) -> Held | None:
        """All rows, in no order."""
        parts = self._touched(None)
        return joined(parts) if parts else None

    def since(self, time: int) -> tuple[Waiting, Waiting]:
        """Rows, among them all from a time on; and the rest."""
        earlier = tuple(chunk for chunk in self.chunks if chunk.last < time)
        later = tuple(chunk for chunk in self.chunks if chunk.last >= time)
        return Waiting(self.parts, later), Waiting((), earlier)
