"""Rows of endless input that are taken in order, once nothing can come before them: what rolling and windows
that data decide have in common.

Rows that are not due wait (*pending*). Those that are become a frame, together with the rows before them that
they share windows with (the *context*), and go through what serves finite tables; the results of the rows
taken now come out. Then the context is cut to what later rows will need:

==================  ======================================================================
rolling             what frames still see (:mod:`windrow.engines.frames.rolling_part`)
others              what windows still need, key by key (:mod:`windrow.engines.data_windows.operator`)
==================  ======================================================================

Pending rows wait in :mod:`windrow.engines.kept_rows.waiting`, the context is a log
(:mod:`windrow.engines.kept_rows.log`); both are in chunks once they are many.

Invariant: context rows come before every pending row; results do not depend on how rows were cut into calls.
What raises leaves everything as it was. Cost: one pass over rows that are due, and none over rows that are
not.
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
from windrow.engines.kept_rows.chunk import Chunk
from windrow.engines.kept_rows.columns import HeldColumns
from windrow.engines.kept_rows.context import Naming, RowsWithContext, take
from windrow.engines.kept_rows.key_partials import KeyPartials
from windrow.engines.kept_rows.log import RowLog, packed_masks, unpacked_masks
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.engines.kept_rows.waiting import Waiting
from windrow.engines.result_tables import with_results
from windrow.rows.columns import require_columns
from windrow.rows.frame import build_frame
from windrow.rows.times import read_times
from windrow.spec import Frames, Rolling, Spec
from windrow.state.checks import require, whole
from windrow.state.store import Item
from windrow.windows import Window

__all__ = ["REVISION", "OrderedRows"]


#: the last column of rolling results, where revisions are counted: how often the row's result came out before
REVISION = "revision"

_NEVER = np.iinfo(np.int64).max


class OrderedRows:
    """One window of a query, or its rolling; the operator calls it with rows that are not late."""

    #: whether each chunk of the context comes after those before it
    is_in_order = True
    #: whether what finds and combines rows may stay between steps: in memory, where steps are accepted
    lives = False

    def __init__(
        self,
        query: Spec,
        window: Window | Rolling | Frames,
        *,
        counts_revisions: bool = False,
        naming: Naming | None = None,
    ) -> None:
        self._query = query
        self._window = window
        self._counts_revisions = counts_revisions
        self._naming = naming
        read = [column for _, aggregate in query.aggregates for column in aggregate.reads]
        if isinstance(window, Window):
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

    def push(self, table: pa.Table, arrivals: Any, times: Ints | None = None) -> None:
        """Hold rows until they are due: rows with a time, none before what ``due`` has passed. ``times``:
        theirs, where they are known."""
        require_columns(table, [*self._columns, *self._query.order])
        held = self._needed(Held.of(table, self._query.time, arrivals, times))
        if not len(held):
            return
        assert held.times.min() >= self._passed, "a late row"
        self._pending = self._pending.with_rows(held)

    def in_time(self, times: Ints, before: int) -> Mask:
        """Which rows are not late, by their times, where rows are due before another."""
        return times >= before

    @property
    def late_reason(self) -> str:
        """Why rows are late that are."""
        return "order_passed"

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
        raise NotImplementedError

    def _split(self, up_to: int | None) -> tuple[Held | None, Waiting]:
        """The pending rows before a time (None: all) in order, and the rest."""
        due, rest = self._pending.split(up_to)
        return self._in_order(joined(due)) if due else None, rest

    def _in_order(self, held: Held) -> Held:
        """The rows by time, then by the columns of ``order``, then by arrival."""
        if (held.times[1:] > held.times[:-1]).all():
            return held
        columns = list(dict.fromkeys([self._query.time, *self._query.order]))
        arrived = np.argsort(held.arrivals, kind="stable")
        table = held.select(columns).take(arrived).table
        order = build_frame(replace(self._query, by=()), table).permutation
        places = arrived if order is None else arrived[order]
        return held if (places[1:] > places[:-1]).all() else held.take(places)

    def _with_context(self, context: Held | None, new: Held | None) -> RowsWithContext:
        needed = None if new is None else new.select(self._columns)
        query = replace(self._query, order=())
        return take(query, context, needed, self._naming, self._log.added_after)

    def _with_revisions(self, rows: Held, table: pa.Table) -> pa.Table:
        """Results of rows, with how often each came out before, where that is counted."""
        return table.append_column(REVISION, pa.array(rows.revisions)) if self._counts_revisions else table

    # -- results in advance ----------------------------------------------------------------------------------

    def speculate(self, touched: pa.Table) -> pa.Table | None:
        """Rolling results that are not out, as if all rows had come: of the keys of ``touched`` rows, those
        that these rows may have changed. How often the result of a row comes out is counted."""
        assert isinstance(self._window, Rolling), "windows that data decide come out once"
        waiting = self.waiting.all() if touched.num_rows else None
        if waiting is None:
            return None
        rows = self._in_order(waiting)
        points = rows.where(self._changed_by(rows, touched))
        if not len(points):
            return None
        new = self._pending.all()
        if new is not None:
            new = self._in_order(new.where(self._earliest(new, touched) < _NEVER))
        table = with_results(self._query, points.table, self._seen(points, new))
        self._recount(touched)
        return self._with_revisions(points, table)

    def _seen(self, points: Held, new: Held | None) -> list[Any]:
        """The results of points, among rows that were taken and new ones behind them."""
        raise NotImplementedError

    def _changed_by(self, rows: Held, touched: pa.Table) -> Mask:
        """Which results may have changed since touched rows came."""
        since = self._earliest(rows, touched)
        return (since < _NEVER) & self._changed(rows, since)

    def _changed(self, rows: Held, since: Ints) -> Mask:
        """Which results may have changed, where rows of their keys came from these times on."""
        return rows.times >= since

    def _changed_from(self, time: int) -> int:
        """Results of rows before this have not changed, where others came from a time on."""
        return time

    def _recount(self, touched: pa.Table) -> None:
        """Results that touched rows may have changed came out."""
        self._pending = self._recounted(self._pending, touched)

    def _recounted(self, waiting: Waiting, touched: pa.Table) -> Waiting:
        """The same rows, with the results that have come out counted; chunks without such rows stay."""
        _, times, _ = read_times(touched.column(self._query.time), self._query.time)
        later, earlier = waiting.since(self._changed_from(int(times.min())))
        rows = later.all()
        if rows is None:
            return waiting
        changed = self._changed_by(rows, touched)
        return earlier.with_rows(replace(rows, revisions=rows.revisions + changed))

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

    def items(self) -> tuple[list[Item], list[bytes]]:
        """What to store, and to delete, beside the entries of the operator that this is part of."""
        return [], []

    def settled(self) -> Self:
        """Another, of which all is stored."""
        return self

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
    def recent(self) -> RowLog:
        """The context, without what is in groups of keys."""
        return self._log

    @property
    def by(self) -> tuple[str, ...]:
        """The key columns of the query."""
        return self._query.by

    @property
    def waiting(self) -> Waiting:
        """Rows whose results are not out: the pending ones."""
        return self._pending

    def accept(self) -> None:
        """A step that led here is taken for good."""

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
        return self._state_of(self.log, with_chunks)

    def _state_of(self, log: RowLog, with_chunks: bool) -> dict[str, Any]:
        pending = self.waiting
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
        others; rows may have columns that are ``unread``, and leave out those that they need not have."""
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
        log.check_invariants(self.is_in_order)
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

    def reads_whole(self) -> Callable[[dict[str, Any]], KeyPartials]:
        return partial(KeyPartials.restored, self._query)

    @property
    def folds(self) -> bool:
        """Whether chunks of the context are read as wholes."""
        return True

    def levels(self, log: RowLog, number: int) -> int:
        """How many wholes go with the chunk of that number, in a log of the context."""
        return log.levels(number)

    def whole(self, log: RowLog, number: int, level: int) -> KeyPartials:
        """One of them."""
        return log.whole(self._query, number, level)
