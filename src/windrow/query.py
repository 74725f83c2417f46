"""Queries: what to compute, over which windows, of which columns. An immutable value that holds no data.

``wr.query(time=..., by=...)`` starts one; ``.window(...)`` or ``.rolling(...)`` says which rows belong
together; ``.agg(...)`` what to compute. ``q.run(table)`` evaluates it. ``wr.events(table, ...)`` is the same
with the data at hand.

All that can be checked without data is checked when the query is built; each error names the input and the
remedy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from time import time as wall_clock
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

from windrow.arguments import check_window, named_aggregates
from windrow.frame_arguments import asof_frames, rolling_of
from windrow.html_text import Explanation
from windrow.monoids.base import Aggregate
from windrow.names import check_keywords
from windrow.query_settings import check_settings, checked_labels, checked_waits, column_names, waiting
from windrow.result_names import check_names
from windrow.spec import Spec
from windrow.windows import Window
from windrow.words import KEYWORDS

if TYPE_CHECKING:
    from windrow.engines.stream import Operator
    from windrow.state import Store

__all__ = ["Query", "query"]


@dataclass(frozen=True, repr=False)
class Query(Spec):
    """What to compute; see :func:`query`."""

    def window(self, *windows: Window, **named: Window) -> Query:
        """Aggregate over windows: one without a name, or any number of named ones.

        >>> import windrow as wr
        >>> q = wr.query(time="ts").window(hour=wr.Tumbling("1h"), visit=wr.Session("30m"))
        >>> [name for name, _ in q.windows]
        ['hour', 'visit']
        """
        self._check_open()
        found = [*(("", w) for w in windows), *named.items()]
        if not found:
            raise TypeError("window() needs at least one window, such as wr.Tumbling('1h')")
        for name, window in found:
            check_window(name, window)
            self._check_time_kind(window)
            if self.corrects and window.refuses_lateness:
                raise ValueError(
                    f"{window!r} never changes a session that has come out: leave out allowed_lateness, or "
                    f"late_by"
                )
        if len(windows) > 1 or (windows and named):
            raise TypeError(
                "several windows need names, as in .window(day=wr.Tumbling('24h'), visit=wr.Session('30m'))"
            )
        return _with_free_names(replace(self, windows=tuple(found)))

    def rolling(
        self,
        *sizes: Any,
        size: Any = None,
        rows: Any = None,
        policy: Any = None,
        closed: Literal["left", "right", "both", "neither"] = "right",
        shift: Any = 0,
        timezone: str | None = None,
        store: Store | None = None,
        **named: Any,
    ) -> Query:
        """One result per input row: over (t - size, t], or over the last ``rows`` rows in time order.

        Rows with equal time are peers: by time, each sees all of them. With a ``store`` of
        :mod:`windrow.state` windows are kept there, and may be larger than memory; see docs/state.md.

        Several sizes (``rolling("1d", "7d")``, ``rolling(day="1d")``, ``rows=[10, 100]``) give a column for
        each: ``total_1d``, ``total_day``, ``total_10``. The size ``"all"`` is everything up to the row.
        ``closed`` says which ends of (t - size, t] belong to it: with ``"left"`` a row sees neither itself
        nor its peers. ``shift`` moves it: ``"-1h"`` lets it end an hour before the row, and ``"30m"`` with
        a size of ``"1h"`` centres it; with ``rows`` it is a number of rows. Months, and days in a
        ``timezone``, are counted on the local calendar. See docs/asof.md.

        >>> import windrow as wr
        >>> wr.query(time="ts").rolling("24h").rolling_over.size.units
        86400000000
        >>> wr.query(time="ts").rolling("1d", "7d", closed="left").agg(n=wr.count()).result_names
        ['n_1d', 'n_7d']
        """
        self._check_open()
        given = [each for each in (*sizes, size) if each is not None]
        over = rolling_of(
            given, named, rows=rows, policy=policy, closed=closed, shift=shift, timezone=timezone, store=store
        )
        return _with_free_names(replace(self, rolling_over=over))

    def asof(
        self,
        *sizes: Any,
        rows: Any = None,
        closed: Literal["left", "right", "both", "neither"] | None = None,
        lag: Any = 0,
        direction: Literal["backward", "forward"] = "backward",
        timezone: str | None = None,
        **named: Any,
    ) -> Query:
        """What was known at a moment: for each label, a row of a second table, aggregates over the events
        before it. :meth:`run` takes the labels as ``at=``.

        For a label at time t the window is [t - lag - size, t - lag): an event at the label's own time is
        its future (``closed="right"`` lets it in). ``direction="forward"`` looks at (t + lag, t + lag +
        size]. The size ``"all"`` is everything on that side, and ``rows=n`` the nearest n events. Several
        sizes give a column for each: ``total_1d``, or with a keyword (``week="7d"``) ``total_week``. Months,
        and days in a ``timezone``, are counted on the local calendar. See docs/asof.md.

        >>> import pyarrow as pa, windrow as wr
        >>> spent = wr.query(time="t", by="user").asof(10, "all").agg(spent=wr.sum("amount"))
        >>> events = pa.table({"t": [1, 12, 15], "user": ["ann"] * 3, "amount": [5, 7, 9]})
        >>> labels = pa.table({"user": ["ann", "bob"], "t": [15, 15]})
        >>> spent.run(events, at=labels).to_pylist()[0]
        {'user': 'ann', 't': 15, 'spent_10': 7, 'spent_all': 12}
        """
        self._check_open()
        if self.on_error == "reject":
            raise ValueError(
                "on_error='reject' is for windows and rolling: filter the events of an as-of query before, "
                "or let lift give the identity for what it cannot take"
            )
        over = asof_frames(
            sizes, named, rows=rows, closed=closed, lag=lag, direction=direction, timezone=timezone
        )
        return _with_free_names(replace(self, asof_over=over))

    def agg(self, *aggregates: Aggregate, **named: Aggregate) -> Query:
        """What to compute, each under the name of its result column.

        Without a keyword, the name is that of the columns and of the aggregate.

        >>> import windrow as wr
        >>> wr.query(time="ts").rolling(rows=3).agg(wr.mean("len"), total=wr.sum("len"))
        wr.query(time='ts').rolling(rows=3).agg(len_mean=mean('len'), total=sum('len'))
        """
        if not self.windows and not self.is_rolling and self.asof_over is None:
            raise TypeError(
                "say which rows belong together first: .window(...), .rolling(...) or .asof(...), then "
                ".agg(...)"
            )
        found = named_aggregates(aggregates, named)
        if not found:
            raise TypeError("agg() needs at least one aggregate, as in .agg(total=wr.sum('len'))")
        return _with_free_names(replace(self, aggregates=tuple(found.items())))

    def run(
        self,
        data: Any,
        *,
        at: Any = None,
        at_time: str | None = None,
        at_by: str | Sequence[str] | None = None,
        threads: int | None = None,
        history: Any = None,
        history_until: Any = None,
    ) -> Any:
        """Evaluate on a finite table: pandas, Polars, Arrow, DuckDB or anything with ``__arrow_c_stream__``.

        The result is the kind of table that went in. What pandas calls missing, NaN in a column of floats, is
        null and skipped; NaN in all other tables is a number.

        A large table is worked on by so many ``threads``: by default ``$WINDROW_THREADS``, or one for each
        core that the process may use. Results are the same, bit for bit, with any number of them.

        >>> import pandas as pd, pyarrow as pa, windrow as wr
        >>> q = wr.query(time="t").window(wr.Tumbling(10)).agg(top=wr.max("v"))
        >>> rows = {"t": [1, 2], "v": [5.0, float("nan")]}
        >>> q.run(pd.DataFrame(rows))["top"].tolist(), q.run(pa.table(rows))["top"].to_pylist()
        ([5.0], [nan])

        For :meth:`asof`, ``at`` is the table of labels, and ``at_time`` and ``at_by`` are its columns, by
        default those of the query. The result is the kind of table that ``at`` is: all its rows and columns
        in their order, and the aggregates. A label without events has null (a count: 0), one without a time
        null, with a warning.

        For a stream of Spark's, ``history`` is a DataFrame of the rows before: the stream begins with the
        state that they lead to, computed in batch. ``history_until`` is as in :meth:`open`.
        """
        self._check_complete()
        from windrow.engines.spark import is_in_spark_task, is_spark_frame
        from windrow.threads import thread_count, using_threads

        if history is not None or history_until is not None:
            if self.asof_over is not None:
                raise TypeError("history= is for windows: give all events of an as-of query as events")
            if not (is_spark_frame(data) and data.isStreaming):
                raise TypeError(
                    "history= and history_until= are for endless input, streams of Spark's and open(): a "
                    "table is taken whole, so put the rows before into it, or leave them out"
                )
            if history is not None and not is_spark_frame(history):
                raise TypeError(
                    f"history of a stream of Spark's is a DataFrame of Spark's, and not a "
                    f"{type(history).__name__}: make one with spark.createDataFrame(...)"
                )
        count = thread_count(threads, default=1 if is_in_spark_task() else None)
        given = (at, at_time, at_by)
        if self.asof_over is not None or any(each is not None for each in given):
            label_columns = checked_labels(self, at, at_time, at_by)
            if is_spark_frame(data) or is_spark_frame(at):
                from windrow.engines.spark.asof import run_asof as run_asof_on_spark

                return run_asof_on_spark(self, data, at, *label_columns)
            from windrow.engines.asof import run_asof

            with using_threads(count):
                return run_asof(self, data, at, *label_columns)
        if is_spark_frame(data):
            if self._rolling_store is not None:
                raise ValueError(
                    "rolling(store=...) is for tables and operators of one process, and Spark keeps state "
                    "itself: leave out the store"
                )
            if threads is not None:
                raise ValueError(
                    f"threads={threads!r} is for tables, and Spark runs one task per core: leave it out"
                )
            from windrow.engines.spark.run import run as run_on_spark

            return run_on_spark(self, data, history, history_until)
        from windrow.engines.local import run

        with using_threads(count):
            return run(self, data)

    def open(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall_clock,
        judge: Literal["push", "spark"] = "push",
        store: Store | None = None,
        name: str = "operator",
        sync: bool = False,
        cache_bytes: int = 64 << 20,
        history: Any = None,
        history_until: Any = None,
    ) -> Operator:
        """An operator for endless input: push rows, get results as the watermark passes them.

        ``clock`` gives seconds, and only ``idle_timeout`` looks at it; ``now`` gives seconds since 1970, and
        only ``max_ahead`` looks at it.

        ``judge`` says where the watermark goes with a push. Rows are always judged by the watermark before
        their push; then it moves, and windows fire. With ``"push"`` it moves to what all rows so far lead to,
        those of this push included. With ``"spark"`` it moves to what the rows *before* this push lead to, in
        whole milliseconds and only once that is after 1970, as streams on Spark have it; a push is then a
        micro-batch, and one without rows moves it, too. See docs/streams.md.

        The operator of an as-of query takes events, and its ``at(labels)`` answers from what has come; see
        docs/asof.md.

        With a ``store`` of :mod:`windrow.state` the operator's state is kept there under ``name``, and what
        is there already is taken up; see docs/state.md. It is stored before a step's results are handed
        over, with ``sync`` as safely as the store can. Of slices at most ``cache_bytes`` stay in memory.

        ``history`` is a table of the rows before: the operator begins with the state that they lead to, and
        gives no results for them, which :meth:`run` over the same table does. ``history_until``, a time,
        makes the cut exact: rows of the table from then on, and rows before it that are pushed, are left out.
        See docs/history.md.

        >>> import pyarrow as pa, windrow as wr
        >>> op = wr.query(time="t", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count()).open()
        >>> op.push(pa.table({"t": [1, 8, 11]})).num_rows
        0
        >>> op.push(pa.table({"t": [9, 13]})).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'n': 3}]
        >>> query = wr.query(time="t", watermark=2).window(wr.Tumbling(10)).agg(n=wr.count())
        >>> op = query.open(judge="spark")
        >>> [op.push(pa.table({"t": times})).num_rows for times in ([1, 8, 13], [9])]  # 9 is not late yet
        [0, 1]
        >>> op.push(pa.table({"t": [7]})).num_rows, op.metrics.rows_late
        (0, 1)
        >>> days = wr.query(time="t", watermark=0).window(wr.Sliding(30, slide=10)).agg(n=wr.count())
        >>> op = days.open(history=pa.table({"t": [3, 14, 18, 21]}), history_until=20)
        >>> op.push(pa.table({"t": [18, 21, 30]}))["n"].to_pylist()  # 18 was in history
        [4]
        """
        self._check_complete()
        operator = self._operator()
        has_history = history is not None or history_until is not None
        if has_history:
            self._check_history()
        rolling_store = self._rolling_store
        if rolling_store is not None and store not in (None, rolling_store):
            raise ValueError("open(store=...) and rolling(store=...) are different stores: give one of them")
        store = rolling_store if store is None else store
        saved = None
        if store is not None:
            from windrow.engines.stream.persistence.saved_operator import SavedOperator

            saved = SavedOperator(store, name, sync=sync, cache_bytes=cache_bytes)
        found = operator(self, clock=clock, now=now, judge=judge, saved=saved)
        if has_history:
            found.begin_with(history, history_until)
        return found

    def rejected_rows(self, data: Any) -> Any:
        """The rows of a finite table that :meth:`run` leaves out: those without a time, and with
        ``on_error="reject"`` those over which an aggregate raises. They come as the kind of table that went
        in, with why (``rejected_reason``: "no_time" or "raised"), which aggregate raised (``rejected_by``),
        and what (``rejected_error``).

        >>> import pyarrow as pa, windrow as wr
        >>> parts = wr.monoid(name="parts", lift=lambda v: 12 // v, combine=lambda a, b: a + b, identity=0)
        >>> query = wr.query(time="t", on_error="reject").window(wr.Tumbling(10)).agg(parts=parts("v"))
        >>> query.rejected_rows(pa.table({"t": [1, 2], "v": [3, 0]})).drop_columns(["t"]).to_pylist()[0]
        {'v': 0, 'rejected_reason': 'raised', 'rejected_by': 'parts',
        'rejected_error': 'ZeroDivisionError: integer division or modulo by zero'}
        """
        self._check_complete()
        from windrow.engines.spark import is_spark_frame

        if is_spark_frame(data):
            from windrow.engines.spark.rejected import rejected_rows as rejected_on_spark

            return rejected_on_spark(self, data)
        from windrow.engines.local import rejected_rows

        return rejected_rows(self, data)

    def restore(
        self,
        snapshot: bytes,
        *,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = wall_clock,
        judge: Literal["push", "spark"] = "push",
        history: Any = None,
        history_until: Any = None,
    ) -> Operator:
        """An operator that goes on from what :meth:`Operator.snapshot` gave.

        The query must be the one that the snapshot is of; windows and aggregates may have been added and
        removed, and watermark, allowed_lateness and max_ahead changed. An added aggregate is null over
        windows that hold a row which it has not seen, unless it is filled from ``history``: all rows before
        ``history_until``, a time behind every row that was pushed. See docs/history.md. ``judge`` is not in
        the snapshot: give the one of :meth:`open`.

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
        self._check_complete()
        operator = self._operator()
        if self._rolling_store is not None:
            raise ValueError(
                "a snapshot has no windows of rolling(store=...): open(name=...) goes on from what is in the "
                "store"
            )
        found = operator.restored(self, snapshot, clock=clock, now=now, judge=judge)
        if history is not None or history_until is not None:
            self._check_history()
            found.begin_with(history, history_until)
        return found

    def explain(self, data: Any = None) -> str:
        """What will run, in words: slices, algorithms and their reasons, cost and state. With a Spark
        DataFrame: what will run on it, and Spark's own plan; of as-of windows, which take labels besides,
        the words alone. Notebooks show it line by line."""
        self._check_complete()
        from windrow.engines.spark import is_spark_frame

        if is_spark_frame(data):
            from windrow.engines.spark.explain import explain as explain_on_spark

            return Explanation(explain_on_spark(self, data))
        from windrow.engines.explain import explain

        return Explanation(explain(self))

    # -- checks
    # ----------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.windows or self.is_rolling or self.asof_over is not None:
            raise TypeError("this query has its windows already: give all of them in one .window(...) call")

    @property
    def _rolling_store(self) -> Store | None:
        return None if self.rolling_over is None else self.rolling_over.store

    def _check_complete(self) -> None:
        if not self.aggregates:
            raise TypeError("this query computes nothing yet: add .agg(name=wr.sum('column'))")

    def _check_history(self) -> None:
        if self.asof_over is not None:
            raise TypeError("history= is for windows: push history to the operator of an as-of query")

    def _operator(self) -> type[Operator]:
        """The operator that such a query runs on."""
        if self.asof_over is not None:
            from windrow.engines.serving import AsOfOperator

            return AsOfOperator
        from windrow.engines.stream import Operator

        return Operator

    def _check_time_kind(self, window: Window) -> None:
        if window.uses_integer_time is None:
            return
        for name in ("watermark", "allowed_lateness"):
            wait = getattr(self, name)
            if wait is not None and wait.amount and (wait.kind == "integer") != window.uses_integer_time:
                given = "a plain number" if wait.kind == "integer" else "a duration"
                raise ValueError(
                    f"{name}={wait.argument} is {given} and {window!r} counts time differently: give "
                    f"durations such as '10m' in both for timestamps, or integers in both for integer times"
                )


_P = ParamSpec("_P")


def _with_known_keywords(function: Callable[_P, Query]) -> Callable[_P, Query]:
    """A misspelt keyword is an error that names the nearest one."""
    known = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*arguments: _P.args, **options: _P.kwargs) -> Query:
        if arguments:
            raise TypeError(f"query() takes keywords alone, as in wr.query(time={arguments[0]!r})")
        check_keywords("query", options, known, KEYWORDS)
        return function(*arguments, **options)

    return checked


