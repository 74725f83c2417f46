"""Rolling with frames over endless input: several sizes, any ends, and ends that are moved.

A row is taken into the log once nothing can come before it, as for plain rolling; its result comes out once
its frames are complete (:mod:`windrow.engines.frames.bounds`), which is the same moment for frames
that end at the row or before it. Until then it *asks*: all its columns are kept beside the log, which has the
columns that aggregates read. The log is cut to what rows that ask, and rows to come, may see: by time from
the far end of the widest frame on, by rows the last ones of each key.

Invariant: rows that ask are those that were taken and whose results are not out. Results do not depend on how
rows were cut into calls, and what raises leaves everything as it was.
Cost by time: that of plain rolling for each size, and of rows that ask those are read that are complete now.
By rows the same, where frames end with the row or right before it; otherwise one pass over the rows that are
held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from windrow.arrays import Mask
from windrow.engines.frames.answers import (
    columns_by_rows,
    columns_by_time,
    columns_of_last_rows,
    places_of,
)
from windrow.engines.frames.bounds import (
    are_complete,
    complete_before,
    may_see,
    needed_from,
    rows_ahead,
    rows_needed,
    seeing_from,
)
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.expiry import after_time, without_dead_chunks
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.kept_rows.reading import everything
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.engines.kept_rows.waiting import Waiting
from windrow.engines.result_tables import with_results
from windrow.rows.times import read_times
from windrow.spec import Rolling, Spec
from windrow.state.checks import require
from windrow.windows.relative import RelativeFrame, RowFrame, TimeFrame

__all__ = ["FramedRows"]


class FramedRows(OrderedRows):
    """The rolling of a query that has frames.

    >>> import windrow as wr
    >>> query = wr.query(time="t").rolling(4, closed="both", shift=2).agg(total=wr.sum("v"))
    >>> rows = FramedRows(query, query.rolling_over)
    >>> rows.push(pa.table({"t": [1, 3, 4], "v": [10, 30, 40]}), [0, 1, 2])
    >>> rows.due(4).to_pylist(), rows.due(6).to_pylist()  # [t - 2, t + 2]
    ([{'t': 1, 'v': 10, 'total': 40}], [{'t': 3, 'v': 30, 'total': 80}])
    """

    def __init__(self, query: Spec, over: Rolling, *, counts_revisions: bool = False) -> None:
        super().__init__(query, over, counts_revisions=counts_revisions)
        assert over.frames is not None
        self._frames: list[RelativeFrame] = [frame for _, frame in over.frames.named]
        self._asking = Waiting()

    # -- results out -----------------------------------------------------------------------------------------

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        new, pending = self._split(None if closing else up_to)
        asking = self._asking if new is None else self._asking.with_rows(new)
        step = self._by_time if self._is_by_time else self._by_rows
        result, log, asking = step(new, asking, up_to, closing)
        self._log = log.without_rows() if closing else log
        self._pending, self._asking = pending, asking
        self._passed = max(self._passed, up_to)
        return result

    @property
    def _is_by_time(self) -> bool:
        return all(isinstance(frame, TimeFrame) for frame in self._frames)

    def _by_time(
        self, new: Held | None, asking: Waiting, up_to: int, closing: bool
    ) -> tuple[pa.Table | None, RowLog, Waiting]:
        log = self._log if new is None else self._log.with_rows(new.select(self._columns))
        asked, asking = asking.split(None if closing else complete_before(self._frames, up_to))
        ready = joined(asked) if asked else None
        if ready is not None and not closing:
            complete = are_complete(self._frames, ready.times, up_to)
            if not complete.all():
                asking, ready = asking.with_rows(ready.where(~complete)), ready.where(complete)
        result = None
        if ready is not None and len(ready):
            points = self._in_their_order(ready, new)
            result = self._answered(points, self._seen(points, log))
        if closing:
            return result, log, asking
        first = needed_from(self._frames, min(up_to, asking.first))
        return result, after_time(log, log.tail, first - 1), asking

    def _in_their_order(self, ready: Held, new: Held | None) -> Held:
        """Rows that are complete, by time and order; new rows are so already, where no others wait."""
        if new is not None and len(ready) == len(new) and not len(self._asking):
            return new
        return self._in_order(ready)

    def _seen(self, points: Held, log: RowLog) -> list[Any]:
        """What points see of the rows of a log, by time."""
        frames = [frame for frame in self._frames if isinstance(frame, TimeFrame)]
        nothing = points.slice(0, 0).select(self._columns)
        return columns_by_time(
            self._query, frames, log, points, lambda rows: self._with_context(rows or nothing, None)
        )

    def _by_rows(
        self, new: Held | None, asking: Waiting, up_to: int, closing: bool
    ) -> tuple[pa.Table | None, RowLog, Waiting]:
        if new is None and not (closing and len(asking)):
            return None, self._log, asking
        frames = self._row_frames
        is_last = all(frame.stop in (0, 1) for frame in frames)
        if is_last and new is not None and len(asking) == len(new):
            columns = columns_of_last_rows(
                self._query, frames, self._log, new, lambda rows: self._with_context(rows, new)
            )
            log = self._with_last_rows(self._with_context(self._log.tail, new), 0)
            return self._answered(new, columns), log, Waiting()
        return self._with_followers(new, asking, closing)

    def _with_followers(
        self, new: Held | None, asking: Waiting, closing: bool
    ) -> tuple[pa.Table | None, RowLog, Waiting]:
        """Rows that ask come out once enough rows of their key are behind them."""
        waiting, reach = asking.all(), everything(self._log)
        assert waiting is not None
        require(new is not None or reach.rows is not None, "rows that wait, and no others")
        points, taken = self._in_order(waiting), self._with_context(reach.rows, new)
        places = places_of(taken, points)
        ends = taken.frame.run_starts[1:][taken.frame.keys[places]]
        complete = (places + rows_ahead(self._frames) < ends) | closing
        result, rest = None, Waiting()
        if complete.any():
            columns = columns_by_rows(self._query, self._row_frames, taken, places[complete])
            result = self._answered(points.where(complete), columns)
        if not complete.all():
            rest = rest.with_rows(points.where(~complete))
        return result, self._with_last_rows(taken, reach.edge), rest

    @property
    def _row_frames(self) -> list[RowFrame]:
        return [frame for frame in self._frames if isinstance(frame, RowFrame)]

    def _with_last_rows(self, taken: RowsWithContext, edge: int) -> RowLog:
        """The log with new rows, and without those that no later row needs; ``edge`` of the rows that were
        taken are in its chunks."""
        count = rows_needed(self._frames)
        log = self._log.with_tail(taken.rows.take(taken.last_rows(edge, count)))
        return log if log.end == self._log.end else without_dead_chunks(self._query, count, log)

    def _answered(self, points: Held, columns: Sequence[Any]) -> pa.Table:
        """Rows with their results, in order of time."""
        return self._with_revisions(points, with_results(self._query, points.table, list(columns)))

    # -- results in advance ----------------------------------------------------------------------------------

    def speculate(self, touched: pa.Table) -> pa.Table | None:
        """Results that are not out, as if all rows had come: of the keys of ``touched`` rows, those of rows
        from the earliest time of each on, and of rows before whose frames may hold one of that time."""
        waiting = self.waiting.all() if touched.num_rows else None
        if waiting is None:
            return None
        rows = self._in_order(waiting)
        points = rows.where(self._changed(rows, touched))
        if not len(points):
            return None
        result = self._answered(points, self._as_if_passed(points))
        self._pending = self._recounted(self._pending, touched)
        self._asking = self._recounted(self._asking, touched)
        return result

    def _as_if_passed(self, points: Held) -> list[Any]:
        pending = self._pending.all()
        new = None if pending is None else self._in_order(pending).select(self._columns)
        if self._is_by_time:
            return self._seen(points, self._log if new is None else self._log.with_rows(new))
        taken = self._with_context(self._log.all(), new)
        return columns_by_rows(self._query, self._row_frames, taken, places_of(taken, points))

    def _changed(self, rows: Held, touched: pa.Table) -> Mask:
        """Which rows may have another result than before the touched rows came."""
        since = self._earliest(rows, touched)
        is_touched = since < np.iinfo(np.int64).max
        return is_touched & ((rows.times >= since) | may_see(self._frames, rows.times, since))

    def _recounted(self, waiting: Waiting, touched: pa.Table) -> Waiting:
        """The same rows, with the results that have come out counted; chunks without such rows stay."""
        _, times, _ = read_times(touched.column(self._query.time), self._query.time)
        later, earlier = waiting.since(seeing_from(self._frames, int(times.min())))
        rows = later.all()
        if rows is None:
            return waiting
        changed = self._changed(rows, touched)
        return earlier.with_rows(replace(rows, revisions=rows.revisions + changed))

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
