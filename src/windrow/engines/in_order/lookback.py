"""What the rolling results of new rows need of a log: the rows at the far edge of windows one by one, and of
the stretch that all windows hold one partial per key.

New rows with times from t1 to t2 see (t - size, t] each. Rows in (t1 - size, t2 - size] are in some windows
and not in others; rows after that and before the new ones are in all. With ``rows=n`` the same is true of
each key by itself: of a key with m new rows its last n - m rows are in all windows, and m - 1 more in some.
Cost: the chunks at the edge, and O(log chunks) wholes; by rows for each distance at which edges of keys lie.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from windrow.arrays import Mask
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.log import FANOUT, RowLog
from windrow.engines.in_order.summaries import Whole, numbered
from windrow.rows.keys import shared_keys
from windrow.spec import Spec

__all__ = ["Reach", "everything", "reach_by_rows", "reach_by_time"]

#: chunks in memory are read as wholes if they have so many times as many rows as there are beside them
PAYS = 2
#: windows of so few rows, for many keys, begin all over a log: it is read row by row
FEW_ROWS = 256


@dataclass(frozen=True)
class Reach:
    """Rows of a log, in order; the first ``edge`` of them lie before the middle, the others behind it."""

    rows: Held | None
    edge: int = 0
    #: the middle, in order; the masks say of which keys (None: of all)
    middle: tuple[tuple[Whole, Mask | None], ...] = ()


def everything(log: RowLog) -> Reach:
    """All rows, one by one."""
    return Reach(log.all(), sum(map(len, log.rows())))


def _reach(edge: list[Held], tail: Held | None, middle: list[tuple[Whole, Mask | None]]) -> Reach:
    parts = [*edge, *([] if tail is None else [tail])]
    return Reach(joined(parts) if parts else None, sum(map(len, edge)), tuple(middle))


# -- by time -------------------------------------------------------------------------------------------------


def reach_by_time(query: Spec, size: int, log: RowLog, new: Held) -> Reach:
    """For new rows in order of time, all after those of the log."""
    low, high = int(new.times[0]) - size, int(new.times[-1]) - size
    out = bisect_right(log.chunks, low, key=lambda chunk: chunk.last)
    inner = max(out, bisect_right(log.chunks, high, key=lambda chunk: chunk.first))
    edge = [_after(chunk.rows, low) for chunk in log.chunks[out:inner]]
    tail = None if log.tail is None else _after(log.tail, low)
    others = sum(map(len, edge)) + (0 if tail is None else len(tail)) + len(new)
    if not _pays(log, inner, others):
        return _reach([*edge, *log.rows(inner)], tail, [])
    nodes = log.cover(log.first + inner, log.end)
    return _reach(edge, tail, [(log.whole(query, *node), None) for node in nodes])


def _after(rows: Held, time: int) -> Held:
    begin = int(np.searchsorted(rows.times, time, "right"))
    return rows.slice(begin, len(rows)) if begin else rows


def _pays(log: RowLog, begin: int, others: int) -> bool:
    """Whether chunks are better read as wholes: if they are not in memory, or are many rows."""
    chunks = log.chunks[begin:]
    return bool(chunks) and (
        sum(chunk.count for chunk in chunks) > PAYS * others or not all(chunk.is_loaded for chunk in chunks)
    )


# -- by rows -------------------------------------------------------------------------------------------------


def reach_by_rows(query: Spec, count: int, log: RowLog, new: Held) -> Reach:
    """For new rows, all after those of the log, and their last ``count`` rows by key."""
    if not log.chunks:
        return _reach([], log.tail, [])
    walk = _Walk(query, log, new, count)
    if count <= FEW_ROWS and walk.keys > len(log.chunks) // 4:
        return everything(log)
    walk.run()
    return _reach(walk.edge[::-1], log.tail, walk.middle[::-1])


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
