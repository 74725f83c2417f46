"""A batch of rows on its way into the stores: cut into slices and folded, once for all windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, Ints, Mask
from windrow.monoids.base import Aggregate
from windrow.partials.partials import Partials
from windrow.rows.frame import Frame
from windrow.slicing.slicer import Slicer
from windrow.slicing.slices import HeldSlices

__all__ = ["Batch", "fold_batch"]


@dataclass(frozen=True)
class Batch:
    """The slices of a batch, sorted by key and time, and the rows that they came from. Slices before
    ``late_before`` are single moments."""

    slices: HeldSlices
    #: rows of the frame that each slice holds: [front, stop)
    fronts: Ints
    stops: Ints
    late_before: int

    @property
    def times(self) -> Ints:
        return self.slices.firsts

    @property
    def is_late(self) -> Mask:
        """Which slices come too late to correct anything."""
        return self.slices.firsts < self.late_before

    def rows_of(self, taken: Mask, count: int) -> Mask:
        """For each row of the frame, whether its slice was taken."""
        edges = np.zeros(count + 1, np.int64)
        np.add.at(edges, self.fronts[taken], 1)
        np.add.at(edges, self.stops[taken], -1)
        return np.cumsum(edges[:-1]) > 0


def fold_batch(
    frame: Frame,
    numbers: Ints,
    slicer: Slicer,
    aggregates: tuple[Aggregate, ...],
    late_before: int,
    order: tuple[str, ...],
    cuts_moments: bool = False,
) -> Batch:
    """Rows of a frame as slices; ``numbers`` are the operator's numbers of the frame's keys."""
    cut = slicer.slices(frame.times, frame.run_starts, END_OF_TIME if cuts_moments else late_before)
    keys = np.repeat(numbers, np.diff(cut.runs))
    columns: tuple[Any, ...] = tuple(frame.column(name) for name in order) if slicer.apart else ()
    slices = HeldSlices(
        keys=keys,
        firsts=cut.times,
        lasts=frame.times[cut.rows[1:] - 1],
        ends=cut.ends,
        since=None,
        partials=Partials.of_rows(frame, aggregates, cut.rows),
        order=columns,
    )
    fronts, stops = cut.rows[:-1], cut.rows[1:]
    if (keys[1:] < keys[:-1]).any():
        places = np.argsort(keys, kind="stable")
        slices, fronts, stops = slices.take(places), fronts[places], stops[places]
    return Batch(slices, fronts, stops, late_before)
