"""``and``, ``or``, ``not``, ``is``, ``case``, ``if``, ``coalesce``: what is evaluated for which rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions.casts import cast
from windrow.cli.expressions.comparisons import comparison, met
from windrow.cli.expressions.errors import ExpressionError, only_spark
from windrow.cli.expressions.types import BOOLEAN, DOUBLE, FLOAT, is_number, name_of
from windrow.cli.expressions.values import (
    Conversion,
    Rows,
    Typed,
    converted,
    evaluated_where,
    merged,
    shared,
    strict,
)

__all__ = ["FUNCTIONS", "as_truth", "chosen", "connected", "is_state", "negated"]


def as_truth(typed: Typed, what: str, takes_null: bool = True) -> Typed:
    """``takes_null``: whether Spark accepts a bare null here, which has no type."""
    if typed.kind != BOOLEAN and not (is_type.is_null(typed.kind) and takes_null):
        raise ExpressionError(f"{what} is {name_of(typed.kind)}: it must be true or false, as in len > 3")
    return cast(typed, BOOLEAN)


def connected(sign: str, left: Typed, right: Typed) -> Typed:
    """The right side is evaluated only for rows that the left side does not decide."""
    left, right = as_truth(left, f"the left side of {sign}"), as_truth(right, f"the right side of {sign}")
    decides = sign == "or"
    work = pc.or_kleene if decides else pc.and_kleene

    def values(rows: Rows) -> pa.Array:
        first = left.values(rows)
        open_rows = np.asarray(pc.not_equal(first, pa.scalar(decides)).fill_null(True))
        second = evaluated_where(right, rows, open_rows) if right.may_fail else right.values(rows)
        return work(first, second)

    return Typed(BOOLEAN, values, left.may_fail or right.may_fail)


def negated(typed: Typed) -> Typed:
    return strict(BOOLEAN, pc.invert, as_truth(typed, "the operand of not"))


def is_state(typed: Typed, what: str, is_negated: bool) -> Typed:
    """``is [not] null``, ``true``, ``false``: never null itself."""
    if what != "null":
        typed = as_truth(typed, f"the operand of is {what}")

    def values(rows: Rows) -> pa.Array:
        array = typed.values(rows)
        found = (
            array.is_null() if what == "null" else pc.equal(array, pa.scalar(what == "true")).fill_null(False)
        )
        return pc.invert(found) if is_negated else found

    return Typed(BOOLEAN, values, typed.may_fail)


def chosen(branches: Sequence[tuple[Typed, Typed]], otherwise: Typed | None) -> Typed:
    """``case``: a condition is evaluated for the rows that are left, a value for the rows that take it."""
    conditions = [as_truth(condition, "a condition of case", False) for condition, _ in branches]
    results = [value for _, value in branches] + ([otherwise] if otherwise is not None else [])
    results = met(results, "case")
    if all(value.inside is None for value in results):
        return _case(conditions, results)
    conditions = [shared(condition) for condition in conditions]

    def inside(conversion: Conversion) -> Typed:
        return _case(conditions, [converted(value, conversion) for value in results])

    return replace(_case(conditions, results), inside=inside)


def _case(conditions: Sequence[Typed], results: Sequence[Typed]) -> Typed:
    """A result more than conditions is that of all other rows."""
    kind = results[0].kind

    def values(rows: Rows) -> pa.Array:
        left = np.arange(rows.num_rows)
        pieces = []
        for condition, value in zip(conditions, results, strict=False):
            truth = condition.values(rows if len(left) == rows.num_rows else rows.some(left))
            holds = np.asarray(truth.fill_null(False))
            pieces.append((left[holds], value))
            left = left[~holds]
        if len(results) > len(conditions):
            pieces.append((left, results[-1]))
        return merged(kind, rows, pieces)

    return Typed(kind, values, any(part.may_fail for part in (*conditions, *results)))


# -- functions -----------------------------------------------------------------------------------------------


def _coalesce(arguments: list[Typed]) -> Typed:
    arguments = [shared(part) for part in met(arguments, "coalesce")]
    return chosen([(is_state(part, "null", True), part) for part in arguments], None)


def _if(arguments: list[Typed]) -> Typed:
    condition, value, otherwise = arguments
    return chosen([(as_truth(condition, "the condition of if"), value)], otherwise)


def _null_if(arguments: list[Typed]) -> Typed:
    value, other = shared(arguments[0]), arguments[1]
    null = Typed(pa.null(), lambda rows: pa.nulls(rows.num_rows))
    return chosen([(comparison("=", value, other), null)], value)


def _is_nan(arguments: list[Typed]) -> Typed:
    (typed,) = arguments
    if not is_number(typed.kind):
        raise only_spark(f"isnan of {name_of(typed.kind)}")
    if typed.kind not in (FLOAT, DOUBLE):
        typed = cast(typed, DOUBLE)
    return Typed(BOOLEAN, lambda rows: pc.is_nan(typed.values(rows)).fill_null(False), typed.may_fail)


#: by name: least and most arguments, and what is made of them
FUNCTIONS: dict[str, tuple[int, int, Callable[[list[Typed]], Typed]]] = {
    "coalesce": (1, 100, _coalesce),
    "nvl": (2, 2, _coalesce),
    "ifnull": (2, 2, _coalesce),
    "if": (3, 3, _if),
    "nullif": (2, 2, _null_if),
    "isnull": (1, 1, lambda arguments: is_state(arguments[0], "null", False)),
    "isnotnull": (1, 1, lambda arguments: is_state(arguments[0], "null", True)),
    "isnan": (1, 1, _is_nan),
}
