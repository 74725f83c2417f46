"""A query as a value, and how one starts: ``wr.query(time=..., by=...)`` with its settings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, cast

from windrow.names import check_keywords
from windrow.old_names import with_new_names
from windrow.query.building import Building
from windrow.query.opening import Opening
from windrow.query.running import Running
from windrow.query_settings import check_settings, checked_waits, column_names, waiting
from windrow.windows.timeline.durations import DurationLike
from windrow.words import KEYWORDS

__all__ = ["Query", "query"]


@dataclass(frozen=True, repr=False)
class Query(Building, Running, Opening):
    """What to compute; see :func:`query`."""

    def __dir__(self) -> list[str]:
        """What completion offers: the steps, and the settings of :func:`query`."""
        steps = [name for part in type(self).__bases__ for name in vars(part) if not name.startswith("_")]
        special = [name for name in super().__dir__() if name.startswith("__")]
        return [*special, *steps, *inspect.signature(query).parameters]


#: what these keywords and values were called before
OLD_KEYWORDS = {"emit": "output"}
OLD_VALUES = {("late", "emit"): "return", ("empty", "emit"): "include"}

_P = ParamSpec("_P")


def _with_known_keywords(function: Callable[_P, Query]) -> Callable[_P, Query]:
    """A misspelt keyword is an error that names the nearest one."""
    known = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*arguments: _P.args, **options: _P.kwargs) -> Query:
        if arguments:
            raise TypeError(f"query() takes keywords alone, as in wr.query(time={arguments[0]!r})")
        current = with_new_names("query", options, keywords=OLD_KEYWORDS, values=OLD_VALUES)
        check_keywords("query", current, known, KEYWORDS)
        return function(*arguments, **cast("Any", current))

    return checked


@_with_known_keywords
def query(
    *,
    time: str,
    by: str | Sequence[str] | None = None,
    watermark: DurationLike | None = None,
    allowed_lateness: DurationLike = 0,
    late: Literal["count", "return", "drop"] = "count",
    on_error: Literal["raise", "reject"] = "raise",
    order: str | Sequence[str] | None = None,
    empty: Literal["skip", "include"] = "skip",
    min_count: int = 0,
    output: Literal["final", "update"] = "final",
    idle_timeout: DurationLike | None = None,
    max_ahead: DurationLike | None = None,
    max_windows: int | None = None,
    plan: Literal["auto", "windrow", "spark"] = "auto",
) -> Query:
    """Start a query: which column is time, which columns are keys, and the rules for nulls and late rows.

    Args:
        time (str): The column of event times: timestamps of any unit (naive means UTC) or integers.
        by (str | list[str]): Key columns. Each key has its own windows, and null is a key.
        watermark (duration): How far the watermark stays behind the largest time seen; for unbounded input
            (:meth:`Query.open`, Spark streams).
        allowed_lateness (duration): How late a row may correct windows that have fired.
        late (str): ``"count"`` counts late rows; ``"return"`` also keeps and returns them; ``"drop"`` counts
            them like ``"count"``, and on a Spark stream only as Spark does where ``plan`` is Spark's own.
        on_error (str): ``"raise"``, or ``"reject"``: a row for which ``lift`` of a user-defined aggregate
            raises is left out, counted, and returned with the aggregate's name and the error, as are rows
            that are rejected for other reasons; see :meth:`Query.rejected_rows` and docs/late-data.md.
        order (str | list[str]): Columns that order rows with the same timestamp.
        empty (str): ``"skip"``, or ``"include"`` to return windows without rows between a key's first and
            last row.
        min_count (int): An aggregate over fewer values is null.
        output (str): ``"final"``, or ``"update"`` to also emit speculative results.
        idle_timeout (duration): After this time without rows, event time follows the clock.
        max_ahead (duration): Rows that are further ahead are rejected and counted, so that one of them
            cannot make all others late: ahead of the clock for timestamps, of the largest time before for
            integers.
        max_windows (int): A step that would return more windows, of all types together, raises
            :class:`TooManyWindows`. By default more than 10 million, or more than four for each row that the
            step reads if that is more; see docs/window-options.md.
        plan (str): Which plan a Spark stream runs on, see docs/spark-streams.md; everything else has one.

    >>> import windrow as wr
    >>> q = wr.query(time="ts", by="region").window(wr.Tumbling("1h")).agg(n=wr.count())
    >>> q.by
    ('region',)
    """
    words = {"late": late, "on_error": on_error, "empty": empty, "output": output, "plan": plan}
    check_settings(time, min_count, max_windows, **words)
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
        output=output,
        idle_timeout=idle,
        max_ahead=ahead,
        max_windows=max_windows,
        plan=plan,
    )
