"""Windows that data decide, and rolling by policy, over endless input: rows are taken key by key.

Rows wait until they are due, as for rolling (:mod:`windrow.engines.in_order.rows`). Then they are looked at
together with the rows of their keys before them, the *context*, which is cut to what later rows will need:

==================  ======================================================================
Rows                rows from the start of the first window that is not complete
Delta               the same
Punctuation         rows since the last that closed a window
Threshold           rows of runs that have not ended
Policy              rows that the policy left
==================  ======================================================================

In memory the context is one log. Where it is stored it is in groups of keys once it is long
(:mod:`windrow.engines.in_order.key_groups`), and the log has the rows that came lately, of any key: a step
writes its rows into it, and reads the groups of those keys alone of which a window may be complete
(:mod:`windrow.engines.in_order.quiet`). Of rows of groups that are over a mask is kept. Once the log is long,
beside what a step brings, its rows join the groups.

Invariant: rows of a key that are in the log come after those in its group. A part of the rows of a key, its
first or its last ones, completes no window, and is kept as it is.
Cost: one pass over the rows that are due, those of the log, and those of the groups of keys whose windows may
be complete. The log has at most so many rows as a full chunk, or _SHARE times as many as a step brought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.in_order.chunks import Chunk, cut, fewest_rows
from windrow.engines.in_order.context import Naming, Taken
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.key_counts import KeyCounts
from windrow.engines.in_order.key_groups import KeyGroups, group_numbers, is_among, wanted_groups
from windrow.engines.in_order.log import RowLog
from windrow.engines.in_order.policy_reach import policy_middle, policy_whole, reach_for_policy
from windrow.engines.in_order.quiet import quiet_by_counts, quiet_by_flags
from windrow.engines.in_order.results import completed_windows, last_rows, policy_columns
from windrow.engines.in_order.rows import OrderedRows
from windrow.engines.in_order.summaries import Whole
from windrow.engines.kinds import Strategy, strategy_of
from windrow.engines.kinds.policy import policy_results
from windrow.engines.kinds.policy_middle import FrontInMiddle
from windrow.engines.kinds.strategy import Decided
from windrow.rows.columns import plain_array
from windrow.slicing.limits import one_step
from windrow.spec import Rolling, Spec
from windrow.state.checks import check_column
from windrow.windows import Window

__all__ = ["KeyedRows"]

#: rows join groups once there are so many times as many as a step has brought
_SHARE = 8
#: so many chunks are made of as many rows as a full one has, while they are in no group
_PARTS = 4
#: what is written for the group of such chunks
_NO_GROUP = -1


class KeyedRows(OrderedRows):
    """One window of a query, or its rolling by policy.

    >>> import pyarrow as pa, windrow as wr
    >>> query = wr.query(time="t").window(wr.Rows(2)).agg(total=wr.sum("v"))
    >>> rows = KeyedRows(query, "", wr.Rows(2))
    >>> rows.push(pa.table({"t": [3, 1, 2], "v": [30, 10, 20]}), [0, 1, 2])
    >>> rows.due(3).to_pylist(), rows.rows
    ([{'window_start': 1, 'window_end': 2, 'total': 30}], 1)
    """

    def __init__(
        self,
        query: Spec,
        name: str,
        window: Window | Rolling,
        *,
        counts_revisions: bool = False,
        naming: Naming | None = None,
    ) -> None:
        super().__init__(query, window, counts_revisions=counts_revisions, naming=naming)
        self._name = name
        #: None: rolling
        self._strategy: Strategy[Any] | None = None if isinstance(window, Rolling) else strategy_of(window)
        self._policy = window.policy if isinstance(window, Rolling) else strategy_of(window).policy
        #: the context, without what is in groups
        self._log = RowLog()
        self._groups = KeyGroups()
        #: the group that chunks of the log are from, while a step looks at them
        self._owners: Mapping[Chunk, int] = {}
        #: how many rows were taken since they were last made chunks
        self._brought = 0

    # -- rows in ---------------------------------------------------------------------------------------------

    def inside(self, table: pa.Table) -> Mask | None:
        if self._strategy is None:
            return None
        return self._strategy.held(*(plain_array(table.column(c)) for c in self._strategy.window.columns))

    def _needed(self, held: Held) -> Held:
        if self._strategy is None:
            return held
        self._strategy.check(held.table)
        inside = self.inside(held.table)
        held = held if inside is None else held.where(inside)
        return held.select(list(dict.fromkeys([*self._columns, *self._query.order])))

    # -- results out -----------------------------------------------------------------------------------------

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        new, pending = self._split(None if closing else up_to)
        after, result = self.copied(), None
        comes_out = closing and self._strategy is not None and self._strategy.closes_at_end
        if comes_out and (new is not None or len(self.log)):
            after._take_back(self._groups.logs)
            result = after._look(new, closing)
        elif new is not None:
            result = after._taken(new, closing)
        if closing:
            after._log, after._groups = after._log.without_rows(), KeyGroups()
        self._log, self._groups = after._log, after._groups
        self._pending, self._passed = pending, max(self._passed, up_to)
        self._brought += 0 if new is None else len(new)
        return result if result is not None and result.num_rows else None

    def _taken(self, new: Held, closing: bool) -> pa.Table | None:
        """Take new rows; their results."""
        if not self._groups.logs:
            appended = self._appended(self._log, new)
            if appended is None:
                return self._look(new, closing)
            self._log = appended
            return None
        quiet = self._taken_quietly(new)
        if quiet.all():
            return None
        rest = new.where(~quiet)
        numbers = set(group_numbers(self._query.by, rest.table, self._groups.count).tolist())
        self._take_back({number: log for number, log in self._groups.logs.items() if number in numbers})
        result = self._look(rest, closing)
        self._put_back(rest)
        return result

    def _take_back(self, logs: Mapping[int, RowLog]) -> None:
        """Put groups into the log, before what it has."""
        own = self._log
        every = [*logs.values(), own]
        chunks = tuple(chunk for log in every for chunk in log.chunks)
        masks = tuple(mask for log in every for mask in log.masks)
        self._owners = {chunk: number for number, log in logs.items() for chunk in log.chunks}
        self._log = replace(own, chunks=chunks, masks=masks)
        rest = {number: log for number, log in self._groups.logs.items() if number not in logs}
        self._groups = replace(self._groups, logs=rest)

    def _put_back(self, new: Held) -> None:
        """The reverse, with what is known now of the keys of new rows."""
        logs: dict[int | None, RowLog] = {}
        for chunk, mask in zip(self._log.chunks, self._log.masks, strict=True):
            number = self._owners.get(chunk)
            log = logs.get(number, RowLog())
            logs[number] = replace(log, chunks=(*log.chunks, chunk), masks=(*log.masks, mask))
        rest, own = logs.pop(None, RowLog()), self._log
        found = {number: log for number, log in logs.items() if number is not None}
        self._groups, self._owners = replace(self._groups, logs={**self._groups.logs, **found}), {}
        self._know(new.table, own.counts, own.lasts)
        self._log = replace(own, chunks=rest.chunks, masks=rest.masks, counts=None, lasts=None)

    def _know(self, keys: pa.Table, counts: KeyCounts | None, lasts: Held | None) -> None:
        """What is known of the keys of a table, as far as these are in groups with full chunks."""
        by, groups = self._query.by, self._groups
        if counts is not None:
            counts = counts.where(is_among(by, counts.keys, keys) & groups.of_full_chunks(by, counts.keys))
        if lasts is not None:
            lasts = lasts.where(is_among(by, lasts.table, keys) & groups.of_full_chunks(by, lasts.table))
        self._groups = groups.knowing(by, keys, counts, lasts)

    def _look(self, new: Held | None, closing: bool) -> pa.Table | None:
        """The results of new rows, and of all that is in the log."""
        log, is_read, decided = self._log, None, None
        if self._policy is not None and new is not None:
            taken, decided, is_read = self._by_policy(new)
        else:
            taken = self._with_context(log.all(), new)
        if self._strategy is None:
            assert new is not None
            assert decided is not None
            columns, kept = policy_columns(taken, decided, taken.news)
            self._log = log.with_only(taken.rows, kept, is_read)
            return self._rolled(taken, new, taken.news, columns)
        asked = (self._query, self._name, self._strategy, taken, closing, self._since)
        result, kept = completed_windows(*asked, decided)
        self._log = self._knowing(log.with_only(taken.rows, kept, is_read), taken, kept)
        return result

    def _by_policy(self, new: Held) -> tuple[Taken, Decided, list[bool]]:
        """The windows of new rows; and which chunks of the log were read for it."""
        assert self._policy is not None
        least = 1 if self.folds else len(self._log.chunks)
        while True:
            is_read, reach = reach_for_policy(self._query, self._log, self._owners, new, least)
            taken = self._with_context(reach.rows, new)
            if self._strategy is not None:
                self._strategy.check(taken.frame.table)
            middle = policy_middle(self._query, taken, reach)
            try:
                found = policy_results(self._query, taken.frame, self._policy, taken.leading, middle)
                return taken, Decided(*found), is_read
            except FrontInMiddle:
                least = 2 * least

    def _knowing(self, log: RowLog, taken: Taken, kept: Ints) -> RowLog:
        """A log with what tells whether later rows complete a window."""
        assert self._strategy is not None
        counts = lasts = None
        if self._strategy.fewest_rows is not None:
            counts = KeyCounts.of_rows(taken.frame, kept)
        if self._strategy.looks_at_last:
            lasts = taken.rows.take(last_rows(taken, 0, 1))
        if self._owners:  # only some of the keys are in groups that ask for it
            return replace(log, counts=counts, lasts=lasts)
        return log.with_counts(counts).with_lasts(lasts)

    # -- rows that complete no window ------------------------------------------------------------------------

    def _appended(self, log: RowLog, new: Held) -> RowLog | None:
        """A log with new rows behind the others, if they complete no window: none of them is read then."""
        if self._strategy is None:
            return None
        if self._strategy.looks_at_last:
            return self._behind_last(log, new)
        rows, counts = new.select(self._columns), None
        completing = self._strategy.completing(new.table)
        if completing is None or completing.any():
            fewest = self._strategy.fewest_rows
            counts = None if fewest is None else log.counts_with(self._query.by, rows.table)
            if fewest is None or counts is None or counts.most >= fewest:
                return None
        return log.with_rows(rows).with_counts(counts)

    def _behind_last(self, log: RowLog, new: Held) -> RowLog | None:
        """The same where the last row of each key before tells whether they complete a window."""
        if len(log) and log.lasts is None:
            return None
        taken, completed = self._completed_behind(log.lasts, new)
        if completed.any():
            return None
        return log.with_rows(new.select(self._columns)).with_lasts(taken.rows.take(last_rows(taken, 0, 1)))

    def _completed_behind(self, lasts: Held | None, new: Held) -> tuple[Taken, Mask]:
        """New rows behind the last ones of their keys, and of which keys they complete a window."""
        assert self._strategy is not None
        taken = self._with_context(lasts, new)
        with one_step():  # windows are counted again when they come out
            found = self._strategy.find(replace(self._query, order=()), taken.frame, taken.leading).ranges
        completed = self._strategy.completed(taken.frame, found, taken.firsts, closing=False)
        keys = np.zeros(len(taken.frame.key_rows), np.bool_)
        keys[found.keys if completed is None else found.keys[completed]] = True
        return taken, keys

    def _taken_quietly(self, new: Held) -> Mask:
        """Put those of new rows into the log whose keys complete no window, as far as is known without
        reading any; which these are."""
        quiet, counts, lasts = self._quiet(new)
        if quiet.any():
            rows = new.where(quiet).select(self._columns)
            tail = rows if self._log.tail is None else joined([self._log.tail, rows])
            self._log = replace(self._log, tail=tail)  # whole: others may come between these rows
            self._groups = self._groups.knowing(self._query.by, rows.table, counts, lasts)
        return quiet

    def _quiet(self, new: Held) -> tuple[Mask, KeyCounts | None, Held | None]:
        """Which new rows are of such keys, and what is known of these then."""
        by, strategy = self._query.by, self._strategy
        if strategy is not None and strategy.looks_at_last:
            quiet, lasts = self._quiet_behind_lasts(new)
            return quiet, None, lasts
        if strategy is not None and strategy.fewest_rows is not None:
            return *quiet_by_counts(by, new.table, self._groups.counts, strategy.fewest_rows), None
        completing = None if strategy is None else strategy.completing(new.table)
        return quiet_by_flags(by, new.table, completing), None, None

    def _quiet_behind_lasts(self, new: Held) -> tuple[Mask, Held | None]:
        by, lasts = self._query.by, self._groups.lasts
        quiet = np.zeros(len(new), np.bool_)
        if lasts is not None:
            quiet = is_among(by, new.table, lasts.table)
        if lasts is None or not quiet.any():
            return quiet, None
        some = new.where(quiet)
        taken, completed = self._completed_behind(lasts.where(is_among(by, lasts.table, some.table)), some)
        quiet[quiet] = ~completed[taken.frame.unordered_keys[taken.context :]]
        rows = taken.rows.take(last_rows(taken, 0, 1))
        return quiet, rows.where(is_among(by, rows.table, new.where(quiet).table))

    def _speculated(self, over: Rolling, new: Held, wanted: Any) -> tuple[Taken, list[Any]]:
        reader = self.copied()
        numbers = set(group_numbers(self._query.by, new.table, self._groups.count).tolist())
        reader._take_back({number: log for number, log in self._groups.logs.items() if number in numbers})
        taken, found, _ = reader._by_policy(new)
        chosen = taken.news[wanted[taken.places(taken.news) - taken.context]]
        return taken, policy_columns(taken, found, chosen)[0]

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def folds(self) -> bool:
        """Chunks are read as wholes by policies, as long as no aggregate was added that has not seen all
        rows."""
        return self._policy is not None and not self._log.added_after

    def levels(self, place: int, chunk: Chunk) -> int:
        is_recent = bool(self._groups.logs) and chunk in self._log.chunks
        return 1 if chunk.count >= fewest_rows() and not is_recent else 0

    def whole(self, place: int, level: int, chunk: Chunk) -> Whole:
        return policy_whole(self._query, chunk)

    @property
    def log(self) -> RowLog:
        """The context; of groups the chunks one after the other, then what is in none."""
        log, groups = self._log, self._groups
        if not groups.logs:
            return log
        chunks, masks = (*groups.chunks, *log.chunks), (*groups.masks, *log.masks)
        return replace(log, chunks=chunks, masks=masks, counts=groups.counts, lasts=groups.lasts)

    def chunked(self) -> Self:
        """Another with the same rows, in chunks but for a few; and in groups, if these are many keys."""
        clone = super().chunked()
        clone._brought = 0
        if self._groups.logs and self._log.needed_rows <= max(fewest_rows(), _SHARE * self._brought):
            clone._log = _in_parts(self._log)
            return clone
        for chunk in self._log.chunks if self._groups.logs else ():
            _ = chunk.rows
        count = wanted_groups(self._query.by, self._groups, self._log)
        if count > 1:
            clone._regroup(count)
        return clone

    def _regroup(self, count: int) -> None:
        """Put all rows into so many groups."""
        log, is_first = self._log, not self._groups.logs
        self._groups = self._groups.with_rows(self._query.by, count, log, folds=self.folds)
        self._log = RowLog(added_after=log.added_after)
        if is_first and log.counts is not None:
            self._know(log.counts.keys, log.counts, None)
        elif is_first and log.lasts is not None:
            self._know(log.lasts.table, None, log.lasts)

    def state(self, with_chunks: bool = True) -> dict[str, Any]:
        found, groups = super().state(with_chunks), self._groups
        if not groups.logs:
            return found
        if with_chunks:  # without what is known of some keys only
            return {name: value for name, value in found.items() if name not in ("counts", "last_rows")}
        numbers = np.append(groups.numbers, np.full(len(self._log.chunks), _NO_GROUP))
        return found | {"groups": {"count": groups.count, "numbers": numbers}}

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
        check_column("groups of chunks", groups["numbers"], len(log.chunks))
        recent = int(np.count_nonzero(groups["numbers"] == _NO_GROUP))
        count = len(log.chunks) - recent
        grouped = groups["numbers"][:count], log.chunks[:count], log.masks[:count]
        found = KeyGroups.restored(groups["count"], *grouped)
        self._groups = replace(found, counts=counts, lasts=lasts)
        self._log = replace(log, chunks=log.chunks[count:], masks=log.masks[count:])
        self._log.check_invariants()


def _in_parts(log: RowLog) -> RowLog:
    """With the tail as chunks, unless it is short."""
    if log.tail is None or len(log.tail) < max(fewest_rows() // _PARTS, 1):
        return log
    new = tuple(cut(log.tail))
    return replace(log, chunks=(*log.chunks, *new), masks=(*log.masks, *(None for _ in new)), tail=None)