@_with_known_keywords
def query(
    *,
    time: str,
    by: str | Sequence[str] | None = None,
    watermark: Any = None,
    allowed_lateness: Any = 0,
    late: Literal["count", "emit"] = "count",
    on_error: Literal["raise", "reject"] = "raise",
    order: str | Sequence[str] | None = None,
    empty: Literal["skip", "emit"] = "skip",
    min_count: Any = 0,
    emit: Literal["final", "update"] = "final",
    idle_timeout: Any = None,
    max_ahead: Any = None,
    max_windows: Any = None,
) -> Query:
    """Start a query.

    ``time``: the column of event times, timestamps of any unit (naive means UTC) or integers. ``by``: key
    columns; each key has windows of its own, and null is a key like others. ``order``: columns that order
    rows of equal time. ``empty="emit"``: also give windows without rows between a key's first and last row.
    ``min_count``: an aggregate over fewer values is null. ``max_windows``: a step that would give more
    windows, all kinds together, raises :class:`TooManyWindows` instead; by default more than 10 million, or
    more than four for each row that the step reads if that is more. See docs/windows.md.
    ``on_error="reject"``: a row over which ``lift`` of an aggregate of your own raises is left out, counted,
    and handed back with the aggregate's name and the error, as are rows that are rejected for other reasons:
    see :meth:`Query.rejected_rows` and docs/streams.md.

    For endless input (:meth:`Query.open`, Spark streams): ``watermark``: how far the watermark stays behind
    the largest time seen. ``allowed_lateness``: how late a row may correct windows that have fired.
    ``late="emit"`` keeps late rows to be handed back. ``emit="update"`` gives speculative results, too.
    ``idle_timeout``: after so long without rows event time goes on with the clock. ``max_ahead``: rows that
    are further ahead are rejected and counted, so that one of them cannot make all others late: ahead of the
    clock where times are timestamps, of the largest time before where they are integers.

    >>> import windrow as wr
    >>> q = wr.query(time="ts", by="region").window(wr.Tumbling("1h")).agg(n=wr.count())
    >>> q.by
    ('region',)
    """
    check_settings(time, min_count, max_windows, late=late, on_error=on_error, empty=empty, emit=emit)
    delay, idle, ahead = checked_waits(watermark, idle_timeout, max_ahead)
    return Query(
        time=time,
        by=column_names(by, "by"),
        watermark=delay,
        allowed_lateness=waiting(allowed_lateness, "allowed_lateness") if allowed_lateness else None,
        late=late,
        on_error=on_error,
        order=column_names(order, "order"),
        empty=empty,
        min_count=min_count,
        emit=emit,
        idle_timeout=idle,
        max_ahead=ahead,
        max_windows=max_windows,
    )


def _with_free_names(query: Query) -> Query:
    check_names(query)
    return query
