"""The partials of one aggregate over slices: what every form of them can do.

Invariant: whatever form they have, ``folded`` and ``results`` combine from left to right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.monoids.base import Aggregate
from windrow.partials.ranges import Shape
from windrow.state.checks import check_column, require

__all__ = ["Column"]


@dataclass(frozen=True)
class Column(ABC):
    """Partials of one aggregate, one per slice."""

    aggregate: Aggregate
    #: how many rows of each slice the aggregate skipped (None: none of any)
    skipped: Ints | None

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    def check_invariants(self, rows: Ints) -> None:
        """Of a column that comes from outside, for slices of so many rows each."""
        name = repr(self.aggregate)
        if self.skipped is not None:
            check_column(f"rows that {name} skipped", self.skipped, len(rows))
            enough = (self.skipped >= 0) & (self.skipped <= rows)
            require(enough.all(), f"{name} skipped more rows than there are")
        self._check(name, len(rows))

    @abstractmethod
    def _check(self, name: str, count: int) -> None:
        """The same for what a form has besides."""

    @abstractmethod
    def take(self, places: Any) -> Column: ...

    @abstractmethod
    def folded(self, starts: Ints) -> Column: ...

    @abstractmethod
    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        """Lowered, as an Arrow array; ``values`` says how many values each range holds, and what stands for
        ranges without one is not defined."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """As plain values and arrays, for the codec; :func:`column_from` is the reverse."""

    def skipped_in(self, fronts: Ints, stops: Ints) -> Ints | None:
        if self.skipped is None:
            return None
        before = np.concatenate([[0], np.cumsum(self.skipped)])
        return before[stops] - before[fronts]

    def _skipped_taken(self, places: Any) -> Ints | None:
        return None if self.skipped is None else self.skipped[places]

    def _skipped_folded(self, starts: Ints) -> Ints | None:
        if self.skipped is None or len(starts) < 2:
            return None
        found = np.add.reduceat(self.skipped, starts[:-1])
        return found if found.any() else None
