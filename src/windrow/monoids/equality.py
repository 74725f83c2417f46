"""Whether two partials are the same, for the laws.

Partials are compared part by part, whatever they are made of: numbers, tuples, lists, dicts, sets, numpy
arrays, dataclasses, other objects. NaN is the same as NaN. Floats may differ by ``slack``, an absolute amount
that the caller derives from the :func:`magnitude` of what went in; integers and text must be equal. numpy is
never imported here: its values are recognised by what they offer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

__all__ = ["contains_float", "magnitude", "same", "shape"]


def same(a: Any, b: Any, slack: float = 0.0) -> bool:
    """Whether two partials are equal, floats up to ``slack``.

    >>> (
    ...     same((1, float("nan")), (1, float("nan"))),
    ...     same([0.1 + 0.2], [0.3]),
    ...     same([0.1 + 0.2], [0.3], slack=1e-9),
    ... )
    (True, False, True)
    """
    if _is_array(a) or _is_array(b):
        return _same_arrays(a, b, slack)
    if _is_number(a) and _is_number(b):
        return _same_numbers(a, b, slack)
    if isinstance(a, (tuple, list)):
        alike = (
            isinstance(b, (tuple, list)) and isinstance(a, tuple) == isinstance(b, tuple) and len(a) == len(b)
        )
        return alike and all(same(x, y, slack) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key], slack) for key, value in a.items())
    state = _state(a)
    if state is not None and type(a) is type(b):
        return same(state, _state(b), slack)
    return bool(a == b)


def magnitude(*values: Any) -> float:
    """The largest absolute value of the finite numbers in these partials; 0.0 if there are none.

    >>> magnitude((3, [-7.5]), "text", float("inf"))
    7.5
    """
    largest = 0.0
    for value in values:
        if _is_array(value):
            value = value.tolist() if value.dtype.kind == "f" else None
        if _is_number(value):
            size = min(abs(value), 1e308) if value == value else 0.0
            largest = max(largest, 0.0 if value in (math.inf, -math.inf) else float(size))
        else:
            largest = max(largest, magnitude(*_members(value)))
    return largest


def contains_float(value: Any) -> bool:
    """Whether there is a float in a partial."""
    if _is_array(value):
        return bool(value.dtype.kind == "f")
    return isinstance(value, float) or any(contains_float(member) for member in _members(value))


def shape(value: Any) -> tuple[str, int]:
    """What a partial is, in words, and how many parts it has (-1 where the shape does not say).

    >>> shape((1, 2)), shape(7.5), shape("text")
    (('a tuple', 2), ('a number', -1), ('a str', -1))
    """
    if _is_array(value) and value.shape != ():
        return "an array", int(value.size)
    if _is_number(value) or _is_array(value):
        return "a number", -1
    if isinstance(value, tuple):
        return "a tuple", len(value)
    return ("None" if value is None else f"a {type(value).__name__}"), -1


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex))


def _is_array(value: Any) -> bool:
    """A numpy array, or a numpy scalar that is not a Python number."""
    return hasattr(value, "dtype") and hasattr(value, "tolist") and not _is_number(value)


def _same_numbers(a: Any, b: Any, slack: float) -> bool:
    if a == b or (a != a and b != b):
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    return bool(abs(a - b) <= slack) if math.isfinite(abs(a)) and math.isfinite(abs(b)) else False


def _same_arrays(a: Any, b: Any, slack: float) -> bool:
    if _is_array(a) and _is_array(b):
        if a.shape != b.shape:
            return False
        if a.dtype == b.dtype and a.tobytes() == b.tobytes():
            return True
    return same(a.tolist() if _is_array(a) else a, b.tolist() if _is_array(b) else b, slack)


def _state(value: Any) -> dict[str, Any] | None:
    """The fields of an object that says nothing about equality itself."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if _compares_itself(value) or isinstance(value, type) or callable(value):
        return None
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    fields = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return (fields | getattr(value, "__dict__", {})) or None


def _compares_itself(value: Any) -> bool:
    equals: Any = type(value).__eq__
    return equals is not object.__eq__


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    state = None if value is None else _state(value)
    return state.values() if state else ()
