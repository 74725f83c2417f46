"""In which share of the rows is a value true?

The partial is a pair of counts, of true values and of all, so that it is exact and can be subtracted from.
A value is true as ``any`` and ``all`` have it: numbers unless zero, text unless empty. NaN is not zero, hence
true.

Cost: two additions a combine, compiled for booleans and numbers.

>>> import windrow as wr
>>> wr.swag.DABA(wr.share).roll([False, True, True, None], size=2)
[0.0, 0.5, 1.0, 1.0]
"""

from __future__ import annotations

from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.spark_form import SparkForm

__all__ = ["share"]

#: (true values, values)
Counts = tuple[int, int]


def _lift(value: Any) -> Counts:
    return (1 if bool(value) else 0), 1


def _combine(a: Counts, b: Counts) -> Counts:
    return a[0] + b[0], a[1] + b[1]


def _inverse(total: Counts, oldest: Counts) -> Counts:
    return total[0] - oldest[0], total[1] - oldest[1]


def _lower(a: Counts) -> float:
    return a[0] / a[1]


share = Monoid(
    name="share",
    lift=_lift,
    combine=_combine,
    lower=_lower,
    identity=(0, 0),
    inverse=_inverse,
    commutative=True,
    result_type="float64",
    spark=SparkForm(
        members=("count_if({x} <> 0)", "count({x})"), result="IF({1} > 0, {0} / {1}, NULL)", kinds="biuf"
    ),
    doc="""The share of a column's values that are true, from 0 to 1; numbers are true unless they are 0, text
    unless it is empty.

    Nulls are skipped: it is the share among the known values, and without one the result is null. NaN counts
    as true; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "dropped": [False, True, None, False]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(bad=wr.share("dropped"))["bad"].to_pylist()
    [0.5, 0.0]
    """,
)
