"""What is done to an operator for endless input: queries with watermarks, and rows cut into pushes with
advances of the watermark between them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

from hypothesis import strategies as st

from windrow.query import Query
from windrow.testing.strategies.frames import rolling_frame_queries
from windrow.testing.strategies.queries import queries, rolling_queries
from windrow.testing.strategies.streams import Clock, Row
from windrow.testing.strategies.windows import length
from windrow.windows import Session, Window, parse_duration

__all__ = ["Operation", "operations", "stream_queries"]

#: ``("push", rows)`` or ``("advance", watermark)``
Operation = tuple[Literal["push", "advance"], Any]


@st.composite
def stream_queries(
    draw: st.DrawFn,
    clock: Clock = "integer",
    *,
    max_windows: int = 3,
    policies: bool = True,
    of: st.SearchStrategy[Query] | None = None,
) -> Query:
    """Queries with a watermark delay or without, with allowed lateness or without, final or with updates.
    ``of``: queries without these, to draw from.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import stream_queries
    >>> find(stream_queries(), lambda query: query.allowed_lateness is not None).allowed_lateness.units
    1
    """
    if of is not None:
        query = draw(of)
    elif draw(st.integers(0, 5)) == 5:
        query = draw(st.one_of(rolling_queries(clock, policies=policies), rolling_frame_queries(clock)))
    else:
        query = draw(queries(clock, max_windows=max_windows, policies=policies))
    # Short delays make late rows, and long allowances make corrections of them
    delay = draw(st.one_of(st.none(), st.integers(0, 4), st.integers(0, 25)))
    allowed = draw(st.one_of(st.just(0), st.integers(1, 10), st.integers(10, 40)))
    if not allowed and draw(st.booleans()):
        query = replace(query, windows=tuple((name, _late_by_row(window)) for name, window in query.windows))
    return replace(
        query,
        watermark=None if delay is None else parse_duration(length(delay, clock)),
        allowed_lateness=parse_duration(length(allowed, clock)) if allowed else None,
        late="return",
        output=draw(st.sampled_from(["final", "update"])),
    )


def _late_by_row(window: Window) -> Window:
    """Sessions that may be judged so, judged by their late rows."""
    if isinstance(window, Session) and window.max_size is None:
        gap = window.gap_us if window.uses_integer_time else timedelta(microseconds=window.gap_us)
        return Session(gap, late_by="row")
    return window


@st.composite
def operations(draw: st.DrawFn, rows: list[Row]) -> list[Operation]:
    """Rows in order of arrival as pushes, some of them empty, with advances between them to times near the
    largest that came.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies.operations import operations
    >>> calls = find(operations([{"ts": 1}, {"ts": 2}]), lambda calls: len(calls) == 2)
    >>> [row["ts"] for name, rows in calls if name == "push" for row in rows]
    [1, 2]
    """
    calls: list[Operation] = []
    came: list[Any] = []
    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        # Most rows are pushed with others, and after a third of the pushes the watermark is moved
        if draw(st.integers(0, 3)) == 0:
            calls.append(("push", waiting))
            came += [each["ts"] for each in waiting if each["ts"] is not None]
            waiting = []
            calls.extend(draw(_between_pushes(came)))
    return [*calls, ("push", waiting)] if waiting else calls


def _between_pushes(came: list[Any]) -> st.SearchStrategy[list[Operation]]:
    nothing: st.SearchStrategy[list[Operation]] = st.just([])
    empty_push: st.SearchStrategy[list[Operation]] = st.just([("push", [])])
    if not came:
        return st.one_of(nothing, empty_push)
    unit: Any = 1 if isinstance(came[0], int) else timedelta(minutes=10)
    moments = st.integers(-12, 4).map(lambda units: max(came) + units * unit)
    advance = moments.map(lambda moment: [("advance", moment)])
    return st.one_of(nothing, nothing, nothing, advance, advance, empty_push)
