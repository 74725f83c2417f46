"""Rows that are held in one log, or, where they are stored, in groups of keys once they are many.

In memory the context is one log. Where it is stored it is in groups of keys once it is long
(:mod:`windrow.engines.kept_rows.groups`), and the log has the rows that came lately, of any key: a step
writes its rows into it, and no group. Once the log is long, beside what a step brings, its rows join the
groups; or all rows go back into one log, where steps have become so large that they read most groups.

Invariant: rows of a key that are in the log come after those in its group.
Cost: the log has at most so many rows as a full chunk, or ``share`` times as many as a step brought.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from windrow.engines.kept_rows.chunk import fewest_rows
from windrow.engines.kept_rows.context import Naming
from windrow.engines.kept_rows.expiry import Trim
from windrow.engines.kept_rows.groups import KeyGroups, check_count, is_among, wanted_groups
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.kept_rows.reading import Read, everything
from windrow.engines.kept_rows.row_table import Held
from windrow.spec import Frames, Rolling, Spec
from windrow.windows import Window

__all__ = ["GroupedRows", "KeyLogs"]

#: so many chunks are made of as many rows as a full one has, while they are in no group
_PARTS = 4


@dataclass(frozen=True)
class KeyLogs:
    """The logs that have rows of some keys: those of their groups, or, where there are none, the only one."""

    logs: tuple[RowLog, ...]
    #: behind groups, the rows of these keys that are in none yet; None: there are no groups
    lately: Held | None = None

    def read(self, read: Callable[[RowLog], Read]) -> Read:
        """What is read of each log; groups of a few hundred rows are read row by row."""
        if self.lately is None:
            return read(self.logs[0])
        found = [read(log) if log.has_full_chunk else everything(log) for log in self.logs]
        return Read.of_all([*found, Read(behind=(self.lately,))])


class GroupedRows(OrderedRows):
    """See the module; what is looked at of the rows is up to others."""

    #: rows join groups once there are so many times as many as a step has brought
    share = 8

    def __init__(
        self,
        query: Spec,
        window: Window | Rolling | Frames,
        *,
        counts_revisions: bool = False,
        naming: Naming | None = None,
    ) -> None:
        super().__init__(query, window, counts_revisions=counts_revisions, naming=naming)
        #: the context, without what is in groups
        self._log = RowLog()
        self._groups = KeyGroups()
        #: how many rows were taken since they were last made chunks
        self._brought = 0

    def _logs_of(self, rows: Held) -> KeyLogs:
        """The logs that have rows of the keys of some rows."""
        log, by = self._log, self._query.by
        if not self._groups.logs:
            return KeyLogs((log,))
        groups = self._groups.of_keys(by, rows.table).values()
        lately = log.all()
        lately = rows.slice(0, 0).select(self._columns) if lately is None else lately
        lately = lately.where(is_among(by, lately.table, rows.table))
        return KeyLogs(tuple(replace(each, added_after=log.added_after) for each in groups), lately)

    # -- rows join groups ------------------------------------------------------------------------------------

    def chunked(self) -> Self:
        """Another with the same rows, in chunks but for a few; and in groups, if these are many keys."""
        clone = super().chunked()
        clone._brought = 0
        if not self._groups.logs:
            count = self._first_groups()
        elif self._log.needed_rows <= max(fewest_rows(), self.share * self._brought):
            clone._log = _in_parts(self._log)
            return clone
        elif self._wants_one_log():
            clone._leave_groups()
            return clone
        else:
            for chunk in self._log.chunks:
                _ = chunk.rows
            count = wanted_groups(self._query.by, self._groups, self._log)
        if count > 1:
            clone._join_groups(count)
        return clone

    def _first_groups(self) -> int:
        """How many groups the rows of the log should be in; 1: they stay."""
        return wanted_groups(self._query.by, self._groups, self._log)

    def _wants_one_log(self) -> bool:
        """Whether steps have become so large that rows are better off in no group."""
        return False

    def _trim(self) -> Trim | None:
        """Which rows of groups are over; None: that was settled when windows ended."""
        return None

    def _join_groups(self, count: int) -> None:
        """Put all rows of the log into so many groups."""
        log = self._log
        self._groups = self._groups.with_rows(self._query.by, count, log, folds=self.folds, trim=self._trim())
        self._log = RowLog(added_after=log.added_after)

    def _leave_groups(self) -> None:
        """Put all rows into one log, in order of time; reads all groups."""
        rows, trim = self.log.all(), self._trim()
        assert rows is not None
        rows = rows.by_time() if trim is None else trim.rows(rows.by_time())
        self._log = RowLog(added_after=self._log.added_after).with_tail(rows, math.isqrt(len(rows)))
        self._groups = KeyGroups()

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def groups(self) -> KeyGroups:
        return self._groups

    @property
    def log(self) -> RowLog:
        """The context; of groups the chunks one after the other, then what is in none. Reads all pages."""
        log, groups = self._log, self._groups
        if not groups.logs:
            return log
        every = groups.logs.every()
        chunks = (*(chunk for each in every for chunk in each.chunks), *log.chunks)
        masks = (*(mask for each in every for mask in each.masks), *log.masks)
        return replace(log, chunks=chunks, masks=masks, counts=None, lasts=None)

    @property
    def rows(self) -> int:
        return self._groups.logs.totals.rows + len(self._log) + len(self.waiting)

    @property
    def nbytes(self) -> int:
        known = [each for each in (self._groups.counts, self._groups.lasts) if each is not None]
        beside = self._groups.logs.totals.nbytes + sum(each.nbytes for each in known)
        return beside + self._log.nbytes + self.waiting.nbytes

    def levels(self, log: RowLog, number: int) -> int:
        if not self._groups.logs:
            return log.levels(number)
        is_full = log.chunks[number - log.first].count >= fewest_rows()
        return log.levels(number) if is_full and log is not self._log else 0

    def state(self, with_chunks: bool = True) -> dict[str, Any]:
        groups = self._groups
        if not groups.logs:  # without the rows of each key, if these are many
            return self._state_of(self._log.with_counts(self._log.counts), with_chunks)
        if with_chunks:  # without what is known of some keys only
            return super().state(True)
        known = replace(self._log, counts=groups.counts, lasts=groups.lasts)
        return self._state_of(known, False) | {"groups": {"count": groups.count}}

    def _set_log(self, log: RowLog, state: dict[str, Any]) -> None:
        counts, lasts, groups = state.get("counts"), state.get("last_rows"), state.get("groups")
        if lasts is not None:
            lasts = self.reads_rows(False)(lasts)
            lasts.check_invariants()
        if groups is None:
            super()._set_log(log, state)
            if counts is not None:
                counts = KeyCounts.restored(self._query.by, counts, log.needed_rows)
            self._log = self._log.with_counts(counts).with_lasts(lasts)
            return
        if counts is not None:
            counts = KeyCounts.restored(self._query.by, counts)
        count = check_count(groups["count"])
        self._groups = KeyGroups(count, groups["logs"], counts, lasts)
        self._log = log
        self._log.check_invariants(self.is_in_order)


def _in_parts(log: RowLog) -> RowLog:
    """With the tail as chunks, unless it is short."""
    if log.tail is None or len(log.tail) < max(fewest_rows() // _PARTS, 1):
        return log
    return log.without_tail()
