"""The types of results as Spark can hold them; which types results have, every engine agrees on
(:mod:`windrow.partials.result_types`)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.monoids.base import Aggregate
from windrow.partials.result_types import planned_type

__all__ = ["result_type", "storable"]

_DIGITS = 38


def result_type(aggregate: Aggregate, schema: pa.Schema) -> Any:
    """The Arrow type of an aggregate's results over columns of this schema. A lazy DataFrame needs it at
    once.

    >>> import windrow as wr
    >>> schema = pa.schema({"n": pa.int32(), "s": pa.string()})
    >>> [result_type(a, schema) for a in (wr.sum("n"), wr.mean("n"), wr.last("s"), wr.count())]
    [DataType(int64), DataType(double), DataType(string), DataType(int64)]
    """
    return storable(planned_type(aggregate, schema))


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
