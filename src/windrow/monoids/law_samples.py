"""The rows and partials on which laws are tried, the simplest first.

Callers give friendly samples; laws break on unfriendly ones. :func:`extended` derives those from the samples:
for numbers their negatives, zero, one and, where floats occur, NaN; for text the empty text. An
:class:`Element` is a partial that remembers which rows it was made of, so that a counter-example can be shown
and can be made smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Element", "distinct", "extended", "simplicity"]

Row = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Element:
    """A partial, the expression it stands for, and the rows in it."""

    value: Any
    text: str
    rows: tuple[Row, ...]
    derived: bool = False

    @property
    def cost(self) -> tuple[Any, ...]:
        """What sorts the simplest first: fewest rows, then simplest rows."""
        return len(self.rows), [simplicity(row) for row in self.rows]

    @property
    def has_nan(self) -> bool:
        return any(isinstance(value, float) and value != value for row in self.rows for value in row)

    def __str__(self) -> str:
        return self.text


def simplicity(row: Row) -> tuple[Any, ...]:
    """A key that puts small whole numbers and short texts before fractions, infinities and NaN.

    >>> sorted([(2.5,), (-1,), (float("nan"),), (1,), (0,)], key=simplicity)
    [(0,), (1,), (-1,), (2.5,), (nan,)]
    """
    return tuple(_simplicity(value) for value in row)


def _simplicity(value: Any) -> tuple[int, Any, str]:
    if isinstance(value, (int, float)):
        if value != value:
            return 3, 0, ""
        if value in (math.inf, -math.inf):
            return 2, 0, "-" if value < 0 else ""
        return (0 if value == int(value) else 1), abs(value), "-" if value < 0 else ""
    if isinstance(value, (str, bytes)):
        return 0, len(value), repr(value)
    return 1, len(repr(value)), repr(value)


def distinct(rows: Iterable[Row]) -> list[Row]:
    """The rows without repetitions, in their order."""
    return list({repr(row): row for row in reversed(list(rows))}.values())[::-1]


def extended(rows: list[Row], floats: bool) -> list[Row]:
    """Unfriendly rows derived from friendly ones; ``floats``: try NaN even if all samples are integers."""
    derived: list[Row] = []
    for change in (_negated, _zero, _one):
        derived += [tuple(change(value) for value in row) for row in rows[:3]]
    for place in range(len(rows[0])):
        column = [row[place] for row in rows if place < len(row)]
        for changed in _variants(column, floats):
            derived.append((*rows[0][:place], changed, *rows[0][place + 1 :]))
    known = {repr(row) for row in rows}
    return [row for row in distinct(derived) if repr(row) not in known]


def _variants(column: list[Any], floats: bool) -> list[Any]:
    """Values to try in one place of a row, the others staying as they are."""
    kinds = {type(value) for value in column}
    if kinds == {bool}:
        return [False, True]
    if kinds and all(_is_numeric(value) for value in column):
        with_nan = floats or any(isinstance(value, float) for value in column)
        return [_negated(column[0]), _zero(column[0]), *([math.nan] if with_nan else [])]
    return [kind() for kind in kinds if kind in (str, bytes)]


def _is_numeric(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _when_numeric(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: function(value) if _is_numeric(value) else value


_negated = _when_numeric(lambda value: -value)
_zero = _when_numeric(lambda value: 0.0 if isinstance(value, float) else 0)
_one = _when_numeric(lambda value: 1.0 if isinstance(value, float) else 1)
