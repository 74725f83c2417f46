"""Covariance, correlation and the slope of a line by mergeable co-moments (n, means, Mxx, Myy, Mxy).

Mxy is the sum of the products of the distances from both means, merged as the moments of ``var`` are. Large
means cost no digits: they are kept as :mod:`windrow.monoids.means` has it. Each aggregate keeps only the sums
that it needs. A row counts where both of its columns have a value.

Cost: some twenty operations a combine, compiled for numbers.
Source: Pébay (SAND2008-6212); Schubert and Gertz, Numerically stable parallel computation of (co-)variance
(SSDBM 2018).

>>> import windrow as wr
>>> window = wr.swag.DABA(wr.slope)
>>> for y, x in [(1.0, 0), (3.0, 1), (5.0, 2)]:
...     window.insert(y, x)
>>> window.query()
2.0
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.means import apart, equal_moments, mean_of_one

__all__ = ["corr", "cov", "slope"]

#: n, mean of x (origin, distance), mean of y (origin, distance), Mxy
Cov = tuple[int, float, float, float, float, float]
#: n, mean of x, mean of y, Mxx, Mxy
Slope = tuple[int, float, float, float, float, float, float]
#: n, mean of x, mean of y, Mxx, Mxy, Myy
Corr = tuple[int, float, float, float, float, float, float, float]


def _lift_cov(x: Any, y: Any) -> Cov:
    u, v = mean_of_one(x), mean_of_one(y)
    # 0, or NaN for an infinity, which has no spread
    return 1, u[0], u[1], v[0], v[1], (u[1] - u[1]) * (v[1] - v[1])


def _combine_cov(a: Cov, b: Cov) -> Cov:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    dx, dy = apart(a[1], a[2], b[1], b[2]), apart(a[3], a[4], b[3], b[4])
    right = b[0] / n
    return n, a[1], a[2] + dx * right, a[3], a[4] + dy * right, a[5] + b[5] + dx * dy * (a[0] * right)


def _lift_slope(y: Any, x: Any) -> Slope:
    u, v = mean_of_one(x), mean_of_one(y)
    none, other = u[1] - u[1], v[1] - v[1]
    return 1, u[0], u[1], v[0], v[1], none, none * other


def _combine_slope(a: Slope, b: Slope) -> Slope:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    dx, dy = apart(a[1], a[2], b[1], b[2]), apart(a[3], a[4], b[3], b[4])
    right = b[0] / n
    weight = a[0] * right
    x, y = a[2] + dx * right, a[4] + dy * right
    return n, a[1], x, a[3], y, a[5] + b[5] + dx * dx * weight, a[6] + b[6] + dx * dy * weight


def _slope(a: Slope) -> float | None:
    return None if a[5] == 0.0 else a[6] / a[5]


def _lift_corr(x: Any, y: Any) -> Corr:
    u, v = mean_of_one(x), mean_of_one(y)
    none, other = u[1] - u[1], v[1] - v[1]
    return 1, u[0], u[1], v[0], v[1], none, none * other, other


def _combine_corr(a: Corr, b: Corr) -> Corr:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    dx, dy = apart(a[1], a[2], b[1], b[2]), apart(a[3], a[4], b[3], b[4])
    right = b[0] / n
    weight = a[0] * right
    x, y = a[2] + dx * right, a[4] + dy * right
    return (
        n,
        a[1],
        x,
        a[3],
        y,
        a[5] + b[5] + dx * dx * weight,
        a[6] + b[6] + dx * dy * weight,
        a[7] + b[7] + dy * dy * weight,
    )


def _corr(a: Corr) -> float | None:
    if a[5] == 0.0 or a[7] == 0.0:
        return None
    spread = a[5] * a[7]
    if 0.0 < spread < math.inf:
        found = a[6] / math.sqrt(spread)
    else:  # beyond the range of floats, or NaN
        found = a[6] / math.sqrt(a[5]) / math.sqrt(a[7])
    if found > 1.0:  # by rounding
        return 1.0
    return -1.0 if found < -1.0 else found


def _make_cov(ddof: Any = 1) -> Monoid:
    if not isinstance(ddof, int) or ddof < 0:
        raise ValueError(
            f"ddof={ddof!r}: give a whole number, 1 for a sample (the default) or 0 for a population"
        )

    def lower(a: Cov) -> float | None:
        return None if a[0] <= ddof else a[5] / (a[0] - ddof)

    return Monoid(
        name="cov",
        lift=_lift_cov,
        combine=_combine_cov,
        lower=lower,
        identity=(0, 0.0, 0.0, 0.0, 0.0, 0.0),
        commutative=True,
        equal=equal_moments(2, 2),
        arity=(2, 2),
        result_type="float64",
        make=_make_cov,
        parameters={"ddof": ddof},
        doc="""The covariance of two columns of numbers: of a sample with ``ddof=1``, of a population with
    ``ddof=0``.

    Null for ``ddof`` rows or fewer. Rows with a null in either column are skipped. NaN, and an infinity, in
    either make the result NaN while they are in the window.

    Means that are large against the spread cost no digits, and integers and decimals are not rounded to
    floats before they are subtracted.

    >>> import pyarrow as pa, windrow as wr
    >>> rooms = pa.table({"t": [1, 2, 3], "celsius": [20.0, 22.0, 24.0], "people": [1, 2, 3]})
    >>> tens = wr.events(rooms, time="t").window(wr.Tumbling(10))
    >>> tens.agg(both=wr.cov("celsius", "people"))["both"].to_pylist()
    [2.0]
    """,
    )


cov = _make_cov()
corr = Monoid(
    name="corr",
    lift=_lift_corr,
    combine=_combine_corr,
    lower=_corr,
    identity=(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    commutative=True,
    equal=equal_moments(2, 2, 2, 2),
    arity=(2, 2),
    result_type="float64",
    doc="""Pearson's correlation of two columns of numbers, from -1 to 1.

    Null where either column has fewer than two different values. Rows with a null in either column are
    skipped. NaN, and an infinity, in either make the result NaN while they are in the window.

    Means that are large against the spread cost no digits, and integers and decimals are not rounded to
    floats before they are subtracted.

    >>> import pyarrow as pa, windrow as wr
    >>> rooms = pa.table({"t": [1, 2, 3], "celsius": [20.0, 22.0, 24.0], "people": [3, 2, 1]})
    >>> tens = wr.events(rooms, time="t").window(wr.Tumbling(10))
    >>> tens.agg(r=wr.corr("celsius", "people"))["r"].to_pylist()
    [-1.0]
    """,
)
slope = Monoid(
    name="slope",
    lift=_lift_slope,
    combine=_combine_slope,
    lower=_slope,
    identity=(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    commutative=True,
    equal=equal_moments(2, 2, 2),
    arity=(2, 2),
    result_type="float64",
    doc="""The slope of the line through the rows by least squares: by how much the first column rises
    where the second rises by 1. SQL's ``regr_slope(y, x)``.

    Null where the second column has fewer than two different values. Rows with a null in either column are
    skipped. NaN, and an infinity, in either make the result NaN while they are in the window.

    Means that are large against the spread cost no digits, and integers and decimals are not rounded to
    floats before they are subtracted.

    >>> import pyarrow as pa, windrow as wr
    >>> disk = pa.table({"t": [1, 2, 3], "hour": [0, 1, 2], "used": [10.0, 12.0, 14.0]})
    >>> tens = wr.events(disk, time="t").window(wr.Tumbling(10))
    >>> tens.agg(growth=wr.slope("used", "hour"))["growth"].to_pylist()
    [2.0]
    """,
)
