"""Rows that an operator holds, in chunks: written once, read when they are needed, never changed.

A chunk's rows lie in order of time. What is known without reading them: how many they are, the first and the
last time, their bytes. Where a query folds, a chunk also has *wholes*
(:mod:`windrow.engines.kept_rows.key_partials`): at level 0 its own rows folded by key, at level l those of
the last FANOUT**l chunks up to this one, where they end together. They are made when first asked for, or
loaded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.engines.kept_rows.row_table import Held
from windrow.state.checks import check_numbers, require
from windrow.state.on_demand import OnDemand

__all__ = ["FEWEST_ROWS", "MOST_ROWS", "Chunk", "check_facts", "cut", "fewest_rows"]

#: rows stay in memory, and are written with the header, up to so many; then they become chunks
FEWEST_ROWS = 1024
#: no chunk has more
MOST_ROWS = 1 << 16
#: nor has one that was stored, by any version
MOST_STORED = 1 << 31


class Chunk:
    """Some rows; see the module. What was made of them and what they are loaded from may change, they do
    not."""

    def __init__(self, rows: Held) -> None:
        self._rows = OnDemand(rows)
        self._load: Callable[[], Held] | None = None
        self._load_whole: Callable[[int], Any] | None = None
        self._wholes: dict[int, Any] = {}
        self.count, self.nbytes = len(rows), rows.nbytes
        self.first, self.last = int(rows.times[0]), int(rows.times[-1])
        #: how many levels of wholes are kept where the rows are
        self.levels = 0

    @classmethod
    def stored(
        cls,
        facts: tuple[int, int, int, int, int],
        load: Callable[[], Held],
        load_whole: Callable[[int], Any],
        keeps: bool,
    ) -> Chunk:
        """A chunk that is kept elsewhere; ``facts`` are those that the chunk had, and were checked."""
        found = cls.__new__(cls)
        found.count, found.first, found.last, found.nbytes, found.levels = facts
        found.release(load, load_whole, keeps)
        return found

    def release(self, load: Callable[[], Held], load_whole: Callable[[int], Any], keeps: bool) -> None:
        """Rows and wholes are kept elsewhere from now on, and loaded when they are asked for: each time,
        unless it ``keeps`` them."""
        self._rows, self._wholes = OnDemand(load=self._checked, keeps=keeps), {}
        self._load, self._load_whole = load, load_whole

    @property
    def facts(self) -> tuple[int, int, int, int, int]:
        return self.count, self.first, self.last, self.nbytes, self.levels

    @property
    def is_loaded(self) -> bool:
        return self._rows.is_loaded

    @property
    def rows(self) -> Held:
        return self._rows.get()

    def _checked(self) -> Held:
        """Rows from elsewhere are those that were known of, and in order of time."""
        assert self._load is not None
        rows = self._load()
        require(len(rows) == self.count, f"a chunk of {len(rows)} rows, and the header says {self.count}")
        rows.check_invariants()
        ends = int(rows.times[0]), int(rows.times[-1])
        require(ends == (self.first, self.last), f"a chunk of other rows, from {ends[0]} to {ends[1]}")
        return rows

    def whole(self, level: int, make: Callable[[], Any]) -> Any:
        """The whole of a level: kept here, kept elsewhere, or made. Which levels are kept elsewhere may
        change while rows stay where they are, so that this is asked each time."""
        found = self._wholes.get(level)
        if found is not None:
            return found
        if level < self.levels and self._load_whole is not None:
            found = self._load_whole(level)
        else:
            found = make()
        if self._rows.keeps:
            self._wholes[level] = found
        return found


def check_facts(counts: Ints, firsts: Ints, lasts: Ints, sizes: Ints, levels: Ints) -> None:
    """Raise unless these may be the facts of chunks, a column for each fact."""
    times = (START_OF_TIME, END_OF_TIME)
    limits = ((1, MOST_STORED), times, times, (0, 2**62), (0, 64))
    for column, limit in zip((counts, firsts, lasts, sizes, levels), limits, strict=True):
        check_numbers("what is known of chunks", column, *limit)
    require(bool((firsts <= lasts).all()), "a chunk whose last row is before the first")


def fewest_rows() -> int:
    """So many rows are worth a chunk of their own."""
    return FEWEST_ROWS


def cut(rows: Held, pieces: int = 1) -> Iterator[Chunk]:
    """Rows in order of time as chunks of about the same size: so many, unless they would be too large, or too
    small for it."""
    wanted = max(math.ceil(len(rows) / MOST_ROWS), min(pieces, len(rows) // FEWEST_ROWS), 1)
    edges = [len(rows) * k // wanted for k in range(wanted + 1)]
    for begin, end in itertools.pairwise(edges):
        yield Chunk(rows.slice(begin, end))
