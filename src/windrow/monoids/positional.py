"""Aggregates that keep values as they are, in window order: first, last, collect, collect_distinct, concat.

None of them is commutative: what they return depends on the order of the rows. NaN is a value like any other
here. The identity of first and last carries a flag, since any value may be the first one.

Cost: first and last O(1) a combine. The partials of the others grow with the window, so that a combine copies
both sides: O(n). Use them for small windows, or where the result is needed in full anyway.

>>> import windrow as wr
>>> wr.swag.DABA(wr.last).roll([3, 1, 2], size=2)
[3, 1, 2]
>>> wr.swag.DABA(wr.collect).roll([3, 1, 2], size=2)
[[3], [3, 1], [1, 2]]
>>> wr.swag.DABA(wr.collect_distinct).roll([3, 3, 2], size=3)
[[3], [3], [3, 2]]
>>> wr.swag.DABA(wr.concat(sep="-")).roll(["a", "b", "c"], size=2)
['a', 'a-b', 'b-c']
"""

from __future__ import annotations

import math
from typing import Any

from windrow.monoids.base import Monoid, itself
from windrow.monoids.hashable import check_hashable

__all__ = ["collect", "collect_distinct", "concat", "first", "last", "merge_distinct"]

#: (there is a value, the value)
Kept = tuple[bool, Any]


def _keep(value: Any) -> Kept:
    return True, value


def _earlier(a: Kept, b: Kept) -> Kept:
    return a if a[0] else b


def _later(a: Kept, b: Kept) -> Kept:
    return b if b[0] else a


def _kept(a: Kept) -> Any:
    return a[1]


def _nothing_kept(dtype: Any) -> Kept:
    return False, {"f": 0.0, "b": False}.get(dtype.kind, 0)


def _end(name: str, combine: Any, doc: str) -> Monoid:
    return Monoid(
        name=name,
        lift=_keep,
        combine=combine,
        lower=_kept,
        identity=(False, None),
        idempotent=True,
        selection=True,
        typed_identity=_nothing_kept,
        picks=0,
        doc=doc,
    )


first = _end(
    "first",
    _earlier,
    """The first value of a column of any type, by time, then by ``order=``.

    Nulls are skipped, so that it is the first known value; without one the result is null. NaN is a value;
    ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> trades = pa.table({"t": [2, 1, 11], "price": [9, 5, 4]})
    >>> wr.events(trades, time="t").window(wr.Tumbling(10)).agg(open=wr.first("price"))["open"].to_pylist()
    [5, 4]
    """,
)
last = _end(
    "last",
    _later,
    """The last value of a column of any type, by time, then by ``order=``.

    Nulls are skipped, so that it is the last known value; without one the result is null. NaN is a value;
    ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> trades = pa.table({"t": [2, 1, 11], "price": [9, 5, 4]})
    >>> wr.events(trades, time="t").window(wr.Tumbling(10)).agg(close=wr.last("price"))["close"].to_pylist()
    [9, 4]
    """,
)


def _alone(value: Any) -> tuple[Any, ...]:
    return (value,)


def _chain(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return a + b


collect = Monoid(
    name="collect",
    lift=_alone,
    combine=_chain,
    lower=list,
    identity=(),
    compiles_for="",
    keeps="list",
    doc="""All values of a column, as a list in order of time.

    Nulls are skipped; NaN is a value. Partials grow with the window: for small windows.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [2, 1, 11], "caller": ["bob", "ann", "ann"]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(who=wr.collect("caller"))["who"].to_pylist()
    [['ann', 'bob'], ['ann']]
    """,
)


def _alone_hashable(value: Any) -> tuple[Any, ...]:
    check_hashable("collect_distinct", value)
    return (value,)


def merge_distinct(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    # one object stands for every NaN: a dict finds it by identity, although it does not equal itself
    return tuple(dict.fromkeys([math.nan if v != v else v for v in (*a, *b)]))


collect_distinct = Monoid(
    name="collect_distinct",
    lift=_alone_hashable,
    combine=merge_distinct,
    lower=list,
    identity=(),
    idempotent=True,
    compiles_for="",
    keeps="distinct",
    doc="""The distinct values of a column, as a list in the order of their first appearance.

    Nulls are skipped; all NaNs are one value. Partials grow with the window: for few distinct values, or use
    ``approx_distinct`` to count them.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3], "caller": ["bob", "ann", "bob"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(who=wr.collect_distinct("caller"))["who"].to_pylist()
    [['bob', 'ann']]
    """,
)


def _text(value: Any) -> Any:
    if not isinstance(value, (str, bytes)):
        raise TypeError(
            f"concat joins text or bytes; got a {type(value).__name__}: {value!r}. Cast the column to text"
        )
    return value


def _joined(a: Any, b: Any) -> Any:
    # an empty text is the identity of bytes, too
    if a == "":
        return b
    return a if b == "" else a + b


def _make_concat(sep: str | bytes = "") -> Monoid:
    if not isinstance(sep, (str, bytes)):
        raise TypeError(f"sep={sep!r}: the separator of concat is text, or bytes for columns of bytes")

    def separated(a: Any, b: Any) -> Any:
        if a is None:
            return b
        return a if b is None else a + sep + b

    return Monoid(
        name="concat",
        lift=_text,
        combine=separated if sep else _joined,
        lower=itself,
        identity=None if sep else "",
        compiles_for="",
        keeps="text",
        make=_make_concat,
        parameters={"sep": sep} if sep else {},
        doc="""The texts (or bytes) of a column in order of time, with ``sep`` between them.

    Nulls are skipped, and without a value the result is null. Partials grow with the window: for small
    windows.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "caller": ["ann", "bob", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(who=wr.concat("caller", sep=", "))["who"].to_pylist()
    ['ann, bob', 'cy']
    """,
    )


concat = _make_concat()
