"""Sums and means in which old rows count less and less.

A row that is ``half_life`` older than the newest row of the window counts half, one of twice that age a
quarter. The partial keeps the time it is relative to; a combine moves both sides to the newer of their times.
That is commutative, since times, not positions, decide, and rows out of order do no harm.

Times are numbers in the unit of ``half_life``; where that is a duration, they are moments, or integer
microseconds. NaN in either input makes the result NaN. Infinities stay infinite however old they are.

Cost: two powers a combine, compiled for numbers. Error: a few roundings of each row's weight.
Source: Cormode, Shkapenyuk, Srivastava and Xu, Forward decay (ICDE 2009).

>>> import windrow as wr
>>> window = wr.swag.DABA(wr.exp_decay(half_life=10))
>>> window.insert(8.0, 0)
>>> window.insert(1.0, 10)
>>> window.query()
5.0
>>> wr.exp_decay("price", "seconds", half_life=60, mean=True)
exp_decay('price', 'seconds', half_life=60, mean=True)
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.clock import is_moment, microseconds_in, ticks
from windrow.monoids.required import without

__all__ = ["exp_decay"]

#: there are rows, the newest time, the sum of values and of weights as of then
Decayed = tuple[bool, Any, float, float]


def _lift(value: Any, time: Any) -> Decayed:
    return True, time, float(value), 1.0


def _lift_number(value: Any, time: Any) -> Decayed:
    if is_moment(time):
        raise TypeError(
            "the times are moments and half_life= is a number: give a duration, as in half_life='10d'"
        )
    return _lift(value, time)


def _lift_moment(value: Any, time: Any) -> Decayed:
    return _lift(value, ticks(time))


def _sum(a: Decayed) -> float:
    return a[2]


def _mean(a: Decayed) -> float:
    return a[2] / a[3]


def _make_exp_decay(half_life: Any, mean: bool = False) -> Monoid:
    is_duration = isinstance(half_life, (timedelta, str))
    length = microseconds_in(half_life, "half_life") if is_duration else half_life
    if isinstance(length, bool) or not isinstance(length, (int, float)) or not 0 < length < float("inf"):
        raise ValueError(
            f"half_life={half_life!r}: give a duration, as in half_life='10d', or a positive number in the "
            f"unit of the times"
        )

    def combine(a: Decayed, b: Decayed) -> Decayed:
        if not a[0]:
            return b
        if not b[0]:
            return a
        newest = a[1] if (a[1] >= b[1] or a[1] != a[1]) else b[1]
        left = 2.0 ** ((a[1] - newest) / length)
        right = 2.0 ** ((b[1] - newest) / length)
        # a weight that is too small for a float must not make NaN of infinity
        old = a[2] if (left == 0.0 and a[2] - a[2] != 0.0) else a[2] * left
        new = b[2] if (right == 0.0 and b[2] - b[2] != 0.0) else b[2] * right
        return True, newest, old + new, a[3] * left + b[3] * right

    return Monoid(
        name="exp_decay",
        lift=_lift_moment if is_duration else _lift_number,
        native_lift=_lift,
        moments=(1,) if is_duration else (),
        combine=combine,
        lower=_mean if mean else _sum,
        identity=(False, 0, 0.0, 0.0),
        commutative=True,
        arity=(2, 2),
        result_type="float64",
        make=_make_exp_decay,
        parameters={"half_life": half_life, "mean": mean},
        inputs=_INPUTS,
        doc=_DOC,
    )


_DOC = """The sum of a column, or with ``mean=True`` its mean, in which old rows count less and less.

    A row that is ``half_life`` older than the newest row of the window counts half, one of twice that age a
    quarter. The second column has the times: numbers in the unit of ``half_life``; where that is a duration,
    as in ``half_life="10d"``, timestamps. Rows with a null in either column are skipped, and without a row
    the result is null. NaN in either makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> load = pa.table({"t": [0, 10], "load": [8.0, 1.0]})
    >>> twenty = wr.events(load, time="t").window(wr.Tumbling(20))
    >>> twenty.agg(recent=wr.exp_decay("load", "t", half_life=10))["recent"].to_pylist()
    [5.0]
    """
_INPUTS = ("value", "time")
_REMEDY = (
    "exp_decay needs a half_life, a duration or a number in the unit of the times: "
    "exp_decay('value', 'time', half_life='10d')"
)

exp_decay = without(
    "half_life",
    _REMEDY,
    name="exp_decay",
    make=_make_exp_decay,
    identity=(False, 0, 0.0, 0.0),
    commutative=True,
    arity=(2, 2),
    inputs=_INPUTS,
    doc=_DOC,
)
