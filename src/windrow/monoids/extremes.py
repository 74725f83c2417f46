"""Largest and smallest: max, min, how often, where, and how far apart ([RA] table 1).

NaN is larger than everything for ``max`` and smaller than everything for ``min``, so that it comes through
wherever it is and is gone with its row. Ties go to the first in window order: max_by and arg_min are not
commutative, on purpose.

``identity`` is an infinity that compares with anything that can be ordered (numbers, text, dates); native
partials use the infinity or the extreme integer of their type instead.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from windrow.monoids.base import Monoid, itself
from windrow.monoids.decimals import exactly
from windrow.monoids.spark_form import SparkForm
from windrow.monoids.stored_types import stored_as

__all__ = [
    *("M4", "arg_max", "arg_min", "m4", "max", "max_by", "max_count", "min", "min_by", "min_count", "range"),
]


@stored_as("lowest", lambda _: None, lambda _: LOWEST)
class _Lowest(float):
    """Minus infinity that is below text, dates and all else, too."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return super().__lt__(other) if isinstance(other, (int, float)) else True

    def __gt__(self, other: object) -> bool:
        return super().__gt__(other) if isinstance(other, (int, float)) else False

    __hash__ = float.__hash__


@stored_as("highest", lambda _: None, lambda _: HIGHEST)
class _Highest(float):
    """Infinity that is above text, dates and all else, too."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return super().__lt__(other) if isinstance(other, (int, float)) else False

    def __gt__(self, other: object) -> bool:
        return super().__gt__(other) if isinstance(other, (int, float)) else True

    __hash__ = float.__hash__


LOWEST: _Lowest = _Lowest(-math.inf)
HIGHEST: _Highest = _Highest(math.inf)


def _native_lowest(dtype: Any) -> Any:
    return {"f": -math.inf, "b": False}.get(dtype.kind, -(2**63))


def _native_highest(dtype: Any) -> Any:
    return {"f": math.inf, "b": True}.get(dtype.kind, 2**63 - 1)


# One test after the other, the seldom one last: compiled, these have the shortest chain from a to the result.
def _larger(a: Any, b: Any) -> Any:
    if a > b:
        return a
    return b if a == a else a


def _smaller(a: Any, b: Any) -> Any:
    if a < b:
        return a
    return b if a == a else a


def _extreme(name: str, combine: Any, identity: Any, native: Any, spark: SparkForm, doc: str) -> Monoid:
    return Monoid(
        name=name,
        lift=itself,
        combine=combine,
        lower=itself,
        identity=identity,
        commutative=True,
        idempotent=True,
        selection=True,
        typed_identity=native,
        is_extreme=True,
        spark=spark,
        doc=doc,
    )


max = _extreme(
    "max",
    _larger,
    LOWEST,
    _native_lowest,
    SparkForm(members=("max({x})",), result="{0}"),  # NaN is the largest number for Spark
    """The largest value of a column of numbers, times or text.

    Nulls are skipped, and without a value the result is null. NaN makes it NaN while it is in the window;
    ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(longest=wr.max("len"))["longest"].to_pylist()
    [9, 4]
    """,
)
min = _extreme(
    "min",
    _smaller,
    HIGHEST,
    _native_highest,
    SparkForm(
        members=("min({x})",),
        members_of_floats=("IF(max(isnan({x})), DOUBLE('nan'), min({x}))",),
        result="{0}",
    ),
    """The smallest value of a column of numbers, times or text.

    Nulls are skipped, and without a value the result is null. NaN makes it NaN while it is in the window;
    ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(least=wr.min("len"))["least"].to_pylist()
    [5, 4]
    """,
)


def _counted(value: Any) -> tuple[Any, int]:
    return value, 1


def _times(a: tuple[Any, int]) -> int:
    return a[1]


def _larger_counted(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a[0], a[1] + b[1]
    return a if (a[0] > b[0] or a[0] != a[0]) else b


def _smaller_counted(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    if a[0] == b[0] or (a[0] != a[0] and b[0] != b[0]):
        return a[0], a[1] + b[1]
    return a if (a[0] < b[0] or a[0] != a[0]) else b


def _counted_extreme(name: str, combine: Any, identity: Any, native: Any, doc: str) -> Monoid:
    return Monoid(
        name=name,
        lift=_counted,
        combine=combine,
        lower=_times,
        identity=(identity, 0),
        commutative=True,
        typed_identity=lambda dtype: (native(dtype), 0),
        doc=doc,
    )


max_count = _counted_extreme(
    "max_count",
    _larger_counted,
    LOWEST,
    _native_lowest,
    """How often the largest value of a column occurs.

    Nulls are skipped, and without a value the result is null. Where there are NaNs, they are counted;
    ``nan="ignore"`` skips them.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "len": [9, 5, 9, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(ties=wr.max_count("len"))["ties"].to_pylist()
    [2, 1]
    """,
)
min_count = _counted_extreme(
    "min_count",
    _smaller_counted,
    HIGHEST,
    _native_highest,
    """How often the smallest value of a column occurs.

    Nulls are skipped, and without a value the result is null. Where there are NaNs, they are counted;
    ``nan="ignore"`` skips them.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 3, 11], "len": [5, 9, 5, 4]})
    >>> wr.events(calls, time="t").window(wr.Tumbling(10)).agg(ties=wr.min_count("len"))["ties"].to_pylist()
    [2, 1]
    """,
)

# (has a row, key, argument): without the flag no key could be an identity, since a row may hold the extreme
# key itself
Arg = tuple[bool, Any, Any]


def _with_argument(key: Any, argument: Any) -> Arg:
    return True, key, argument


def _argument(a: Arg) -> Any:
    return a[2]


def _first_larger(a: Arg, b: Arg) -> Arg:
    if not b[0]:
        return a
    return b if (not a[0] or b[1] > a[1] or (b[1] != b[1] and a[1] == a[1])) else a


def _first_smaller(a: Arg, b: Arg) -> Arg:
    if not b[0]:
        return a
    return b if (not a[0] or b[1] < a[1] or (b[1] != b[1] and a[1] == a[1])) else a


def _zero(dtype: Any) -> Any:
    return {"f": 0.0, "b": False}.get(dtype.kind, 0)


def _by(value: Any, key: Any) -> Arg:
    return True, key, value


def _row_of_extreme(name: str, combine: Any, doc: str, value_first: bool = False) -> Monoid:
    """Make the aggregate that returns one column of the row where another is extreme; ``value_first``: the
    column that is returned comes first."""

    def identity(first: Any, second: Any) -> Arg:
        key, value = (second, first) if value_first else (first, second)
        return False, _zero(key), _zero(value)

    return Monoid(
        name=name,
        lift=_by if value_first else _with_argument,
        combine=combine,
        lower=_argument,
        identity=(False, None, None),
        selection=True,
        idempotent=True,
        arity=(2, 2),
        typed_identity=identity,
        inputs=("value", "by") if value_first else ("column", "value"),
        keyword_inputs=0 if value_first else 1,
        picks=0 if value_first else 1,
        doc=doc,
    )


max_by = _row_of_extreme(
    "max_by",
    _first_larger,
    """Return ``value`` of the row where ``by`` is largest; of several such rows, the first.

    The order of the columns is that of Spark, DuckDB and ClickHouse. ``value`` may be of any type. Rows with
    a null in either column are skipped, and without a row the result is null. NaN in ``by`` counts as the
    largest, and in ``value`` it is a value; ``nan="ignore"`` skips rows with NaN in either.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4], "caller": ["ann", "bob", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(who=wr.max_by("caller", "len"))["who"].to_pylist()
    ['bob', 'cy']
    """,
    value_first=True,
)
min_by = _row_of_extreme(
    "min_by",
    _first_smaller,
    """Return ``value`` of the row where ``by`` is smallest; of several such rows, the first.

    The order of the columns is that of Spark, DuckDB and ClickHouse. ``value`` may be of any type. Rows with
    a null in either column are skipped, and without a row the result is null. NaN in ``by`` counts as the
    smallest, and in ``value`` it is a value; ``nan="ignore"`` skips rows with NaN in either.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4], "caller": ["ann", "bob", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(who=wr.min_by("caller", "len"))["who"].to_pylist()
    ['ann', 'cy']
    """,
    value_first=True,
)


arg_max = _row_of_extreme(
    "arg_max",
    _first_larger,
    """Return ``value`` of the row where ``column`` is largest; of several such rows, the first.
    :data:`max_by` is the same with the columns in the order of Spark and DuckDB.

    ``value`` may be of any type. Rows with a null in either column are skipped, and without a row the
    result is null. NaN in ``column`` counts as the largest, and in ``value`` it is a value;
    ``nan="ignore"`` skips rows with NaN in either.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4], "caller": ["ann", "bob", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(who=wr.arg_max("len", value="caller"))["who"].to_pylist()
    ['bob', 'cy']
    """,
)
arg_min = _row_of_extreme(
    "arg_min",
    _first_smaller,
    """Return ``value`` of the row where ``column`` is smallest; of several such rows, the first.
    :data:`min_by` is the same with the columns in the order of Spark and DuckDB.

    ``value`` may be of any type. Rows with a null in either column are skipped, and without a row the
    result is null. NaN in ``column`` counts as the smallest, and in ``value`` it is a value;
    ``nan="ignore"`` skips rows with NaN in either.

    >>> import pyarrow as pa, windrow as wr
    >>> calls = pa.table({"t": [1, 2, 11], "len": [5, 9, 4], "caller": ["ann", "bob", "cy"]})
    >>> tens = wr.events(calls, time="t").window(wr.Tumbling(10))
    >>> tens.agg(who=wr.arg_min("len", value="caller"))["who"].to_pylist()
    ['ann', 'cy']
    """,
)


def _both(value: Any) -> tuple[Any, Any]:
    return value, value


def _both_exactly(value: Any) -> tuple[Any, Any]:
    return _both(exactly(value))


def _apart(a: tuple[Any, Any]) -> Any:
    return a[1] - a[0]


def _wider(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return _smaller(a[0], b[0]), _larger(a[1], b[1])


range = Monoid(
    name="range",
    lift=_both_exactly,
    native_lift=_both,
    combine=_wider,
    lower=_apart,
    identity=(HIGHEST, LOWEST),
    commutative=True,
    idempotent=True,
    typed_identity=lambda dtype: (_native_highest(dtype), _native_lowest(dtype)),
    integer_results=True,
    decimal_gain=(1, 0),
    compiles_for="f",
    doc="""The largest value minus the smallest.

    Nulls are skipped, and without a value the result is null. NaN makes it NaN while it is in the window.

    >>> import pyarrow as pa, windrow as wr
    >>> rooms = pa.table({"t": [1, 2, 11], "celsius": [19.5, 23.0, 20.0]})
    >>> wr.events(rooms, time="t").window(wr.Tumbling(10)).agg(span=wr.range("celsius"))["span"].to_pylist()
    [3.5, 0.0]
    """,
)


@stored_as("m4", tuple, lambda plain: M4(*plain))
class M4(NamedTuple):
    """What a line chart needs of the rows that fall on one pixel column."""

    first: Any
    last: Any
    min: Any
    max: Any


_M4 = tuple[bool, Any, Any, Any, Any]


def _m4_lift(value: Any) -> _M4:
    return True, value, value, value, value


def _m4_combine(a: _M4, b: _M4) -> _M4:
    if not a[0]:
        return b
    if not b[0]:
        return a
    return True, a[1], b[2], _smaller(a[3], b[3]), _larger(a[4], b[4])


def _m4_lower(a: _M4) -> M4:
    return M4(a[1], a[2], a[3], a[4])


m4 = Monoid(
    name="m4",
    lift=_m4_lift,
    combine=_m4_combine,
    lower=_m4_lower,
    identity=(False, None, None, None, None),
    idempotent=True,
    typed_identity=lambda dtype: (False, _zero(dtype), _zero(dtype), _zero(dtype), _zero(dtype)),
    doc="""The first, last, smallest and largest value, as a struct: what a line chart needs of the rows that
    fall on one column of pixels.

    Nulls are skipped, and without a value the result is null. NaN comes through as the smallest and the
    largest value; ``nan="ignore"`` skips it.

    >>> import pyarrow as pa, windrow as wr
    >>> load = pa.table({"t": [1, 2, 3], "load": [5, 9, 4]})
    >>> wr.events(load, time="t").window(wr.Tumbling(10)).agg(line=wr.m4("load"))["line"].to_pylist()
    [{'first': 5, 'last': 4, 'min': 4, 'max': 9}]
    """,
)
