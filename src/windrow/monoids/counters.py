"""Counters that only rise, and start anew at 0: by how much, and how fast.

A value lower than the one before it means that the counter was reset in between, so that it has risen from 0
to the value; otherwise it has risen by the difference. ``increase`` is the sum of these steps between
neighbours, ``rate`` divides it by the time between the first and the last row. That is Prometheus'
``increase`` and ``rate`` without its extrapolation to the edges of the window. Both are sums over neighbours,
hence associative, and not commutative.

Results are float64; steps of integers are exact, so that large counters lose no digits.

Cost: a few operations a combine, compiled for numbers; times may be moments.

>>> import windrow as wr
>>> wr.swag.DABA(wr.increase).roll([10, 13, 2, 5], size=4)
[0.0, 3.0, 5.0, 8.0]
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.clock import elapsed, is_moment, microseconds_in, ticks

__all__ = ["increase", "rate"]

#: there are rows, the first value, the last value, the increase
Risen = tuple[bool, Any, Any, float]
#: there are rows, the first time, the last time, the first value, the last value, the increase
Rated = tuple[bool, Any, Any, Any, Any, float]


def _step(before: Any, after: Any) -> float:
    """By how much a counter has risen between two rows."""
    if after < before:
        return float(after)
    if (before < 0) != (after < 0):  # the difference may not fit 64 bits
        return float(after) - float(before)
    return float(after - before)


def _lift(value: Any) -> Risen:
    return True, value, value, 0.0


def _combine(a: Risen, b: Risen) -> Risen:
    if not a[0]:
        return b
    if not b[0]:
        return a
    return True, a[1], b[2], a[3] + _step(a[2], b[1]) + b[3]


def _lower(a: Risen) -> float:
    return a[3]


def _zero(dtype: Any) -> Any:
    return 0.0 if dtype.kind == "f" else 0


increase = Monoid(
    name="increase",
    lift=_lift,
    combine=_combine,
    lower=_lower,
    identity=(False, 0, 0, 0.0),
    typed_identity=lambda value: (False, _zero(value), _zero(value), 0.0),
    result_type="float64",
    compiles_for="iuf",
    doc="""By how much a counter has risen from the first row of the window to the last; a value lower than
    the one before it is a reset, after which it has risen from 0.

    Nulls are skipped, and without a value the result is null; with one it is 0. NaN makes it NaN while it is
    in the window and beside another value.

    >>> import pyarrow as pa, windrow as wr
    >>> served = pa.table({"t": [1, 2, 3, 11], "requests": [10, 13, 2, 5]})
    >>> tens = wr.events(served, time="t").window(wr.Tumbling(10))
    >>> tens.agg(more=wr.increase("requests"))["more"].to_pylist()
    [5.0, 0.0]
    """,
)


def _lift_rated(value: Any, time: Any) -> Rated:
    return True, time, time, value, value, 0.0


def _lift_number(value: Any, time: Any) -> Rated:
    if is_moment(time):
        raise TypeError("the times are moments and per= is a number: give a duration, as in per='1s'")
    return _lift_rated(value, time)


def _lift_moment(value: Any, time: Any) -> Rated:
    if not is_moment(time):
        raise TypeError(
            f"the times are numbers ({time!r}) and per= is a duration: give a number in the unit of the "
            f"times, as in per=60"
        )
    return _lift_rated(value, ticks(time))


def _combine_rated(a: Rated, b: Rated) -> Rated:
    if not a[0]:
        return b
    if not b[0]:
        return a
    return True, a[1], b[2], a[3], b[4], a[5] + _step(a[4], b[3]) + b[5]


def _units(per: Any) -> tuple[float, bool]:
    """How many ticks ``per`` is, and whether it is a duration."""
    if isinstance(per, (str, timedelta)):
        units, is_duration = float(microseconds_in(per, "per")), True
    else:
        is_number = isinstance(per, (int, float)) and not isinstance(per, bool)
        units, is_duration = float(per) if is_number else 0.0, False
    if not 0.0 < units < float("inf"):
        raise ValueError(
            f"per={per!r}: give a positive duration, as in per='1s', or where times are numbers a positive "
            f"number in their unit"
        )
    return units, is_duration


def _make_rate(per: Any = "1s") -> Monoid:
    units, is_duration = _units(per)

    def lower(a: Rated) -> float | None:
        took = elapsed(a[1], a[2])
        return None if took == 0.0 else a[5] / took * units

    return Monoid(
        name="rate",
        lift=_lift_moment if is_duration else _lift_number,
        native_lift=_lift_rated,
        moments=(1,) if is_duration else (),
        only_moments=is_duration,
        combine=_combine_rated,
        lower=lower,
        identity=(False, 0, 0, 0, 0, 0.0),
        typed_identity=lambda value, time: (False, *[_zero(time)] * 2, *[_zero(value)] * 2, 0.0),
        arity=(2, 2),
        result_type="float64",
        compiles_for="iuf",
        make=_make_rate,
        parameters={"per": per},
        inputs=("value", "time"),
        doc="""How fast a counter rises: its ``increase`` from the first row of the window to the last,
    over the time between these rows, in units of ``per``. The second column has the times.

    Where times are timestamps, to the microsecond, ``per`` is a duration; where they are numbers, it is a
    number in their unit. Null without two rows at different times. Rows with a null in either column are
    skipped. NaN makes the result NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> served = pa.table({"t": [1, 3, 5, 11], "requests": [10, 14, 2, 5]})
    >>> tens = wr.events(served, time="t").window(wr.Tumbling(10))
    >>> tens.agg(speed=wr.rate("requests", "t", per=1))["speed"].to_pylist()
    [1.5, None]
    >>> wr.rate("requests", "ts", per="1m")
    rate('requests', 'ts', per='1m')
    """,
    )


rate = _make_rate()
