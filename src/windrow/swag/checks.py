"""Comparing partials in ``check_invariants``.

Algorithms combine the same values in different groupings. Partials of an exact type must then be equal;
floats may round differently (and objects may have no equality at all), so these count as equal and are left
to tests with exact aggregates, text above all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from windrow.monoids.base import Monoid

__all__ = ["agree", "check_cells", "check_rotation", "sums_agree"]

_EXACT = (int, str, bytes, Fraction, type(None))


def agree(found: Any, expected: Any) -> bool:
    """Whether two partials of the same values may both be right.

    >>> agree((3, "ab"), (3, "ab")), agree((3, "ab"), (3, "ba")), agree((3, 0.1 + 0.2), (3, 0.3))
    (True, False, True)
    """
    if found is expected:
        return True
    if isinstance(found, (tuple, list)) and isinstance(expected, (tuple, list)):
        return len(found) == len(expected) and all(map(agree, found, expected))
    if isinstance(found, _EXACT) and isinstance(expected, _EXACT):
        return bool(found == expected)
    return True


def sums_agree(
    monoid: Monoid, sums: Iterable[Any], values: list[Any], *, is_newest_first: bool = False
) -> bool:
    """Whether each of ``sums`` is that of the values from its own on; there may be more values than sums."""
    expected: list[Any] = []
    for value in reversed(values):
        older, newer = (expected[-1:], [value]) if is_newest_first else ([value], expected[-1:])
        parts = older + newer
        expected.append(monoid.combine(*parts) if len(parts) == 2 else value)
    return all(map(agree, sums, reversed(expected)))


def check_cells(monoid: Monoid, cells: Sequence[Any], values: list[Any], *, is_newest_first: bool) -> None:
    """Of cells with a sum each: it is that of the values from their own on."""
    sums = (cell.agg for cell in cells)
    assert sums_agree(monoid, sums, values, is_newest_first=is_newest_first), "a cell with a wrong sum"


def check_rotation(
    monoid: Monoid, left: Sequence[Any], right: Sequence[Any], accumulated: Sequence[Any]
) -> list[Any]:
    """Of the cells of a rotation that is not done: their values, in window order."""
    assert len(right) == len(left) + 1
    lefts, rights, rest = ([cell.value for cell in cells] for cells in (left, right, accumulated))
    check_cells(monoid, left, lefts, is_newest_first=False)
    check_cells(monoid, right, rights, is_newest_first=True)
    check_cells(monoid, accumulated, rest, is_newest_first=False)
    return lefts + rights[::-1] + rest
