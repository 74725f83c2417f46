"""What is done to an operator for endless input: queries with watermarks, and rows cut into pushes with
advances of the watermark between them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, Literal

from hypothesis import strategies as st

from windrow.query import Query
from windrow.testing.strategies.queries import queries, rolling_queries
from windrow.testing.strategies.streams import Clock, Row, pushes
from windrow.testing.strategies.windows import length
from windrow.windows import parse_duration

__all__ = ["Operation", "operations", "stream_queries"]

#: ``("push", rows)`` or ``("advance", watermark)``
Operation = tuple[Literal["push", "advance"], Any]


@st.composite
def stream_queries(
    draw: st.DrawFn, clock: Clock = "integer", *, max_windows: int = 3, policies: bool = True
) -> Query:
    """Queries with a watermark delay or without, with allowed lateness or without, final or with updates.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import stream_queries
    >>> find(stream_queries(), lambda query: query.allowed_lateness is not None).allowed_lateness.units
    1
    """
    kinds = [queries(clock, max_windows=max_windows, policies=policies)] * 3
    query = draw(st.one_of(*kinds, rolling_queries(clock, policies=policies)))
    delay = draw(st.one_of(st.none(), st.integers(0, 25)))
    allowed = draw(st.one_of(st.just(0), st.integers(1, 30)))
    settings = {
        "watermark": None if delay is None else parse_duration(length(delay, clock)),
        "allowed_lateness": parse_duration(length(allowed, clock)) if allowed else None,
        "late": "emit",
        "emit": draw(st.sampled_from(["final", "update"])),
    }
    known = {field.name for field in fields(query)}
    return replace(query, **{name: value for name, value in settings.items() if name in known})


@st.composite
def operations(draw: st.DrawFn, rows: list[Row], *, max_pushes: int = 6) -> list[Operation]:
    """Rows in order of arrival as pushes, with advances between them to times near those of the rows.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import operations
    >>> find(operations([{"ts": 1}, {"ts": 2}]), lambda calls: len(calls) == 2)
    [('push', [{'ts': 1}, {'ts': 2}]), ('advance', 1)]
    """
    calls: list[Operation] = []
    times = [row["ts"] for row in rows if row["ts"] is not None]
    for batch in draw(pushes(rows, max_pushes=max_pushes)):
        calls.append(("push", batch))
        if times and draw(st.integers(0, 2)) == 0:
            calls.append(("advance", draw(_moments_near(times))))
    return calls


def _moments_near(times: list[Any]) -> st.SearchStrategy[Any]:
    """The times of rows, and a little before and after them."""
    unit: Any = 1 if isinstance(times[0], int) else timedelta(minutes=10)
    return st.builds(lambda time, units: time + units * unit, st.sampled_from(times), st.integers(-3, 12))
