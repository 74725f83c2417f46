"""The most frequent value of a window.

The partial counts every distinct value, so that the result is exact. Of values that occur equally often the
smallest is taken, as the first of pandas' ``mode()`` is; it does not depend on the order of the rows. All
NaNs are one value, larger than the others.

Cost: a combine is O(distinct values of both sides). Queries do not combine
(:mod:`windrow.partials.value_aggregates.mode`).

>>> import windrow as wr
>>> wr.swag.DABA(wr.mode).roll(["b", "a", "b", "a", "a"], size=3)
['b', 'a', 'b', 'a', 'a']
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.hashable import check_hashable

__all__ = ["mode"]

#: how often each value occurs
Counts = dict[Any, int]


def _lift(value: Any) -> Counts:
    check_hashable("mode", value)
    return {_key(value): 1}


def _key(value: Any) -> Any:
    # one object stands for every NaN: a dict finds it by identity, although it does not equal itself
    return math.nan if value != value else value


def _combine(a: Counts, b: Counts) -> Counts:
    if not a:
        return b
    if not b:
        return a
    found = {_key(value): count for value, count in a.items()}
    for value, count in b.items():
        key = _key(value)
        found[key] = found.get(key, 0) + count
    return found


def _nan_last(value: Any) -> tuple[bool, Any]:
    return value != value, value


def _lower(a: Counts) -> Any:
    most = max(a.values())
    return min((value for value, count in a.items() if count == most), key=_nan_last)


mode = Monoid(
    name="mode",
    lift=_lift,
    combine=_combine,
    lower=_lower,
    identity={},
    commutative=True,
    compiles_for="",
    keeps="most frequent",
    doc="""The most frequent value of a column of any type; of several, the smallest.

    Nulls are skipped, and without a value the result is null. All NaNs are one value, larger than the others.
    Partials grow with the number of distinct values.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "who": ["ann", "bob", "bob", "cy"]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(often=wr.mode("who"))["often"].to_pylist()
    ['bob', 'cy']
    """,
)
