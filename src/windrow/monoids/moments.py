"""Variance and standard deviation by mergeable moments (n, mean, M2).

Sums of squares lose all digits when the mean is large against the spread; (n, mean, M2), merged by Chan's
formula, does not. Only where an inverse is asked for are sums of squares used, with twice the precision
(``compensated``), since M2 cannot be subtracted from without drift.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.compensated import ZERO, ExactSum, exact, minus, plus, rounded, square
from windrow.monoids.spark_form import SparkForm

__all__ = ["stddev", "var"]

Moments = tuple[int, float, float]


def _lift(value: Any) -> Moments:
    x = float(value)
    return 1, x, x - x  # 0, or NaN for an infinity, which has no spread


def _combine(a: Moments, b: Moments) -> Moments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    delta = b[1] - a[1]
    share = b[0] / n
    return n, a[1] + delta * share, a[2] + b[2] + delta * delta * (a[0] * share)


# n, then the exact sums of values and of squares, flat
ExactMoments = tuple[Any, ...]


def _exact_lift(value: Any) -> ExactMoments:
    return (1, *exact(float(value)), *square(float(value)))


def _values(a: ExactMoments) -> ExactSum:
    return a[1], a[2], a[3], a[4], a[5]


def _squares(a: ExactMoments) -> ExactSum:
    return a[6], a[7], a[8], a[9], a[10]


def _exact_combine(a: ExactMoments, b: ExactMoments) -> ExactMoments:
    return (a[0] + b[0], *plus(_values(a), _values(b)), *plus(_squares(a), _squares(b)))


def _exact_inverse(total: ExactMoments, oldest: ExactMoments) -> ExactMoments:
    return (
        total[0] - oldest[0],
        *minus(_values(total), _values(oldest)),
        *minus(_squares(total), _squares(oldest)),
    )


def _exact_m2(a: ExactMoments) -> float:
    """Sum of squares less the square of the sum over n, in twice the precision."""
    if not math.isfinite(rounded(_values(a))) or not math.isfinite(rounded(_squares(a))):
        return math.nan
    squared = square(a[1])
    cross = 2.0 * a[1] * a[2]
    high = squared[0] / a[0]
    product = exact(high)
    rest = (_residue(squared[0], high, a[0]) + squared[1] + cross) / a[0]
    difference = minus(_squares(a), plus(product, exact(rest)))
    return difference[0] + difference[1]


def _residue(dividend: float, quotient: float, n: int) -> float:
    """dividend - quotient * n without rounding, for n below 2**53."""
    part = exact(dividend)
    product = _two_product(quotient, float(n))
    return rounded(minus(part, product))


def _two_product(a: float, b: float) -> ExactSum:
    total = a * b
    big_a, big_b = 134217729.0 * a, 134217729.0 * b
    high_a, high_b = big_a - (big_a - a), big_b - (big_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - total) + high_a * low_b + low_a * high_b) + low_a * low_b
    return total, error, 0, 0, 0


_VAR = """The variance of a column of numbers: of a sample with ``ddof=1``, of a population with ``ddof=0``.

    Null for ``ddof`` values or fewer. Nulls are skipped. NaN, and an infinity, make the result NaN while they
    are in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> rooms = pa.table({"t": [1, 2, 3], "celsius": [20.0, 22.0, 24.0]})
    >>> tens = wr.events(rooms, time="t").window(wr.Tumbling(10))
    >>> tens.agg(sample=wr.var("celsius"), all=wr.var("celsius", ddof=0))["sample"].to_pylist()
    [4.0]
    """
_STDDEV = """The standard deviation of a column of numbers: of a sample with ``ddof=1``, of a population with
    ``ddof=0``.

    Null for ``ddof`` values or fewer. Nulls are skipped. NaN, and an infinity, make the result NaN while they
    are in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> rooms = pa.table({"t": [1, 2, 3], "celsius": [20.0, 22.0, 24.0]})
    >>> wr.events(rooms, time="t").window(wr.Tumbling(10)).agg(sd=wr.stddev("celsius"))["sd"].to_pylist()
    [2.0]
    """


def _make(name: str, ddof: Any, root: bool) -> Monoid:
    if not isinstance(ddof, int) or ddof < 0:
        raise ValueError(
            f"ddof={ddof!r}: give a whole number, 1 for a sample (the default) or 0 for a population"
        )

    def lower(a: Moments) -> float | None:
        if a[0] <= ddof:
            return None
        spread = a[2] / (a[0] - ddof)
        return math.sqrt(spread) if root else spread

    def exact_lower(a: ExactMoments) -> float | None:
        m2 = _exact_m2(a)
        return lower((a[0], 0.0, m2 if not m2 < 0.0 else 0.0))

    return Monoid(
        name=name,
        lift=_lift,
        combine=_combine,
        lower=lower,
        identity=(0, 0.0, 0.0),
        commutative=True,
        spark=SparkForm(members=("count({x})", "avg({x})", "var_pop({x}) * count({x})")),
        group=Monoid(
            name=name,
            lift=_exact_lift,
            combine=_exact_combine,
            lower=exact_lower,
            identity=(0, *ZERO, *ZERO),
            inverse=_exact_inverse,
            commutative=True,
            compiles_for="",
        ),
        make=_make_stddev if root else _make_var,
        parameters={"ddof": ddof},
        doc=_STDDEV if root else _VAR,
    )


def _make_var(ddof: int = 1) -> Monoid:
    return _make("var", ddof, root=False)


def _make_stddev(ddof: int = 1) -> Monoid:
    return _make("stddev", ddof, root=True)


var = _make_var()
stddev = _make_stddev()
