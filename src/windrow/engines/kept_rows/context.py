"""Rows that an operator takes, together with those before them that they share windows with.

The rows lie in order of time: first the *context*, rows taken before, then new rows. In the frame the context
of a key leads its run. What later rows will need of a key is always an end of its run; so is what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from windrow.arrays import Ints
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.partials.added_aggregates import Unseen, unseen_rows
from windrow.rows.frame import Frame, build_frame
from windrow.spec import Spec

__all__ = ["Naming", "RowsWithContext", "arrived", "take"]

#: makes a frame name its rows in another way
Naming = Callable[[Frame, Ints], Frame]


@dataclass(frozen=True)
class RowsWithContext:
    """The frame of context and new rows; ``rows`` as they lie in its table."""

    frame: Frame
    rows: Held
    context: int
    #: how many rows had come when each aggregate was added; (): none was added
    added_after: tuple[int, ...] = ()

    @cached_property
    def leading(self) -> Ints:
        """How many rows of each run are context."""
        return self.leading_rows(self.context)

    @property
    def firsts(self) -> Ints:
        """The position of the first new row of each run."""
        return self.frame.run_starts[:-1] + self.leading

    @cached_property
    def news(self) -> Ints:
        """The positions of new rows."""
        return self._at_or_after(self.firsts)

    @cached_property
    def unseen(self) -> Unseen:
        """Which rows of the frame each aggregate has not seen."""
        return unseen_rows(self.rows.arrivals[self.places(np.arange(len(self.frame)))], self.added_after)

    def places(self, positions: Ints) -> Ints:
        """The rows of the table that stand at these positions of the frame."""
        permutation = self.frame.permutation
        return positions if permutation is None else permutation[positions]

    def from_each(self, begins: Ints) -> Ints:
        """The places of the rows of each run from a position on, in order of time."""
        return np.sort(self.places(self._at_or_after(begins)))

    def leading_rows(self, count: int) -> Ints:
        """How many of the first ``count`` rows of the table are in each run; they lead it."""
        keys = self.frame.unordered_keys[:count]
        return np.bincount(keys, minlength=len(self.frame.key_rows)).astype(np.int64)

    def last_rows(self, edge: int, count: int) -> Ints:
        """The places of the last ``count`` rows of each key, without the first ``edge`` rows of the table."""
        runs = self.frame.run_starts
        return self.from_each(np.maximum(runs[:-1] + self.leading_rows(edge), runs[1:] - count))

    def _at_or_after(self, begins: Ints) -> Ints:
        lengths = np.diff(self.frame.run_starts)
        return np.flatnonzero(np.arange(len(self.frame)) >= np.repeat(begins, lengths))


def take(
    query: Spec,
    context: Held | None,
    new: Held | None,
    naming: Naming | None = None,
    added_after: tuple[int, ...] = (),
) -> RowsWithContext:
    """Frame rows by key; both parts are in order already, so ``query`` has none of its own. ``naming`` says
    how the frame names its rows; by default by arrival numbers."""
    parts = [part for part in (context, new) if part is not None]
    rows = joined(parts)
    frame = (naming or arrived)(build_frame(query, rows.table), rows.arrivals)
    return RowsWithContext(frame, rows, 0 if context is None else len(context), added_after)


def arrived(frame: Frame, arrivals: Ints) -> Frame:
    """The same frame, which names its rows by their arrival numbers."""
    return replace(frame, row_name=lambda row: f"row {arrivals[row]}")
