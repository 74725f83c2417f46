"""Which rows of the logs of groups, and of the log behind them, a step looks at; and these logs without the
rows that were over then.

Rows are looked at chunk by chunk: all that are needed, or those of some keys. What is not looked at stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from windrow.arrays import Ints, Mask
from windrow.engines.kept_rows.chunk import cut
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.engines.kept_rows.key_partials import KeyPartials
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.reading import Read
from windrow.engines.kept_rows.row_table import Held, joined

__all__ = ["BEHIND", "GroupReads", "Part", "parts_of"]

#: the number of the log that is in no group
BEHIND = -1


@dataclass(frozen=True)
class Part:
    """Rows of a chunk: the number of its group, its place in the log, where the rows lie in it."""

    group: int
    place: int
    positions: Ints
    rows: Held


def parts_of(group: int, log: RowLog, places: Sequence[int] | None = None) -> list[Part]:
    """All rows that are needed of some chunks (None: of all)."""
    chosen = range(len(log.chunks)) if places is None else places
    found = ((place, log.live(place), log.chunks[place]) for place in chosen)
    return [
        Part(group, place, live, chunk.rows if len(live) == chunk.count else chunk.rows.take(live))
        for place, live, chunk in found
    ]


@dataclass(frozen=True)
class GroupReads:
    """Parts of logs by the number of their group; ``before`` the middle and ``behind`` it, where the tail
    comes last."""

    logs: Mapping[int, RowLog]
    before: tuple[Part, ...]
    behind: tuple[Part, ...] = ()
    middle: tuple[tuple[KeyPartials, Mask | None], ...] = ()

    @classmethod
    def all_of(cls, logs: Mapping[int, RowLog]) -> GroupReads:
        return cls(logs, tuple(part for group, log in logs.items() for part in parts_of(group, log)))

    @property
    def reach(self) -> Read:
        tail = self.logs[BEHIND].tail
        behind = [part.rows for part in self.behind] + ([] if tail is None else [tail])
        return Read(tuple(part.rows for part in self.before), tuple(behind), self.middle)

    def with_only(self, by: tuple[str, ...], rows: Held, places: Ints, counts: bool) -> dict[int, RowLog]:
        """The logs with those alone of the rows that were looked at, and of new ones behind them, that lie at
        these places, which are sorted. ``counts``: groups with full chunks know the rows of each key."""
        kept = np.zeros(len(rows), np.bool_)
        kept[places] = True
        over: dict[int, dict[int, Ints]] = {group: {} for group in self.logs}
        gone: dict[int, list[Held]] = {group: [] for group in self.logs}
        begin = 0
        for part in (*self.before, *self.behind):
            mine = kept[begin : begin + len(part.rows)]
            begin += len(part.rows)
            over[part.group][part.place] = part.positions[~mine]
            if not mine.all():
                gone[part.group].append(part.rows.where(~mine))
        tail = rows.take(places[np.searchsorted(places, begin) :]).by_time()
        found = {}
        for group, log in self.logs.items():
            is_read = len(over[group]) == len(log.chunks)
            after = log.without(over[group])
            if group == BEHIND:
                found[group] = _behind(after, tail, is_read)
            else:
                after = _rewritten(after) if is_read else after
                known = _counted(by, log, after, gone[group], is_read) if counts else None
                found[group] = replace(after, counts=known)
        return found


def _behind(log: RowLog, tail: Held, is_read: bool) -> RowLog:
    """With another tail; its chunks are written anew if most of their rows are over."""
    if is_read and log.chunks and log.is_worth_rewriting(replace(log, tail=None).needed_rows):
        return log.rewritten(joined([*log.rows(), tail]))
    return log.with_tail(tail)


def _rewritten(log: RowLog) -> RowLog:
    """The log of a group, written anew if most of its rows are over."""
    needed = log.needed_rows
    if not log.chunks or not log.is_worth_rewriting(needed):
        return log
    new = tuple(cut(joined(log.rows()))) if needed else ()
    return replace(log, chunks=new, masks=(None,) * len(new), first=log.end)


def _counted(
    by: tuple[str, ...], before: RowLog, after: RowLog, gone: Sequence[Held], is_read: bool
) -> KeyCounts | None:
    """How many rows of each key are needed of a group with full chunks; None: that is not known."""
    if not after.has_full_chunk:
        return None
    if before.counts is not None:
        return before.counts.without_rows(by, joined(gone).table) if gone else before.counts
    return KeyCounts.of(by, joined(after.rows()).table) if is_read else None
