"""The number of distinct values, exactly.

A partial is the distinct values: it grows with them. ``approx_distinct`` counts with a small sketch.

>>> import windrow as wr
>>> wr.swag.DABA(wr.count_distinct).roll(["a", "b", "a"], size=2)
[1, 2, 2]
"""

from __future__ import annotations

from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.hashable import check_hashable
from windrow.monoids.positional import merge_distinct

__all__ = ["count_distinct"]


def _alone(value: Any) -> tuple[Any, ...]:
    check_hashable("count_distinct", value)
    return (value,)


def _same(a: tuple[Any, ...], b: tuple[Any, ...], largest: float) -> bool:
    """The same values, in any order; for the laws."""
    return len(a) == len(b) == len(merge_distinct(a, b))


count_distinct = Monoid(
    name="count_distinct",
    lift=_alone,
    combine=merge_distinct,
    lower=len,
    identity=(),
    commutative=True,
    idempotent=True,
    empty=0,
    result_type="int64",
    compiles_for="",
    keeps="distinct count",
    equal=_same,
    doc="""How many distinct values a column has in the window, exactly.

    An operator keeps the distinct values for it; ``approx_distinct`` keeps a sketch of a fixed size. Nulls
    are skipped, and without a value the result is 0. All NaNs are one value.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "caller": ["ann", "bob", "ann", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(callers=wr.count_distinct("caller"))["callers"].to_pylist()
    [2, 1]
    """,
)
