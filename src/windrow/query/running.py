"""A query over all its rows at once: its results, the rows that it leaves out, and in words what it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from windrow.html_text import Explanation
from windrow.query_settings import check_complete, checked_labels
from windrow.spec import Spec

__all__ = ["Running"]

TableT = TypeVar("TableT")


class Running(Spec):
    """A query that is evaluated on a table, on a Spark DataFrame, or on a stream of it."""

    @overload
    def run(
        self,
        data: Any,
        *,
        at: TableT,
        at_time: str | None = None,
        at_by: str | Sequence[str] | None = None,
        threads: int | None = None,
    ) -> TableT: ...

    @overload
    def run(
        self,
        data: TableT,
        *,
        threads: int | None = None,
        history: Any = None,
        history_until: Any = None,
    ) -> TableT: ...

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
        """Run the query on a finite table, a Spark DataFrame or a Spark stream, and return the same kind.

        What pandas calls missing, NaN in a column of floats, is null and skipped; NaN in all other tables is
        a number. For :meth:`asof`, the result is the label table: all its rows and columns in their order,
        followed by the features. A label without events has null (a count: 0), one without a time null, with
        a warning.

        Args:
            data: A pandas, Polars, Arrow or DuckDB table, anything with ``__arrow_c_stream__``, or a Spark
                DataFrame.
            at: For :meth:`asof`, the table of labels.
            at_time (str): The time column of the labels; by default that of the query.
            at_by (str | list[str]): The key columns of the labels; by default those of the query.
            threads (int): Threads for a large table; by default ``$WINDROW_THREADS``, or one per core.
                Results are the same, bit for bit, with any number.
            history: For a Spark stream, a DataFrame of earlier rows: the stream starts with the state that
                they lead to, computed in batch.
            history_until: The cut-over time, as in :meth:`open`.

        >>> import pandas as pd, pyarrow as pa, windrow as wr
        >>> q = wr.query(time="t").window(wr.Tumbling(10)).agg(top=wr.max("v"))
        >>> rows = {"t": [1, 2], "v": [5.0, float("nan")]}
        >>> q.run(pd.DataFrame(rows))["top"].tolist(), q.run(pa.table(rows))["top"].to_pylist()
        ([5.0], [nan])
        """
        check_complete(self)
        from windrow.engines.spark import is_in_spark_task
        from windrow.threads import thread_count

        if history is not None or history_until is not None:
            _check_history(self, data, history)
        count = thread_count(threads, default=1 if is_in_spark_task() else None)
        if self.asof_over is not None or any(each is not None for each in (at, at_time, at_by)):
            return _run_asof(self, data, at, checked_labels(self, at, at_time, at_by), count)
        return _run_windows(self, data, threads, count, history, history_until)

    def __call__(self, data: TableT, **options: Any) -> TableT:
        """Run the query, as :meth:`run` does: for ``df.pipe(query)``.

        >>> import pandas as pd, windrow as wr
        >>> rows = wr.query(time="t").rolling(10).agg(n=wr.count())
        >>> pd.DataFrame({"t": [1, 2]}).pipe(rows)["n"].tolist()
        [1, 2]
        """
        found: TableT = self.run(data, **options)
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
        check_complete(self)
        from windrow.engines.spark import is_spark_frame

        if is_spark_frame(data):
            from windrow.engines.spark.rejected import rejected_rows as rejected_on_spark

            return rejected_on_spark(self, data)
        from windrow.engines.local import rejected_rows

        return rejected_rows(self, data)

    def explain(self, data: Any = None) -> str:
        """What will run, in words: slices, algorithms and their reasons, cost and state. With a table: in
        its time zone. With a Spark DataFrame: what will run on it, and Spark's own plan; of as-of windows,
        which take labels besides, the words alone. Notebooks show it line by line."""
        check_complete(self)
        from windrow.engines.spark import is_spark_frame

        if is_spark_frame(data):
            from windrow.engines.spark.explain import explain as explain_on_spark

            return Explanation(explain_on_spark(self, data))
        from windrow.engines.explain import explain
        from windrow.rows.tables import read_table

        return Explanation(explain(self, None if data is None else read_table(data)[0]))


def _check_history(query: Spec, data: Any, history: Any) -> None:
    from windrow.engines.spark import is_spark_frame
    from windrow.engines.spark.compat import is_streaming

    if query.asof_over is not None:
        raise TypeError("history= is for windows: give all events of an as-of query as events")
    if not (is_spark_frame(data) and is_streaming(data)):
        raise TypeError(
            "history= and history_until= are for unbounded input, Spark streams and open(): a "
            "table is taken whole, so put the rows before into it, or leave them out"
        )
    if history is not None and not is_spark_frame(history):
        raise TypeError(
            f"history of a Spark stream is a Spark DataFrame, and not a "
            f"{type(history).__name__}: make one with spark.createDataFrame(...)"
        )


def _run_asof(
    query: Spec, data: Any, at: Any, label_columns: tuple[str, tuple[str, ...]], threads: int
) -> Any:
    from windrow.engines.spark import is_spark_frame

    if is_spark_frame(data) or is_spark_frame(at):
        from windrow.engines.spark.asof import run_asof as run_asof_on_spark

        return run_asof_on_spark(query, data, at, *label_columns)
    from windrow.engines.frames.asof import run_asof
    from windrow.threads import using_threads

    with using_threads(threads):
        return run_asof(query, data, at, *label_columns)


def _run_windows(
    query: Spec, data: Any, asked_threads: int | None, threads: int, history: Any, history_until: Any
) -> Any:
    from windrow.engines.spark import is_spark_frame

    if is_spark_frame(data):
        _check_for_spark(query, asked_threads)
        from windrow.engines.spark.run import run as run_on_spark

        return run_on_spark(query, data, history, history_until)
    from windrow.engines.local import run
    from windrow.threads import using_threads

    with using_threads(threads):
        return run(query, data)


def _check_for_spark(query: Spec, threads: int | None) -> None:
    if query.rolling_store is not None:
        raise ValueError(
            "rolling(store=...) is for operators of one process, and Spark keeps state itself: leave out "
            "the store"
        )
    if threads is not None:
        raise ValueError(f"threads={threads!r} is for tables, and Spark runs one task per core: leave it out")
