"""Every built-in aggregate with inputs that suit it, and users' own: the columns of the big matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import windrow as wr
from windrow.monoids.base import Monoid


@dataclass(frozen=True)
class Case:
    """A monoid and a strategy for one row of its input: a value, or a tuple for several inputs."""

    name: str
    monoid: Monoid
    rows: st.SearchStrategy[Any]

    def __str__(self) -> str:
        return self.name


INTS = st.integers(-50, 50)
FLOATS = st.one_of(
    st.floats(-1e6, 1e6, allow_nan=False),
    st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan]),
)
FINITE = st.floats(-1e6, 1e6, allow_nan=False)
POSITIVE = st.floats(1e-3, 1e3)
TEXT = st.text("abc", min_size=1, max_size=2)

#: string concatenation as a user would write it: neither commutative nor invertible
CONCATENATION = wr.monoid(
    name="concatenation", lift=str, combine=lambda a, b: a + b, lower=str, identity="", compile=False
)
SPREAD = wr.monoid(
    name="spread",
    lift=lambda v: (v, v),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda a: a[1] - a[0],
    identity=(math.inf, -math.inf),
    commutative=True,
    idempotent=True,
)
#: 2x2 matrices modulo a prime: a group that is not commutative
P = 1_000_003


def _times(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return (
        (a[0] * b[0] + a[1] * b[2]) % P,
        (a[0] * b[1] + a[1] * b[3]) % P,
        (a[2] * b[0] + a[3] * b[2]) % P,
        (a[2] * b[1] + a[3] * b[3]) % P,
    )


MATRIX = wr.monoid(
    name="matrix",
    lift=lambda v: (1, v % P, v % 7, (1 + (v % P) * (v % 7)) % P),
    combine=_times,
    identity=(1, 0, 0, 1),
    inverse=lambda a: (a[3], -a[1] % P, -a[2] % P, a[0]),
)

CASES = [
    Case("count", wr.count, INTS),
    Case("sum of ints", wr.sum, INTS),
    Case("sum of floats", wr.sum, FLOATS),
    Case("product", wr.product, st.integers(-3, 3)),
    Case("mean", wr.mean, FLOATS),
    Case("geo_mean", wr.geo_mean, st.one_of(POSITIVE, st.just(0.0))),
    Case("max", wr.max, FLOATS),
    Case("max of text", wr.max, TEXT),
    Case("min", wr.min, FLOATS),
    Case("min of ints", wr.min, INTS),
    Case("max_count", wr.max_count, st.integers(0, 3)),
    Case("min_count", wr.min_count, st.one_of(st.sampled_from([0.0, 1.0, math.nan]))),
    Case("max_by", wr.max_by, st.tuples(INTS, st.integers(0, 3))),
    Case("min_by", wr.min_by, st.tuples(TEXT, st.sampled_from([0.0, 1.0, -math.inf, math.nan]))),
    Case("arg_max", wr.arg_max, st.tuples(st.integers(0, 3), INTS)),
    Case("arg_min", wr.arg_min, st.tuples(st.sampled_from([0.0, 1.0, -math.inf, math.nan]), TEXT)),
    Case("range", wr.range, FINITE),
    Case("m4", wr.m4, INTS),
    Case("var", wr.var(ddof=0), FLOATS),
    Case("stddev", wr.stddev, FINITE),
    Case("skew", wr.skew, INTS),
    Case("kurtosis", wr.kurtosis(bias=True), INTS),
    Case("cov", wr.cov, st.tuples(INTS, INTS)),
    Case("corr", wr.corr, st.tuples(INTS, INTS)),
    Case("slope", wr.slope, st.tuples(FLOATS, INTS)),
    Case("weighted_mean", wr.weighted_mean, st.tuples(FLOATS, st.integers(0, 5))),
    Case("time_weighted_mean", wr.time_weighted_mean, st.tuples(FINITE, st.integers(0, 20))),
    Case("ohlc", wr.ohlc, INTS),
    Case("increase", wr.increase, INTS),
    Case("rate", wr.rate(per=10), st.tuples(INTS, st.integers(0, 20))),
    Case("first", wr.first, TEXT),
    Case("last", wr.last, INTS),
    Case("collect", wr.collect, TEXT),
    Case("collect_distinct", wr.collect_distinct, st.integers(0, 3)),
    Case("concat", wr.concat, TEXT),
    Case("concat with separator", wr.concat(sep="-"), TEXT),
    Case("mode", wr.mode, st.integers(0, 3)),
    Case("top_k", wr.top_k(k=3), INTS),
    Case("bottom_k", wr.bottom_k(k=2), TEXT),
    Case("first_k", wr.first_k(k=2), TEXT),
    Case("last_k", wr.last_k(k=3), INTS),
    Case("histogram", wr.histogram(edges=[-20, 0, 5, 40]), INTS),
    Case("any", wr.any, st.booleans()),
    Case("all", wr.all, st.booleans()),
    Case("share", wr.share, st.booleans()),
    Case("longest_run", wr.longest_run, st.integers(0, 5)),
    Case("exp_decay", wr.exp_decay(half_life=10.0), st.tuples(FINITE, st.integers(0, 20))),
    Case("bloom", wr.bloom(bits=128), INTS),
    Case("approx_distinct", wr.approx_distinct(precision=4), INTS),
    Case("count_min", wr.count_min(width=16, depth=2), INTS),
    Case("median", wr.median, INTS),
    Case("quantile", wr.quantile(0.9), INTS),
    Case("together", wr.together(total=wr.sum, top=wr.max), INTS),
    Case("user: concatenation", CONCATENATION, TEXT),
    Case("user: spread", SPREAD, INTS),
    Case("user: matrix", MATRIX, INTS),
]

ALGORITHMS = [
    wr.swag.TwoStacks,
    wr.swag.TwoStacksLite,
    wr.swag.DABA,
    wr.swag.DABALite,
    wr.swag.FOA,
    wr.swag.IOA,
    wr.swag.FlatFAT,
    wr.swag.BInt,
    wr.swag.LogMTA,
    wr.swag.AMTA,
    wr.swag.FiBA,
    wr.swag.SubtractOnEvict,
]
