"""Ways to fold rows with a monoid: from the left, from the right, in random groups, natively."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np

from windrow.compile.native import native
from windrow.compile.steps import for_python
from windrow.monoids.base import Monoid


def lifted(monoid: Monoid, rows: list[Any]) -> list[Any]:
    return [monoid.lift(*monoid.row((row,))) for row in rows]


def fold(monoid: Monoid, rows: list[Any]) -> Any:
    """The partial of all rows, oldest first."""
    return functools.reduce(monoid.combine, lifted(monoid, rows), monoid.identity)


def grouped_fold(monoid: Monoid, rows: list[Any], seed: int) -> Any:
    """The same partial by combining random neighbours until one is left."""
    choose = random.Random(seed)
    partials = lifted(monoid, rows) or [monoid.identity]
    while len(partials) > 1:
        at = choose.randrange(len(partials) - 1)
        partials[at : at + 2] = [monoid.combine(partials[at], partials[at + 1])]
    return partials[0]


def result(monoid: Monoid, rows: list[Any]) -> Any:
    return monoid.lower(fold(monoid, rows)) if rows else monoid.empty_result()


def native_result(monoid: Monoid, *columns: np.ndarray[Any, Any]) -> Any:
    """The result by native code; fails if the monoid does not compile for these columns."""
    form = native(monoid, tuple(column.dtype for column in columns))
    assert form is not None, f"{monoid.name} does not compile for {[c.dtype for c in columns]}"
    lift, combine, lower = map(for_python, (form.lift, form.combine, form.lower))
    partial = form.identity
    for row in zip(*columns, strict=True):
        partial = form.layout.partial_value(combine(partial, form.layout.partial_value(lift(*row))))
    return lower(partial)
