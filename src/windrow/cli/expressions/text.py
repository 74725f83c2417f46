"""Functions of text. Characters are code points, as in Spark; ``trim`` takes spaces alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions.errors import ExpressionError, only_spark
from windrow.cli.expressions.letters import lower, upper
from windrow.cli.expressions.types import BOOLEAN, INT, STRING, name_of
from windrow.cli.expressions.values import Rows, Typed, converted, left_out, strict

__all__ = ["FUNCTIONS", "joined", "like"]

_Made = Callable[[list[Typed]], Typed]


def _texts(name: str, arguments: list[Typed]) -> None:
    for typed in arguments:
        if typed.kind != STRING:
            raise only_spark(f"{name} of {name_of(typed.kind)}", "cast it to string")


def _mapped(name: str, work: Callable[[pa.Array], pa.Array], kind: pa.DataType = STRING) -> _Made:
    def made(arguments: list[Typed]) -> Typed:
        _texts(name, arguments)
        return strict(kind, work, *arguments)

    return made


def _cased(name: str, work: Callable[[pa.Array], pa.Array]) -> _Made:
    def made(arguments: list[Typed]) -> Typed:
        _texts(name, arguments)
        return converted(arguments[0], _changed)

    def _changed(typed: Typed) -> Typed:
        return left_out(typed, lambda original: strict(STRING, work, original))

    return made


def _length(arguments: list[Typed]) -> Typed:
    (typed,) = arguments
    if is_type.is_binary(typed.kind):
        return strict(INT, lambda array: pc.binary_length(array).cast(INT), typed)
    return _mapped("length", lambda array: pc.utf8_length(array).cast(INT), INT)(arguments)


def joined(arguments: list[Typed]) -> Typed:
    """``concat`` and ``||``: null where one is null."""
    _texts("concat", arguments)

    def values(rows: Rows) -> pa.Array:
        return pc.binary_join_element_wise(*(part.values(rows) for part in arguments), "")

    return Typed(STRING, values, any(part.may_fail for part in arguments))


def _literal(name: str, typed: Typed, wanted: str) -> Any:
    """The value of an argument that must be a literal."""
    constant = typed.constant
    kinds = (pa.int8(), pa.int16(), INT) if wanted == "a whole number" else (STRING,)
    fits = typed.kind in kinds
    if constant is None or not fits:
        raise only_spark(f"{name} with an argument other than {wanted}, written out,")
    return constant.value


def _substring(arguments: list[Typed]) -> Typed:
    _texts("substring", arguments[:1])
    start = _literal("substring", arguments[1], "a whole number")
    count = _literal("substring", arguments[2], "a whole number") if len(arguments) == 3 else 2**31 - 1
    return strict(STRING, lambda array: _cut(array, start, count), arguments[0])


def _cut(array: pa.Array, start: int, count: int) -> pa.Array:
    """The first character is 1 (or 0); negative starts count from the end."""
    if start >= 0:
        first = max(start - 1, 0)
        return pc.utf8_slice_codeunits(array, first, max(first + count, first))
    return pa.array(
        [None if text is None else _from_end(text, start, count) for text in array.to_pylist()], STRING
    )


def _from_end(text: str, start: int, count: int) -> str:
    first = len(text) + start
    return text[max(first, 0) : max(first + count, 0)]


def _searched(name: str, work: Callable[[pa.Array, str], pa.Array]) -> _Made:
    """Tests of a text with a literal."""

    def made(arguments: list[Typed]) -> Typed:
        _texts(name, arguments)
        sought = _literal(name, arguments[1], "a text")
        return strict(BOOLEAN, lambda array: work(array, sought), arguments[0])

    return made


def _replaced(arguments: list[Typed]) -> Typed:
    _texts("replace", arguments)
    old = _literal("replace", arguments[1], "a text")
    new = _literal("replace", arguments[2], "a text") if len(arguments) == 3 else ""
    if not old:
        return strict(STRING, lambda array: array, arguments[0])
    return strict(STRING, lambda array: pc.replace_substring(array, old, new), arguments[0])


# -- like ----------------------------------------------------------------------------------------------------


def like(operand: Typed, pattern: Typed, escape: str) -> Typed:
    _texts("like", [operand, pattern])
    if len(escape) != 1:
        raise ExpressionError(f"escape {escape!r}: give one character")
    expression = _expression(_literal("like", pattern, "a text"), escape)
    return strict(BOOLEAN, lambda array: pc.match_substring_regex(array, expression), operand)


def _expression(pattern: str, escape: str) -> str:
    r"""
    >>> _expression("a%_", "\\")
    '(?s)\\Aa.*.\\z'
    """
    found, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == escape:
            at += 1
            if pattern[at : at + 1] not in ("%", "_", escape):
                raise ExpressionError(f"like {pattern!r}: {escape} must stand before %, _ or itself")
            found.append(re.escape(pattern[at]))
        else:
            found.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
        at += 1
    return rf"(?s)\A{''.join(found)}\z"


FUNCTIONS: dict[str, tuple[int, int, _Made]] = {
    "upper": (1, 1, _cased("upper", upper)),
    "ucase": (1, 1, _cased("ucase", upper)),
    "lower": (1, 1, _cased("lower", lower)),
    "lcase": (1, 1, _cased("lcase", lower)),
    "length": (1, 1, _length),
    "char_length": (1, 1, _length),
    "len": (1, 1, _length),
    "trim": (1, 1, _mapped("trim", lambda array: pc.utf8_trim(array, " "))),
    "ltrim": (1, 1, _mapped("ltrim", lambda array: pc.utf8_ltrim(array, " "))),
    "rtrim": (1, 1, _mapped("rtrim", lambda array: pc.utf8_rtrim(array, " "))),
    "concat": (1, 100, joined),
    "substring": (2, 3, _substring),
    "substr": (2, 3, _substring),
    "contains": (2, 2, _searched("contains", pc.match_substring)),
    "startswith": (2, 2, _searched("startswith", pc.starts_with)),
    "endswith": (2, 2, _searched("endswith", pc.ends_with)),
    "replace": (2, 3, _replaced),
}
