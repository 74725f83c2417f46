"""Comparisons as Spark has them: NaN equals itself and is above all numbers, 0.0 equals -0.0, text is ordered
by its bytes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions.casts import cast, widened
from windrow.cli.expressions.errors import ExpressionError, ValueRefused, only_spark
from windrow.cli.expressions.tree import Constant
from windrow.cli.expressions.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    STRING,
    common_type,
    is_number,
    is_time,
    is_whole,
    name_of,
)
from windrow.cli.expressions.values import Rows, Typed, constant_of, strict

__all__ = ["comparison", "in_list", "met"]

_ONE_ROW = pa.RecordBatch.from_pydict({"": [0]})
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_Pair = Callable[[pa.Array, pa.Array], pa.Array]
_SIGNS: dict[str, _Pair] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def comparison(sign: str, left: Typed, right: Typed) -> Typed:
    decided = _beyond_whole(sign, left, right)
    if decided is not None:
        return constant_of(Constant(decided, "boolean"))
    left, right = met([left, right], f"the comparison {sign}")
    _check_comparable(left.kind, sign)
    if sign == "<=>":
        return Typed(
            BOOLEAN,
            lambda rows: _same(left.values(rows), right.values(rows)),
            left.may_fail or right.may_fail,
        )
    return strict(BOOLEAN, lambda a, b: _compared(sign, a, b), left, right)


def _beyond_whole(sign: str, left: Typed, right: Typed) -> bool | None:
    """Whether whole numbers are below or above a decimal literal that no bigint reaches. Spark does not look
    at them, so that it is not null where they are."""
    for whole, other, seen in ((left, right, sign), (right, left, _MIRRORED.get(sign))):
        value = None if other.constant is None else other.constant.value
        if seen in _MIRRORED and is_whole(whole.kind) and isinstance(value, Decimal):
            return None if -(2**63) <= value <= 2**63 - 1 else (value > 0) == (seen[0] == "<")
    return None


def met(parts: list[Typed], where: str) -> list[Typed]:
    """All in the type in which they meet. A literal text next to times is a time."""
    parts = _texts_as_times(parts)
    kind = parts[0].kind
    for part in parts[1:]:
        kind = common_type(kind, part.kind, where)
    return [widened(part, kind) for part in parts]


def _texts_as_times(parts: list[Typed]) -> list[Typed]:
    kinds = {part.kind for part in parts if is_time(part.kind)}
    if len(kinds) != 1:
        return parts
    (kind,) = kinds
    return [_read(part, kind) if part.kind == STRING and part.constant else part for part in parts]


def _read(part: Typed, kind: pa.DataType) -> Typed:
    """A literal, read once: what cannot be read is an error of the expression."""
    found = cast(part, kind)
    try:
        scalar = found.values(Rows(_ONE_ROW))[0]
    except ValueRefused as error:
        raise ExpressionError(str(error)) from error
    return Typed(kind, lambda rows: pa.repeat(scalar, rows.num_rows))


def _check_comparable(kind: pa.DataType, sign: str) -> None:
    if not (is_number(kind) or is_time(kind) or kind in (BOOLEAN, STRING) or is_type.is_null(kind)):
        raise only_spark(f"the comparison {sign} of {name_of(kind)}")


def _compared(sign: str, a: pa.Array, b: pa.Array) -> pa.Array:
    if is_type.is_null(a.type):
        return pa.nulls(len(a), BOOLEAN)
    if a.type not in (FLOAT, DOUBLE):
        return _SIGNS[sign](a, b)
    a_nan, b_nan = pc.is_nan(a), pc.is_nan(b)
    match sign:
        case "=":
            return pc.or_(pc.equal(a, b), pc.and_(a_nan, b_nan))
        case "<>":
            return pc.invert(_compared("=", a, b))
        case "<":
            return pc.or_(pc.less(a, b), pc.and_not(b_nan, a_nan))
        case "<=":
            return pc.or_(pc.less_equal(a, b), b_nan)
    return pc.invert(_compared("<=" if sign == ">" else "<", a, b))


def _same(a: pa.Array, b: pa.Array) -> pa.Array:
    equal = _compared("=", a, b).fill_null(False)
    return pc.or_(equal, pc.and_(a.is_null(), b.is_null()))


def in_list(operand: Typed, items: list[Typed]) -> Typed:
    """Whether the operand is one of some literals; null where it is not and one of them is null."""
    if any(item.constant is None for item in items):
        raise only_spark("'in' with anything but literals", "compare with = and or")
    operand, *items = met([operand, *items], "'in'")
    _check_comparable(operand.kind, "in")
    return strict(BOOLEAN, lambda array: _is_in(array, items), operand)


def _is_in(array: pa.Array, items: list[Typed]) -> pa.Array:
    found: Any = pa.repeat(pa.scalar(False), len(array))
    for item in items:
        scalar = item.values(Rows(_ONE_ROW))[0]
        found = pc.or_kleene(found, _compared("=", array, pa.repeat(scalar, len(array))))
    return pc.if_else(array.is_valid(), found, pa.scalar(None, BOOLEAN))
