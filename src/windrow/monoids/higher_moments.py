"""Skewness and kurtosis by mergeable moments (n, mean, M2, M3, M4).

Mk is the sum of the k-th powers of the distances from the mean. Sums of powers of the values themselves lose
all digits when the mean is large against the spread; these, merged by Pébay's formulas about means as
:mod:`windrow.monoids.means` has them, lose none. ``skew`` keeps no M4.

Both take the estimate for a sample that pandas and DuckDB (``skewness``, ``kurtosis``) give, or with
``bias=True`` the moments of the values as they are, as Spark and Polars have it. Kurtosis is the excess over
that of a normal distribution, 3. Without a spread neither is defined: null.

Cost: some thirty operations a combine, compiled for numbers.
Source: Pébay, Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
statistical moments (Sandia report SAND2008-6212).

>>> import windrow as wr
>>> found = wr.swag.DABA(wr.skew(bias=True)).roll([0.0, 0.0, 3.0, 3.0], size=3)
>>> [None if each is None else round(each, 6) for each in found]
[None, None, 0.707107, -0.707107]
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.means import apart, equal_moments, mean_of_one

__all__ = ["kurtosis", "skew"]

#: n, mean (origin, distance), M2, M3
ThreeMoments = tuple[int, float, float, float, float]
#: n, mean, M2, M3, M4
FourMoments = tuple[int, float, float, float, float, float]


def _lift_three(value: Any) -> ThreeMoments:
    origin, distance = mean_of_one(value)
    nothing = distance - distance  # 0, or NaN for an infinity, which has no spread
    return 1, origin, distance, nothing, nothing


def _combine_three(a: ThreeMoments, b: ThreeMoments) -> ThreeMoments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    delta = apart(a[1], a[2], b[1], b[2])
    left, right = a[0] / n, b[0] / n
    across = delta * delta * (a[0] * right)
    third = across * delta * (left - right) + 3.0 * delta * (left * b[3] - right * a[3])
    return n, a[1], a[2] + delta * right, a[3] + b[3] + across, a[4] + b[4] + third


def _lift_four(value: Any) -> FourMoments:
    origin, distance = mean_of_one(value)
    nothing = distance - distance
    return 1, origin, distance, nothing, nothing, nothing


def _combine_four(a: FourMoments, b: FourMoments) -> FourMoments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    delta = apart(a[1], a[2], b[1], b[2])
    left, right = a[0] / n, b[0] / n
    square = delta * delta
    across = square * (a[0] * right)
    third = across * delta * (left - right) + 3.0 * delta * (left * b[3] - right * a[3])
    fourth = across * square * (left * left - left * right + right * right)
    fourth += 6.0 * square * (left * left * b[3] + right * right * a[3])
    fourth += 4.0 * delta * (left * b[4] - right * a[4])
    mean = a[2] + delta * right
    return n, a[1], mean, a[3] + b[3] + across, a[4] + b[4] + third, a[5] + b[5] + fourth


# Powers of M2 may leave the range of floats where the result does not: then the deviation divides one by one.
def _population_skew(a: ThreeMoments) -> float:
    power = a[3] * math.sqrt(a[3])
    if 0.0 < power < math.inf:
        return math.sqrt(a[0]) * a[4] / power
    deviation = math.sqrt(a[3]) / math.sqrt(a[0])
    return a[4] / a[0] / deviation / deviation / deviation


def _population_kurtosis(a: FourMoments) -> float:
    power = a[3] * a[3]
    if 0.0 < power < math.inf:
        return a[0] * a[5] / power - 3.0
    deviation = math.sqrt(a[3]) / math.sqrt(a[0])
    return a[5] / a[0] / deviation / deviation / deviation / deviation - 3.0


def _biased_skew(a: ThreeMoments) -> float | None:
    return None if a[0] < 2 or a[3] == 0.0 else _population_skew(a)


def _sample_skew(a: ThreeMoments) -> float | None:
    n = a[0]
    if n < 3 or a[3] == 0.0:
        return None
    return math.sqrt(n * (n - 1.0)) / (n - 2.0) * _population_skew(a)


def _biased_kurtosis(a: FourMoments) -> float | None:
    return None if a[0] < 2 or a[3] == 0.0 else _population_kurtosis(a)


def _sample_kurtosis(a: FourMoments) -> float | None:
    n = a[0]
    if n < 4 or a[3] == 0.0:
        return None
    return (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * _population_kurtosis(a) + 6.0)


def _checked(bias: Any) -> bool:
    if not isinstance(bias, bool):
        raise ValueError(
            f"bias={bias!r}: give False for the estimate from a sample (the default), as pandas has it, or "
            f"True for the values as they are, as Spark and Polars have it"
        )
    return bias


_SKEW = """The skewness of a column of numbers: the estimate from a sample, as in pandas, or with
    ``bias=True`` that of the values themselves, as in Spark and Polars.

    Null for fewer than three values (two with ``bias=True``) and where all are the same. Nulls are skipped.
    NaN, and an infinity, make the result NaN while they are in the window.

    A mean that is large against the spread costs no digits, and integers and decimals are not rounded to
    floats before it is subtracted.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 4], "len": [1, 1, 1, 5]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> round(tens.agg(tail=wr.skew("len"))["tail"][0].as_py(), 6)
    2.0
    """
_KURTOSIS = """The excess kurtosis of a column of numbers (0 for a normal distribution): the estimate from a
    sample, as in pandas, or with ``bias=True`` that of the values themselves, as in Spark and Polars.

    Null for fewer than four values (two with ``bias=True``) and where all are the same. Nulls are skipped.
    NaN, and an infinity, make the result NaN while they are in the window.

    A mean that is large against the spread costs no digits, and integers and decimals are not rounded to
    floats before it is subtracted.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 4], "len": [1, 1, 1, 5]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> round(tens.agg(tails=wr.kurtosis("len"))["tails"][0].as_py(), 6)
    4.0
    """


def _make_skew(bias: bool = False) -> Monoid:
    return Monoid(
        name="skew",
        lift=_lift_three,
        combine=_combine_three,
        lower=_biased_skew if _checked(bias) else _sample_skew,
        identity=(0, 0.0, 0.0, 0.0, 0.0),
        commutative=True,
        result_type="float64",
        make=_make_skew,
        parameters={"bias": bias},
        equal=equal_moments(1, 2, 3),
        doc=_SKEW,
    )


def _make_kurtosis(bias: bool = False) -> Monoid:
    return Monoid(
        name="kurtosis",
        lift=_lift_four,
        combine=_combine_four,
        lower=_biased_kurtosis if _checked(bias) else _sample_kurtosis,
        identity=(0, 0.0, 0.0, 0.0, 0.0, 0.0),
        commutative=True,
        result_type="float64",
        make=_make_kurtosis,
        parameters={"bias": bias},
        equal=equal_moments(1, 2, 3, 4),
        doc=_KURTOSIS,
    )


skew = _make_skew()
kurtosis = _make_kurtosis()
