"""Means in which rows weigh differently: by a column of weights, or by how long a value held.

``weighted_mean`` is the sum of value times weight over the sum of weights. Its partial is these two sums, so
that it can be subtracted from in the exact form.

``time_weighted_mean`` takes the values for a line of steps: each value holds from its time until the time of
the next row, and the mean is over the time from the first row to the last. So the last value weighs nothing;
only where all rows are of one moment there is no time to weigh by, and the result is the last value, by
arrival. A time before that of the row before it counts as the same moment. The sum over a window is one of
gaps between neighbours, which makes it associative: a combine adds the gap between its two sides. It is not
commutative.

Cost: a few operations a combine, compiled for numbers; times may be moments.

>>> import windrow as wr
>>> window = wr.swag.DABA(wr.time_weighted_mean)
>>> for value, time in [(10.0, 0), (40.0, 2), (0.0, 3)]:
...     window.insert(value, time)
>>> window.query()
20.0
"""

from __future__ import annotations

from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.clock import elapsed, ticks
from windrow.monoids.compensated import ZERO, ExactSum, exact, minus, plus, rounded

__all__ = ["time_weighted_mean", "weighted_mean"]

#: the sum of value times weight, the sum of weights
Sums = tuple[float, float]


def _lift(value: Any, weight: Any) -> Sums:
    share = float(weight)
    return float(value) * share, share


def _combine(a: Sums, b: Sums) -> Sums:
    return a[0] + b[0], a[1] + b[1]


def _lower(a: Sums) -> float | None:
    return None if a[1] == 0.0 else a[0] / a[1]


#: the exact sums of the same, flat
ExactSums = tuple[Any, ...]


def _exact_lift(value: Any, weight: Any) -> ExactSums:
    return (*exact(float(value) * float(weight)), *exact(float(weight)))


def _exact_of(a: Sums) -> ExactSums:
    return (*exact(a[0]), *exact(a[1]))


def _product_of(a: ExactSums) -> ExactSum:
    return a[0], a[1], a[2], a[3], a[4]


def _weight_of(a: ExactSums) -> ExactSum:
    return a[5], a[6], a[7], a[8], a[9]


def _exact_combine(a: ExactSums, b: ExactSums) -> ExactSums:
    return (*plus(_product_of(a), _product_of(b)), *plus(_weight_of(a), _weight_of(b)))


def _exact_inverse(total: ExactSums, oldest: ExactSums) -> ExactSums:
    products = minus(_product_of(total), _product_of(oldest))
    return (*products, *minus(_weight_of(total), _weight_of(oldest)))


def _exact_lower(a: ExactSums) -> float | None:
    return _lower((rounded(_product_of(a)), rounded(_weight_of(a))))


weighted_mean = Monoid(
    name="weighted_mean",
    lift=_lift,
    combine=_combine,
    lower=_lower,
    identity=(0.0, 0.0),
    commutative=True,
    arity=(2, 2),
    result_type="float64",
    inputs=("value", "weight"),
    group=Monoid(
        name="weighted_mean",
        lift=_exact_lift,
        combine=_exact_combine,
        lower=_exact_lower,
        identity=(*ZERO, *ZERO),
        inverse=_exact_inverse,
        commutative=True,
        arity=(2, 2),
        compiles_for="",
    ),
    to_group=_exact_of,
    doc="""The mean of the first column, in which a row counts as much as the second column says.

    Rows with a null in either column are skipped. Null where the weights add up to 0. NaN in either column
    makes the result NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> trades = pa.table({"t": [1, 2, 11], "price": [10.0, 20.0, 30.0], "shares": [3, 1, 5]})
    >>> tens = wr.events(trades, time="t").window(wr.Tumbling(10))
    >>> tens.agg(vwap=wr.weighted_mean("price", "shares"))["vwap"].to_pylist()
    [12.5, 30.0]
    """,
)

#: there are rows, first time, last time, last value, the sum of value times duration, the duration
Steps = tuple[bool, Any, Any, float, float, float]


def _lift_number(value: Any, time: Any) -> Steps:
    return True, time, time, float(value), 0.0, 0.0


def _lift_step(value: Any, time: Any) -> Steps:
    return _lift_number(value, ticks(time))


def _combine_steps(a: Steps, b: Steps) -> Steps:
    if not a[0]:
        return b
    if not b[0]:
        return a
    gap = elapsed(a[2], b[1])
    if gap == 0.0:  # the value held for no time, be it infinite or NaN
        return True, a[1], b[2], b[3], a[4] + b[4], a[5] + b[5]
    return True, a[1], b[2], b[3], a[4] + a[3] * gap + b[4], a[5] + gap + b[5]


def _step_mean(a: Steps) -> float:
    return a[3] if a[5] == 0.0 else a[4] / a[5]


def _no_steps(value: Any, time: Any) -> Steps:
    none: Any = 0.0 if time.kind == "f" else 0
    return False, none, none, 0.0, 0.0, 0.0


time_weighted_mean = Monoid(
    name="time_weighted_mean",
    lift=_lift_step,
    native_lift=_lift_number,
    moments=(1,),
    combine=_combine_steps,
    lower=_step_mean,
    identity=(False, 0, 0, 0.0, 0.0, 0.0),
    typed_identity=_no_steps,
    arity=(2, 2),
    result_type="float64",
    compiles_for="iuf",
    inputs=("value", "time"),
    doc="""The mean of the first column over time, where each value holds until the time of the next row;
    the second column has the times, numbers or timestamps, to the microsecond.

    The mean is over the time from the first row of the window to the last, so that the last value weighs
    nothing; if all rows are of one moment, the result is the last value. Rows with a null in either column
    are skipped, and without a row the result is null. NaN makes it NaN where it has held for a time.

    >>> import pyarrow as pa, windrow as wr
    >>> load = pa.table({"t": [0, 2, 3, 11], "load": [10.0, 40.0, 0.0, 7.0]})
    >>> tens = wr.events(load, time="t").window(wr.Tumbling(10))
    >>> tens.agg(usual=wr.time_weighted_mean("load", "t"))["usual"].to_pylist()
    [20.0, 7.0]
    """,
)
