"""Is any value true, are all of them?

A value is true as Python has it: numbers unless zero, text unless empty. NaN is not zero, hence true;
``nan="ignore"`` skips it. Without a value the result is null, as for SQL's bool_or and bool_and.

Cost: one operation on booleans a combine, compiled for numbers.

>>> import windrow as wr
>>> wr.swag.DABA(wr.any).roll([False, True, False, False], size=2)
[False, True, True, False]
>>> wr.swag.DABA(wr.all).roll([True, True, False, True], size=2)
[True, True, False, False]
"""

from __future__ import annotations

from typing import Any

from windrow.monoids.base import Monoid, itself

__all__ = ["all", "any"]


def _truth(value: Any) -> bool:
    return bool(value)


def _either(a: bool, b: bool) -> bool:
    return a or b


def _both(a: bool, b: bool) -> bool:
    return a and b


def _quantifier(name: str, combine: Any, identity: bool, doc: str) -> Monoid:
    return Monoid(
        name=name,
        lift=_truth,
        combine=combine,
        lower=itself,
        identity=identity,
        commutative=True,
        idempotent=True,
        selection=True,
        result_type="bool",
        compiles_for="biuf",
        doc=doc,
    )


any = _quantifier(
    "any",
    _either,
    False,
    """Whether a value of a column is true; numbers are true unless they are 0, text unless it is empty.

    Nulls are skipped, and without a value the result is null. NaN counts as true; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "dropped": [False, True, False]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(bad=wr.any("dropped"))["bad"].to_pylist()
    [True, False]
    """,
)
all = _quantifier(
    "all",
    _both,
    True,
    """Whether all values of a column are true; numbers are true unless they are 0, text unless it is empty.

    Nulls are skipped, and without a value the result is null. NaN counts as true; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "answered": [False, True, True]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(good=wr.all("answered"))["good"].to_pylist()
    [False, True]
    """,
)
