"""How an interpreted kernel touches arrays: what :mod:`windrow.compile.access` does for lists, with the types
that compiled code has.

Partials that are tuples are records; their members come out as numpy's numbers, which wrap around and divide
by zero as compiled code does. Booleans come out as Python's, which add up to integers, as in compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["cast", "emit", "load", "row"]


def _number(value: Any) -> Any:
    return bool(value) if type(value) is np.bool_ else value


def load(buffer: Any, position: int) -> Any:
    found = buffer[position]
    return _members(found) if type(found) is np.void else _number(found)


def _members(record: Any) -> tuple[Any, ...]:
    return tuple([_number(member) for member in record])


def cast(like: Any, partial: Any) -> Any:
    if isinstance(like, tuple):
        return tuple([_cast(type(a), b) for a, b in zip(like, partial, strict=True)])
    return _cast(type(like), partial)


def _cast(kind: Any, number: Any) -> Any:
    return number if type(number) is kind else kind(number)


def row(columns: Any, index: int) -> Any:
    return tuple([_number(column[index]) for column in columns])


def emit(out: Any, valid: Any, index: int, result: Any) -> None:
    if result is None:
        valid[index] = False
        return
    if valid is not None:
        valid[index] = True
    out[index] = result
