"""What rows see through their frames, of a log that holds all rows that have come: a column for each
aggregate and frame.

The rows that ask are *points*. By time their keys and times matter, and they need not be in the log
themselves; by rows they are found in it by their arrival numbers. What lies in all frames of a size is read
as partials by key where it is much, as for plain rolling (:mod:`windrow.engines.kept_rows.reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.frames.bounds import rows_needed, span_of
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.reading import Read, Span, reach_by_rows, reach_by_time, rows_between
from windrow.engines.kept_rows.row_table import Held
from windrow.engines.kept_rows.shared_partial import middle_of
from windrow.errors import AggregateError
from windrow.partials.added_aggregates import null_where_unseen
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.ranges import RowRanges
from windrow.rows.keys import shared_keys
from windrow.slicing.finder.relative import SeenRows
from windrow.spec import Spec
from windrow.state.checks import require
from windrow.windows.relative import RowFrame, TimeFrame

__all__ = ["columns_by_rows", "columns_by_time", "columns_of_last_rows", "places_of"]

#: makes a frame of rows that lie in order
Framing = Callable[[Held | None], RowsWithContext]


def _by_aggregate(found: Sequence[list[Any]]) -> list[Any]:
    """Columns of each frame, as those of each aggregate."""
    return [column for columns in zip(*found, strict=True) for column in columns]


def _put_back(columns: list[Any], order: Ints) -> list[Any]:
    """Columns of what was put into an order, as it was before."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return [column.take(pa.array(places)) for column in columns]


def _over_rows(query: Spec, taken: RowsWithContext, fronts: Ints, stops: Ints) -> list[Any]:
    """A column for each aggregate, for ranges of a frame's rows."""
    aggregates = [aggregate for _, aggregate in query.aggregates]
    columns = aggregate_columns(taken.frame, aggregates, RowRanges(fronts, stops))
    return null_where_unseen(columns, taken.unseen, fronts, stops)


# -- by time -------------------------------------------------------------------------------------------------


def columns_by_time(
    query: Spec, frames: Sequence[TimeFrame], log: RowLog, points: Held, framing: Framing
) -> list[Any]:
    """The results of points, in their order."""
    spans = [span_of(frame, points.times) for frame in frames]
    reaches = [reach_by_time(query, span, log, len(points)) for span in spans]
    if not any(reach.middle for reach in reaches):
        return _by_aggregate(_over_one_stretch(query, frames, log, points, framing, spans))
    pairs = zip(frames, reaches, strict=True)
    try:
        return _by_aggregate([_over_reach(query, frame, reach, points, framing) for frame, reach in pairs])
    except (AggregateError, TypeError):
        # over the rows themselves it works, or raises again and can name the row
        return _by_aggregate(_over_one_stretch(query, frames, log, points, framing, spans))


def _over_one_stretch(
    query: Spec,
    frames: Sequence[TimeFrame],
    log: RowLog,
    points: Held,
    framing: Framing,
    spans: Sequence[Span],
) -> list[list[Any]]:
    """The results of each frame, over rows that are read once for all of them."""
    front, stop = min(span.first_front for span in spans), max(span.last_stop for span in spans)
    taken = framing(rows_between(log, front, stop))
    asked = _asked(query, taken, points)
    found = [_over_rows(query, taken, *asked.seen(taken, frame)) for frame in frames]
    return [asked.put_back(columns) for columns in found]


def _over_reach(query: Spec, frame: TimeFrame, reach: Read, points: Held, framing: Framing) -> list[Any]:
    """The results of one frame, perhaps over partials."""
    taken = framing(reach.rows)
    asked = _asked(query, taken, points)
    fronts, stops = asked.seen(taken, frame)
    if not reach.middle:
        return asked.put_back(_over_rows(query, taken, fronts, stops))
    middle = middle_of(query, taken, reach, asked.key_values, asked.runs)
    return asked.put_back(middle.results(asked.keys, fronts, stops))


