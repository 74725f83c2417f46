"""A query over unbounded input: operators that begin with nothing, with history, or where another stopped."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from time import time as wall_clock
from typing import TYPE_CHECKING, Any, Literal

from windrow.old_names import renamed
from windrow.query_settings import check_complete
from windrow.spec import Spec

if TYPE_CHECKING:
    from windrow.engines.stream import Operator
    from windrow.state import Store

__all__ = ["Opening"]


class Opening(Spec):
    """A query that is opened: rows are pushed, and results come as the watermark passes them."""

    @renamed(judge="lateness")
    def open(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall_clock,
        lateness: Literal["push", "spark"] = "push",
        store: Store | None = None,
        name: str = "operator",
        sync: bool = False,
        cache_bytes: int = 64 << 20,
        history: Any = None,
        history_until: Any = None,
    ) -> Operator:
        """Return an operator for unbounded input: push rows, get results as the watermark passes them.

        The operator of an as-of query ingests events, and its ``at(labels)`` answers from the events so far;
        see docs/asof-serving.md.

        Args:
            clock: Returns seconds; only ``idle_timeout`` reads it.
            now: Returns seconds since 1970; only ``max_ahead`` reads it.
            lateness (str): How the watermark moves with a push. Whether a row is late is always decided
                against the watermark before its push; then the watermark moves, and windows fire.
                ``"push"``: to where all rows so far lead, including those of this push. ``"spark"``: to where
                the rows *before* this push lead, in whole milliseconds and only once that is after 1970, as
                in Spark streams; a push is then a micro-batch, and one without rows also moves it. See
                docs/late-data.md.
            store (Store): Where state is kept under ``name``; an operator that is stored there is resumed.
                State is stored before the results of a step are returned. See docs/state.md.
            name (str): The name of the operator in the store.
            sync (bool): Store as safely as the store can.
            cache_bytes (int): The most bytes of slices that stay in memory.
            history: A table of earlier rows: the operator starts with the state that they lead to, and emits
                no results for them, which :meth:`run` over the same table does.
            history_until: A time that makes the cut exact: rows of the table from then on, and rows before it
                that are pushed, are left out. See docs/history.md.

        >>> import pyarrow as pa, windrow as wr
        >>> op = wr.query(time="t", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> op.push(pa.table({"t": [1, 8, 11]})).num_rows
        0
        >>> op.push(pa.table({"t": [9, 13]})).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'n': 3}]
        >>> query = wr.query(time="t", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count())
        >>> op = query.open(lateness="spark")
        >>> [op.push(pa.table({"t": times})).num_rows for times in ([1, 8, 13], [9])]  # 9 is not late yet
        [0, 1]
        >>> op.push(pa.table({"t": [7]})).num_rows, op.metrics.rows_late
        (0, 1)
        >>> days = wr.query(time="t", watermark=0).window(wr.Sliding(30, slide=10)).agg(n=wr.count())
        >>> op = days.open(history=pa.table({"t": [3, 14, 18, 21]}), history_until=20)
        >>> op.push(pa.table({"t": [18, 21, 30]}))["n"].to_pylist()  # 18 was in history
        [4]
        """
        check_complete(self)
        operator = _operator_of(self)
        has_history = history is not None or history_until is not None
        if has_history:
            _check_history(self)
        if self.rolling_store is not None and store not in (None, self.rolling_store):
            raise ValueError("open(store=...) and rolling(store=...) are different stores: give one of them")
        store = self.rolling_store if store is None else store
        saved = None
        if store is not None:
            from windrow.engines.stream.persistence.saved_operator import SavedOperator

            saved = SavedOperator(store, name, sync=sync, cache_bytes=cache_bytes)
        found = operator(self, clock=clock, now=now, judge=lateness, saved=saved)
        if has_history:
            found.begin_with(history, history_until)
        return found

    @renamed(judge="lateness")
    def restore(
        self,
        snapshot: bytes,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall_clock,
        lateness: Literal["push", "spark"] = "push",
        history: Any = None,
        history_until: Any = None,
    ) -> Operator:
        """Return an operator that resumes from what :meth:`Operator.snapshot` returned.

        The query must be the one that the snapshot is of; windows and aggregates may have been added and
        removed, and watermark, allowed_lateness and max_ahead changed. An added aggregate is null over
        windows that hold a row which it has not seen, unless it is filled from ``history``: all rows before
        ``history_until``, a time behind every row that was pushed. See docs/history.md. ``lateness`` is
        not in the snapshot: give that of :meth:`open`.

        >>> import pyarrow as pa, windrow as wr
        >>> tens = wr.query(time="t").window(wr.Tumbling(10))
        >>> op = tens.agg(n=wr.count()).open()
        >>> op.push(pa.table({"t": [3], "v": [7]})).num_rows
        0
        >>> op = tens.agg(n=wr.count(), top=wr.max("v")).restore(op.snapshot())
        >>> op.push(pa.table({"t": [4], "v": [5]})).num_rows, op.finish().to_pylist()
        (0, [{'window_start': 0, 'window_end': 10, 'n': 2, 'top': None}])
        >>> tens.agg(n=wr.count("v")).restore(tens.agg(n=wr.count()).open().snapshot())
        Traceback (most recent call last):
        windrow.errors.ChangedQuery: ... aggregate 'n' was count(), is count(v). ...
        """
        check_complete(self)
        operator = _operator_of(self)
        if self.rolling_store is not None:
            raise ValueError(
                "restore() makes an operator in memory and rolling(store=...) asks for one in a store: "
                "leave it out to restore a snapshot, or go on from what is in the store with open(name=...)"
            )
        found = operator.restored(self, snapshot, clock=clock, now=now, judge=lateness)
        if history is not None or history_until is not None:
            _check_history(self)
            found.begin_with(history, history_until)
        return found


def _check_history(query: Spec) -> None:
    if query.asof_over is not None:
        raise TypeError("history= is for windows: push history to the operator of an as-of query")


def _operator_of(query: Spec) -> type[Operator]:
    """The operator that such a query runs on."""
    if query.asof_over is not None:
        from windrow.engines.serving import AsOfOperator

        return AsOfOperator
    from windrow.engines.stream import Operator

    return Operator
