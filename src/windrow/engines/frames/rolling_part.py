"""Rolling by time and by rows over endless input.

Of its context rolling reads the rows at the far edge of windows, and partials by key of what lies between
(:mod:`windrow.engines.kept_rows.reading`). It is cut to what later rows will need:

================  ======================================================================
rolling(size)     chunks with rows after ``up_to - size``
rolling(rows=n)   chunks with one of the last n - 1 rows of some key
================  ======================================================================

In memory the context is one log. Where it is stored, partials of many keys are read for a few. So the context
is in groups of keys (:mod:`windrow.engines.kept_rows.grouped_rows`) once it is long beside what a step
brings, and half as many keys are in a chunk as rows, or more: then a step reads the groups of its keys, and
rows that came lately. Groups of a few hundred rows are read row by row; those with full chunks have wholes.
Chunks of groups leave when all their rows are over; the totals of pages tell where there are any. Steps that
bring a larger share of what is held again, some of them one after the other, put it back into one log.

Cost: one pass over rows that are due, as many at the edge of their windows, and O(log context) partials of
each key; in groups a few hundred rows for each key, and O(log context) partials.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.frames.tables import rolling_rows
from windrow.engines.kept_rows.chunk import fewest_rows
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.expiry import AfterTime, LastRows, Trim, after_time, without_dead_chunks
from windrow.engines.kept_rows.grouped_rows import GroupedRows
from windrow.engines.kept_rows.groups import KeyGroups, groups_for, is_among
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.reading import Read, Span, everything, reach_by_rows, reach_by_time
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.engines.kept_rows.shared_partial import middle_of
from windrow.errors import AggregateError
from windrow.partials.added_aggregates import null_where_unseen
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.ranges import RowRanges
from windrow.spec import Rolling, Spec

__all__ = ["RollingRows"]

#: rows are put into groups if there are so many times as many as a step brings
LONG = 64
#: they go back into one log if there are at most so many times as many: fewer, so that steps of one size do
#: not move them to and fro
SHORT = 32


class RollingRows(GroupedRows):
    """The rolling of a query, by time or by rows.

    >>> import pyarrow as pa, windrow as wr
    >>> query = wr.query(time="t").rolling(rows=2).agg(total=wr.sum("v"))
    >>> rows = RollingRows(query, query.rolling_over)
    >>> rows.push(pa.table({"t": [3, 1, 2], "v": [30, 10, 20]}), [0, 1, 2])
    >>> rows.due(3).to_pylist(), rows.rows
    ([{'t': 1, 'v': 10, 'total': 10}, {'t': 2, 'v': 20, 'total': 30}], 2)
    """

    @property
    def _over(self) -> Rolling:
        assert isinstance(self._window, Rolling)
        return self._window

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        new, pending = self._split(None if closing else up_to)
        result, log, groups, over = None, self._log, self._groups, self._over
        if new is not None:
            taken, columns, reach = self._rolling(over, new, None)
            result = self._rolled(taken, new, taken.news, columns)
            log = self._trimmed(over, taken, reach, new, up_to)
        elif over.size is not None:
            log = after_time(log, log.tail, up_to - over.size.units)
        if over.size is not None:
            groups = groups.without_rows_up_to(up_to - over.size.units)
        self._log = log.without_rows() if closing else log
        self._groups = KeyGroups() if closing else groups
        self._pending = pending
        self._passed = max(self._passed, up_to)
        self._brought += 0 if new is None else len(new)
        return result if result is not None and result.num_rows else None

    def _rolling(self, over: Rolling, new: Held, wanted: Any) -> tuple[RowsWithContext, list[Any], Read]:
        """Rolling results of the new rows that a mask names (None: all), by time or by rows."""
        logs = self._logs_of(new)
        reach = self._reach(over, logs, new)
        try:
            return self._results_over(over, reach, new, wanted)
        except (AggregateError, TypeError):
            if not reach.middle:
                raise
            # over the rows themselves it works, or raises again and can name the row
            every = Read.of_all([everything(log) for log in logs])
            return self._results_over(over, every, new, wanted)

    def _logs_of(self, new: Held) -> list[RowLog]:
        """The logs that have rows of the keys of new rows; the last has those that came lately."""
        groups = self._groups.of_keys(self._query.by, new.table) if self._groups.logs else {}
        added_after = self._log.added_after
        return [*(replace(log, added_after=added_after) for log in groups.values()), self._log]

    def _reach(self, over: Rolling, logs: list[RowLog], new: Held) -> Read:
        *groups, lately = logs
        if not self._groups.logs:
            return self._within(over, lately, new, None)
        recent = lately.all()
        if recent is not None:
            recent = recent.where(is_among(self._query.by, recent.table, new.table))
        found = [
            self._within(over, log, new, recent) if log.has_full_chunk else everything(log) for log in groups
        ]
        return Read.of_all([*found, Read((), () if recent is None else (recent,))])

    def _within(self, over: Rolling, log: RowLog, new: Held, lately: Held | None) -> Read:
        """What new rows need of one log; ``lately``: rows between these."""
        if over.size is not None:
            first, last, size = int(new.times[0]), int(new.times[-1]), over.size.units
            span = Span(first - size + 1, last - size + 1, first + 1, last + 1)
            return reach_by_time(self._query, span, log, len(new))
        assert over.rows is not None
        return reach_by_rows(self._query, over.rows, log, new, lately)

    def _results_over(
        self, over: Rolling, reach: Read, new: Held, wanted: Any
    ) -> tuple[RowsWithContext, list[Any], Read]:
        taken = self._with_context(reach.rows, new)
        chosen = taken.news
        if wanted is not None:
            chosen = chosen[wanted[taken.places(chosen) - taken.context]]
        return taken, rolling_columns(self._query, over, taken, chosen, reach), reach

    def _trimmed(self, over: Rolling, taken: RowsWithContext, reach: Read, new: Held, up_to: int) -> RowLog:
        """The log with new rows, and without those that no later row needs."""
        if self._groups.logs:
            rows = new.select(self._columns)
            tail = rows if self._log.tail is None else joined([self._log.tail, rows])
            log = replace(self._log, tail=tail)
            return log if over.size is None else AfterTime(up_to - over.size.units).log(log)
        if over.size is not None:
            # copied, since a slice would keep the rows at the edge in memory
            tail = taken.rows.take(np.arange(reach.edge, len(taken.rows))) if reach.edge else taken.rows
            return after_time(self._log, tail, up_to - over.size.units)
        assert over.rows is not None
        tail = taken.rows.take(taken.last_rows(reach.edge, over.rows - 1))
        log = self._log.with_tail(tail)
        return log if log.end == self._log.end else without_dead_chunks(self._query, over.rows - 1, log)

    def _speculated(self, over: Rolling, new: Held, wanted: Any) -> tuple[RowsWithContext, list[Any]]:
        taken, columns, _ = self._rolling(over, new, wanted)
        return taken, columns

    # -- groups ----------------------------------------------------------------------------------------------

    def _trim(self) -> Trim | None:
        over = self._over
        if over.size is not None:
            return AfterTime(self._passed - over.size.units)
        assert over.rows is not None
        return LastRows(self._query, over.rows - 1)

    def _first_groups(self) -> int:
        log = self._log
        if not self._query.by or not log.chunks or not 0 < LONG * self._brought < len(log):
            return 1
        try:
            keys = len(log.whole(self._query, log.end - 1, 0))
        except (AggregateError, TypeError):  # what does not combine is read row by row
            return 1
        return groups_for(len(log)) if 2 * keys > fewest_rows() else 1

    def _wants_one_log(self) -> bool:
        return self._groups.logs.totals.rows + len(self._log) <= SHORT * self._brought


def rolling_columns(
    query: Spec, over: Rolling, taken: RowsWithContext, chosen: Ints, reach: Read
) -> list[Any]:
    """The results of the new rows at the positions ``chosen``, by time or by rows."""
    frame = taken.frame
    if reach.middle:
        return _over_middle(query, over, taken, chosen, reach)
    every = rolling_rows(frame, over).as_ranges()
    some = RowRanges(every.fronts[chosen], every.stops[chosen])
    columns = aggregate_columns(frame, [a for _, a in query.aggregates], some)
    return null_where_unseen(columns, taken.unseen, some.fronts, some.stops)


def _over_middle(query: Spec, over: Rolling, taken: RowsWithContext, chosen: Ints, reach: Read) -> list[Any]:
    """The same over partials: those of single rows, and in each run the middle behind its rows at the
    edge."""
    frame = taken.frame
    middle = middle_of(query, taken, reach, frame.key_table(), frame.run_starts)
    fronts, stops = _fronts_and_stops(over, taken, chosen, middle.held)
    return middle.results(frame.keys[chosen], fronts, stops)


def _fronts_and_stops(over: Rolling, taken: RowsWithContext, chosen: Ints, held: Ints) -> tuple[Ints, Ints]:
    """Where windows begin and end among the rows of the frame, if ``held`` rows of each key are in the
    middle."""
    if over.rows is None:
        every = rolling_rows(taken.frame, over).as_ranges()
        return every.fronts[chosen], every.stops[chosen]
    mine = taken.frame.keys[chosen]
    begins = taken.frame.run_starts[mine]
    return np.maximum(begins, chosen + 1 + held[mine] - over.rows), chosen + 1