@dataclass(frozen=True)
class _Asked:
    """Points by key and time, with numbers of keys that are those of a frame's rows, and more."""

    keys: Ints
    times: Ints
    #: the place of each point in the order in which points were given
    order: Ints
    #: all keys, those of the frame first; and where the rows of each start, and the end
    key_values: pa.Table
    runs: Ints

    def seen(self, taken: RowsWithContext, frame: TimeFrame) -> tuple[Ints, Ints]:
        return SeenRows(taken.frame.times, self.runs, self.keys, self.times).ranges(frame)

    def put_back(self, columns: list[Any]) -> list[Any]:
        """Columns in the order in which points were given."""
        return _put_back(columns, self.order)


def _asked(query: Spec, taken: RowsWithContext, points: Held) -> _Asked:
    frame = taken.frame
    values, (_, numbers) = shared_keys(query.by, [frame.key_table(), points.table])
    count = max(len(frame.key_rows), int(numbers.max()) + 1)
    runs = np.append(frame.run_starts, np.full(count - len(frame.key_rows), len(frame)))
    order = np.lexsort([points.times, numbers])
    return _Asked(numbers[order], points.times[order], order, values, runs)


# -- by rows -------------------------------------------------------------------------------------------------


def places_of(taken: RowsWithContext, points: Held) -> Ints:
    """The positions of points among the rows of a frame."""
    arrivals = taken.rows.arrivals[taken.places(np.arange(len(taken.frame)))]
    order = np.argsort(arrivals)
    found = np.minimum(np.searchsorted(arrivals, points.arrivals, sorter=order), len(order) - 1)
    places = order[found]
    require(bool((arrivals[places] == points.arrivals).all()), "rows that wait, and are not among the others")
    return places


def columns_by_rows(
    query: Spec, frames: Sequence[RowFrame], taken: RowsWithContext, places: Ints
) -> list[Any]:
    """The results of points at these positions of the frame, in this order."""
    return _by_aggregate([_by_number(query, frame, taken, places) for frame in frames])


def _by_number(query: Spec, frame: RowFrame, taken: RowsWithContext, places: Ints) -> list[Any]:
    order = np.argsort(places)
    fronts, stops = SeenRows(taken.frame.times, taken.frame.run_starts).ranges(frame)
    columns = _over_rows(query, taken, fronts[places[order]], stops[places[order]])
    return _put_back(columns, order)


def columns_of_last_rows(
    query: Spec, frames: Sequence[RowFrame], log: RowLog, new: Held, framing: Framing
) -> list[Any]:
    """The results of new rows, in their order, where frames end with the row or right before it; what is in
    all of them may be read as partials."""
    reaches = [reach_by_rows(query, rows_needed([frame]) + 1, log, new) for frame in frames]
    if not any(reach.middle for reach in reaches):
        widest = max(reaches, key=lambda reach: 0 if reach.rows is None else len(reach.rows))
        taken = framing(widest.rows)
        return columns_by_rows(query, frames, taken, _new_places(taken))
    pairs = zip(frames, reaches, strict=True)
    try:
        return _by_aggregate([_over_last(query, frame, framing(reach.rows), reach) for frame, reach in pairs])
    except (AggregateError, TypeError):
        # over the rows themselves it works, or raises again and can name the row
        taken = framing(log.all())
        return columns_by_rows(query, frames, taken, _new_places(taken))


def _over_last(query: Spec, frame: RowFrame, taken: RowsWithContext, reach: Read) -> list[Any]:
    """The results of one frame, perhaps over partials."""
    places = _new_places(taken)
    if not reach.middle:
        return _by_number(query, frame, taken, places)
    order, runs = np.argsort(places), taken.frame.run_starts
    middle = middle_of(query, taken, reach, taken.frame.key_table(), runs)
    keys = taken.frame.keys[places[order]]
    fronts = np.maximum(runs[keys], places[order] + middle.held[keys] - rows_needed([frame]))
    stops = places[order] + frame.stop
    return _put_back(middle.results(keys, fronts, stops), order)


def _new_places(taken: RowsWithContext) -> Ints:
    """The positions of new rows, in their order."""
    found = np.empty(len(taken.news), np.int64)
    found[taken.places(taken.news) - taken.context] = taken.news
    return found
