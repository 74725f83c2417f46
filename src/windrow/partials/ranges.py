"""What aggregates are computed over: ranges of rows, or of slices of rows.

All ranges are [front, stop) in processing order: by key, then by time. They know neither keys nor edges: for
lists of windows that do, see :mod:`windrow.slicing.window_lists`. The three types are three ways to
aggregate. :class:`RowRanges` are over any rows, :class:`SliceRanges` over partials that windows share, and
:class:`LastRows` over a number of rows, with no list of where each range begins and ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from windrow.arrays import END_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.partials.range_pieces import widest_range
from windrow.threads import even_pieces, in_threads
from windrow.values import made_at_once

if TYPE_CHECKING:
    from windrow.partials.cells import Cells

__all__ = ["LastRows", "Over", "RowRanges", "Shape", "SliceRanges", "Slices"]

#: how ranges lie: no slice in two; neither fronts nor stops fall; or as they come
Shape = Literal["disjoint", "sliding", "any"]


@made_at_once
@dataclass(frozen=True)
class Slices:
    """Where rows are cut into slices: in processing order, which is by key and time."""

    #: where the rows of each slice start, and the end
    rows: Ints
    #: a time inside each slice
    times: Ints
    #: where the slices of each key start, and the end
    runs: Ints
    #: the first edge of any window after each slice; slices of a key with the same one may be fused
    ends: Ints
    #: which slice each row goes to, for rows that are folded as they come; None: rows are sorted first
    cells: Cells | None = None
    #: partials of aggregates over the slices, by aggregate: folded once for all windows
    partials: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False)

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class RowRanges:
    """Ranges [front, stop) of rows in processing order; neither fronts nor stops fall, but for a few places
    (ends by the calendar), where windows start anew."""

    fronts: Ints
    stops: Ints
    #: no row is in two ranges
    disjoint: bool = False
    #: there is one range per row, and its result belongs where the row lies
    one_a_row: bool = False

    @property
    def shape(self) -> Shape:
        return "disjoint" if self.disjoint else "sliding"

    def __len__(self) -> int:
        return len(self.fronts)

    @cached_property
    def widest(self) -> int:
        return widest_range(self.fronts, self.stops)

    @cached_property
    def row_counts(self) -> Ints:
        """How many rows each range holds."""
        return self.stops - self.fronts

    @cached_property
    def holds_rows(self) -> bool:
        """Whether each range holds a row."""
        return least_range(self.fronts, self.stops) > 0

    def as_ranges(self) -> RowRanges:
        return self


@dataclass(frozen=True)
class SliceRanges:
    """Ranges [front, stop) of slices: windows that share the partials of their slices.

    Several kinds of windows come one after the other: fronts and stops fall where the next kind begins."""

    slices: Slices
    fronts: Ints
    stops: Ints
    disjoint: bool = False
    #: all windows are of one kind
    one_kind: bool = False
    one_a_row: ClassVar[bool] = False

    @cached_property
    def shape(self) -> Shape:
        """How :func:`partial_results` should read the slices: whatever takes the fewest combines."""
        if self.disjoint or not len(self):
            return "disjoint"
        if self.one_kind:
            return "sliding"
        widths = self.stops - self.fronts
        falls = (self.fronts[1:] < self.fronts[:-1]) | (self.stops[1:] < self.stops[:-1])
        is_new = falls | (self.fronts[1:] >= self.stops[:-1])
        inserted = widths[0] + np.where(is_new, widths[1:], self.stops[1:] - self.stops[:-1]).sum()
        by_tree = 2 * len(self.slices) + 2 * len(self) * max(1.0, np.log2(max(1.0, widths.mean())))
        return "any" if by_tree < 3 * inserted else "sliding"

    def __len__(self) -> int:
        return len(self.fronts)

    @property
    def widest(self) -> int:
        return self._rows.widest

    @cached_property
    def holds_rows(self) -> bool:
        """Whether each range holds a slice, and so a row."""
        return least_range(self.fronts, self.stops) > 0

    def as_ranges(self) -> RowRanges:
        """The rows of the same windows."""
        return self._rows

    @cached_property
    def _rows(self) -> RowRanges:
        return RowRanges(self.slices.rows[self.fronts], self.slices.rows[self.stops], self.disjoint)


@dataclass(frozen=True)
class LastRows:
    """For each row the last ``size`` rows of its run, itself included; runs are given by where they start
    and end."""

    runs: Ints
    size: int
    one_a_row: ClassVar[bool] = True
    holds_rows: ClassVar[bool] = True

    def __len__(self) -> int:
        return int(self.runs[-1])

    @cached_property
    def widest(self) -> int:
        return min(self.size, int(np.diff(self.runs).max(initial=0)))

    def runs_in(self, piece: slice) -> tuple[Ints, int]:
        """The runs that some rows belong to, the last one cut where they end; and the first row that they
        see.

        >>> LastRows(np.array([0, 5, 9, 12]), size=3).runs_in(slice(7, 11))
        (array([ 5,  9, 11]), 5)
        """
        first, last = np.searchsorted(self.runs, [piece.start + 1, piece.stop]).tolist()
        runs = np.append(self.runs[first - 1 : last], piece.stop)
        return runs, max(int(runs[0]), piece.start - self.size + 1)

    def as_ranges(self) -> RowRanges:
        return self._ranges

    @cached_property
    def _ranges(self) -> RowRanges:
        fronts, stops = np.empty(len(self), np.int64), np.empty(len(self), np.int64)

        def fill(piece: slice) -> None:
            runs, _ = self.runs_in(piece)
            starts = np.repeat(runs[:-1], np.diff(np.maximum(runs, piece.start)))
            stops[piece] = np.arange(piece.start + 1, piece.stop + 1)
            fronts[piece] = np.maximum(starts, stops[piece] - self.size)

        if len(self):
            in_threads(fill, even_pieces(len(self)))
        return RowRanges(fronts, stops, one_a_row=True)


@kernel
def least_range(fronts: Ints, stops: Ints) -> int:
    """The length of the shortest range, or any that is longer than 0."""
    found: Any = np.int64(END_OF_TIME)
    for i in range(len(fronts)):
        found = min(found, stops[i] - fronts[i])
    return found


Over: TypeAlias = "RowRanges | SliceRanges | LastRows"
