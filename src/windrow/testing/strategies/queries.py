"""Aggregates, and queries that mix them with windows or roll them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import windrow as wr
from windrow.monoids.base import Aggregate, Monoid
from windrow.query import Query
from windrow.testing.strategies.streams import Clock
from windrow.testing.strategies.windows import length, windows

__all__ = [
    "CONCATENATION",
    "aggregates",
    "chosen_aggregates",
    "queries",
    "rolling_queries",
    "start_query",
]

#: string concatenation as a user would write it: neither commutative nor invertible, in plain Python
CONCATENATION: Monoid = wr.monoid(
    name="concatenation",
    lift=str,
    combine=lambda a, b: a + b,
    identity="",
    result_type="string",
    compile=False,
)

_AGGREGATES: list[Aggregate] = [
    wr.count(),
    wr.count("x"),
    wr.sum("n"),
    wr.sum("x"),
    wr.sum("x", nan="ignore"),
    wr.sum("n", nulls="propagate"),
    wr.min("n"),
    wr.max("x"),
    wr.mean("n"),
    wr.max_count("n"),
    wr.max_by("s", "n"),
    wr.stddev("n"),
    wr.first("s"),
    wr.last("n"),
    wr.collect("s"),
    wr.concat("s"),
    wr.median("x"),
    wr.count_distinct("s"),
    wr.approx_distinct("n", precision=4),
    wr.any("flag"),
    wr.share("flag"),
    CONCATENATION("s"),
    wr.count(min_count=2),
    wr.mean("x", min_count=3),
    wr.sum("n", min_count=0),
    wr.first("s", where="flag", min_count=2),
    wr.count(where="flag"),
    wr.sum("n", where="flag"),
    wr.sum("n", nulls="propagate", where="flag"),
    wr.max_by("s", "n", where="flag"),
    wr.collect("s", where="flag"),
    CONCATENATION("s", where="flag"),
]


def aggregates() -> st.SearchStrategy[Aggregate]:
    """Built-in aggregates and string concatenation, over the columns of :func:`streams`.

    Sketches are not among them: their results are estimates.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import aggregates
    >>> find(aggregates(), lambda aggregate: not aggregate.monoid.commutative).monoid.name
    'max_by'
    """
    return st.sampled_from(_AGGREGATES)


@st.composite
def queries(
    draw: st.DrawFn,
    clock: Clock = "integer",
    *,
    max_windows: int = 4,
    policies: bool = True,
    kinds: tuple[str, ...] | None = None,
) -> Query:
    """Queries of one to four named windows, or one without a name, with one to three aggregates.

    ``policies=False`` leaves out Policy windows, whose functions are plain Python and cannot be stored.
    ``kinds``: names of the other kinds of windows to draw from, as for :func:`windows`.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import queries
    >>> find(queries(), lambda query: len(query.windows) == 2).names_windows
    True
    """
    start = start_query(draw) if draw(st.booleans()) else wr.query(time="ts", empty="include", by=draw(_BY))
    drawn = draw(st.lists(windows(clock, kinds=kinds), min_size=1, max_size=max_windows))
    chosen = chosen_aggregates(draw)
    if policies and draw(st.integers(0, 5)) == 5:
        drawn[-1] = draw(_POLICIES)
        chosen["held"] = wr.count()
    if len(drawn) == 1 and draw(st.booleans()):
        return start.window(drawn[0]).agg(**chosen)
    return start.window(**{f"w{number}": window for number, window in enumerate(drawn)}).agg(**chosen)


@st.composite
def rolling_queries(draw: st.DrawFn, clock: Clock = "integer", *, policies: bool = True) -> Query:
    """Queries that give a result per row: over a time, over a number of rows, or over what a policy leaves.

    >>> from hypothesis import find
    >>> from windrow.testing.strategies import rolling_queries
    >>> find(rolling_queries(), lambda query: query.rolling_over.rows is not None).rolling_over.rows
    1
    """
    start, chosen = start_query(draw), chosen_aggregates(draw)
    kind = draw(st.sampled_from(["size", "rows", "policy"] if policies else ["size", "rows"]))
    if kind == "policy":
        return start.rolling(draw(_POLICIES)).agg(**chosen, held=wr.count())
    if kind == "rows":
        return start.rolling(rows=draw(st.integers(1, 6))).agg(**chosen)
    return start.rolling(length(draw(st.integers(1, 25)), clock)).agg(**chosen)


_BY = st.sampled_from([None, "key", "zone", ("key", "zone")])


def start_query(draw: st.DrawFn) -> Query:
    """A query with keys, an order and a least count, or without."""
    order = draw(st.sampled_from([None, "seq"]))
    return wr.query(time="ts", by=draw(_BY), order=order, min_count=draw(st.integers(0, 2)))


def chosen_aggregates(draw: st.DrawFn) -> dict[str, Aggregate]:
    """One to three aggregates by name."""
    chosen = draw(st.lists(aggregates(), min_size=1, max_size=3))
    return {f"a{number}": aggregate for number, aggregate in enumerate(chosen)}


def _keep(count: int) -> wr.Policy:
    """Evict while enough rows stay: a window of the last ``count`` rows, by policy."""

    def keeps_enough(total: Any, old: Any) -> bool:
        return bool(total.held - old.held >= count)

    return wr.Policy(keeps_enough)


_POLICIES = st.integers(1, 5).map(_keep)
