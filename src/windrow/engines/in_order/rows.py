"""Rolling over endless input: rows are taken in order, once nothing can come before them.

Rows that are not due wait (*pending*). Those that are become a frame, together with the rows before them that
they share windows with (the *context*), and go through what serves finite tables; the results of the rows
taken now come out. Then the context is cut to what later rows will need:

==================  ======================================================================
rolling(size)       chunks with rows after ``up_to - size``
rolling(rows=n)     chunks with one of the last n - 1 rows of some key
rolling frames      the same, for the widest frame (:mod:`windrow.engines.in_order.framed`)
others              what windows still need, key by key (:mod:`windrow.engines.in_order.keyed`)
==================  ======================================================================

Pending rows wait in :mod:`windrow.engines.in_order.pending`, the context is a log
(:mod:`windrow.engines.in_order.log`); both are in chunks once they are many. Of its context rolling reads the
rows at the far edge of windows, and partials by key of what lies between
(:mod:`windrow.engines.in_order.lookback`).

Invariant: context rows come before every pending row; results do not depend on how rows were cut into calls.
What raises leaves everything as it was. Cost: one pass over rows that are due, as many at the edge of their
windows, and O(log context) partials of each key. None over rows that are not due.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, Ints, Mask
from windrow.engines.in_order.chunks import Chunk
from windrow.engines.in_order.context import Naming, Taken, take
from windrow.engines.in_order.held_columns import HeldColumns
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.log import RowLog, packed_masks, unpacked_masks
from windrow.engines.in_order.lookback import Reach, Span, everything, reach_by_rows, reach_by_time
from windrow.engines.in_order.pending import Waiting
from windrow.engines.in_order.results import last_rows, rolling_columns
from windrow.engines.in_order.summaries import Whole
from windrow.engines.in_order.trimming import after_time, without_dead_chunks
from windrow.engines.result_tables import with_results
from windrow.errors import AggregateError
from windrow.rows.columns import require_columns
from windrow.rows.frame import build_frame
from windrow.rows.times import read_times
from windrow.spec import Rolling, Spec
from windrow.state.checks import require, whole
from windrow.windows import Window

__all__ = ["REVISION", "OrderedRows"]


#: the last column of rolling results, where revisions are counted: how often the row's result came out before
REVISION = "revision"

_NEVER = np.iinfo(np.int64).max


class OrderedRows:
    """The rolling of a query, by time or by rows; the operator calls it with rows that are not late.

    >>> import pyarrow as pa, windrow as wr
    >>> query = wr.query(time="t").rolling(rows=2).agg(total=wr.sum("v"))
    >>> rows = OrderedRows(query, query.rolling_over)
    >>> rows.push(pa.table({"t": [3, 1, 2], "v": [30, 10, 20]}), [0, 1, 2])
    >>> rows.due(3).to_pylist(), rows.rows
    ([{'t': 1, 'v': 10, 'total': 10}, {'t': 2, 'v': 20, 'total': 30}], 2)
    """

    def __init__(
        self,
        query: Spec,
        window: Window | Rolling,
        *,
        counts_revisions: bool = False,
        naming: Naming | None = None,
    ) -> None:
        self._query = query
        self._window = window
        self._counts_revisions = counts_revisions
        self._naming = naming
        read = [column for _, aggregate in query.aggregates for column in aggregate.reads]
        if not isinstance(window, Rolling):
            read += window.columns
        #: what context rows need
        self._columns = list(dict.fromkeys([query.time, *query.by, *read]))
        self._log = RowLog()
        self._pending = Waiting()
        self._passed = -_NEVER
        #: windows that start before this do not come out: rows of them may have come before this was added
        self._since = -_NEVER
        #: what is known of the columns of rows that come from stored state
        self._stored_columns = HeldColumns(())

    # -- rows in ---------------------------------------------------------------------------------------------

    def push(self, table: pa.Table, arrivals: Any) -> None:
        """Hold rows until they are due: rows with a time, none before what ``due`` has passed."""
        require_columns(table, [*self._columns, *self._query.order])
        held = self._needed(Held.of(table, self._query.time, arrivals))
        if not len(held):
            return
        assert held.times.min() >= self._passed, "a late row"
        self._pending = self._pending.with_rows(held)

    def inside(self, table: pa.Table) -> Mask | None:
        """Which rows may be in a window at all; None: all."""
        return None

    def _needed(self, held: Held) -> Held:
        """What must be held of rows."""
        return held

    # -- results out -----------------------------------------------------------------------------------------

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        """Take the rows before ``up_to``; the results that are final now, or None.

        With ``closing`` all rows are taken, and nothing comes after."""
        new, pending = self._split(None if closing else up_to)
        result, log, over = None, self._log, self._window
        assert isinstance(over, Rolling)
        if new is not None:
            taken, columns, reach = self._rolling(over, new, None)
            result = self._rolled(taken, new, taken.news, columns)
            log = self._trimmed(over, taken, reach, up_to)
        elif over.size is not None:
            log = after_time(log, log.tail, up_to - over.size.units)
        self._log = log.without_rows() if closing else log
        self._pending = pending
        self._passed = max(self._passed, up_to)
        return result if result is not None and result.num_rows else None

    def _split(self, up_to: int | None) -> tuple[Held | None, Waiting]:
        """The pending rows before a time (None: all) in order, and the rest."""
        due, rest = self._pending.split(up_to)
        return self._in_order(joined(due)) if due else None, rest

    def _in_order(self, held: Held) -> Held:
        """The rows by time, then by the columns of ``order``, then by arrival."""
        columns = list(dict.fromkeys([self._query.time, *self._query.order]))
        arrived = np.argsort(held.arrivals, kind="stable")
        table = held.select(columns).take(arrived).table
        order = build_frame(replace(self._query, by=()), table).permutation
        places = arrived if order is None else arrived[order]
        return held if (places[1:] > places[:-1]).all() else held.take(places)

    def _rolling(self, over: Rolling, new: Held, wanted: Any) -> tuple[Taken, list[Any], Reach]:
        """Rolling results of the new rows that a mask names (None: all), by time or by rows."""
        reach = self._reach(over, new)
        try:
            return self._results_over(over, reach, new, wanted)
        except (AggregateError, TypeError):
            if not reach.middle:
                raise
            # over the rows themselves it works, or raises again and can name the row
            return self._results_over(over, everything(self._log), new, wanted)

    def _reach(self, over: Rolling, new: Held) -> Reach:
        if over.size is not None:
            first, last, size = int(new.times[0]), int(new.times[-1]), over.size.units
            span = Span(first - size + 1, last - size + 1, first + 1, last + 1)
            return reach_by_time(self._query, span, self._log, len(new))
        assert over.rows is not None
        return reach_by_rows(self._query, over.rows, self._log, new)

    def _results_over(
        self, over: Rolling, reach: Reach, new: Held, wanted: Any
    ) -> tuple[Taken, list[Any], Reach]:
        taken = self._with_context(reach.rows, new)
        chosen = taken.news
        if wanted is not None:
            chosen = chosen[wanted[taken.places(chosen) - taken.context]]
        return taken, rolling_columns(self._query, over, taken, chosen, reach), reach

    def _trimmed(self, over: Rolling, taken: Taken, reach: Reach, up_to: int) -> RowLog:
        """The log with new rows, and without those that no later row needs."""
        if over.size is not None:
            # copied, since a slice would keep the rows at the edge in memory
            tail = taken.rows.take(np.arange(reach.edge, len(taken.rows))) if reach.edge else taken.rows
            return after_time(self._log, tail, up_to - over.size.units)
        assert over.rows is not None
        tail = taken.rows.take(last_rows(taken, reach.edge, over.rows - 1))
        log = self._log.with_tail(tail)
        return log if log.end == self._log.end else without_dead_chunks(self._query, over.rows - 1, log)

    def _with_context(self, context: Held | None, new: Held | None) -> Taken:
        needed = None if new is None else new.select(self._columns)
        query = replace(self._query, order=())
        return take(query, context, needed, self._naming, self._log.added_after)

    def _rolled(self, taken: Taken, new: Held, chosen: Ints, columns: list[Any]) -> pa.Table:
        """The new rows at the positions ``chosen`` with their results, in order of time."""
        places = taken.places(chosen) - taken.context
        order = pa.array(np.argsort(places))
        rows = new if len(places) == len(new) else new.take(np.sort(places))
        table = with_results(self._query, rows.table, [column.take(order) for column in columns])
        return self._with_revisions(rows, table)

    def _with_revisions(self, rows: Held, table: pa.Table) -> pa.Table:
        """Results of rows, with how often each came out before, where that is counted."""
        return table.append_column(REVISION, pa.array(rows.revisions)) if self._counts_revisions else table

    # -- results in advance ----------------------------------------------------------------------------------

    def speculate(self, touched: pa.Table) -> pa.Table | None:
        """Rolling results of pending rows, as if they were due: of the keys of ``touched`` rows, from the
        earliest time of each on. How often the result of a row comes out is counted."""
        over = self._window
        assert isinstance(over, Rolling), "windows that data decide come out once"
        waiting = self._pending.all() if touched.num_rows else None
        if waiting is None:
            return None
        pending = self._in_order(waiting)
        since = self._earliest(pending, touched)
        new = pending.where(since < _NEVER)
        wanted = new.times >= since[since < _NEVER]
        if not wanted.any():
            return None
        taken, columns = self._speculated(over, new, wanted)
        chosen = taken.news[wanted[taken.places(taken.news) - taken.context]]
        result = self._rolled(taken, new, chosen, columns)
        self._count_revisions(touched)
        return result

    def _count_revisions(self, touched: pa.Table) -> None:
        """The results of rows of touched keys came out, from the earliest time of each on."""
        _, times, _ = read_times(touched.column(self._query.time), self._query.time)
        later, earlier = self._pending.since(int(times.min()))
        rows = later.all()
        if rows is not None:
            came_out = rows.times >= self._earliest(rows, touched)
            self._pending = earlier.with_rows(replace(rows, revisions=rows.revisions + came_out))

    def _speculated(self, over: Rolling, new: Held, wanted: Any) -> tuple[Taken, list[Any]]:
        taken, columns, _ = self._rolling(over, new, wanted)
        return taken, columns

    def _earliest(self, pending: Held, touched: pa.Table) -> Ints:
        """For each pending row the earliest touched time of its key."""
        columns = list(dict.fromkeys([self._query.time, *self._query.by]))
        tables = [table.select(columns) for table in (pending.table, touched)]
        frame = build_frame(
            replace(self._query, order=()), pa.concat_tables(tables, promote_options="permissive")
        )
        keys = frame.unordered_keys
        earliest = np.full(len(frame.key_rows), _NEVER)
        np.minimum.at(earliest, keys[len(pending) :], frame.unordered_times[len(pending) :])
        return earliest[keys[: len(pending)]]

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many rows are held."""
        return len(self.log) + len(self.waiting)

    @property
    def nbytes(self) -> int:
        return self.log.nbytes + self.waiting.nbytes

    @property
    def log(self) -> RowLog:
        """The context."""
        return self._log

    @property
    def waiting(self) -> Waiting:
        """Rows whose results are not out: the pending ones."""
        return self._pending

    def with_since(self, since: int) -> Self:
        """Another without the windows that start before a time."""
        clone = self.copied()
        clone._since = since
        return clone

    def copied(self) -> Self:
        """Another with the same rows: what is done to one is not done to the other."""
        return copy.copy(self)

    def chunked(self) -> Self:
        """Another with the same rows, in chunks but for a few."""
        clone = self.copied()
        clone._pending = self._pending.chunked()
        return clone

    def state(self, with_chunks: bool = True) -> dict[str, Any]:
        """All that is held, as plain values, arrays and tables; without the rows in chunks for a caller
        that keeps them elsewhere."""
        log, pending = self.log, self.waiting
        found: dict[str, Any] = {"passed": self._passed, "since": self._since, "added": self._added()}
        if with_chunks:
            context, waiting = log.all(), pending.all()
        else:
            context, waiting = log.tail, joined(pending.parts) if pending.parts else None
            found |= {"first": log.first, "masks": packed_masks(log.masks)}
        found |= {} if log.counts is None else {"counts": log.counts.state()}
        found |= {} if log.lasts is None else {"last_rows": log.lasts.by_time().state()}
        found["context"] = None if context is None else context.by_time().state()
        found["pending"] = None if waiting is None else waiting.by_time().state()
        return found

    def expect(self, schema: pa.Schema, added: Collection[str], unread: Collection[str] = ()) -> None:
        """Before ``restore``: rows have columns of these types; aggregates that were ``added`` may read
        others; nobody reads those that are ``unread`` any more."""
        self._stored_columns = HeldColumns.of(self._query, schema, added, unread)

    def restore(
        self, state: dict[str, Any], log: Sequence[Chunk] = (), waiting: Sequence[Chunk] = ()
    ) -> None:
        """Go on from the state of another of the same query and window; chunks are those of a state without
        them."""
        context = None if state["context"] is None else self.reads_rows(False)(state["context"])
        pending = None if state["pending"] is None else self.reads_rows(True)(state["pending"])
        masks = unpacked_masks(state.get("masks"), log)
        bounds = [whole("added", state["added"].get(n, 0), 0, 2**62) for n, _ in self._query.aggregates]
        added_after = tuple(bounds) if any(bounds) else ()
        self._set_log(RowLog(tuple(log), state.get("first", 0), context, masks, added_after), state)
        self._passed = whole("passed", state["passed"], -_NEVER, _NEVER)
        self._since = whole("since", state["since"], -_NEVER, _NEVER)
        found = Waiting((), tuple(waiting))
        self._set_waiting(found if pending is None else found.with_rows(pending))

    def check_passed(self, up_to: int) -> None:
        """Raise if rows were taken that were not due before a time."""
        require(self._passed <= up_to, f"rows were taken up to {self._passed}, and are due up to {up_to}")

    def _set_log(self, log: RowLog, state: dict[str, Any]) -> None:
        """The context, from a state."""
        log.check_invariants()
        self._log = log.with_tail(log.tail)

    def _set_waiting(self, waiting: Waiting) -> None:
        """Rows that wait, from a state: they come after those that were taken."""
        self._pending = waiting
        require(waiting.first >= min(self._passed, END_OF_TIME), "rows that wait, and whose time has passed")

    def _added(self) -> dict[str, int]:
        """How many rows had come when aggregates were added, for those of which held rows may not know."""
        names = [name for name, _ in self._query.aggregates]
        bounds = dict(zip(names, self._log.added_after, strict=False)) if self.rows else {}
        return {name: bound for name, bound in bounds.items() if bound}

    def reads_rows(self, waits: bool) -> Callable[[dict[str, Any]], Held]:
        """What makes rows of plain values: of the context, or those that wait, which have the columns of
        ``order``, too."""
        names = [*self._columns, *self._query.order] if waits else self._columns
        others = waits and isinstance(self._window, Rolling)
        columns = replace(self._stored_columns, names=names, has_others=others)
        return partial(Held.restored, time=self._query.time, columns=columns)

    def reads_whole(self) -> Callable[[dict[str, Any]], Whole]:
        return partial(Whole.restored, self._query)

    @property
    def folds(self) -> bool:
        """Whether chunks of the context are read as wholes."""
        return True

    def levels(self, place: int, chunk: Chunk) -> int:
        """How many wholes go with a chunk of the context, which has this number in its log."""
        return self._log.levels(place)

    def whole(self, place: int, level: int, chunk: Chunk) -> Whole:
        """One of them."""
        return self._log.whole(self._query, place, level)
