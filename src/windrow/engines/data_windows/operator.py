"""Windows that data decide, and rolling by policy, over endless input: rows are taken key by key.

Rows wait until they are due, as for rolling (:mod:`windrow.engines.kept_rows.ordered_rows`). Then they are
looked at together with the rows of their keys before them, the *context*, which is cut to what later rows
will need:

==================  ======================================================================
Rows                rows from the start of the first window that is not complete
Delta               the same
Punctuation         rows since the last that closed a window
Threshold           rows of runs that have not ended
Policy              rows that the policy left
==================  ======================================================================

In memory the context lives between pushes where it can (:mod:`windrow.engines.living.part`): then only new
rows are looked at. Where it is in groups of keys (:mod:`windrow.engines.kept_rows.grouped_rows`), a step
reads the groups of those keys alone of which a window may be complete
(:mod:`windrow.engines.data_windows.completes_no_window`). Of rows of groups that are over a mask is kept.

Invariant: a part of the rows of a key, its first or its last ones, completes no window, and is kept as it is.
Cost: one pass over the rows that are due, those that came lately, and those of the groups of keys whose
windows may be complete; policies read less (:mod:`windrow.engines.data_windows.policy_reads`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.data_windows import Strategy, strategy_of
from windrow.engines.data_windows.completes_no_window import quiet_by_counts, quiet_by_flags
from windrow.engines.data_windows.policy import LivingPolicy, policy_results
from windrow.engines.data_windows.policy_partial import FrontInMiddle
from windrow.engines.data_windows.policy_reads import fold_for_policy, look_for_policy, policy_middle
from windrow.engines.data_windows.results import completed_windows, decided_windows, policy_columns
from windrow.engines.data_windows.strategy import Decided, Decision
from windrow.engines.kept_rows.chunk import fewest_rows
from windrow.engines.kept_rows.context import Naming, RowsWithContext
from windrow.engines.kept_rows.group_reads import BEHIND, GroupReads
from windrow.engines.kept_rows.groups import KeyGroups, is_among
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.engines.kept_rows.key_partials import KeyPartials
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.engines.living.part import LivingPart
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.engines.result_tables import with_results
from windrow.monoids.base import Aggregate
from windrow.rows.columns import plain_array
from windrow.slicing.limits import one_step
from windrow.spec import Rolling, Spec
from windrow.windows import Window

__all__ = ["DataWindowRows"]


class DataWindowRows(LivingPart):
    """One window of a query, or its rolling by policy.

    >>> import pyarrow as pa, windrow as wr
    >>> query = wr.query(time="t").window(wr.Rows(2)).agg(total=wr.sum("v"))
    >>> rows = DataWindowRows(query, "", wr.Rows(2))
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
        self._living_policy = None if self._policy is None else LivingPolicy(query, self._policy)

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

    def _due_alive(self, up_to: int) -> pa.Table | None:
        new, pending = self._split(up_to)
        result = None
        if new is not None:
            living = self._begun()
            fresh = living.take(new.select(self._columns))
            result = self._decided(living, fresh, new)
            self._stay(living)
        self._pending, self._passed = pending, max(self._passed, up_to)
        return result if result is not None and result.num_rows else None

    def _decided(self, living: LivingRows, fresh: Fresh, new: Held) -> pa.Table | None:
        """The results of windows that new rows complete; what later rows need stays."""
        if self._living_policy is not None:
            return self._by_living_policy(self._living_policy, living, fresh, new)
        assert self._strategy is not None
        decision = self._strategy.decide(self._query, living, fresh)
        found = None
        if len(decision.keys):
            found = decided_windows(self._query, self._name, living, fresh, decision, self._since)
        living.drop_before(fresh.keys, decision.needed)
        return found

    def _by_living_policy(
        self, policy: LivingPolicy, living: LivingRows, fresh: Fresh, new: Held
    ) -> pa.Table:
        sizes, columns = policy.columns(living, fresh)
        stops = fresh.positions + 1
        ends = fresh.runs[1:] - 1
        if self._strategy is None:
            order = None if fresh.places is None else pa.array(np.argsort(fresh.places))
            columns = columns if order is None else [column.take(order) for column in columns]
            found = self._with_revisions(new, with_results(self._query, new.table, columns))
        else:
            decision = Decision(fresh.row_keys, stops - sizes, stops, fresh.keys)
            asked = (self._query, self._name, living, fresh, decision, self._since)
            found = decided_windows(*asked, columns)
        living.drop_before(fresh.keys, (stops - sizes)[ends])
        return found

    @property
    def _tree_aggregates(self) -> Sequence[Aggregate]:
        return () if self._policy is not None else super()._tree_aggregates

    def _remember(self, living: LivingRows, fresh: Fresh) -> None:
        if self._living_policy is not None:
            self._living_policy.begin_again(living)
        elif self._strategy is not None:
            self._strategy.remember(living, fresh)

    def _due_from_logs(self, up_to: int, closing: bool) -> pa.Table | None:
        new, pending = self._split(None if closing else up_to)
        after, result = self.copied(), None
        comes_out = closing and self._strategy is not None and self._strategy.closes_at_end
        if comes_out and (new is not None or self.rows > len(self.waiting)):
            result = after._look(dict(self._groups.logs.items()), new, closing)
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
                return self._look({}, new, closing)
            self._log = appended
            return None
        quiet = self._taken_quietly(new)
        if quiet.all():
            return None
        rest = new.where(~quiet)
        return self._look(self._groups.of_keys(self._query.by, rest.table), rest, closing)

    def _look(self, groups: Mapping[int, RowLog], new: Held | None, closing: bool) -> pa.Table | None:
        """The results of new rows, and of all that is in some groups and behind them."""
        logs, decided = {**groups, BEHIND: self._log}, None
        if self._policy is not None and new is not None:
            taken, decided, looked = self._by_policy(logs, new)
        else:
            looked = GroupReads.all_of(logs)
            taken = self._with_context(looked.reach.rows, new)
        if self._strategy is None:
            assert new is not None
            assert decided is not None
            columns, kept = policy_columns(taken, decided, taken.news)
            columns = _in_order_of_rows(taken, taken.news, columns)
            table = with_results(self._query, new.table, columns)
            result: pa.Table | None = self._with_revisions(new, table)
        else:
            asked = (self._query, self._name, self._strategy, taken, closing, self._since)
            result, kept = completed_windows(*asked, decided)
        found = looked.with_only(self._query.by, taken.rows, kept, self._policy is not None)
        log = found.pop(BEHIND)
        counts, lasts = self._known_after(taken, new, kept)
        if not self._groups.logs and self._policy is not None:
            self._log = replace(log, counts=counts)
        elif not self._groups.logs:
            self._log = log.with_counts(counts).with_lasts(lasts)
        else:
            self._log = replace(log, counts=None, lasts=None)
            self._groups = replace(self._groups, logs=self._groups.logs.with_logs(found))
            if new is not None:
                self._know(new.table, counts, lasts)
        return result

    def _by_policy(
        self, logs: Mapping[int, RowLog], new: Held
    ) -> tuple[RowsWithContext, Decided, GroupReads]:
        """The windows of new rows; and what was looked at for it."""
        assert self._policy is not None
        least, is_grouped = 1, bool(self._groups.logs)
        if not self.folds:
            logs = {group: replace(log, counts=None) for group, log in logs.items()}
        while True:
            looked = look_for_policy(self._query, logs, new, least, is_grouped)
            reach = looked.reach
            taken = self._with_context(reach.rows, new)
            if self._strategy is not None:
                self._strategy.check(taken.frame.table)
            middle = policy_middle(self._query, taken, reach)
            try:
                found = policy_results(self._query, taken.frame, self._policy, taken.leading, middle)
                return taken, Decided(*found), looked
            except FrontInMiddle:
                least = max(2 * least, fewest_rows())

    def _known_after(
        self, taken: RowsWithContext, new: Held | None, kept: Ints
    ) -> tuple[KeyCounts | None, Held | None]:
        """What tells whether later rows complete a window, and how far back policies look: of the keys of
        what was looked at."""
        counts = lasts = None
        if self._policy is not None:
            counts = self._counts_for_policy(taken, new, kept)
        elif self._strategy is not None and self._strategy.fewest_rows is not None:
            counts = KeyCounts.of_rows(taken.frame, kept)
        if self._strategy is not None and self._strategy.looks_at_last:
            lasts = taken.rows.take(taken.last_rows(0, 1))
        return counts, lasts

    def _counts_for_policy(self, taken: RowsWithContext, new: Held | None, kept: Ints) -> KeyCounts | None:
        """How many rows of each key are needed of the log, where it is the only one."""
        if self._groups.logs or not self.folds:
            return None
        by, known = self._query.by, self._log.counts
        if known is None:
            return KeyCounts.of_rows(taken.frame, kept)
        over = np.ones(len(taken.rows), np.bool_)
        over[kept] = False
        known = known if new is None else known.with_rows(by, new.table)
        return known.without_rows(by, taken.rows.where(over).table)

    def _know(self, keys: pa.Table, counts: KeyCounts | None, lasts: Held | None) -> None:
        """What is known of the keys of a table, as far as these are in groups with full chunks."""
        by, groups = self._query.by, self._groups
        if counts is not None:
            counts = counts.where(is_among(by, counts.keys, keys))
            counts = counts.where(groups.of_full_chunks(by, counts.keys))
        if lasts is not None:
            lasts = lasts.where(is_among(by, lasts.table, keys))
            lasts = lasts.where(groups.of_full_chunks(by, lasts.table))
        self._groups = groups.knowing(by, keys, counts, lasts)

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
        return log.with_rows(new.select(self._columns)).with_lasts(taken.rows.take(taken.last_rows(0, 1)))

    def _completed_behind(self, lasts: Held | None, new: Held) -> tuple[RowsWithContext, Mask]:
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
        rows = taken.rows.take(taken.last_rows(0, 1))
        return quiet, rows.where(is_among(by, rows.table, new.where(quiet).table))

    def _seen(self, points: Held, new: Held | None) -> list[Any]:
        assert new is not None
        logs = {**self._groups.of_keys(self._query.by, new.table), BEHIND: self._log}
        taken, found, _ = self._by_policy(logs, new)
        wanted = np.isin(new.arrivals, points.arrivals)
        chosen = taken.news[wanted[taken.places(taken.news) - taken.context]]
        return _in_order_of_rows(taken, chosen, policy_columns(taken, found, chosen)[0])

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def folds(self) -> bool:
        """Chunks are read as wholes by policies, as long as no aggregate was added that has not seen all
        rows."""
        return self._policy is not None and not self._log.added_after

    def levels(self, log: RowLog, number: int) -> int:
        is_full = log.chunks[number - log.first].count >= fewest_rows()
        return super().levels(log, number) if is_full else 0

    def whole(self, log: RowLog, number: int, level: int) -> KeyPartials:
        return log.whole(self._query, number, level, lambda rows: fold_for_policy(self._query, rows))

    def _join_groups(self, count: int) -> None:
        log, is_first = self._log, not self._groups.logs
        super()._join_groups(count)
        if is_first and self._policy is None:
            if log.counts is not None:
                self._know(log.counts.keys, log.counts, None)
            elif log.lasts is not None:
                self._know(log.lasts.table, None, log.lasts)


def _in_order_of_rows(taken: RowsWithContext, chosen: Ints, columns: list[Any]) -> list[Any]:
    """Columns of the new rows at some positions, in order of time."""
    order = pa.array(np.argsort(taken.places(chosen)))
    return [column.take(order) for column in columns]
