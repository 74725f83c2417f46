"""Variance and standard deviation by mergeable moments (n, mean, M2).

Sums of squares lose all digits when the mean is large against the spread; (n, mean, M2), merged by Chan's
formula, does not, since the mean is kept as :mod:`windrow.monoids.means` has it. M2 cannot be subtracted from
without drift. So where an inverse is asked for, sums of values and of squares are used, which are exact:
Python's integers, counted in the smallest float that there is.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.means import apart, equal_moments, mean_of_one

__all__ = ["stddev", "var"]

#: n, mean (origin, distance), M2
Moments = tuple[int, float, float, float]


def _lift(value: Any) -> Moments:
    origin, distance = mean_of_one(value)
    return 1, origin, distance, distance - distance  # 0, or NaN for an infinity, which has no spread


def _combine(a: Moments, b: Moments) -> Moments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    delta = apart(a[1], a[2], b[1], b[2])
    share = b[0] / n
    return n, a[1], a[2] + delta * share, a[3] + b[3] + delta * delta * (a[0] * share)


#: n, how many values are not finite, the sums of the others and of their squares
ExactMoments = tuple[int, int, int, int]

#: every float is a multiple of 1 / _UNITS
_UNITS = 2**1074


def _exact_lift(value: Any) -> ExactMoments:
    origin, distance = mean_of_one(value)
    if not math.isfinite(distance):
        return 1, 1, 0, 0
    whole = _in_units(origin) + _in_units(distance)
    return 1, 0, whole, whole * whole


def _in_units(number: float) -> int:
    numerator, denominator = number.as_integer_ratio()
    return numerator * (_UNITS // denominator)


def _exact_combine(a: ExactMoments, b: ExactMoments) -> ExactMoments:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


def _exact_inverse(total: ExactMoments, oldest: ExactMoments) -> ExactMoments:
    return total[0] - oldest[0], total[1] - oldest[1], total[2] - oldest[2], total[3] - oldest[3]


def _exact_m2(a: ExactMoments) -> float:
    if a[1] > 0:
        return math.nan
    try:
        return (a[0] * a[3] - a[2] * a[2]) / (a[0] * _UNITS * _UNITS)
    except OverflowError:
        return math.inf


_VAR = """The variance of a column of numbers: of a sample with ``ddof=1``, of a population with ``ddof=0``.

    Null for ``ddof`` values or fewer. Nulls are skipped. NaN, and an infinity, make the result NaN while they
    are in the window.

    A mean that is large against the spread costs no digits, and integers and decimals are not rounded to
    floats before it is subtracted.

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

    A mean that is large against the spread costs no digits, and integers and decimals are not rounded to
    floats before it is subtracted.

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
        spread = a[3] / (a[0] - ddof)
        return math.sqrt(spread) if root else spread

    def exact_lower(a: ExactMoments) -> float | None:
        return lower((a[0], 0.0, 0.0, _exact_m2(a)))

    return Monoid(
        name=name,
        lift=_lift,
        combine=_combine,
        lower=lower,
        identity=(0, 0.0, 0.0, 0.0),
        commutative=True,
        equal=equal_moments(1, 2),
        group=Monoid(
            name=name,
            lift=_exact_lift,
            combine=_exact_combine,
            lower=exact_lower,
            identity=(0, 0, 0, 0),
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
