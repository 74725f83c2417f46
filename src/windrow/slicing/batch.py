"""A batch of rows on its way into the stores: cut into slices and folded, once for all windows.

Rows are folded as they come where nothing needs their order, and sorted elsewhere: where sessions or moments
cut, and for aggregates that depend on order or have no native form. :func:`cut_as_they_come` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.monoids.base import Aggregate
from windrow.partials.fold import fold_in_any_order
from windrow.partials.partials import Partials
from windrow.partials.ranges import Slices
from windrow.rows.frame import Frame
from windrow.slicing.any_order import cut_in_any_order
from windrow.slicing.slicer import Slicer
from windrow.slicing.slices import HeldSlices, owners
from windrow.values import made_at_once

__all__ = ["Batch", "CutRows", "cut_rows", "fold_batch"]


@made_at_once
@dataclass(frozen=True)
class Batch:
    """The slices of a batch, sorted by key and time, and the rows that they came from. Slices before
    ``late_before`` are single moments."""

    slices: HeldSlices
    #: for a mask of slices, which rows of the frame's table they hold; not known where rows were folded
    #: elsewhere
    rows_of: Callable[[Mask], Mask] | None
    late_before: int

    @property
    def times(self) -> Ints:
        return self.slices.firsts

    @property
    def is_late(self) -> Mask:
        """Which slices come too late to correct anything."""
        return self.slices.firsts < self.late_before


@made_at_once
@dataclass(frozen=True)
class CutRows:
    """The slices that rows of a frame are cut into, by its numbers of keys."""

    frame: Frame
    slices: Slices

    @property
    def keys(self) -> Ints:
        found: Ints = owners(self.slices.runs)
        return found

    def fold(self, aggregates: Sequence[Aggregate], keys: Ints, order: tuple[Any, ...] = ()) -> HeldSlices:
        """The slices with their partials, for these numbers of their keys."""
        cut, times = self.slices, self.frame.unordered_times
        if cut.cells is not None:
            firsts, lasts = cut.cells.extremes(times)
        else:
            firsts, lasts = cut.times, self.frame.times[cut.rows[1:] - 1]
        partials = Partials.of_rows(self.frame, aggregates, cut.rows, cells=cut.cells)
        return HeldSlices(keys, firsts, lasts, cut.ends, None, partials, order)

    def rows_in(self, chosen: Mask) -> Mask:
        """Which rows of the table are in one of the chosen slices. Each of them has a time."""
        if self.slices.cells is not None:
            return self.slices.cells.rows_in(chosen)
        in_order = np.repeat(chosen, np.diff(self.slices.rows))
        return in_order if self.frame.order is None else _placed(in_order, self.frame.order)


def _placed(values: Mask, places: Ints) -> Mask:
    found = np.empty_like(values)
    found[places] = values
    return found


def cut_rows(
    frame: Frame, slicer: Slicer, aggregates: Sequence[Aggregate], cut_before: int = START_OF_TIME
) -> CutRows:
    """Rows cut where windows need it, and those before ``cut_before`` at every moment; as they come, if that
    will do for these aggregates."""
    found = cut_as_they_come(frame, slicer, aggregates, cut_before, by_time=True)
    return CutRows(
        frame, slicer.slices(frame.times, frame.run_starts, cut_before) if found is None else found
    )


def cut_as_they_come(
    frame: Frame,
    slicer: Slicer,
    aggregates: Sequence[Aggregate],
    cut_before: int = START_OF_TIME,
    by_time: bool = False,
) -> Slices | None:
    """The slices that rows are folded into without being sorted; None: they are in order, or need to be.
    ``by_time``: partials of aggregates that pick a row remember its time, and slices their times."""
    if slicer.cuts_between_rows or frame.is_in_order or frame.span[0] < cut_before:
        return None
    if not fold_in_any_order(frame, aggregates, by_time):
        return None
    times, keys = frame.unordered_times, frame.unordered_keys
    return cut_in_any_order(slicer, times, keys, len(frame.key_rows), frame.span, with_times=by_time)


def fold_batch(
    frame: Frame,
    numbers: Ints,
    slicer: Slicer,
    aggregates: tuple[Aggregate, ...],
    late_before: int,
    order: tuple[str, ...],
    cuts_moments: bool = False,
) -> Batch:
    """Rows of a frame as slices; ``numbers`` are the operator's numbers of the frame's keys, which rise."""
    cut = cut_rows(frame, slicer, aggregates, END_OF_TIME if cuts_moments else late_before)
    keys = numbers[cut.keys]
    columns: tuple[Any, ...] = tuple(frame.column(name) for name in order) if slicer.apart else ()
    return Batch(cut.fold(aggregates, keys, columns), cut.rows_in, late_before)
