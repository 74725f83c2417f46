"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as is_type

from windrow.cli.expressions.arithmetic import checked, negative_decimal
from windrow.cli.expressions.casts import widened
from windrow.cli.expressions.errors import ValueRefused, only_spark
from windrow.cli.expressions.types import DOUBLE, FLOAT, LONG, is_number, is_whole, name_of
from windrow.cli.expressions.values import Typed, strict

__all__ = ["FUNCTIONS"]


def _absolute(arguments: list[Typed]) -> Typed:
    (typed,) = arguments
    if not is_number(typed.kind):
        raise only_spark(f"abs of {name_of(typed.kind)}")
    if is_type.is_decimal(typed.kind):
        return strict(typed.kind, _absolute_decimal, typed, fails=True)
    fails = is_whole(typed.kind)
    work = pc.abs_checked if fails else pc.abs
    return strict(typed.kind, lambda array: checked(work, array).cast(typed.kind), typed, fails=fails)


def _absolute_decimal(array: pa.Array) -> pa.Array:
    below = pc.less(array, pa.scalar(0, array.type))
    changed = negative_decimal(pc.if_else(below, array, pa.scalar(None, array.type)))
    return pc.if_else(below, changed, array)


def _to_whole(name: str, work: Callable[[pa.Array], pa.Array]) -> Callable[[list[Typed]], Typed]:
    """Floor and ceil: whole numbers, of type bigint."""

    def made(arguments: list[Typed]) -> Typed:
        (typed,) = arguments
        if is_whole(typed.kind):
            return widened(typed, LONG)
        if typed.kind not in (FLOAT, DOUBLE):
            raise only_spark(f"{name} of {name_of(typed.kind)}")
        return strict(LONG, lambda array: _as_long(work(array)), widened(typed, DOUBLE), fails=True)

    return made


def _as_long(array: pa.Array) -> pa.Array:
    """As in Spark, NaN is 0."""
    values = np.nan_to_num(np.asarray(array.fill_null(0.0)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if ((values >= 2.0**63) | (values < -(2.0**63))).any():
        raise ValueRefused("overflow in a whole number")
    return pa.array(values.astype(np.int64), LONG, mask=np.asarray(array.is_null()))


def _rounded(arguments: list[Typed]) -> Typed:
    """To a whole number, halves away from zero; the type stays."""
    (typed,) = arguments
    if is_whole(typed.kind):
        return typed
    if is_type.is_decimal(typed.kind) or not is_number(typed.kind):
        raise only_spark(f"round of {name_of(typed.kind)}")
    return strict(typed.kind, _half_up, typed)


def _half_up(array: pa.Array) -> pa.Array:
    whole = pc.trunc(array)
    is_half = pc.greater_equal(pc.abs(pc.subtract(array, whole)), pa.scalar(0.5, array.type))
    found = pc.add(whole, pc.if_else(is_half, pc.sign(array), pa.scalar(0.0, array.type)))
    return pc.add(found, pa.scalar(0.0, array.type))  # no -0.0


FUNCTIONS: dict[str, tuple[int, int, Callable[[list[Typed]], Typed]]] = {
    "abs": (1, 1, _absolute),
    "floor": (1, 1, _to_whole("floor", pc.floor)),
    "ceil": (1, 1, _to_whole("ceil", pc.ceil)),
    "ceiling": (1, 1, _to_whole("ceiling", pc.ceil)),
    "round": (1, 1, _rounded),
}
