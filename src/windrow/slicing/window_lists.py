"""Lists of windows, in columns.

:class:`Found` says which windows: what the ledger keeps and what comes out is known by that. :class:`Ranges`
says also what each of them holds, as ranges of the rows or slices that they were found among; it is of use
only beside these. What aggregates are computed over knows neither keys nor edges and is in
:mod:`windrow.partials.ranges`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import Ints, Mask
from windrow.compile.cache import kernel

__all__ = ["Found", "Ranges"]


@dataclass(frozen=True)
class Found:
    """Windows by what they are: number in the query, key, edges."""

    windows: Ints
    keys: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.windows)

    def take(self, places: Any) -> Found:
        return Found(self.windows[places], self.keys[places], self.starts[places], self.ends[places])

    def joined(self, other: Found) -> Found:
        return Found(
            np.concatenate([self.windows, other.windows]),
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.starts, other.starts]),
            np.concatenate([self.ends, other.ends]),
        )

    def order(self) -> Ints:
        return np.lexsort([self.ends, self.starts, self.keys, self.windows])

    def is_sorted(self) -> bool:
        return bool(_are_sorted(self.windows, self.keys, self.starts, self.ends))

    def same_as_before(self) -> Mask:
        """Which are equal to the one before; they are sorted."""
        same = np.zeros(len(self), np.bool_)
        if len(self) > 1:
            same[1:] = (
                (self.windows[1:] == self.windows[:-1])
                & (self.keys[1:] == self.keys[:-1])
                & (self.starts[1:] == self.starts[:-1])
                & (self.ends[1:] == self.ends[:-1])
            )
        return same

    @staticmethod
    def none() -> Found:
        nothing = np.empty(0, np.int64)
        return Found(nothing, nothing, nothing, nothing)


@dataclass(frozen=True)
class Ranges:
    """Windows by key, then time, and the rows or slices [front, stop) that each holds: neither fronts nor
    stops ever fall, but where windows of the next kind begin."""

    keys: Ints
    starts: Ints
    ends: Ints
    fronts: Ints
    stops: Ints
    #: no row is in two windows
    disjoint: bool = False
    #: windows without rows and so without edges: those from which a policy evicted all
    without_edges: Mask | None = None
    #: the number of each window in the query; None: all are of one kind, which the caller knows
    windows: Ints | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def found(self) -> Found:
        """Which windows these are, where they have numbers."""
        assert self.windows is not None
        return Found(self.windows, self.keys, self.starts, self.ends)

    def take(self, places: Any) -> Ranges:
        """Some of them, in the same order."""
        keys, starts, ends = self.keys[places], self.starts[places], self.ends[places]
        edgeless = None if self.without_edges is None else self.without_edges[places]
        windows = None if self.windows is None else self.windows[places]
        fronts, stops = self.fronts[places], self.stops[places]
        return Ranges(keys, starts, ends, fronts, stops, self.disjoint, edgeless, windows)


@kernel
def _are_sorted(windows: Ints, keys: Ints, starts: Ints, ends: Ints) -> bool:
    for i in range(1, len(windows)):
        before = (windows[i - 1], keys[i - 1], starts[i - 1], ends[i - 1])
        if (windows[i], keys[i], starts[i], ends[i]) < before:
            return False
    return True
