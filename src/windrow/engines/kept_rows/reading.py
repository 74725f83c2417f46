"""What the rolling results of new rows need of a log: the rows at the edges of windows one by one, and of the
stretch that all windows hold one partial per key.

New rows with times from t1 to t2 see (t - size, t] each. Rows in (t1 - size, t2 - size] are in some windows
and not in others; rows after that and before the new ones are in all. Frames that end elsewhere have such a
far edge, and a near one: rows that lie behind some windows and not behind others. With ``rows=n`` the same is
true of each key by itself: of a key with m new rows its last n - m rows are in all windows, and m - 1 more in
some.
Cost: the chunks at the edges, and O(log chunks) wholes; by rows for each distance at which edges of keys lie.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.kept_rows.chunk import Chunk
from windrow.engines.kept_rows.key_partials import KeyPartials, numbered
from windrow.engines.kept_rows.log import FANOUT, Fold, RowLog
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.rows.keys import shared_keys
from windrow.spec import Spec

__all__ = [
    "Read",
    "Span",
    "Walk",
    "WantedKeys",
    "everything",
    "reach_between",
    "reach_by_rows",
    "reach_by_time",
]

#: chunks in memory are read as wholes if they have so many times as many rows as there are beside them
PAYS = 2
#: windows of so few rows, for many keys, begin all over a log: it is read row by row
FEW_ROWS = 256


@dataclass(frozen=True)
class Span:
    """Windows by time, [front, stop) each: their first and last front, their first and last stop."""

    first_front: int
    last_front: int
    first_stop: int
    last_stop: int


@dataclass(frozen=True)
class Read:
    """Rows of logs, in order: those before the middle, and those behind it."""

    before: tuple[Held, ...] = ()
    behind: tuple[Held, ...] = ()
    #: the middle, in order; the masks say of which keys (None: of all)
    middle: tuple[tuple[KeyPartials, Mask | None], ...] = ()

    @property
    def edge(self) -> int:
        """How many rows lie before the middle."""
        return sum(map(len, self.before))

    @property
    def count(self) -> int:
        """How many rows there are beside the middle."""
        return self.edge + sum(map(len, self.behind))

    @cached_property
    def rows(self) -> Held | None:
        """The rows as one; None: there are none."""
        parts = (*self.before, *self.behind)
        return joined(parts) if parts else None

    @classmethod
    def of_all(cls, parts: Sequence[Read]) -> Read:
        """Of several logs, which have different keys or come one after the other."""
        return cls(
            tuple(rows for part in parts for rows in part.before),
            tuple(rows for part in parts for rows in part.behind),
            tuple(each for part in parts for each in part.middle),
        )


def everything(log: RowLog) -> Read:
    """All rows, one by one."""
    return _reach(log.rows(), _tail(log), [])


def _reach(edge: list[Held], rest: list[Held], middle: list[tuple[KeyPartials, Mask | None]]) -> Read:
    return Read(tuple(edge), tuple(rest), tuple(middle))


# -- by time -------------------------------------------------------------------------------------------------


def reach_by_time(query: Spec, span: Span, others: int, log: RowLog) -> Read:
    """For windows over the rows of a log; so many ``others`` are read besides."""
    first, last = _touched(log, span.first_front, span.last_stop)
    inner = min(last, max(first, bisect_left(log.chunks, span.last_front, key=_first)))
    behind = max(inner, bisect_left(log.chunks, span.first_stop, key=_last))
    edge = _within(log.chunks[first:inner], span)
    near, tail = _within(log.chunks[behind:last], span), _tail_within(log, span)
    others += sum(map(len, [*edge, *near, *tail]))
    if not _pays(log.chunks[inner:behind], others):
        return _reach([*edge, *(chunk.rows for chunk in log.chunks[inner:behind]), *near], tail, [])
    nodes = log.cover(log.first + inner, log.first + behind)
    return _reach(edge, [*near, *tail], [(log.whole(query, *node), None) for node in nodes])


def reach_between(log: RowLog, front: int, stop: int) -> Read:
    """The rows of a log with times in [front, stop), one by one."""
    first, last = _touched(log, front, stop)
    span = Span(front, front, stop, stop)
    return _reach([], [*_within(log.chunks[first:last], span), *_tail_within(log, span)], [])


def _touched(log: RowLog, front: int, stop: int) -> tuple[int, int]:
    """The chunks, [first, last), that may have rows with times in [front, stop)."""
    first = bisect_left(log.chunks, front, key=_last)
    return first, max(first, bisect_left(log.chunks, stop, key=_first))


def _first(chunk: Chunk) -> int:
    return chunk.first


def _last(chunk: Chunk) -> int:
    return chunk.last


def _tail_within(log: RowLog, span: Span) -> list[Held]:
    return [] if log.tail is None else [_between(log.tail, span)]


def _within(chunks: Sequence[Chunk], span: Span) -> list[Held]:
    return [_between(chunk.rows, span) for chunk in chunks]


def _between(rows: Held, span: Span) -> Held:
    begin, end = np.searchsorted(rows.times, [span.first_front, span.last_stop]).tolist()
    return rows if (begin, end) == (0, len(rows)) else rows.slice(begin, max(begin, end))


def _pays(chunks: Sequence[Chunk], others: int) -> bool:
    """Whether chunks are better read as wholes: if these are at hand where rows are not, or are many rows."""
    return bool(chunks) and (
        any(chunk.levels and not chunk.is_loaded for chunk in chunks)
        or sum(chunk.count for chunk in chunks) > PAYS * others
    )


# -- by rows -------------------------------------------------------------------------------------------------


def reach_by_rows(query: Spec, count: int, log: RowLog, new: Held, lately: Held | None = None) -> Read:
    """For new rows, all after those of the log, and their last ``count`` rows by key; ``lately``: rows
    between these, which are not in the log."""
    if not log.chunks:
        return _reach([], _tail(log), [])
    asked = WantedKeys.of(query, new)
    if count <= FEW_ROWS and asked.count > len(log.chunks) // 4:
        return everything(log)
    behind = asked.counts_in(log.tail) + asked.counts_in(lately)
    walk = Walk(asked, log, behind, count - asked.counts_in(new), np.full(asked.count, count - 1))
    walk.run()
    edge = [log.chunks[place].rows.take(rows) for place, rows in walk.edge[::-1]]
    return _reach(edge, _tail(log), walk.middle[::-1])


def _tail(log: RowLog) -> list[Held]:
    return [] if log.tail is None else [log.tail]


@dataclass(frozen=True)
class WantedKeys:
    """The keys of new rows: ``keys``, each once."""

    query: Spec
    keys: pa.Table
    count: int

    @classmethod
    def of(cls, query: Spec, new: Held) -> WantedKeys:
        keys, (numbers,) = shared_keys(query.by, [new.table])
        return cls(query, keys, int(numbers.max()) + 1)

    def codes(self, rows: Held) -> Ints:
        """The number of each row's key; ``count`` and more: it is not asked for."""
        if not self.query.by:
            return np.zeros(len(rows), np.int64)
        return shared_keys(self.query.by, [self.keys, rows.table])[1][1]

    def counts_in(self, rows: Held | None) -> Ints:
        """How many rows each key has among some."""
        if rows is None:
            return np.zeros(self.count, np.int64)
        codes = self.codes(rows)
        return np.bincount(codes[codes < self.count], minlength=self.count).astype(np.int64)


