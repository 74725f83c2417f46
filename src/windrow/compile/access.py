"""How a kernel touches its data, in plain Python. :mod:`windrow.compile.overloads` has the native twin of
each.

A kernel never indexes its buffers itself: it says ``load(buffer, position)``, and whether that is an element
of a list, of a float array or a tuple out of an array of records is settled here. None of these functions
knows about windows or algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "Function",
    "at",
    "cast",
    "emit",
    "holds_value",
    "interpret",
    "is_null",
    "load",
    "note",
    "row",
    "row_count",
    "store",
]

Function = Callable[..., Any]


def interpret(function: Function) -> Function:
    """The "compiler" of the plain form: a factory called with it gives ordinary Python functions."""
    return function


def load(buffer: Any, position: int) -> Any:
    """The partial at a position."""
    return buffer[position]


def store(buffer: Any, position: int, partial: Any) -> None:
    """Put a partial at a position."""
    buffer[position] = partial


def cast(like: Any, partial: Any) -> Any:
    """A partial with the native types of ``like``, so that a loop variable keeps one type."""
    return partial


def row(columns: Any, index: int) -> Any:
    """The inputs of one row."""
    return tuple(column[index] for column in columns)


def row_count(columns: Any) -> int:
    return len(columns[0])


def at(places: Any, index: int) -> int:
    """Where the row with this number lies; ``places`` is None where rows lie in order."""
    return index if places is None else places[index]


def is_null(nulls: Any, index: int) -> bool:
    """Whether the row is to be skipped; ``nulls`` is None where no row is."""
    return nulls is not None and bool(nulls[index])


def holds_value(lasts: Any, index: int, front: int) -> bool:
    """Whether the window from ``front`` to this row holds a value: ``lasts`` has for each row the position of
    the last value so far; it is None where no row is skipped."""
    return lasts is None or bool(lasts[index] >= front)


def emit(out: Any, valid: Any, index: int, result: Any) -> None:
    """Write a result; ``valid`` is None where lower never gives None."""
    out[index] = result


def note(where: Any, index: int, value: int) -> None:
    """Write a number down if somebody asked for it (``where`` is not None)."""
    if where is not None:
        where[index] = value
