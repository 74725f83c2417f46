"""``+ - * / % div``, as Spark's ANSI mode has them: overflow and division by zero are errors, ``/`` gives a
double, the remainder has the sign of the dividend. Decimals add, subtract and multiply."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions.casts import widened
from windrow.cli.expressions.errors import ValueRefused, only_spark
from windrow.cli.expressions.types import DOUBLE, LONG, common_type, decimal_of, is_number, is_whole, name_of
from windrow.cli.expressions.values import Typed, strict

__all__ = ["checked", "negative", "negative_decimal", "operation"]

#: how Scala's decimals change their sign
_SIGNED_DIGITS = Context(prec=34, rounding=ROUND_HALF_EVEN)
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def checked(work: Callable[..., pa.Array], *arrays: pa.Array) -> pa.Array:
    """What Arrow gives; its overflow is an error of a value."""
    try:
        return work(*arrays)
    except pa.ArrowInvalid as error:
        reason = "division by zero" if "zero" in str(error) else "overflow"
        raise ValueRefused(f"{reason} in a whole number") from error


def operation(sign: str, left: Typed, right: Typed) -> Typed:
    for side in (left, right):
        if not is_number(side.kind) and not is_type.is_null(side.kind):
            raise only_spark(f"{sign} with {name_of(side.kind)}")
    if sign == "/":
        return _quotient(left, right)
    if sign == "div":
        return _whole_quotient(left, right)
    kind = common_type(left.kind, right.kind, sign)
    if is_type.is_null(kind):
        raise only_spark(f"null {sign} null")
    if is_type.is_decimal(kind):
        return _decimal(sign, left, right)
    left, right = widened(left, kind), widened(right, kind)
    if sign == "%":
        return _right_first(kind, _remainder, left, right)
    work = _CHECKED[sign] if is_whole(kind) else _PLAIN[sign]
    return strict(kind, lambda a, b: checked(work, a, b), left, right, fails=is_whole(kind))


def _decimal(sign: str, left: Typed, right: Typed) -> Typed:
    if sign not in _PLAIN:
        raise only_spark(f"{sign} of decimals", "write a number such as 1.5 as 1.5D, a double,")
    one, other = decimal_of(left.kind, left.constant), decimal_of(right.kind, right.constant)
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + scale + 1
    if sign == "*":
        scale, digits = one.scale + other.scale, one.precision + other.precision + 1
    if digits > 38:
        raise only_spark(f"{sign} of decimals with a result of {digits} digits", "cast one to double")
    kind, work = pa.decimal128(digits, scale), _PLAIN[sign]
    return strict(kind, lambda a, b: work(a, b).cast(kind), widened(left, one), widened(right, other))


# -- division ------------------------------------------------------------------------------------------------


def _quotient(left: Typed, right: Typed) -> Typed:
    kind = common_type(left.kind, right.kind, "/")
    if is_type.is_decimal(kind):
        raise only_spark("/ of decimals", "write a number such as 1.5 as 1.5D, a double,")
    return _right_first(DOUBLE, _divided, widened(left, DOUBLE), widened(right, DOUBLE))


def _whole_quotient(left: Typed, right: Typed) -> Typed:
    for side in (left, right):
        if not is_whole(side.kind):
            raise only_spark(f"div with {name_of(side.kind)}")
    left, right = widened(left, LONG), widened(right, LONG)
    return _right_first(LONG, lambda a, b: checked(pc.divide_checked, *_no_nulls(a, b)), left, right)


def _right_first(kind: pa.DataType, work: Callable[..., pa.Array], left: Typed, right: Typed) -> Typed:
    """Spark evaluates the divisor first, and the dividend only where that is not null."""
    return strict(kind, lambda b, a: work(a, b), right, left, fails=True)


def _no_nulls(a: pa.Array, b: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Null on both sides where one is, so that nothing is divided there."""
    valid = pc.and_(a.is_valid(), b.is_valid())
    return pc.if_else(valid, a, pa.scalar(None, a.type)), pc.if_else(valid, b, pa.scalar(None, b.type))


def _check_divisors(a: pa.Array, b: pa.Array) -> None:
    zero = pc.and_(pc.equal(b, pa.scalar(0, b.type)), a.is_valid())
    if pc.any(zero).as_py():
        raise ValueRefused("division by zero")


def _divided(a: pa.Array, b: pa.Array) -> pa.Array:
    _check_divisors(a, b)
    return pc.divide(a, b)


def _remainder(a: pa.Array, b: pa.Array) -> pa.Array:
    _check_divisors(a, b)
    valid: Any = np.asarray(pc.and_(a.is_valid(), b.is_valid()))
    dividend, divisor = np.asarray(a.fill_null(1)), np.asarray(b.fill_null(1))
    divisor = np.where(valid, divisor, divisor.dtype.type(1))
    with np.errstate(invalid="ignore"):
        found = np.fmod(dividend, divisor)
    return pa.array(found, a.type, mask=~valid)


def negative(typed: Typed) -> Typed:
    if not is_number(typed.kind):
        raise only_spark(f"- of {name_of(typed.kind)}")
    if is_type.is_decimal(typed.kind):
        return strict(typed.kind, negative_decimal, typed, fails=True)
    fails = is_whole(typed.kind)
    work = pc.negate_checked if fails else pc.negate
    return strict(typed.kind, lambda array: checked(work, array).cast(typed.kind), typed, fails=fails)


def negative_decimal(array: pa.Array) -> pa.Array:
    """As in Spark, which rounds to 34 digits for it."""
    kind = array.type
    if kind.precision <= _SIGNED_DIGITS.prec:
        return pc.negate(array).cast(kind)
    values = [None if value is None else _SIGNED_DIGITS.minus(value) for value in array.to_pylist()]
    try:
        return pa.array(values, pa.decimal256(kind.precision + 1, kind.scale)).cast(kind)
    except pa.ArrowInvalid as error:
        raise ValueRefused(f"a value does not fit into {name_of(kind)}") from error
