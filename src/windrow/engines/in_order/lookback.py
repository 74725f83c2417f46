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

from windrow.arrays import Mask
from windrow.engines.in_order.chunks import Chunk
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.log import FANOUT, RowLog
from windrow.engines.in_order.summaries import Whole, numbered
from windrow.rows.keys import shared_keys
from windrow.spec import Spec

__all__ = ["Reach", "Span", "everything", "reach_by_rows", "reach_by_time", "rows_between"]

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
class Reach:
    """Rows of a log, in order; the first ``edge`` of them lie before the middle, the others behind it."""

    parts: tuple[Held, ...]
    edge: int = 0
    #: the middle, in order; the masks say of which keys (None: of all)
    middle: tuple[tuple[Whole, Mask | None], ...] = ()

    @cached_property
    def rows(self) -> Held | None:
        """The rows as one; None: there are none."""
        return joined(self.parts) if self.parts else None


def everything(log: RowLog) -> Reach:
    """All rows, one by one."""
    return _reach(log.rows(), _tail(log), [])


def _reach(edge: list[Held], rest: list[Held], middle: list[tuple[Whole, Mask | None]]) -> Reach:
    return Reach((*edge, *rest), sum(map(len, edge)), tuple(middle))


# -- by time -------------------------------------------------------------------------------------------------


def reach_by_time(query: Spec, span: Span, log: RowLog, others: int) -> Reach:
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


def rows_between(log: RowLog, front: int, stop: int) -> Held | None:
    """The rows of a log with times in [front, stop), one by one; None: there are none."""
    first, last = _touched(log, front, stop)
    span = Span(front, front, stop, stop)
    return _reach([], [*_within(log.chunks[first:last], span), *_tail_within(log, span)], []).rows


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
    """Whether chunks are better read as wholes: if they are not in memory, or are many rows."""
    return bool(chunks) and (
        sum(chunk.count for chunk in chunks) > PAYS * others or not all(chunk.is_loaded for chunk in chunks)
    )


# -- by rows -------------------------------------------------------------------------------------------------


def reach_by_rows(query: Spec, count: int, log: RowLog, new: Held) -> Reach:
    """For new rows, all after those of the log, and their last ``count`` rows by key."""
    if not log.chunks:
        return _reach([], _tail(log), [])
    walk = _Walk(query, log, new, count)
    if count <= FEW_ROWS and walk.keys > len(log.chunks) // 4:
        return everything(log)
    walk.run()
    return _reach(walk.edge[::-1], _tail(log), walk.middle[::-1])


def _tail(log: RowLog) -> list[Held]:
    return [] if log.tail is None else [log.tail]


class _Walk:
    """From the newest chunk back, until each key of the new rows has what it needs."""

    def __init__(self, query: Spec, log: RowLog, new: Held, count: int) -> None:
        self._query, self._log = query, log
        parts = [new] if log.tail is None else [new, log.tail]
        keys, (mine, *tail) = shared_keys(query.by, [part.table for part in parts])
        behind = tail[0] if tail else mine[:0]
        found = int(mine.max()) + 1
        self._key_values = keys.slice(0, found)
        #: rows of each key that are behind what has been looked at
        self._behind = np.bincount(behind[behind < found], minlength=found)
        self._in_all = count - np.bincount(mine, minlength=found)
        self._in_some = count - 1
        self.edge: list[Held] = []
        self.middle: list[tuple[Whole, Mask | None]] = []

    @property
    def keys(self) -> int:
        """How many keys the new rows have."""
        return len(self._behind)

    def run(self) -> None:
        log = self._log
        every = np.ones(len(self._behind), np.bool_)
        stack = [(*node, every) for node in log.cover(log.first, log.end)]
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
        whole = self._log.whole(self._query, number, level)
        (codes,) = numbered(self._query.by, self._key_values, [whole])
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
        self.edge.append(self._of_keys(self._log.chunks[number - self._log.first].rows, rest))
        return None

    def _of_keys(self, rows: Held, wanted: Mask) -> Held:
        if not self._query.by:
            return rows
        _, (_, codes) = shared_keys(self._query.by, [self._key_values, rows.table])
        return rows.where(np.append(wanted, False)[np.minimum(codes, len(wanted))])
