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
(:mod:`windrow.engines.in_order.key_groups`): a step takes the groups of its keys back into the log, and they
are put together again before they are stored. Of a group with full chunks these are not read unless rows
are due that may complete a window: what is known of its keys tells (:meth:`KeyedRows._appended`).

Invariant: a key is in the log or in a group, never in both.
Cost: one pass over the rows that are due and those of the groups of their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.in_order.chunks import Chunk, fewest_rows
from windrow.engines.in_order.context import Naming, Taken
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.key_counts import KeyCounts
from windrow.engines.in_order.key_groups import KeyGroups, group_numbers, wanted_groups
from windrow.engines.in_order.log import RowLog
from windrow.engines.in_order.policy_reach import policy_middle, policy_whole, reach_for_policy
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
from windrow.windows import Window

__all__ = ["KeyedRows"]


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
        #: the group that chunks of the log are from
        self._owners: Mapping[Chunk, int] = {}

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
            after._take_back(self._groups.opened(self._query.by, self._groups.logs))
            result = after._look(new, closing)
        elif new is not None:
            result = after._taken(new, closing)
        if closing:
            after._log, after._groups = after._log.without_rows(), KeyGroups()
        self._log, self._groups, self._owners = after._log, after._groups, after._owners
        self._pending, self._passed = pending, max(self._passed, up_to)
        return result if result is not None and result.num_rows else None

    def _taken(self, new: Held, closing: bool) -> pa.Table | None:
        """Take new rows; their results."""
        numbers = group_numbers(self._query.by, new.table, self._groups.count)
        logs = self._groups.opened(self._query.by, np.unique(numbers).tolist())
        if not logs:
            appended = self._appended(self._log, new)
            if appended is not None:
                self._log = appended
                return None
            return self._look(new, closing)
        appended_to = dict(self._quiet(logs, new, numbers))
        self._groups = self._groups.without(self._query.by, appended_to)
        for number, log in appended_to.items():
            self._groups = self._groups.with_log(number, log)
        self._take_back({number: log for number, log in logs.items() if number not in appended_to})
        rest = new.where(~np.isin(numbers, np.array([*appended_to], np.int64)))
        return self._look(rest, closing) if len(rest) else None

    def _quiet(self, logs: Mapping[int, RowLog], new: Held, numbers: Ints) -> Any:
        """The groups whose full chunks need not be read, with their new rows."""
        for number, log in logs.items():
            appended = self._appended(log, new.where(numbers == number)) if log.chunks else None
            if appended is not None:
                yield number, appended

    def _take_back(self, logs: Mapping[int, RowLog]) -> None:
        """Put groups into the log."""
        if not logs:
            return
        own, owners = self._log, dict(self._owners)
        for number, log in logs.items():
            owners |= dict.fromkeys(log.chunks, number)
        every = [own, *logs.values()]
        tails = [log.tail for log in every if log.tail is not None]
        pairs = [pair for log in every for pair in zip(log.chunks, log.masks, strict=True)]
        pairs.sort(key=lambda pair: pair[0] not in owners)  # what is of no group comes last
        chunks, masks = tuple(chunk for chunk, _ in pairs), tuple(mask for _, mask in pairs)
        tail = joined(tails) if tails else None
        self._log = replace(own, chunks=chunks, masks=masks, tail=tail, counts=None, lasts=None)
        self._groups = self._groups.without(self._query.by, logs)
        self._owners = owners

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
        if self._groups.count > 1:  # only some of the keys will be in groups that ask for it
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
        if self._strategy.may_complete(new.table):
            fewest = self._strategy.fewest_rows
            counts = None if fewest is None else log.counts_with(self._query.by, rows.table)
            if fewest is None or counts is None or counts.most >= fewest:
                return None
        return log.with_rows(rows).with_counts(counts)

    def _behind_last(self, log: RowLog, new: Held) -> RowLog | None:
        """The same where the last row of each key before tells whether they complete a window."""
        assert self._strategy is not None
        if len(log) and log.lasts is None:
            return None
        taken = self._with_context(log.lasts, new)
        with one_step():  # windows are counted again when they come out
            found = self._strategy.find(replace(self._query, order=()), taken.frame, taken.leading).ranges
        completed = self._strategy.completed(taken.frame, found, taken.firsts, closing=False)
        if completed is None or completed.any():
            return None
        return log.with_rows(new.select(self._columns)).with_lasts(taken.rows.take(last_rows(taken, 0, 1)))

    def _speculated(self, over: Rolling, new: Held, wanted: Any) -> tuple[Taken, list[Any]]:
        reader = self.copied()
        numbers = np.unique(group_numbers(self._query.by, new.table, self._groups.count)).tolist()
        reader._take_back(self._groups.opened(self._query.by, numbers))
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
        return 1 if chunk.count >= fewest_rows() else 0

    def whole(self, place: int, level: int, chunk: Chunk) -> Whole:
        return policy_whole(self._query, chunk)

    @property
    def log(self) -> RowLog:
        """The context; of groups the chunks one after the other."""
        log, groups = self._log, self._groups
        if not groups.logs:
            return log
        chunks, masks = (*groups.chunks, *log.chunks), (*groups.masks, *log.masks)
        return replace(log, chunks=chunks, masks=masks, counts=groups.counts, lasts=groups.lasts)

    def chunked(self) -> Self:
        """Another with the same rows, in chunks but for a few; and in groups, if these are many keys."""
        clone = super().chunked()
        count = wanted_groups(self._query.by, self._groups, self._log)
        if count > 1:
            clone._regroup(count)
        return clone

    def _regroup(self, count: int) -> None:
        by, log = self._query.by, self._log
        groups = self._groups.with_rows(by, count, log, self._owners)
        counts, lasts = log.counts, log.lasts
        if counts is not None:
            counts = counts.where(groups.of_full_chunks(by, counts.keys))
        if lasts is not None:
            lasts = lasts.where(groups.of_full_chunks(by, lasts.table))
        self._groups, self._owners = groups.knowing(counts, lasts), {}
        self._log = RowLog(added_after=log.added_after)

    def state(self, with_chunks: bool = True) -> dict[str, Any]:
        found, groups = super().state(with_chunks), self._groups
        if not groups.logs:
            return found
        if with_chunks:  # without what is known of some keys only
            return {name: value for name, value in found.items() if name not in ("counts", "last_rows")}
        assert not len(self._log), "rows that are in no group"
        return found | {"groups": {"count": groups.count, "numbers": groups.numbers}}

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
        found = KeyGroups.restored(groups["count"], groups["numbers"], log.chunks, log.masks)
        self._groups = replace(found, counts=counts, lasts=lasts)
        self._log = RowLog(added_after=log.added_after)
