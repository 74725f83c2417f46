"""Aggregates that the strategies of windrow.testing leave out, users' own among them, for random queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from windrow.monoids.base import Aggregate

MORE: list[Aggregate] = [
    wr.min("x"),
    wr.max("ts"),
    wr.min("s"),
    wr.var("x", ddof=0),
    wr.arg_min("x", value="n"),
    wr.collect_distinct("n"),
    wr.all("flag"),
    wr.range("n"),
    wr.m4("n"),
    wr.longest_run("n"),
    wr.approx_distinct("s"),
    wr.together(total=wr.sum, top=wr.max)("n"),
]


def users_own() -> list[Aggregate]:
    """A user's aggregates, native and plain; made in a function, so that they travel to workers by value."""
    spread: Any = {
        "lift": lambda v: (v, v),
        "combine": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        "lower": lambda a: a[1] - a[0],
        "identity": (float("inf"), float("-inf")),
    }
    #: x -> a x + b, one after the other: does not commute
    steps: Any = {
        "lift": lambda v: (v % 7 + 1, v),
        "combine": lambda f, g: (f[0] * g[0] % 1009, (f[1] * g[0] + g[1]) % 1009),
        "lower": lambda f: f[1],
        "identity": (1, 0),
        "result_type": "int64",
    }
    return [
        wr.monoid(name="spread", commutative=True, **spread)("n"),
        wr.monoid(name="slow_spread", commutative=True, compile=False, result_type="float64", **spread)("n"),
        wr.monoid(name="steps", **steps)("seq"),
        wr.monoid(name="slow_steps", compile=False, **steps)("n"),
    ]


OWN = users_own()


@st.composite
def with_more(draw: st.DrawFn, queries: st.SearchStrategy[wr.Query]) -> wr.Query:
    """Queries with up to two of these aggregates besides their own."""
    query = draw(queries)
    more = draw(st.lists(st.sampled_from(MORE + OWN), max_size=2))
    return replace(query, aggregates=(*query.aggregates, *((f"m{k}", a) for k, a in enumerate(more))))
