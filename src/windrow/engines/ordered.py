"""Windows that data decide, and rolling, over endless input: rows are taken in order, once nothing can come
before them.

Rows that are not due wait (*pending*). Those that are become a frame, together with the rows before them that
they share windows with (the *context*), and go through what serves finite tables; results of windows that are
complete now, or of the rows taken now, come out. Then the context is cut to what later rows will need:

==================  ======================================================================
rolling(size)       rows after ``up_to - size``
rolling(rows=n)     the last n - 1 rows of each key
Rows                rows from the start of the first window that is not complete
Delta               the same
Punctuation         rows since the last that closed a window
Policy              rows that the policy left
==================  ======================================================================

Invariant: context rows come before every pending row; results do not depend on how rows were cut into calls.
What raises leaves everything as it was. Cost: one pass over context and rows that are due, none over rows
that are not.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.engines.data_windows import check_flags
from windrow.engines.delta_windows import check_delta_column, without_delta
from windrow.engines.frame import build_frame, plain_array, require_columns
from windrow.engines.held import Held, joined
from windrow.engines.local import with_results
from windrow.engines.ordered_results import completed_windows, rolling_columns, rolling_rest
from windrow.engines.taken import Naming, Taken, take
from windrow.spec import Rolling, Spec
from windrow.windows import Delta, Punctuation, Window

__all__ = ["REVISION", "OrderedRows"]

Ints = npt.NDArray[np.int64]

#: the last column of rolling results, where revisions are counted: how often the row's result came out before
REVISION = "revision"

_NEVER = np.iinfo(np.int64).max
#: parts of pending rows that are looked at one by one before they are made one
_MOST_PARTS = 32


class OrderedRows:
    """One window of a query, or its rolling; the operator calls it with rows that are not late.

    >>> import pyarrow as pa, windrow as wr
    >>> query = wr.query(time="t").window(wr.Rows(2)).agg(total=wr.sum("v"))
    >>> rows = OrderedRows(query, "", wr.Rows(2))
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
        self._query = query
        self._name = name
        self._window = window
        self._counts_revisions = counts_revisions
        self._naming = naming
        read = [column for _, aggregate in query.aggregates for column in aggregate.columns]
        if isinstance(window, (Delta, Punctuation)):
            read.append(window.column)
        #: what context rows need
        self._columns = list(dict.fromkeys([query.time, *query.by, *read]))
        self._context: Held | None = None
        #: pending rows, each part in order of time
        self._pending: list[Held] = []
        self._passed = -_NEVER

    # -- rows in ---------------------------------------------------------------------------------------------

    def push(self, table: pa.Table, arrivals: Any) -> None:
        """Hold rows until they are due: rows with a time, none before what ``due`` has passed."""
        require_columns(table, [*self._columns, *self._query.order])
        if isinstance(self._window, Punctuation):
            check_flags(table, self._window)
        held = Held.of(table, self._query.time, arrivals)
        if isinstance(self._window, Delta):
            check_delta_column(table, self._window)
            without = without_delta(plain_array(table.column(self._window.column)))
            held = held if without is None else held.where(~without)
        if not isinstance(self._window, Rolling):
            held = held.select(list(dict.fromkeys([*self._columns, *self._query.order])))
        if not len(held):
            return
        assert held.times.min() >= self._passed, "a late row"
        self._pending.append(held.by_time())
        if len(self._pending) > _MOST_PARTS:
            self._pending = [joined(self._pending).by_time()]

    # -- results out -----------------------------------------------------------------------------------------

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        """Take the rows before ``up_to``; the results that are final now, or None.

        With ``closing`` all rows are taken, and nothing comes after."""
        new, pending = self._split(None if closing else up_to)
        context: Held | None
        if new is not None or (closing and self._context is not None and isinstance(self._window, Delta)):
            result, context = self._taken(new, up_to, closing)
        else:
            result, context = None, self._later(up_to)
        self._context = context if context is not None and len(context) and not closing else None
        self._pending = pending
        self._passed = max(self._passed, up_to)
        return result if result is not None and result.num_rows else None

    def _split(self, up_to: int | None) -> tuple[Held | None, list[Held]]:
        """The pending rows before a time (None: all) in order, and the rest."""
        ends = [
            len(part) if up_to is None else int(np.searchsorted(part.times, up_to)) for part in self._pending
        ]
        parts = list(zip(self._pending, ends, strict=True))
        heads = [part.slice(0, end) for part, end in parts if end]
        rest = [part.slice(end, len(part)) if end else part for part, end in parts if end < len(part)]
        return self._in_order(joined(heads)) if heads else None, rest

    def _in_order(self, held: Held) -> Held:
        """The rows by time, then by the columns of ``order``, then by arrival."""
        columns = list(dict.fromkeys([self._query.time, *self._query.order]))
        arrived = np.argsort(held.arrivals, kind="stable")
        table = held.select(columns).take(arrived).table
        order = build_frame(replace(self._query, by=()), table).permutation
        places = arrived if order is None else arrived[order]
        return held if (places[1:] > places[:-1]).all() else held.take(places)

    def _taken(self, new: Held | None, up_to: int, closing: bool) -> tuple[pa.Table, Held]:
        """The results of new rows, and the rows that are still needed."""
        taken = self._with_context(self._context, new)
        if not isinstance(self._window, Rolling):
            return completed_windows(self._query, self._name, self._window, taken, closing)
        columns, ranges = rolling_columns(self._query, self._window, taken, taken.news)
        assert new is not None
        result = self._rolled(taken, new, taken.news, columns)
        return result, rolling_rest(self._window, taken, ranges, up_to)

    def _later(self, up_to: int) -> Held | None:
        """What is still needed of the context where no row is taken."""
        context = self._context
        if context is None or not isinstance(self._window, Rolling) or self._window.size is None:
            return context
        return context.where(context.times > up_to - self._window.size.units)

    def _with_context(self, context: Held | None, new: Held | None) -> Taken:
        needed = None if new is None else new.select(self._columns)
        return take(replace(self._query, order=()), context, needed, self._naming)

    def _rolled(self, taken: Taken, new: Held, chosen: Ints, columns: list[Any]) -> pa.Table:
        """The new rows at the positions ``chosen`` with their results, in order of time."""
        places = taken.places(chosen) - taken.context
        order = pa.array(np.argsort(places))
        rows = new if len(places) == len(new) else new.take(np.sort(places))
        table = with_results(self._query, rows.table, [column.take(order) for column in columns])
        return table.append_column(REVISION, pa.array(rows.revisions)) if self._counts_revisions else table

    # -- results in advance ----------------------------------------------------------------------------------

    def speculate(self, touched: pa.Table) -> pa.Table | None:
        """Rolling results of pending rows, as if they were due: of the keys of ``touched`` rows, from the
        earliest time of each on. How often the result of a row comes out is counted."""
        over = self._window
        assert isinstance(over, Rolling), "windows that data decide come out once"
        if not self._pending or not touched.num_rows:
            return None
        pending = self._in_order(joined(self._pending))
        before, since = self._earliest(pending, touched)
        context = None if self._context is None else self._context.where(before < _NEVER)
        new = pending.where(since < _NEVER)
        wanted = new.times >= since[since < _NEVER]
        if not wanted.any():
            return None
        taken = self._with_context(context, new)
        chosen = taken.news[wanted[taken.places(taken.news) - taken.context]]
        columns, _ = rolling_columns(self._query, over, taken, chosen)
        result = self._rolled(taken, new, chosen, columns)
        self._pending = [replace(pending, revisions=pending.revisions + (pending.times >= since))]
        return result

    def _earliest(self, pending: Held, touched: pa.Table) -> tuple[Ints, Ints]:
        """For each row of the context and each pending row, the earliest touched time of its key."""
        held = [part.table for part in (self._context, pending) if part is not None]
        columns = list(dict.fromkeys([self._query.time, *self._query.by]))
        tables = [table.select(columns) for table in (*held, touched)]
        frame = build_frame(
            replace(self._query, order=()), pa.concat_tables(tables, promote_options="permissive")
        )
        keys, count = frame.unordered_keys, sum(table.num_rows for table in held)
        earliest = np.full(len(frame.key_rows), _NEVER)
        np.minimum.at(earliest, keys[count:], frame.unordered_times[count:])
        since = earliest[keys[:count]]
        return since[: count - len(pending)], since[count - len(pending) :]

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many rows are held."""
        return sum(len(part) for part in self._parts())

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts())

    def copied(self) -> OrderedRows:
        """Another with the same rows: what is done to one is not done to the other."""
        clone = copy.copy(self)
        clone._pending = list(self._pending)
        return clone

    def state(self) -> dict[str, Any]:
        """All that is held, as plain values, arrays and tables."""
        pending = joined(self._pending).by_time().state() if self._pending else None
        context = None if self._context is None else self._context.state()
        return {"passed": self._passed, "context": context, "pending": pending}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from the state of another of the same query and window."""
        time, columns = self._query.time, [*self._columns, *self._query.order]
        pending, context = state["pending"], state["context"]
        self._pending = [] if pending is None else [Held.restored(pending, time, columns)]
        self._context = None if context is None else Held.restored(context, time, self._columns)
        self._passed = int(state["passed"])

    def _parts(self) -> list[Held]:
        return [*([] if self._context is None else [self._context]), *self._pending]
