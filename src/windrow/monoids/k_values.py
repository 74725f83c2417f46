"""The k largest, smallest, first or last values of a window, as lists.

``top_k`` and ``bottom_k`` sort: the largest first, the smallest first; equal values all count. ``first_k``
and ``last_k`` are in order of time. A window with fewer than k values gives what it has. NaN is the largest
for ``top_k`` and the smallest for ``bottom_k``, as it is for ``max`` and ``min``; for the others it is a
value.

Cost: partials hold up to k values, a combine is O(k).

>>> import windrow as wr
>>> wr.swag.DABA(wr.top_k(k=2)).roll([3, 1, 2, 5], size=3)
[[3], [3, 1], [3, 2], [5, 2]]
>>> wr.swag.DABA(wr.last_k(k=2)).roll([3, 1, 2, 5], size=3)
[[3], [3, 1], [1, 2], [2, 5]]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windrow.monoids.base import Monoid
from windrow.monoids.required import without

__all__ = ["bottom_k", "first_k", "last_k", "top_k"]

Values = tuple[Any, ...]


def _alone(value: Any) -> Values:
    return (value,)


def _nan_last(value: Any) -> tuple[bool, Any]:
    return value != value, value


def _nan_first(value: Any) -> tuple[bool, Any]:
    return value == value, value


def _largest(k: int) -> Callable[[Values, Values], Values]:
    def combine(a: Values, b: Values) -> Values:
        return tuple(sorted(a + b, key=_nan_last, reverse=True)[:k])

    return combine


def _smallest(k: int) -> Callable[[Values, Values], Values]:
    def combine(a: Values, b: Values) -> Values:
        return tuple(sorted(a + b, key=_nan_first)[:k])

    return combine


def _earliest(k: int) -> Callable[[Values, Values], Values]:
    def combine(a: Values, b: Values) -> Values:
        return a if len(a) >= k else (a + b)[:k]

    return combine


def _latest(k: int) -> Callable[[Values, Values], Values]:
    def combine(a: Values, b: Values) -> Values:
        return b if len(b) >= k else (a + b)[-k:]

    return combine


def _named(name: str, combine: Callable[[int], Any], commutative: bool, keeps: str, doc: str) -> Monoid:
    """The aggregate of this name, which still needs its k."""

    def make(k: Any) -> Monoid:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"k={k!r}: {name} needs a whole number of values, 1 or more")
        return Monoid(
            name=name,
            lift=_alone,
            combine=combine(k),
            lower=list,
            identity=(),
            commutative=commutative,
            compiles_for="",
            keeps=keeps,
            make=make,
            parameters={"k": k},
            doc=doc,
        )

    remedy = f"{name} needs k, how many values: {name}('len', 3)"
    return without("k", remedy, name=name, make=make, identity=(), commutative=commutative, doc=doc)


top_k = _named(
    "top_k",
    _largest,
    True,
    "largest values",
    """The k largest values of a column of numbers, times or text, as a list, the largest first.

    Equal values all count; with fewer than k values, there are fewer. Nulls are skipped, and without a value
    the result is null. NaN is the largest; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "len": [5, 9, 7, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(top=wr.top_k("len", 2))["top"].to_pylist()
    [[9, 7], [4]]
    """,
)
bottom_k = _named(
    "bottom_k",
    _smallest,
    True,
    "smallest values",
    """The k smallest values of a column of numbers, times or text, as a list, the smallest first.

    Equal values all count; with fewer than k values, there are fewer. Nulls are skipped, and without a value
    the result is null. NaN is the smallest; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "len": [5, 9, 7, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(low=wr.bottom_k("len", 2))["low"].to_pylist()
    [[5, 7], [4]]
    """,
)
first_k = _named(
    "first_k",
    _earliest,
    False,
    "first values",
    """The first k values of a column of any type, by time, then by ``order=``, as a list in that order.

    With fewer than k values, there are fewer. Nulls are skipped, and without a value the result is null. NaN
    is a value.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [3, 1, 2, 11], "who": ["cy", "ann", "bob", "ann"]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(who=wr.first_k("who", 2))["who"].to_pylist()
    [['ann', 'bob'], ['ann']]
    """,
)
last_k = _named(
    "last_k",
    _latest,
    False,
    "last values",
    """The last k values of a column of any type, by time, then by ``order=``, as a list in that order.

    With fewer than k values, there are fewer. Nulls are skipped, and without a value the result is null. NaN
    is a value.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [3, 1, 2, 11], "who": ["cy", "ann", "bob", "ann"]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(who=wr.last_k("who", 2))["who"].to_pylist()
    [['bob', 'cy'], ['ann']]
    """,
)
