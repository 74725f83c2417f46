"""Firings of a window: m tuples go, m come, and the result is asked for. Timed in plain Python, and counted.

FlatFAT's batches of changes and its resizing are those of its plain form, so that both are measured there.
A firing empties part of the window before it fills it again; that shall not resize FlatFAT's tree, so its
capacity is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import windrow as wr
from windrow_experiments.measure import Counter
from windrow_experiments.operators import Operator

__all__ = ["combines_a_tuple", "fire", "firings"]

Algorithm = Callable[[Any], Any]


def fire(window: Any, rows: list[tuple[Any, ...]], changes: int) -> None:
    """Take all rows through a full window, ``changes`` of them between two results."""
    insert = window.insert
    for first in range(0, len(rows), changes):
        window.evict_many(changes)
        for values in rows[first : first + changes]:
            insert(*values)
        window.query()


def _window(algorithm: Algorithm, monoid: Any, size: int) -> Any:
    if algorithm is wr.swag.FlatFAT:
        return wr.swag.FlatFAT(monoid, capacity=1 << (size - 1).bit_length())
    return algorithm(monoid)


def firings(
    algorithm: Algorithm, operator: Operator, size: int, changes: int, tuples: int, seed: int
) -> tuple[Callable[[], Any], int]:
    """Firings to be timed, and the tuples that they take: a multiple of ``changes``."""
    tuples = max(tuples // changes, 1) * changes
    rows = operator.rows(size + tuples, seed)
    window = _window(algorithm, operator.monoid, size)
    for values in rows[:size]:
        window.insert(*values)
    window.query()
    return lambda: fire(window, rows[size:], changes), tuples


def combines_a_tuple(algorithm: Algorithm, size: int, changes: int) -> float:
    """Combines for each tuple that comes, over at least one turnover of the window."""
    counter = Counter()
    window = _window(algorithm, counter.monoid, size)
    rows = [(value,) for value in range(-(-size // changes) * changes)]
    for values in rows[:size]:
        window.insert(*values)
    window.query()
    return counter.cost(fire, window, rows, changes) / len(rows)
