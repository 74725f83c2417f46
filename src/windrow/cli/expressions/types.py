"""Types of expressions: Arrow's, for those that Spark has, and Spark's rules for two that meet.

The rules are those of Spark's ANSI mode, its default: whole numbers widen, a whole number and a float meet in
double, a decimal and a float in double, dates and timestamps in timestamps."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
from pyarrow import types as is_type

from windrow.cli.expressions.errors import only_spark
from windrow.cli.expressions.tree import Constant

__all__ = [
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LONG",
    "NTZ",
    "STRING",
    "TIMESTAMP",
    "as_spark_reads",
    "common_type",
    "constant_type",
    "decimal_of",
    "is_number",
    "is_time",
    "is_whole",
    "name_of",
]

BOOLEAN, STRING, DATE = pa.bool_(), pa.string(), pa.date32()
BYTE, SHORT, INT, LONG = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
TIMESTAMP, NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")
_WHOLE = (BYTE, SHORT, INT, LONG)
#: digits of a whole number as a decimal
_DIGITS = {BYTE: 3, SHORT: 5, INT: 10, LONG: 20}
_NAMES = {
    pa.null(): "void",
    BOOLEAN: "boolean",
    STRING: "string",
    DATE: "date",
    BYTE: "tinyint",
    SHORT: "smallint",
    INT: "int",
    LONG: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    TIMESTAMP: "timestamp",
    NTZ: "timestamp_ntz",
    pa.binary(): "binary",
}
_BY_NAME = {name: kind for kind, name in _NAMES.items()}
_UNSIGNED = {pa.uint8(): SHORT, pa.uint16(): INT, pa.uint32(): LONG}
_UNSIGNED |= {pa.uint64(): pa.decimal128(20, 0), pa.large_string(): STRING, pa.string_view(): STRING}


def name_of(kind: pa.DataType) -> str:
    """
    >>> name_of(pa.int64()), name_of(pa.decimal128(10, 2)), name_of(pa.timestamp("us", "UTC"))
    ('bigint', 'decimal(10,2)', 'timestamp')
    """
    if is_type.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES.get(kind, str(kind))


def as_spark_reads(kind: pa.DataType) -> pa.DataType:
    """The type that Spark gives a column of this Arrow type."""
    if is_type.is_dictionary(kind):
        return as_spark_reads(kind.value_type)
    if is_type.is_timestamp(kind):
        return NTZ if kind.tz is None else TIMESTAMP
    if is_type.is_date(kind):
        return DATE
    return _UNSIGNED.get(kind, kind)


def is_whole(kind: pa.DataType) -> bool:
    return kind in _WHOLE


def is_number(kind: pa.DataType) -> bool:
    return kind in _WHOLE or kind in (FLOAT, DOUBLE) or is_type.is_decimal(kind)


def is_time(kind: pa.DataType) -> bool:
    return kind in (DATE, TIMESTAMP, NTZ)


def constant_type(constant: Constant) -> pa.DataType:
    """
    >>> constant_type(Constant(Decimal("12.50"), "decimal"))
    Decimal128Type(decimal128(4, 2))
    """
    if isinstance(constant.value, Decimal):
        _, digits, exponent = constant.value.as_tuple()
        scale = -int(exponent)
        if scale < 0 or max(len(digits), scale) > 38:
            raise only_spark(f"the number {constant.value}")
        return pa.decimal128(max(len(digits), scale), scale)
    return _BY_NAME[constant.kind]


def decimal_of(kind: pa.DataType, constant: Constant | None = None) -> pa.DataType:
    """The decimal that a whole number becomes next to one; of a literal only its digits count."""
    if is_type.is_decimal(kind):
        return kind
    if constant is not None and constant.value is not None:
        return pa.decimal128(len(str(abs(int(constant.value)))), 0)
    return pa.decimal128(_DIGITS[kind], 0)


def common_type(left: pa.DataType, right: pa.DataType, where: str) -> pa.DataType:
    """The type in which both meet. ``where`` names the operation, for what only Spark converts.

    >>> common_type(pa.int32(), pa.float32(), "+")
    DataType(double)
    """
    if left == right or is_type.is_null(right):
        return left
    if is_type.is_null(left):
        return right
    for holds, meet in _MEETINGS:
        if holds(left) and holds(right):
            return meet(left, right)
    remedy = "cast one of them"
    raise only_spark(f"{where} of {name_of(left)} and {name_of(right)}", remedy)


def _numbers_meet(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if is_whole(left) and is_whole(right):
        return max(left, right, key=_WHOLE.index)
    if left in (FLOAT, DOUBLE) or right in (FLOAT, DOUBLE):
        return DOUBLE
    left, right = decimal_of(left), decimal_of(right)
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision > 38:
        raise only_spark(f"a decimal of {precision} digits")
    return pa.decimal128(precision, scale)


def _times_meet(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    return TIMESTAMP if TIMESTAMP in (left, right) else NTZ


_Meeting = tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, pa.DataType], pa.DataType]]
_MEETINGS: tuple[_Meeting, ...] = ((is_number, _numbers_meet), (is_time, _times_meet))
