"""Labels, and queries that look from a point in time: as-of windows, and rolling with several sizes, other
ends or a shift."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from windrow.query import Query
from windrow.testing.strategies.queries import chosen_aggregates, start_query
from windrow.testing.strategies.streams import HALF_HOUR, Clock, Row
from windrow.testing.strategies.windows import ZONES, length
from windrow.windows.relative import Closed

__all__ = ["asof_queries", "labels", "rolling_frame_queries"]


@st.composite
def labels(
    draw: st.DrawFn, rows: list[Row], clock: Clock = "integer", *, max_size: int = 12, null_times: bool = True
) -> list[Row]:
    """Labels for a stream: at the times of its rows, and near them; with its keys, and others.

    Columns: ``at`` (time), ``who`` and ``where`` (for the keys ``key`` and ``zone``), ``label``.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import labels
    >>> find(labels([{"ts": 7}]), lambda found: len(found) == 1 and found[0]["at"] is not None)
    [{'at': 7, 'who': None, 'where': None, 'label': 0}]
    """
    unit: Any = 1 if clock == "integer" else HALF_HOUR
    moments = sorted({row["ts"] for row in rows if row["ts"] is not None})
    if not moments:
        return []
    near = st.builds(lambda t, k: t + k * unit, st.sampled_from(moments), st.integers(-6, 6))
    times = st.one_of(st.sampled_from(moments), near, near)
    times = st.one_of(times, times, times, st.none()) if null_times else times
    drawn = st.tuples(times, st.sampled_from([None, "a", "b", "z"]), st.sampled_from([None, 1, 2, 9]))
    found = draw(st.lists(drawn, max_size=max_size))
    return [{"at": at, "who": a, "where": b, "label": k} for k, (at, a, b) in enumerate(found)]


@st.composite
def asof_queries(draw: st.DrawFn, clock: Clock = "integer") -> Query:
    """As-of queries in both directions, by time or by rows, over the columns of :func:`streams`.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import asof_queries
    >>> find(asof_queries(), lambda query: query.asof_over.uses_integer_time).result_names
    ['a0']
    """
    options: dict[str, Any] = {
        "closed": draw(st.one_of(st.none(), _CLOSED)),
        "lag": draw(st.sampled_from([0, length(1, clock), length(5, clock)])),
        "direction": draw(st.sampled_from(["backward", "forward"])),
    }
    start, chosen = start_query(draw), chosen_aggregates(draw)
    if draw(st.integers(0, 3)) == 3:
        return start.asof(rows=draw(_row_counts()), **options).agg(**chosen)
    sizes, zone = _sizes(draw, clock)
    return start.asof(*sizes, **options, **zone).agg(**chosen)


@st.composite
def rolling_frame_queries(draw: st.DrawFn, clock: Clock = "integer") -> Query:
    """Rolling queries of several sizes, with any ends, and moved by time or by rows.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import rolling_frame_queries
    >>> find(rolling_frame_queries(), lambda query: True).result_names
    ['a0']
    """
    start, chosen, closed = start_query(draw), chosen_aggregates(draw), draw(_CLOSED)
    step = draw(st.integers(-8, 8))
    if draw(st.integers(0, 2)) == 2:
        return start.rolling(rows=draw(_row_counts()), closed=closed, shift=step).agg(**chosen)
    sizes, zone = _sizes(draw, clock)
    return start.rolling(*sizes, closed=closed, shift=length(step, clock), **zone).agg(**chosen)


_CLOSED: st.SearchStrategy[Any] = st.sampled_from(get_args(Closed))


def _row_counts() -> st.SearchStrategy[Any]:
    return st.one_of(st.integers(1, 5), st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True))


def _sizes(draw: st.DrawFn, clock: Clock) -> tuple[list[Any], dict[str, Any]]:
    """One to three sizes, everything among them, and for timestamps perhaps a time zone for days and
    months."""
    zone: dict[str, Any] = {}
    counts = st.integers(1, 30).map(lambda count: length(count, clock))
    if clock == "timestamp" and draw(st.integers(0, 2)) == 2:
        counts = st.sampled_from(["1d", "2d", "1w", "1mo", "12h"])
        zone["timezone"] = draw(st.sampled_from(ZONES))
    sizes = draw(st.lists(st.one_of(counts, counts, st.just("all")), min_size=1, max_size=3, unique=True))
    return sizes, zone
