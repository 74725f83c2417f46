"""What decoded state must be before anything computes with it: a checksum says who wrote bytes, not what.

A writer of a valid checksum can write columns of different lengths, numbers of keys that do not exist, times
out of order; compiled code does not look. So each structure that is read from state has one method,
``check_invariants``, made of the functions here.

Invariant: what is wrong raises :class:`CorruptState` and says what. Cost: O(n), vectorised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from windrow.errors import ChangedQuery, CorruptState, StateError

__all__ = ["check_column", "check_numbers", "check_sorted", "making_sense", "require", "whole"]


def require(is_so: Any, what: str) -> None:
    """Raise with ``what`` unless it is so.

    >>> require(2 < 1, "slices: no keys")
    Traceback (most recent call last):
    windrow.errors.CorruptState: slices: no keys
    """
    if not is_so:
        raise CorruptState(what)


def check_column(name: str, column: Any, count: int, kind: Any = np.int64) -> None:
    """A plain array of one type, with as many numbers as there are rows.

    >>> check_column("ends", np.array([1, 2]), 3)
    Traceback (most recent call last):
    windrow.errors.CorruptState: ends: 2 values where 3 are expected
    """
    # words are made only where they are needed: those of types cost more than all else here
    if type(column) is not np.ndarray or column.ndim != 1:
        raise CorruptState(f"{name}: not a column of numbers")
    if column.dtype != np.dtype(kind):
        raise CorruptState(f"{name}: values of type {column.dtype}, not {np.dtype(kind)}")
    if len(column) != count:
        raise CorruptState(f"{name}: {len(column)} values where {count} are expected")


def check_numbers(name: str, column: Any, least: int, most: int) -> None:
    """All from ``least`` to ``most``.

    >>> check_numbers("keys", np.array([0, 7]), 0, 2)
    Traceback (most recent call last):
    windrow.errors.CorruptState: keys: 7 is not from 0 to 2
    """
    for worst in (int(column.min()), int(column.max())) if len(column) else ():
        require(least <= worst <= most, f"{name}: {worst} is not from {least} to {most}")


def check_sorted(name: str, *columns: Any, each_once: bool = False) -> None:
    """Sorted by the first column, then by the second, and so on.

    >>> check_sorted("slices", np.array([0, 0, 1]), np.array([5, 5, 2]))
    >>> check_sorted("slices", np.array([0, 0, 1]), np.array([5, 5, 2]), each_once=True)
    Traceback (most recent call last):
    windrow.errors.CorruptState: slices: not in order at place 1, or there twice
    """
    in_order = np.full(max(len(columns[0]) - 1, 0), not each_once)
    for column in reversed(columns):
        in_order = (column[:-1] < column[1:]) | ((column[:-1] == column[1:]) & in_order)
    if not in_order.all():
        place = int(np.argmin(in_order)) + 1
        raise CorruptState(f"{name}: not in order at place {place}{', or there twice' if each_once else ''}")


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within limits.

    >>> whole("span", 0, 1, 10)
    Traceback (most recent call last):
    windrow.errors.CorruptState: span: 0 is not a whole number from 1 to 10
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or not least <= value <= most:
        raise CorruptState(f"{name}: {value!r:.60} is not a whole number from {least} to {most}")
    return int(value)


@contextlib.contextmanager
def making_sense(what: str) -> Iterator[None]:
    """Whatever goes wrong while a structure is made of decoded values is the fault of these values.

    >>> with making_sense("the ledger"):
    ...     {}["windows"]
    Traceback (most recent call last):
    windrow.errors.CorruptState: the ledger makes no sense: KeyError: 'windows'
    """
    try:
        yield
    except (StateError, ChangedQuery, MemoryError):
        raise
    except Exception as error:
        raise CorruptState(f"{what} makes no sense: {type(error).__name__}: {error}") from error
