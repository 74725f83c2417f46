"""Spark's types and Arrow's, and the types of results before anything runs.

A lazy DataFrame needs its schema at once. What an aggregate gives is known from its own declaration, from the
types that its native form has, or from one made-up row of the right types that goes through it; a user's
aggregate for which none of these answers must say its ``result_type``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.compile.native import native
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.inputs import is_extreme_moment, native_inputs
from windrow.partials.picked import picked_input
from windrow.partials.results import array_of, result_array
from windrow.rows.columns import plain_type

__all__ = ["result_type", "storable"]

_DIGITS = 38
_MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def result_type(aggregate: Aggregate, schema: pa.Schema) -> Any:
    """The Arrow type of an aggregate's results over columns of this schema.

    >>> import windrow as wr
    >>> schema = pa.schema({"n": pa.int32(), "s": pa.string()})
    >>> [result_type(a, schema) for a in (wr.sum("n"), wr.mean("n"), wr.last("s"), wr.count())]
    [DataType(int64), DataType(double), DataType(string), DataType(int64)]
    """
    if not aggregate.columns:
        return pa.int64()
    kinds = [plain_type(schema.field(name).type) for name in aggregate.columns]
    monoid = aggregate.monoid
    declared = _declared(monoid, kinds)
    if declared is not None:
        return storable(declared)
    arrays = [pa.nulls(0, kind) for kind in kinds]
    columns = native_inputs(monoid, arrays) if monoid.compiles_for and monoid.wide is None else None
    form = None if columns is None else native(monoid, columns.dtypes)
    if form is not None:
        return storable(array_of(np.empty(0, form.layout.result_dtype), None, monoid).type)
    return storable(_tried(aggregate, kinds))


def _declared(monoid: Monoid, kinds: list[Any]) -> Any:
    if monoid.result_type is not None:
        given = monoid.result_type
        return pa.type_for_alias(given) if isinstance(given, str) else given
    picked = picked_input(monoid)
    if picked is not None:
        return kinds[picked]
    return kinds[0] if is_extreme_moment(monoid, pa.nulls(0, kinds[0])) else None


def _decimal(monoid: Monoid, kind: Any) -> Any:
    """As Spark has it: sums gain ten digits, means four behind the point. A user's own may need all."""
    more, behind = monoid.decimal_gain
    return pa.decimal128(min(_DIGITS, kind.precision + more), min(_DIGITS, kind.scale + behind))


def _tried(aggregate: Aggregate, kinds: list[Any]) -> Any:
    """The type of what comes out for two made-up rows."""
    monoid = aggregate.monoid
    over = ", ".join(map(str, kinds))
    try:
        lifted = monoid.lift(*(sample(kind) for kind in kinds))
        found = result_array(monoid, [monoid.lower(monoid.combine(lifted, lifted))]).type
    except Exception as error:
        if monoid.builtin:
            raise TypeError(f"{aggregate!r} does not work on {over}: {error}") from error
        raise TypeError(
            f"the type of {aggregate!r} over {over} is not known ({type(error).__name__}: {error}): "
            f"give result_type= to wr.monoid(...), such as result_type='string'"
        ) from error
    if pa.types.is_null(found):
        raise TypeError(
            f"the type of {aggregate!r} is not known: give result_type= to wr.monoid(...), such as 'float64'"
        )
    decimals = [kind for kind in kinds if pa.types.is_decimal(kind)]
    return _with_decimals(found, _decimal(monoid, decimals[0])) if decimals else found


def _with_decimals(kind: Any, decimal: Any) -> Any:
    """The type with this decimal in place of those that were inferred from a value."""
    if pa.types.is_decimal(kind):
        return decimal
    if pa.types.is_list(kind):
        return pa.list_(_with_decimals(kind.value_type, decimal))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _with_decimals(f.type, decimal)) for f in kind])
    return kind


_SAMPLES: list[tuple[Callable[[Any], bool], Callable[[Any], Any]]] = [
    (pa.types.is_boolean, lambda kind: True),
    (pa.types.is_integer, lambda kind: 1),
    (pa.types.is_floating, lambda kind: 1.5),
    (pa.types.is_decimal, lambda kind: Decimal(1).scaleb(-kind.scale)),
    (pa.types.is_string, lambda kind: "a"),
    (pa.types.is_binary, lambda kind: b"a"),
    (pa.types.is_date, lambda kind: _MOMENT.date()),
    (pa.types.is_timestamp, lambda kind: _MOMENT if kind.tz else _MOMENT.replace(tzinfo=None)),
    (pa.types.is_duration, lambda kind: dt.timedelta(seconds=1)),
    (pa.types.is_list, lambda kind: [sample(kind.value_type)]),
    (pa.types.is_map, lambda kind: [(sample(kind.key_type), sample(kind.item_type))]),
    (pa.types.is_struct, lambda kind: {field.name: sample(field.type) for field in kind}),
]


def sample(kind: Any) -> Any:
    """A value of an Arrow type, as Python has it.

    >>> sample(pa.list_(pa.int64()))
    [1]
    """
    for matches, make in _SAMPLES:
        if matches(kind):
            return make(kind)
    raise TypeError(f"no value of type {kind} can be made up")


def storable(kind: Any) -> Any:
    """The type with which Spark can hold it: signed integers, plain text, decimals of 38 digits."""
    if pa.types.is_unsigned_integer(kind):
        return pa.decimal128(20, 0) if kind.bit_width == 64 else pa.int64()
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(kind.precision, _DIGITS), min(kind.scale, _DIGITS))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(storable(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, storable(field.type)) for field in kind])
    return kind
