"""Comparing partials in ``check_invariants``.

Algorithms combine the same values in different groupings. Partials of an exact type must then be equal;
floats may round differently (and objects may have no equality at all), so these count as equal and are left
to tests with exact aggregates, text above all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from windrow.monoids.base import Monoid

__all__ = ["agree", "check_okasaki", "sums_agree"]

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


def check_okasaki(
    monoid: Monoid,
    size: int,
    front: Any,
    next_: Any,
    back: Any,
    *,
    walk: Callable[[Any], tuple[list[Any], Any]],
    parts: Callable[[Any], Iterable[Any]],
) -> None:
    """Check the lists of [DABA] 3.1 and their sums. ``walk`` gives the cells of a list, and the rotation that
    stands for the rest of it, or None; ``parts`` gives its lists L, R and A."""
    (cells, rotation), (ahead, same), (backs, none) = map(walk, (front, next_, back))
    assert none is None, "a rotation in the back list"
    assert same is rotation, "next has missed the rotation"
    assert cells[len(cells) - len(ahead) :] == ahead, "next is not part of the front list"
    values = [cell.value for cell in cells]
    if rotation is not None:
        (lefts, left), (rights, right), (done, last) = map(walk, parts(rotation))
        assert left is right is last is None, "a rotation within another"
        assert len(rights) == len(lefts) + 1
        for some, is_newest_first in ((lefts, False), (rights, True), (done, False)):
            _check_cells(monoid, some, [cell.value for cell in some], is_newest_first)
        values += [cell.value for cell in (*lefts, *reversed(rights), *done)]
    assert len(values) + len(backs) == size
    assert len(ahead) + len(values) - len(cells) == len(values) - len(backs) >= 0
    _check_cells(monoid, cells, values, is_newest_first=False)
    _check_cells(monoid, backs, [cell.value for cell in backs], is_newest_first=True)


def _check_cells(monoid: Monoid, cells: Sequence[Any], values: list[Any], is_newest_first: bool) -> None:
    """Of cells with a sum each: it is that of the values from their own on."""
    sums = (cell.agg for cell in cells)
    assert sums_agree(monoid, sums, values, is_newest_first=is_newest_first), "a cell with a wrong sum"
