"""``cast``, as Spark's ANSI mode has it: what does not fit is an error, never another value.

Casts whose result depends on how Java writes or reads numbers (doubles to text, text to decimals) are
refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions import reading
from windrow.cli.expressions.errors import ValueRefused, only_spark
from windrow.cli.expressions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NTZ,
    STRING,
    TIMESTAMP,
    is_number,
    is_time,
    is_whole,
    name_of,
)
from windrow.cli.expressions.values import Typed, converted, left_out, strict

__all__ = ["cast", "floored_units", "kind_of_text", "scaled_time", "widened"]

_Work = Callable[[pa.Array], pa.Array]
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


def kind_of_text(text: str) -> pa.DataType:
    """The type that a cast names."""
    from windrow.cli.job.column_types import arrow_type

    try:
        return arrow_type(text)
    except ValueError as error:
        raise only_spark(f"the type {text!r}") from error


def widened(typed: Typed, kind: pa.DataType) -> Typed:
    """The value in a wider type, as Spark casts by itself."""
    return typed if typed.kind == kind else cast(typed, kind)


def cast(typed: Typed, kind: pa.DataType) -> Typed:
    if typed.kind == kind:
        return typed
    if is_type.is_null(typed.kind):
        return Typed(kind, lambda rows: pa.nulls(rows.num_rows, kind))
    if typed.kind == FLOAT and kind == DOUBLE:
        return converted(typed, _as_double)
    if kind == FLOAT and typed.kind in (INT, LONG):
        return left_out(typed, lambda whole: _cast(whole, kind))
    return _cast(typed, kind)


def _as_double(typed: Typed) -> Typed:
    return _cast(typed, DOUBLE)


def _cast(typed: Typed, kind: pa.DataType) -> Typed:
    work = _work(typed.kind, kind)
    if work is None:
        raise only_spark(f"the cast from {name_of(typed.kind)} to {name_of(kind)}")
    return strict(kind, work, typed, fails=_may_fail(typed.kind, kind))


def _may_fail(old: pa.DataType, new: pa.DataType) -> bool:
    if old == STRING:
        return True
    return not (
        (is_number(old) and new == DOUBLE)
        or new in (BOOLEAN, STRING)
        or (old in (TIMESTAMP, NTZ) and is_time(new))
    )


def _work(old: pa.DataType, new: pa.DataType) -> _Work | None:
    if old == STRING:
        return reading.READERS.get(new)
    if new == STRING:
        return _to_text(old)
    if is_time(old) or is_time(new):
        return _times(old, new)
    if old == BOOLEAN and (is_whole(new) or new in (FLOAT, DOUBLE)):
        return lambda array: array.cast(new)
    if new == BOOLEAN and (is_whole(old) or old in (FLOAT, DOUBLE)):
        return lambda array: pc.not_equal(array, pa.scalar(0, old))
    if is_type.is_decimal(old) or is_type.is_decimal(new):
        return _decimals(old, new)
    return _numbers(old, new) if is_number(old) and is_number(new) else None


def _to_text(old: pa.DataType) -> _Work | None:
    if is_whole(old) or old == BOOLEAN:
        return lambda array: array.cast(STRING)
    return None


# -- numbers -------------------------------------------------------------------------------------------------


def _numbers(old: pa.DataType, new: pa.DataType) -> _Work:
    if new in (FLOAT, DOUBLE):
        return lambda array: array.cast(new, safe=False)
    if is_whole(old):
        return lambda array: _checked(array, lambda: array.cast(new), new)
    return lambda array: _truncated(array, new)


def _truncated(array: pa.Array, new: pa.DataType) -> pa.Array:
    """Floats to whole numbers, towards zero. As in Spark, 2**63 as a double is the largest bigint."""
    wide = array.cast(DOUBLE)
    values = np.asarray(wide.fill_null(0.0))
    low, high = float(np.iinfo(new.to_pandas_dtype()).min), float(np.iinfo(new.to_pandas_dtype()).max)
    fits = (np.floor(values) <= high) & (np.ceil(values) >= low)
    if not fits.all():
        raise _overflow(values[~fits][0], new)
    whole = np.where(
        values >= 2.0**63, np.int64(2**63 - 1), np.where(values < 2.0**63, values, 0).astype(np.int64)
    )
    return pa.array(whole, LONG, mask=np.asarray(array.is_null())).cast(new)


def _decimals(old: pa.DataType, new: pa.DataType) -> _Work | None:
    if is_type.is_decimal(old) and new == DOUBLE:
        return lambda array: array.cast(STRING).cast(DOUBLE)  # by way of text: rounded once, as in Java
    if not is_type.is_decimal(new):
        return None
    if is_whole(old):
        return lambda array: _checked(array, lambda: array.cast(pa.decimal128(20, 0)).cast(new), new)
    if is_type.is_decimal(old) and new.scale >= old.scale:
        return lambda array: _checked(array, lambda: array.cast(new), new)
    return None


def _checked(array: pa.Array, work: Callable[[], pa.Array], new: pa.DataType) -> pa.Array:
    try:
        return work()
    except pa.ArrowInvalid as error:
        raise _overflow(pc.max(pc.abs(array) if is_whole(array.type) else array).as_py(), new) from error


def _overflow(value: Any, new: pa.DataType) -> ValueRefused:
    return ValueRefused(f"a value such as {value} does not fit into {name_of(new)}")


# -- times ---------------------------------------------------------------------------------------------------


def _times(old: pa.DataType, new: pa.DataType) -> _Work | None:
    if is_time(old) and is_time(new):
        return lambda array: _moved(array, new)
    if old == TIMESTAMP and is_whole(new):
        return lambda array: _checked(array, lambda: floored_units(array).cast(new), new)
    if new == TIMESTAMP and is_whole(old):
        return _seconds_as_time
    return None


def _moved(array: pa.Array, new: pa.DataType) -> pa.Array:
    """Between dates and timestamps; the session's time zone is UTC."""
    if new == DATE:
        return floored_units(array.cast(NTZ), _DAY).cast(INT).cast(DATE)
    if array.type == DATE:
        return scaled_time(array.cast(INT), _DAY).cast(LONG).cast(new)
    return array.cast(NTZ).cast(LONG).cast(NTZ if new == NTZ else TIMESTAMP)


def _seconds_as_time(array: pa.Array) -> pa.Array:
    """As in Spark, a time that is out of range is the last or the first one that there is."""
    seconds, farthest = array.cast(LONG), (2**63 - 1) // _SECOND
    found = pc.multiply(seconds, _SECOND)
    found = pc.if_else(pc.greater(seconds, farthest), 2**63 - 1, found)
    return pc.if_else(pc.less(seconds, -farthest), -(2**63), found).cast(TIMESTAMP)


def floored_units(array: pa.Array, unit: int = _SECOND) -> pa.Array:
    """Whole seconds since 1970, or multiples of ``unit`` microseconds, downwards."""
    values = np.asarray(array.cast(LONG).fill_null(0))
    return pa.array(values // unit, LONG, mask=np.asarray(array.is_null()))


def scaled_time(array: pa.Array, unit: int) -> pa.Array:
    try:
        return pc.multiply_checked(array.cast(LONG), pa.scalar(unit, LONG)).cast(TIMESTAMP)
    except pa.ArrowInvalid as error:
        raise ValueRefused("a time is out of range") from error
