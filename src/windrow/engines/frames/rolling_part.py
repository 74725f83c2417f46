"""Rolling over endless input: what each row sees through its frames, by time or by rows.

Plain ``rolling(size)`` is one frame; several sizes, other ends and ends that are moved are held as one size
is. A row is taken once nothing can come before it. Its result comes out once its frames are complete
(:mod:`windrow.engines.frames.bounds`), which is the same moment for frames that end at the row or before it.
Until then it *asks*: all its columns are kept beside the context, which has the columns that aggregates read.

Of its context rolling reads, for each frame, the rows at its edges, and partials by key of what lies between
(:mod:`windrow.engines.kept_rows.reading`). It is cut to what rows that ask, and rows to come, may see:

=========  ====================================================================
by time    chunks with rows from the far end of the widest frame on
by rows    chunks with one of the last rows of some key, as many as it may see
=========  ====================================================================

In memory rows live between pushes where they can (:mod:`windrow.engines.living.part`), and otherwise the
context is one log. Where it is stored, partials of many keys are read for a few. So the context
is in groups of keys (:mod:`windrow.engines.kept_rows.grouped_rows`) once it is long beside what a step
brings, and half as many keys are in a chunk as rows, or more: then a step reads the groups of its keys, and
rows that came lately. Groups of a few hundred rows are read row by row; those with full chunks have wholes.
Chunks of groups leave when all their rows are over; the totals of pages tell where there are any. Steps that
bring a larger share of what is held again, some of them one after the other, put it back into one log.

Invariant: rows that ask are those that were taken and whose results are not out. Results do not depend on how
rows were cut into calls, and what raises leaves everything as it was.
Cost: one pass over rows that are complete, as many at the edges of each frame, and O(log context) partials of
each key; in groups a few hundred rows for each key, and O(log context) partials. By rows this is so for
frames that end with the row or right before it; for others, one pass over all rows of the keys that come.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.frames.answers import Points, by_aggregate
from windrow.engines.frames.bounds import (
    are_complete,
    complete_before,
    ends_of,
    looks_ahead_by_rows,
    may_see,
    needed_from,
    rows_ahead,
    rows_needed,
    seeing_from,
    span_of,
)
from windrow.engines.kept_rows.chunk import fewest_rows
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.expiry import AfterTime, LastRows, Trim, after_time, without_dead_chunks
from windrow.engines.kept_rows.grouped_rows import KeyLogs
from windrow.engines.kept_rows.groups import KeyGroups, groups_for, is_among
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.reading import Read, everything, reach_between, reach_by_rows, reach_by_time
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.engines.kept_rows.waiting import Waiting
from windrow.engines.living.part import LivingPart
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.engines.result_tables import with_results
from windrow.errors import AggregateError
from windrow.spec import Rolling, Spec
from windrow.state.checks import require
from windrow.windows.relative import RelativeFrame, TimeFrame

__all__ = ["RollingRows"]

#: rows are put into groups if there are so many times as many as a step brings
LONG = 64
#: they go back into one log if there are at most so many times as many: fewer, so that steps of one size do
#: not move them to and fro
SHORT = 32


class RollingRows(LivingPart):
    """The rolling of a query, by time or by rows.

    >>> import pyarrow as pa, windrow as wr
    >>> query = wr.query(time="t").rolling(rows=2).agg(total=wr.sum("v"))
    >>> rows = RollingRows(query, query.rolling_over)
    >>> rows.push(pa.table({"t": [3, 1, 2], "v": [30, 10, 20]}), [0, 1, 2])
    >>> rows.due(3).to_pylist(), rows.rows
    ([{'t': 1, 'v': 10, 'total': 10}, {'t': 2, 'v': 20, 'total': 30}], 2)
    >>> query = wr.query(time="t").rolling(4, closed="both", shift=2).agg(total=wr.sum("v"))
    >>> rows = RollingRows(query, query.rolling_over)
    >>> rows.push(pa.table({"t": [1, 3, 4], "v": [10, 30, 40]}), [0, 1, 2])
    >>> rows.due(4).to_pylist(), rows.due(6).to_pylist()  # [t - 2, t + 2]
    ([{'t': 1, 'v': 10, 'total': 40}], [{'t': 3, 'v': 30, 'total': 80}])
    """

    def __init__(self, query: Spec, over: Rolling, *, counts_revisions: bool = False) -> None:
        super().__init__(query, over, counts_revisions=counts_revisions)
        self._frames = over.each_frame
        self._is_by_time = all(isinstance(frame, TimeFrame) for frame in self._frames)
        self._asking = Waiting()

    # -- results out -----------------------------------------------------------------------------------------

    def _may_live(self, closing: bool) -> bool:
        return super()._may_live(closing) and not self._has_followers

    def _due_alive(self, up_to: int) -> pa.Table | None:
        new, pending = self._split(up_to)
        points, asking = new, self._asking
        if self._is_by_time:
            asking = asking if new is None else asking.with_rows(new)
            points, asking = self._complete(new, asking, up_to)
        result = None
        if new is not None or points is not None:
            living = self._begun()
            fresh = None if new is None else living.take(new.select(self._columns))
            if points is not None and len(points):
                result = self._answered(
                    points, self._seen_alive(living, points, fresh if points is new else None)
                )
            self._forget(living, fresh, up_to, asking)
            self._stay(living)
        self._pending, self._asking = pending, asking
        self._passed = max(self._passed, up_to)
        return result

    def _seen_alive(self, living: LivingRows, points: Held, fresh: Fresh | None) -> list[Any]:
        """What points see of living rows; ``fresh``: the same rows, where all points are new ones."""
        if fresh is not None:
            keys, times, places = fresh.row_keys, fresh.frame.times, fresh.places
        else:
            numbers = living.numbers_of(points.table)
            places = np.lexsort([points.times, numbers])
            keys, times = numbers[places], points.times[places]
        found = []
        for frame in self._frames:
            if isinstance(frame, TimeFrame):
                fronts, stops = ends_of(frame, times)
                fronts = living.first_from("times", keys, fronts)
                stops = np.maximum(living.first_from("times", keys, stops), fronts)
            else:
                assert fresh is not None
                begins = living.begins(keys)
                fronts = np.maximum(fresh.positions + max(frame.front, -len(living.kept)), begins)
                stops = np.maximum(fresh.positions + max(frame.stop, -len(living.kept)), fronts)
            found.append(living.results(keys, fronts, stops))
        columns = by_aggregate(found)
        if places is None:
            return columns
        order = pa.array(np.argsort(places))
        return [column.take(order) for column in columns]

    def _forget(self, living: LivingRows, fresh: Fresh | None, up_to: int, asking: Waiting) -> None:
        """Let go of rows that no later one sees: of the keys that came."""
        if self._is_by_time:
            living.over_before = self._over_at(up_to, asking) + 1
            if fresh is not None:
                bound = np.full(len(fresh.keys), living.over_before)
                living.drop_before(fresh.keys, living.first_from("times", fresh.keys, bound))
        elif fresh is not None:
            needed = fresh.ends - rows_needed(self._frames)
            living.drop_before(fresh.keys, np.maximum(living.begins(fresh.keys), needed))

    def _due_from_logs(self, up_to: int, closing: bool) -> pa.Table | None:
        new, pending = self._split(None if closing else up_to)
        asking = self._asking if new is None else self._asking.with_rows(new)
        answer = self._by_time if self._is_by_time else self._by_rows
        result, log, asking = answer(new, asking, up_to, closing)
        groups = self._groups
        if self._is_by_time and not closing:
            groups = groups.without_rows_up_to(self._over_at(up_to, asking))
        self._log, self._groups = (log.without_rows(), KeyGroups()) if closing else (log, groups)
        self._pending, self._asking = pending, asking
        self._passed = max(self._passed, up_to)
        self._brought += 0 if new is None else len(new)
        return result

    def _by_time(
        self, new: Held | None, asking: Waiting, up_to: int, closing: bool
    ) -> tuple[pa.Table | None, RowLog, Waiting]:
        """The results of rows that are complete, the log with new rows, and those that go on asking."""
        points, asking = self._complete(new, asking, None if closing else up_to)
        result = None
        if points is not None and len(points):
            result = self._answered(points, self._seen(points, new))
        log, bound = self._with_new(new), self._over_at(up_to, asking)
        return result, AfterTime(bound).log(log) if self._groups.logs else after_time(log, bound), asking

    def _complete(self, new: Held | None, asking: Waiting, up_to: int | None) -> tuple[Held | None, Waiting]:
        """Rows whose frames are complete, in order, and those that go on asking; None: all are."""
        asked, asking = asking.split(None if up_to is None else complete_before(self._frames, up_to))
        points = joined(asked) if asked else None
        if points is not None and up_to is not None:
            complete = are_complete(self._frames, points.times, up_to)
            if not complete.all():
                asking, points = asking.with_rows(points.where(~complete)), points.where(complete)
        if points is None or not len(points):
            return points, asking
        is_new = new is not None and len(points) == len(new) and not len(self._asking)
        return new if is_new and new is not None else self._in_order(points), asking

    def _by_rows(
        self, new: Held | None, asking: Waiting, up_to: int, closing: bool
    ) -> tuple[pa.Table | None, RowLog, Waiting]:
        """The same: rows come out once enough rows of their key are behind them."""
        if new is None and not (closing and len(asking)):
            return None, self._log, asking
        if self._has_followers:
            return self._with_followers(new, asking, closing)
        assert new is not None
        columns, taken, edge = self._found(new, new)
        return self._answered(new, columns), self._with_last(new, taken, edge), Waiting()

    def _with_followers(
        self, new: Held | None, asking: Waiting, closing: bool
    ) -> tuple[pa.Table | None, RowLog, Waiting]:
        """Rows that ask come out once enough rows of their key are behind them."""
        waiting = asking.all()
        assert waiting is not None
        points, rest = self._in_order(waiting), Waiting()
        if new is not None and not closing:
            comes = is_among(self._query.by, points.table, new.table)
            points, rest = points.where(comes), rest.with_rows(points.where(~comes))
        reach = self._logs_of(points).read(everything)
        require(new is not None or reach.rows is not None, "rows that wait, and no others")
        taken = self._with_context(reach.rows, new)
        asked, result = Points.by_number(taken, points), None
        complete = (asked.followers >= rows_ahead(self._frames)) | closing
        if complete.any():
            some = points.where(complete)
            asked = asked if complete.all() else Points.by_number(taken, some)
            columns = [asked.results(self._query, frame, reach) for frame in self._frames]
            result = self._answered(some, by_aggregate(columns))
        if not complete.all():
            rest = rest.with_rows(points.where(~complete))
        return result, self._with_last(new, taken, reach.edge), rest

    def _answered(self, points: Held, columns: Sequence[Any]) -> pa.Table:
        """Rows with their results, in order of time."""
        return self._with_revisions(points, with_results(self._query, points.table, list(columns)))

    # -- what frames see -------------------------------------------------------------------------------------

    @property
    def _has_followers(self) -> bool:
        """Whether frames end elsewhere than at the row or right before it."""
        return looks_ahead_by_rows(self._frames)

    def _seen(self, points: Held, new: Held | None) -> list[Any]:
        return self._found(points, new)[0]

    def _found(self, points: Held, new: Held | None) -> tuple[list[Any], RowsWithContext, int]:
        """What points see of rows that were taken, and of new ones behind them; a frame in which these are,
        and how many of its rows are in chunks."""
        logs = self._logs_of(points)
        reads = [self._read(logs, frame, points, new) for frame in self._frames]
        if any(read.middle for read in reads):
            # where it raises: over the rows themselves it works, or raises again and can name the row
            with suppress(AggregateError, TypeError):
                return self._over(reads, points, new)
        elif len(reads) == 1 or not self._is_by_time:
            return self._over([max(reads, key=lambda read: read.count)], points, new)
        return self._over([self._rows_seen(logs, points)], points, new)

    def _read(self, logs: KeyLogs, frame: RelativeFrame, points: Held, new: Held | None) -> Read:
        """What a frame reads."""
        if self._has_followers:
            return logs.read(everything)
        if isinstance(frame, TimeFrame):
            others = max(len(points), 0 if new is None else len(new))
            return logs.read(partial(reach_by_time, self._query, span_of(frame, points.times), others))
        assert new is not None
        count = rows_needed([frame]) + 1
        return logs.read(lambda log: reach_by_rows(self._query, count, log, new, logs.lately))

    def _rows_seen(self, logs: KeyLogs, points: Held) -> Read:
        """All rows that some frame sees, one by one."""
        if not self._is_by_time:
            return logs.read(everything)
        spans = [span_of(frame, points.times) for frame in self._frames if isinstance(frame, TimeFrame)]
        front, stop = min(span.first_front for span in spans), max(span.last_stop for span in spans)
        return logs.read(lambda log: reach_between(log, front, stop))

    def _over(
        self, reads: list[Read], points: Held, new: Held | None
    ) -> tuple[list[Any], RowsWithContext, int]:
        """The same over what was read: for each frame, or for all of them."""
        found: list[list[Any]] = []
        each = reads * len(self._frames) if len(reads) == 1 else reads
        for place, (frame, read) in enumerate(zip(self._frames, each, strict=True)):
            if not place or read is not each[place - 1]:
                rows = points.slice(0, 0).select(self._columns) if new is None else None
                taken = self._with_context(rows if read.rows is None else read.rows, new)
                asked = self._asked(taken, points, new)
            found.append(asked.results(self._query, frame, read))
        return by_aggregate(found), taken, each[-1].edge

    def _asked(self, taken: RowsWithContext, points: Held, new: Held | None) -> Points:
        if points is new:
            return Points.of_new(taken)
        return (
            Points.by_time(self._query, taken, points)
            if self._is_by_time
            else Points.by_number(taken, points)
        )

    # -- results in advance ----------------------------------------------------------------------------------

    def _changed(self, rows: Held, since: Ints) -> Mask:
        return super()._changed(rows, since) | may_see(self._frames, rows.times, since)

    def _changed_from(self, time: int) -> int:
        return seeing_from(self._frames, time)

    def _recount(self, touched: pa.Table) -> None:
        super()._recount(touched)
        self._asking = self._recounted(self._asking, touched)

    # -- what is kept ----------------------------------------------------------------------------------------

    def _over_at(self, up_to: int, asking: Waiting) -> int:
        """Until when rows are over, by time."""
        return needed_from(self._frames, min(up_to, asking.first)) - 1

    def _with_new(self, new: Held | None) -> RowLog:
        """The log with new rows."""
        if new is None:
            return self._log
        rows = new.select(self._columns)
        if not self._groups.logs:
            return self._log.with_rows(rows)
        return replace(self._log, tail=rows if self._log.tail is None else joined([self._log.tail, rows]))

    def _with_last(self, new: Held | None, taken: RowsWithContext, edge: int) -> RowLog:
        """The log with new rows, without those that no later row needs, by rows; ``edge`` of the rows that
        were taken are in its chunks."""
        if self._groups.logs:
            return self._with_new(new)
        count = rows_needed(self._frames)
        log = self._log.with_tail(taken.rows.take(taken.last_rows(edge, count)))
        return log if log.end == self._log.end else without_dead_chunks(self._query, count, log)

    def _trim(self) -> Trim | None:
        if self._is_by_time:
            return AfterTime(self._over_at(self._passed, self._asking))
        return LastRows(self._query, rows_needed(self._frames))

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

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> Waiting:
        """Rows whose results are not out: the pending ones, and those that ask."""
        pending, asking = self._pending, self._asking
        return Waiting(pending.parts + asking.parts, pending.chunks + asking.chunks)

    def chunked(self) -> Self:
        clone = super().chunked()
        clone._asking = self._asking.chunked()
        return clone

    def _set_waiting(self, waiting: Waiting) -> None:
        """Those whose time has passed ask."""
        passed, rest = Waiting(waiting.parts).split(self._passed)
        asking = tuple(chunk for chunk in waiting.chunks if chunk.last < self._passed)
        others = tuple(chunk for chunk in waiting.chunks if chunk.last >= self._passed)
        self._asking = Waiting(tuple(passed), asking)
        super()._set_waiting(Waiting(rest.parts, others))
