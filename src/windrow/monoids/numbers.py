"""Counts, sums and means ([RA] table 1).

Partials are as small as they can be, since algorithms that never subtract need nothing more: a sum is one
number. Where an inverse is asked for (SubtractOnEvict), the ``group`` form takes over, which neither drifts
nor keeps NaN. Integers stay integers: plain sums are unbounded, native ones are used only when 64 bits
provably suffice.
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid, itself
from windrow.monoids.compensated import ZERO, ExactSum, exact, minus, plus, rounded
from windrow.monoids.decimals import exactly
from windrow.monoids.spark_form import SparkForm

__all__ = ["count", "geo_mean", "mean", "product", "sum"]


def _add(a: Any, b: Any) -> Any:
    return a + b


def _subtract(total: Any, oldest: Any) -> Any:
    return total - oldest


def _one(*_: Any) -> int:
    return 1


count = Monoid(
    name="count",
    lift=_one,
    combine=_add,
    lower=itself,
    identity=0,
    inverse=_subtract,
    commutative=True,
    empty=0,
    arity=(1, 1),
    result_type="int64",
    counts_rows=True,
    spark=SparkForm(members=("count({x})",), result="{0}", kinds="biuf"),
    doc="""How many rows there are; with a column, in how many of them it is not null.

    NaN counts as a value, unless ``nan="ignore"``. A window without rows counts 0.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, None, 4]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(rows=wr.count(), known=wr.count("len")).select(["rows", "known"]).to_pylist()
    [{'rows': 2, 'known': 1}, {'rows': 1, 'known': 1}]
    """,
)


def _exact_lift(value: Any) -> ExactSum:
    return exact(exactly(value))


_exact_sum = Monoid(
    name="sum",
    lift=_exact_lift,
    native_lift=exact,
    combine=plus,
    lower=rounded,
    identity=ZERO,
    inverse=minus,
    commutative=True,
    adds_integers=True,
    compiles_for="f",
)

sum = Monoid(
    name="sum",
    lift=exactly,
    native_lift=itself,
    combine=_add,
    lower=itself,
    identity=0,
    commutative=True,
    adds_integers=True,
    integer_results=True,
    decimal_gain=(10, 0),
    spark=SparkForm(members=("sum({x})",), result="{0}"),
    group=_exact_sum,
    to_group=exact,
    doc="""The sum of a column of numbers; for text use ``concat``. Sums of integers are exact.

    Nulls are skipped, and without a value the sum is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(total=wr.sum("len"))["total"].to_pylist()
    [14, 4]
    """,
)


def _multiply(a: Any, b: Any) -> Any:
    return a * b


product = Monoid(
    name="product",
    lift=exactly,
    native_lift=itself,
    combine=_multiply,
    lower=itself,
    identity=1,
    commutative=True,
    multiplies_integers=True,
    integer_results=True,
    decimal_gain=(38, 0),
    compiles_for="f",
    doc="""The product of a column of numbers.

    Nulls are skipped, and without a value the product is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> growth = pa.table({"t": [1, 2, 11], "factor": [2.0, 3.0, 5.0]})
    >>> wr.events(growth, time="t").window(wr.Tumbling(10)).agg(p=wr.product("factor"))["p"].to_pylist()
    [6.0, 5.0]
    """,
)


def _mean_lift(value: Any) -> tuple[Any, int]:
    return exactly(value), 1


def _mean_lift_number(value: Any) -> tuple[Any, int]:
    return value, 1


def _mean_combine(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    return a[0] + b[0], a[1] + b[1]


def _mean_lower(a: tuple[Any, int]) -> Any:
    return a[0] / a[1]


ExactMean = tuple[Any, Any, int, int, int, int]


def _exact_mean_lift(value: Any) -> ExactMean:
    return (*_exact_lift(value), 1)


def _sum_of(a: ExactMean) -> ExactSum:
    return a[0], a[1], a[2], a[3], a[4]


def _exact_mean_of(a: tuple[Any, int]) -> ExactMean:
    return (*exact(a[0]), a[1])


def _exact_mean_combine(a: ExactMean, b: ExactMean) -> ExactMean:
    return (*plus(_sum_of(a), _sum_of(b)), a[5] + b[5])


def _exact_mean_inverse(total: ExactMean, oldest: ExactMean) -> ExactMean:
    return (*minus(_sum_of(total), _sum_of(oldest)), total[5] - oldest[5])


def _exact_mean_lower(a: ExactMean) -> Any:
    return rounded(_sum_of(a)) / a[5]


mean = Monoid(
    name="mean",
    lift=_mean_lift,
    native_lift=_mean_lift_number,
    combine=_mean_combine,
    lower=_mean_lower,
    identity=(0, 0),
    commutative=True,
    adds_integers=True,
    decimal_gain=(4, 4),
    spark=SparkForm(members=("sum({x})", "count({x})"), result="IF({1} > 0, DOUBLE({0}) / {1}, NULL)"),
    group=Monoid(
        name="mean",
        lift=_exact_mean_lift,
        combine=_exact_mean_combine,
        lower=_exact_mean_lower,
        identity=(*ZERO, 0),
        inverse=_exact_mean_inverse,
        commutative=True,
        compiles_for="",
    ),
    to_group=_exact_mean_of,
    doc="""The arithmetic mean of a column of numbers.

    Nulls are skipped, and without a value the mean is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(usual=wr.mean("len"))["usual"].to_pylist()
    [7.0, 4.0]
    """,
)


def _logarithm(value: Any) -> float:
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else math.nan


def _geo_lift(value: Any) -> tuple[float, int]:
    return _logarithm(value), 1


def _geo_lower(a: tuple[float, int]) -> float:
    return math.exp(a[0] / a[1])


def _exact_geo_lift(value: Any) -> ExactMean:
    return (*exact(_logarithm(value)), 1)


def _exact_geo_lower(a: ExactMean) -> float:
    return math.exp(_exact_mean_lower(a))


geo_mean = Monoid(
    name="geo_mean",
    lift=_geo_lift,
    combine=_mean_combine,
    lower=_geo_lower,
    identity=(0.0, 0),
    commutative=True,
    group=Monoid(
        name="geo_mean",
        lift=_exact_geo_lift,
        combine=_exact_mean_combine,
        lower=_exact_geo_lower,
        identity=(*ZERO, 0),
        inverse=_exact_mean_inverse,
        commutative=True,
        compiles_for="",
    ),
    to_group=_exact_mean_of,
    doc="""The geometric mean of a column of numbers: 0 if a value is 0, NaN if one is negative.

    Nulls are skipped, and without a value the mean is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> growth = pa.table({"t": [1, 2, 11], "factor": [0.0, 3.0, 1.0]})
    >>> wr.events(growth, time="t").window(wr.Tumbling(10)).agg(m=wr.geo_mean("factor"))["m"].to_pylist()
    [0.0, 1.0]
    """,
)
