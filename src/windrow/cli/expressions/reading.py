"""Text read as numbers, truth values, dates and times: what Spark's casts accept, exactly, or an error.

Spark also reads times in forms that no standard has; those are refused, with the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.expressions.errors import ValueRefused
from windrow.cli.expressions.types import BOOLEAN, DATE, DOUBLE, NTZ, STRING, TIMESTAMP, name_of

__all__ = ["READERS"]

#: what Spark cuts off at both ends of a number or a truth value
_BLANK = "".join(map(chr, [*range(33), 127]))
_WHOLE = r"\A[+-]?[0-9]+\z"
_FLOAT = r"\A[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?\z"
_SPECIAL = {"inf": "inf", "+inf": "inf", "infinity": "inf", "+infinity": "inf", "-inf": "-inf"}
_SPECIAL |= {"-infinity": "-inf", "nan": "nan"}
#: with a sign only as Java writes it
_NANS = ("+NaN", "-NaN")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_CLOCK = r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
_ZONE = r"(Z|[+-](0[0-9]|1[0-7]):[0-9]{2})"
_TIME = rf"\A[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{_CLOCK}\z"
_ZONED = rf"\A[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,9}})?{_ZONE}\z"


def _matches(array: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(array, pattern).fill_null(True)


def _demand(array: pa.Array, holds: pa.Array, kind: pa.DataType, hint: str = "") -> None:
    """Raise for the first value that is not readable."""
    wrong = pc.indices_nonzero(pc.invert(holds))
    if len(wrong):
        value = array[wrong[0].as_py()].as_py()
        raise ValueRefused(f"{value[:50]!r} cannot be cast to {name_of(kind)}{hint}")


def _cast(array: pa.Array, kind: pa.DataType, original: pa.Array, hint: str = "") -> pa.Array:
    """Arrow's cast of texts that have the right form; the values may still be out of range."""
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        for k in range(len(array)):
            try:
                array.slice(k, 1).cast(kind)
            except pa.ArrowInvalid as error:
                value = original[k].as_py()
                raise ValueRefused(f"{value[:50]!r} cannot be cast to {name_of(kind)}{hint}") from error
        raise


def _whole(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def read(array: pa.Array) -> pa.Array:
        bare = pc.utf8_trim(array, _BLANK)
        _demand(array, _matches(bare, _WHOLE), kind)
        plain = pc.replace_substring_regex(bare, r"\A(-?)\+?0*([0-9])", r"\1\2")
        return _cast(plain, kind, array)

    return read


def _double(array: pa.Array) -> pa.Array:
    bare = pc.utf8_trim(array, _BLANK[:-1])
    special = pc.is_in(pc.ascii_lower(bare), pa.array(list(_SPECIAL)))
    special = pc.or_(special, pc.is_in(bare, pa.array(_NANS)))
    holds = pc.or_(special, _matches(bare, _FLOAT))
    _demand(array, holds, DOUBLE, " (hexadecimal numbers are read by Spark alone)")
    return pa.array([_number(text) for text in bare.to_pylist()], DOUBLE)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    return float(_SPECIAL.get(text.lower()) or text.rstrip("dDfF"))


def _truth(array: pa.Array) -> pa.Array:
    bare = pc.ascii_lower(pc.utf8_trim(array, _BLANK))
    is_true, is_false = pc.is_in(bare, pa.array(_TRUE)), pc.is_in(bare, pa.array(_FALSE))
    _demand(array, pc.or_(pc.or_(is_true, is_false), array.is_null()), BOOLEAN)
    return pc.if_else(array.is_valid(), is_true, pa.scalar(None, BOOLEAN))


# -- times ---------------------------------------------------------------------------------------------------

_DATE_HINT = ": the local engine reads 2024-05-01"
_TIME_HINT = ": the local engine reads 2024-05-01 12:00:00.123456 and, with a zone, 2024-05-01T12:00:00+02:00"


def _date(array: pa.Array) -> pa.Array:
    bare = pc.utf8_trim(array, _BLANK)
    _demand(array, _matches(bare, _DATE), DATE, _DATE_HINT)
    return _cast(bare, DATE, array, _DATE_HINT)


def _naive(array: pa.Array) -> pa.Array:
    bare = pc.utf8_trim(array, _BLANK)
    _demand(array, _matches(bare, _TIME), NTZ, _TIME_HINT)
    return _cast(_to_microseconds(bare), NTZ, array, _TIME_HINT)


def _zoned(array: pa.Array) -> pa.Array:
    """Times with a zone; those without are in the session's, which is UTC."""
    bare = pc.utf8_trim(array, _BLANK)
    has_zone = _matches(bare, _ZONED)
    _demand(array, pc.or_(has_zone, _matches(bare, _TIME)), TIMESTAMP, _TIME_HINT)
    texts = _to_microseconds(bare)
    with_zone = pc.if_else(has_zone, texts, pa.scalar(None, STRING))
    without = pc.if_else(has_zone, pa.scalar(None, STRING), texts)
    moments = _cast(with_zone, TIMESTAMP, array, _TIME_HINT)
    return pc.coalesce(moments, pc.assume_timezone(_cast(without, NTZ, array, _TIME_HINT), "UTC"))


def _to_microseconds(array: pa.Array) -> pa.Array:
    """Finer digits are cut off, as in Spark."""
    return pc.replace_substring_regex(array, r"(\.[0-9]{6})[0-9]+", r"\1")


READERS: dict[Any, Callable[[pa.Array], pa.Array]] = {
    **{kind: _whole(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    DOUBLE: _double,
    BOOLEAN: _truth,
    DATE: _date,
    NTZ: _naive,
    TIMESTAMP: _zoned,
}