class Walk:
    """From the newest chunk back, until so many rows of each key were found as are in some windows; wholes
    are taken while what they have lies within as many as are in all."""

    def __init__(
        self,
        asked: WantedKeys,
        log: RowLog,
        behind: Ints,
        in_all: Ints,
        in_some: Ints,
        fold: Fold | None = None,
    ) -> None:
        self._asked, self._log, self._fold = asked, log, fold
        #: rows of each key that are behind what has been looked at
        self._behind, self._in_all, self._in_some = behind, in_all, in_some
        #: chunks at the edge, by place, and which of their rows are asked for
        self.edge: list[tuple[int, Ints]] = []
        self.middle: list[tuple[KeyPartials, Mask | None]] = []

    def run(self, last: int | None = None) -> None:
        """Up to the chunk before a place (None: all)."""
        log = self._log
        every = np.ones(self._asked.count, np.bool_)
        end = log.end if last is None else log.first + last
        stack = [(*node, every) for node in log.cover(log.first, end)]
        while stack:
            number, level, asked = stack.pop()
            asked = asked & (self._behind < self._in_some)
            if asked.any():
                below = self._look(number, level, asked)
                step = FANOUT ** (level - 1) if level else 0
                if below is not None:
                    stack += [(number - k * step, level - 1, below) for k in reversed(range(FANOUT))]

    def _look(self, number: int, level: int, asked: Mask) -> Mask | None:
        """Take from a whole what all windows hold; the keys for which it must be looked at more closely."""
        whole = self._log.whole(self._asked.query, number, level, self._fold)
        (codes,) = numbered(self._asked.query.by, self._asked.keys, [whole])
        wanted = np.append(asked, False)[np.minimum(codes, len(asked))]
        keys, counts = codes[wanted], whole.counts[wanted]
        fits = self._behind[keys] + counts <= self._in_all[keys]
        if fits.any():
            self._behind[keys[fits]] += counts[fits]
            mask = wanted.copy()
            mask[wanted] = fits
            self.middle.append((whole, mask))
        if fits.all():
            return None
        rest = np.zeros(len(asked), np.bool_)
        rest[keys[~fits]] = True
        if level:
            return rest
        self._behind[keys[~fits]] += counts[~fits]
        self._read(number - self._log.first, rest)
        return None

    def _read(self, place: int, wanted: Mask) -> None:
        """The rows of a chunk that are needed, of some keys."""
        live = self._log.live(place)
        codes = self._asked.codes(self._log.chunks[place].rows)[live]
        self.edge.append((place, live[np.append(wanted, False)[np.minimum(codes, len(wanted))]]))
