"""A tree and the types of its columns, made into something that gives values for rows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions import conditions, numbers, text, times
from windrow.cli.expressions.arithmetic import negative, operation
from windrow.cli.expressions.casts import cast, kind_of_text
from windrow.cli.expressions.comparisons import comparison, in_list
from windrow.cli.expressions.errors import ExpressionError, OnlySpark, only_spark
from windrow.cli.expressions.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Constant,
    In,
    Is,
    Like,
    Node,
    Unary,
    walk,
)
from windrow.cli.expressions.types import as_spark_reads, name_of
from windrow.cli.expressions.values import Typed, constant_of, shared, strict

__all__ = ["FUNCTIONS", "Names", "compiled", "source_names"]

FUNCTIONS = {**conditions.FUNCTIONS, **numbers.FUNCTIONS, **text.FUNCTIONS, **times.FUNCTIONS}
#: functions that are casts by another name
_CASTS = ("boolean", "tinyint", "smallint", "int", "bigint", "double", "string", "date", "timestamp")
#: values that Spark has without parentheses
_BARE_FUNCTIONS = (
    "current_date",
    "current_timestamp",
    "current_time",
    "current_user",
    "user",
    "localtimestamp",
)
#: columns by name, or why only Spark can compute one. Names are the same in upper and lower case, as in Spark
Names = Mapping[str, Typed | OnlySpark]


def source_names(schema: pa.Schema) -> dict[str, Typed]:
    """What an expression may name: the columns of a table."""
    return {field.name: _column(field.name, field.type) for field in schema}


def _column(name: str, kind: pa.DataType) -> Typed:
    seen = as_spark_reads(kind)
    if is_type.is_dictionary(kind):
        return shared(
            Typed(seen, lambda rows: rows.column(name).dictionary_decode().cast(seen), is_of_column=True)
        )
    if kind == seen:
        return Typed(seen, lambda rows: rows.column(name), is_of_column=True)
    return shared(Typed(seen, lambda rows: rows.column(name).cast(seen, safe=False), is_of_column=True))


def compiled(node: Node, names: Names) -> Typed:
    """
    >>> from windrow.cli.expressions.parse import parse
    >>> from windrow.cli.expressions.values import Rows
    >>> rows = pa.RecordBatch.from_pydict({"len": [1, None, 5]})
    >>> compiled(parse("len * 2 > 3"), source_names(rows.schema)).values(Rows(rows)).to_pylist()
    [False, None, True]
    """
    found = _compiled(node, lambda child: compiled(child, names), names)
    if found.inside is None or any(isinstance(each, Column) for each in walk(node)):
        return found
    return replace(found, inside=None)  # Spark computes it before it leaves out conversions


def _compiled(node: Node, below: Callable[[Node], Typed], names: Names) -> Typed:
    match node:
        case Constant():
            return constant_of(node)
        case Column(path):
            return _resolved(path, names)
        case Unary("not", operand):
            return conditions.negated(below(operand))
        case Unary("-", operand):
            return negative(below(operand))
        case Unary(_, operand):
            return _positive(below(operand))
        case Binary(sign, left, right):
            return _binary(sign, below(left), below(right))
        case Between(operand, low, high):
            value = shared(below(operand))
            return conditions.connected(
                "and", comparison(">=", value, below(low)), comparison("<=", value, below(high))
            )
        case Is(operand, what, is_negated):
            return conditions.is_state(below(operand), what, is_negated)
        case In(operand, items):
            return in_list(below(operand), [below(item) for item in items])
        case Like(operand, pattern, escape):
            return text.like(below(operand), below(pattern), escape)
        case Case(branches, otherwise, subject):
            pairs = [(below(condition), below(value)) for condition, value in branches]
            if subject is not None:
                value = shared(below(subject), is_left_out=True)
                pairs = [(comparison("=", value, each), result) for each, result in pairs]
            return conditions.chosen(pairs, None if otherwise is None else below(otherwise))
        case Cast(operand, kind):
            return cast(below(operand), kind_of_text(kind))
        case Call(name, arguments):
            return _called(name, list(arguments), below)


def _binary(sign: str, left: Typed, right: Typed) -> Typed:
    if sign in ("and", "or"):
        return conditions.connected(sign, left, right)
    if sign == "||":
        return text.joined([left, right])
    return (
        operation(sign, left, right)
        if sign in ("+", "-", "*", "/", "%", "div")
        else comparison(sign, left, right)
    )


def _positive(typed: Typed) -> Typed:
    negative(typed)  # the same types
    return replace(typed, constant=None)


def _called(name: str, arguments: list[Node], below: Callable[[Node], Typed]) -> Typed:
    """A function is known before its arguments are looked at: in others, not every word is a column."""
    if name in _CASTS and len(arguments) == 1:
        return cast(below(arguments[0]), kind_of_text(name))
    if name not in FUNCTIONS:
        near = difflib.get_close_matches(name, FUNCTIONS, 1, 0.7)
        raise only_spark(f"the function {name!r}", f"did you mean {near[0]!r}?" if near else "")
    least, most, make = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise only_spark(f"{name} with {len(arguments)} arguments")
    return make([below(argument) for argument in arguments])


def _resolved(path: tuple[str, ...], names: Names) -> Typed:
    found = _named(path[0], list(names), "the source has no column")
    typed = names[found]
    if isinstance(typed, OnlySpark):
        raise OnlySpark(f"column {found!r}: {typed}")
    return _member(typed, path, 1)


def _member(typed: Typed, path: tuple[str, ...], at: int) -> Typed:
    """A field in a struct in a struct..."""
    if at == len(path):
        return typed
    if not is_type.is_struct(typed.kind):
        raise ExpressionError(
            f"{'.'.join(path[:at])!r} is {name_of(typed.kind)} and has no field {path[at]!r}"
        )
    fields = {field.name: field for field in typed.kind}
    name = _named(path[at], list(fields), f"{'.'.join(path[:at])!r} has no field")
    inner = _column_of_struct(typed, name, fields[name].type)
    return _member(inner, path, at + 1)


def _column_of_struct(typed: Typed, name: str, kind: pa.DataType) -> Typed:
    seen = as_spark_reads(kind)
    take: Callable[[pa.Array], pa.Array] = lambda array: pc.struct_field(array, name)  # noqa: E731
    work = take if kind == seen else lambda array: take(array).cast(seen, safe=False)
    return strict(seen, work, typed)


def _named(name: str, known: list[str], problem: str) -> str:
    from windrow.cli.job.fields import nearest

    same = [each for each in known if each.lower() == name.lower()]
    if not same and name.lower() in _BARE_FUNCTIONS:
        raise only_spark(name)
    if not same:
        raise ExpressionError(f"{problem} {name!r}: {nearest(name, known)}")
    if len(same) > 1:
        raise ExpressionError(
            f"{name!r} may be {' or '.join(map(repr, same))}: Spark takes them for the same"
        )
    return same[0]
