"""Rows that were taken and that later rows share windows with, in order of time: numbered chunks and a tail.

New rows go to the *tail*. Once it is long enough it becomes a chunk, which is never changed again; chunks
that nobody needs are dropped. So a step writes about as many rows as it was given, however many there are.
The longer the log, the longer the tail and the chunks: the list of chunks and the tail, which every step
reads and writes, are both about sqrt(rows) long.

Where a query folds, whole chunks are read as partials by key: ``cover`` finds the fewest wholes for a stretch
of chunks, O(log chunks), since a whole of level l stands for FANOUT**l chunks whose numbers it divides. This
is a [MTA] of chunks whose nodes are found by arithmetic and not by pointers.

Where windows take rows key by key, rows in the middle of a log may be over: chunks then have a mask of those
that are not. Once more are over than not, the log is written anew. Rows of a key that are over come before
all that are not.

Invariant: rows lie in order of time, chunks before the tail; numbers of chunks follow one another, and a
number is never used for other rows. Logs are values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.kept_rows.chunk import Chunk, cut, fewest_rows
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.engines.kept_rows.key_partials import KeyPartials, combined
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.spec import Spec
from windrow.state.checks import check_column, require, whole

__all__ = ["FANOUT", "Fold", "RowLog", "needed_of", "packed_masks", "unpacked_masks"]

#: folds rows by key
Fold = Callable[[Held], KeyPartials]
#: chunks, or wholes of one level, that a whole of the next level stands for
FANOUT = 4
#: chunks that the rows of one step become, where they are enough: edges of windows lie in chunks, and whole
#: chunks are read there
_PIECES = 4


@dataclass(frozen=True)
class RowLog:
    """Chunks, the number of the first of them, and the rows behind them."""

    chunks: tuple[Chunk, ...] = ()
    first: int = 0
    tail: Held | None = None
    #: for each chunk which of its rows are still needed; None: all
    masks: tuple[Mask | None, ...] = ()
    #: how many rows had come when each aggregate was added; (): none was added
    added_after: tuple[int, ...] = ()
    #: how many rows of each key are needed; None: that is not known
    counts: KeyCounts | None = None
    #: the last row of each key, in order of time; None: that is not known
    lasts: Held | None = None

    def __len__(self) -> int:
        return self.chunk_rows + (0 if self.tail is None else len(self.tail))

    @property
    def chunk_rows(self) -> int:
        return sum(chunk.count for chunk in self.chunks)

    @property
    def nbytes(self) -> int:
        found = sum(chunk.nbytes for chunk in self.chunks) + (0 if self.tail is None else self.tail.nbytes)
        return found + sum(each.nbytes for each in (self.counts, self.lasts) if each is not None)

    @property
    def end(self) -> int:
        """The number of the next chunk."""
        return self.first + len(self.chunks)

    def check_invariants(self, is_in_order: bool = True) -> None:
        """Of a log that comes from outside; chunks that are not loaded are checked when they are."""
        whole("number of the first chunk", self.first, 0, 2**62)
        require(len(self.masks) == len(self.chunks), f"{len(self.masks)} masks for {len(self.chunks)} chunks")
        edges = [time for chunk in self.chunks for time in (chunk.first, chunk.last)]
        if self.tail is not None and len(self.tail):
            self.tail.check_invariants()
            edges.append(int(self.tail.times[0]))
        require(not is_in_order or edges == sorted(edges), "chunks of rows that are not in order of time")
        for number, chunk in enumerate(self.chunks, self.first):
            require(chunk.levels <= self.levels(number), f"chunk {number}: more levels than it ends")

    # -- rows in, rows out -----------------------------------------------------------------------------------

    def with_tail(self, tail: Held | None, pieces: int = _PIECES) -> RowLog:
        """With another tail, which becomes chunks if it is long enough, at most so many."""
        if tail is None or not len(tail):
            return replace(self, tail=None, counts=None, lasts=None)
        if len(tail) < max(fewest_rows(), math.isqrt(len(self))):
            return replace(self, tail=tail, counts=None, lasts=None)
        new = tuple(cut(tail, pieces))
        masks = (*self.masks, *(None for _ in new))
        chunks = (*self.chunks, *new)
        return replace(self, chunks=chunks, tail=None, masks=masks, counts=None, lasts=None)

    def without_tail(self) -> RowLog:
        """With the tail as chunks behind the others, however short it is."""
        if self.tail is None or not len(self.tail):
            return replace(self, tail=None)
        new = tuple(cut(self.tail))
        masks = (*self.masks, *(None for _ in new))
        return replace(self, chunks=(*self.chunks, *new), masks=masks, tail=None)

    def with_rows(self, rows: Held) -> RowLog:
        """With more rows behind the others."""
        return self.with_tail(rows if self.tail is None else joined([self.tail, rows]))

    def with_merged(self, rows: Held) -> RowLog:
        """With rows of any time in a chunk behind the others, joined with those before it that are in memory
        and not much longer: so a row is copied O(log rows) times, and there are O(log rows) chunks."""
        begin, parts = len(self.chunks), [rows]
        while begin and self.chunks[begin - 1].is_loaded:
            before = self.chunks[begin - 1]
            if before.count > FANOUT * sum(map(len, parts)):
                break
            begin, parts = begin - 1, [before.rows, *parts]
        chunks = (*self.chunks[:begin], Chunk(joined(parts).by_time()))
        return replace(self, chunks=chunks, masks=(*self.masks[:begin], None))

    def without_first(self, count: int) -> RowLog:
        """Without the first chunks."""
        if not count:
            return self
        return replace(self, chunks=self.chunks[count:], masks=self.masks[count:], first=self.first + count)

    def without_rows(self) -> RowLog:
        return RowLog(first=self.end, added_after=self.added_after)

    def rewritten(self, rows: Held) -> RowLog:
        """Other rows in place of all there are."""
        return self.without_rows().with_tail(rows)

    def rows(self, begin: int = 0) -> list[Held]:
        """The rows that are needed of the chunks from the begin-th on."""
        pairs = zip(self.chunks[begin:], self.masks[begin:], strict=True)
        return [chunk.rows if mask is None else chunk.rows.where(mask) for chunk, mask in pairs]

    def all(self) -> Held | None:
        """All rows that are needed."""
        parts = [*self.rows(), *([] if self.tail is None else [self.tail])]
        return joined(parts) if parts else None

    # -- rows that are over key by key -----------------------------------------------------------------------

    def is_worth_rewriting(self, needed: int) -> bool:
        """Whether more rows of the chunks are over than are needed, by some margin: so each row is written
        O(1) times."""
        return self.chunk_rows > 2 * (needed + fewest_rows())

    def live(self, place: int) -> Ints:
        """Where the rows that are needed lie in the chunk of that place; reads nothing."""
        mask = self.masks[place]
        return np.arange(self.chunks[place].count) if mask is None else np.flatnonzero(mask)

    def without(self, over: Mapping[int, Ints]) -> RowLog:
        """Without rows that are over: for places of chunks, where these rows lie in the chunk. Chunks before
        the first that is needed are dropped; one behind it keeps its number, though none of its rows is."""
        masks = list(self.masks)
        for place, rows in over.items():
            mask, count = masks[place], self.chunks[place].count
            if len(rows):
                needed = np.ones(count, np.bool_) if mask is None else mask.copy()
                needed[rows] = False
                masks[place] = needed
        dead = 0
        for found in masks:
            if found is None or found.any():
                break
            dead += 1
        return replace(self, masks=tuple(masks)).without_first(dead)

    # -- rows by key -----------------------------------------------------------------------------------------

    @property
    def has_full_chunk(self) -> bool:
        return any(chunk.count >= fewest_rows() for chunk in self.chunks)

    @property
    def needed_rows(self) -> int:
        """How many rows are needed; reads none."""
        found = sum(map(needed_of, self.chunks, self.masks))
        return found + (0 if self.tail is None else len(self.tail))

    def counts_with(self, by: tuple[str, ...], table: pa.Table) -> KeyCounts | None:
        """The rows of each key, with those of a table behind them; None: that is not known."""
        if not len(self):
            return KeyCounts.of(by, table)
        return None if self.counts is None else self.counts.with_rows(by, table)

    def with_counts(self, counts: KeyCounts | None) -> RowLog:
        """With the rows of each key, unless these are many keys."""
        return replace(self, counts=counts if self._are_few(counts) else None)

    def with_lasts(self, lasts: Held | None) -> RowLog:
        """With the last row of each key, unless these are many keys."""
        return replace(self, lasts=lasts if self._are_few(lasts) else None)

    def _are_few(self, keys: KeyCounts | Held | None) -> bool:
        """Whether there are few keys beside the rows: what is known of them is read and written in each
        step."""
        rows = len(self)
        return keys is not None and 0 < len(keys) <= max(fewest_rows(), math.isqrt(rows)) and rows > 0

    # -- wholes ----------------------------------------------------------------------------------------------

    def levels(self, number: int) -> int:
        """How many levels of wholes end with a chunk and lie in this log."""
        found = 1
        while (number + 1) % FANOUT**found == 0 and number + 1 - FANOUT**found >= self.first:
            found += 1
        return found

    def cover(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """The fewest wholes for the chunks with numbers [begin, end): last number and level, in order."""
        while begin < end:
            level = 0
            while begin % FANOUT ** (level + 1) == 0 and begin + FANOUT ** (level + 1) <= end:
                level += 1
            begin += FANOUT**level
            yield begin - 1, level

    def whole(self, query: Spec, number: int, level: int, fold: Fold | None = None) -> KeyPartials:
        """The chunks up to one, as many as the level says, folded by key; ``fold``: how rows are, where that
        is not as rolling does."""
        chunk = self.chunks[number - self.first]

        def make() -> KeyPartials:
            if not level:
                return (
                    KeyPartials.of(query, chunk.rows, self.added_after) if fold is None else fold(chunk.rows)
                )
            step = FANOUT ** (level - 1)
            below = [self.whole(query, number - k * step, level - 1, fold) for k in reversed(range(FANOUT))]
            return combined(query.by, below)

        found: KeyPartials = chunk.whole(level, make)
        place = number - self.first
        held = sum(each.count for each in self.chunks[place + 1 - FANOUT**level : place + 1])
        rows = int(found.counts.sum())
        require(rows == held, f"partials of {rows} rows, and their chunks have {held}")
        return found


def needed_of(chunk: Chunk, mask: Mask | None) -> int:
    """How many rows of a chunk are needed."""
    return chunk.count if mask is None else int(mask.sum())


def packed_masks(masks: Sequence[Any]) -> list[Any] | None:
    """Masks as bits; None: there are none."""
    if all(mask is None for mask in masks):
        return None
    return [None if mask is None else np.packbits(mask) for mask in masks]


def unpacked_masks(stored: list[Any] | None, chunks: Sequence[Chunk]) -> tuple[Any, ...]:
    """The reverse, for these chunks."""
    if stored is None:
        return (None,) * len(chunks)
    for bits, chunk in zip(stored, chunks, strict=True):
        if bits is not None:
            check_column("rows of a chunk that are needed", bits, -(-chunk.count // 8), np.uint8)
    pairs = zip(stored, chunks, strict=True)
    return tuple(b if b is None else np.unpackbits(b, count=c.count).astype(np.bool_) for b, c in pairs)
