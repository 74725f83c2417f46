"""A query as a value, and how one starts: ``wr.query(time=..., by=...)`` with its settings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec

from windrow.names import check_keywords
from windrow.query.building import Building
from windrow.query.opening import Opening
from windrow.query.running import Running
from windrow.query_settings import check_settings, checked_waits, column_names, waiting
from windrow.words import KEYWORDS

__all__ = ["Query", "query"]


@dataclass(frozen=True, repr=False)
class Query(Building, Running, Opening):
    """What to compute; see :func:`query`."""


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
    late: Literal["count", "emit", "drop"] = "count",
    on_error: Literal["raise", "reject"] = "raise",
    order: str | Sequence[str] | None = None,
    empty: Literal["skip", "emit"] = "skip",
    min_count: Any = 0,
    emit: Literal["final", "update"] = "final",
    idle_timeout: Any = None,
    max_ahead: Any = None,
    max_windows: Any = None,
    plan: Literal["auto", "windrow", "spark"] = "auto",
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
    ``late="emit"`` keeps late rows to be handed back; ``late="drop"`` counts them as ``"count"`` does, and on
    a Spark stream only as Spark does where ``plan`` is Spark's own. ``plan``: by which plan a Spark stream
    runs, see docs/spark-streams.md; everything else has one plan. ``emit="update"`` also gives speculative
    results.
    ``idle_timeout``: after so long without rows event time goes on with the clock. ``max_ahead``: rows that
    are further ahead are rejected and counted, so that one of them cannot make all others late: ahead of the
    clock where times are timestamps, of the largest time before where they are integers.

    >>> import windrow as wr
    >>> q = wr.query(time="ts", by="region").window(wr.Tumbling("1h")).agg(n=wr.count())
    >>> q.by
    ('region',)
    """
    check_settings(
        time, min_count, max_windows, late=late, on_error=on_error, empty=empty, emit=emit, plan=plan
    )
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
        plan=plan,
    )
