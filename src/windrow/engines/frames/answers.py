"""What points see through their frames: a column for each aggregate and frame.

Points are rows that ask. By time their keys and times matter, and they need not be among the rows of the
frame; by rows they are found there by their arrival numbers. What lies in all frames of a size is read as one
partial per key where it is much (:mod:`windrow.engines.kept_rows.reading`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.reading import Read
from windrow.engines.kept_rows.row_table import Held
from windrow.engines.kept_rows.shared_partial import middle_of
from windrow.partials.added_aggregates import null_where_unseen
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.ranges import RowRanges
from windrow.rows.keys import shared_keys
from windrow.slicing.finder.relative import SeenRows
from windrow.spec import Spec
from windrow.state.checks import require
from windrow.windows.relative import RelativeFrame, RowFrame

__all__ = ["Points", "by_aggregate"]


def by_aggregate(found: Sequence[list[Any]]) -> list[Any]:
    """Columns of each frame, as those of each aggregate."""
    return [column for columns in zip(*found, strict=True) for column in columns]


@dataclass(frozen=True)
class Points:
    """Points by key and time, with numbers of keys that are those of a frame's rows, and more."""

    taken: RowsWithContext
    keys: Ints
    times: Ints
    #: the positions of points in the frame; none where only their times matter
    places: Ints
    #: the place of each point in the order in which points were given
    order: Ints
    #: where the rows of each key start, and the end; and all keys, where some are not in the frame
    runs: Ints
    key_values: pa.Table | None = None

    @classmethod
    def of_new(cls, taken: RowsWithContext) -> Points:
        """The new rows of a frame."""
        return cls._at(taken, taken.news, taken.places(taken.news) - taken.context)

    @classmethod
    def by_number(cls, taken: RowsWithContext, points: Held) -> Points:
        """Rows that are among those of the frame."""
        arrivals = taken.rows.arrivals[taken.places(np.arange(len(taken.frame)))]
        sorter = np.argsort(arrivals)
        found = np.minimum(np.searchsorted(arrivals, points.arrivals, sorter=sorter), len(sorter) - 1)
        places = sorter[found]
        is_there = bool((arrivals[places] == points.arrivals).all())
        require(is_there, "rows that wait, and are not among the others")
        order = np.argsort(places)
        return cls._at(taken, places[order], order)

    @classmethod
    def _at(cls, taken: RowsWithContext, places: Ints, order: Ints) -> Points:
        frame = taken.frame
        keys, times = frame.keys[places], frame.times[places]
        return cls(taken, keys, times, places, order, frame.run_starts)

    @classmethod
    def by_time(cls, query: Spec, taken: RowsWithContext, points: Held) -> Points:
        """Rows that are, perhaps, not among those of the frame."""
        frame = taken.frame
        values, (_, numbers) = shared_keys(query.by, [frame.key_table(), points.table])
        count = max(len(frame.key_rows), int(numbers.max()) + 1)
        runs = np.append(frame.run_starts, np.full(count - len(frame.key_rows), len(frame)))
        order = np.lexsort([points.times, numbers])
        nowhere = np.empty(0, np.int64)
        return cls(taken, numbers[order], points.times[order], nowhere, order, runs, values)

    @property
    def followers(self) -> Ints:
        """How many rows of each point's key are behind it."""
        return self._put_back(self.runs[self.keys + 1] - self.places - 1)

    def results(self, query: Spec, frame: RelativeFrame, reach: Read) -> list[Any]:
        """A column for each aggregate, in the order in which points were given."""
        taken = self.taken
        if reach.middle:
            values = taken.frame.key_table() if self.key_values is None else self.key_values
            middle = middle_of(query, taken, reach, values, self.runs)
            columns = middle.results(self.keys, *self._ranges(frame, middle.held[self.keys]))
        else:
            fronts, stops = self._ranges(frame, 0)
            aggregates = [aggregate for _, aggregate in query.aggregates]
            columns = aggregate_columns(taken.frame, aggregates, RowRanges(fronts, stops))
            columns = null_where_unseen(columns, taken.unseen, fronts, stops)
        if (self.order[1:] > self.order[:-1]).all():
            return columns
        places = pa.array(self._put_back(np.arange(len(self.order))))
        return [column.take(places) for column in columns]

    def _ranges(self, frame: RelativeFrame, held: Any) -> tuple[Ints, Ints]:
        """Fronts and stops among the rows of the frame, where so many of each point's key are in no row of
        it but in the middle."""
        if not isinstance(frame, RowFrame):
            return SeenRows(self.taken.frame.times, self.runs, self.keys, self.times).ranges(frame)
        begins, ends = self.runs[self.keys], self.runs[self.keys + 1]
        # an offset that leaves every run leaves it by no more than its length
        most = len(self.taken.frame) + int(np.max(held, initial=0)) + 1
        front, stop = (max(-most, min(most, offset)) for offset in (frame.front, frame.stop))
        fronts = np.clip(self.places + front + held, begins, ends)
        return fronts, np.maximum(np.clip(self.places + stop, begins, ends), fronts)

    def _put_back(self, values: Ints) -> Ints:
        """Values in the order in which points were given."""
        found = np.empty(len(values), np.int64)
        found[self.order] = values
        return found
