"""As-of queries on tables: for each label, aggregates over the events that it may see.

events -> frame (sorted by key and time); labels -> points (sorted alike) -> ranges of events, for each size
-> aggregates over them -> columns beside those of the labels, in their order. The events are read and sorted
once, whatever the number of sizes, and each aggregate is one pass over neighbouring ranges per size.

Invariant: the result has every row and column of the labels. A label without events has what an empty window
gives; one without a time has null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.engines.result_tables import with_results
from windrow.names import check_columns
from windrow.partials.aggregate import aggregate_sizes
from windrow.partials.ranges import RowRanges
from windrow.partials.result_types import check_inputs
from windrow.result_names import check_label_names
from windrow.rows.columns import require_columns
from windrow.rows.frame import Frame, build_frame
from windrow.rows.points import Points, fractions_of, read_points
from windrow.rows.tables import read_table
from windrow.rows.times import check_time_kind, in_zone_of
from windrow.slicing.finder.relative import SeenRows
from windrow.spec import Spec

__all__ = ["run_asof", "with_seen", "with_seen_of"]


def run_asof(query: Spec, data: Any, at: Any, at_time: str, at_by: tuple[str, ...]) -> Any:
    """Evaluate an as-of query on events and labels; the result is the kind of table that the labels are."""
    events, _ = read_table(data, query)
    labels, back = read_table(at, [at_time, *at_by])
    return back(with_seen(in_zone_of(query, events), events, labels, at_time, at_by))


def with_seen(
    query: Spec, events: pa.Table, labels: pa.Table, at_time: str, at_by: tuple[str, ...]
) -> pa.Table:
    """The labels with what each sees of the events."""
    require_columns(events, [c for _, a in query.aggregates for c in a.reads])
    check_inputs(query, events.schema)
    check_columns([at_time, *at_by], labels.column_names, "the table of labels")
    return with_seen_of(query, events, labels, at_time, at_by)


def with_seen_of(
    query: Spec,
    events: pa.Table,
    labels: pa.Table,
    at_time: str,
    at_by: tuple[str, ...],
    naming: Callable[[Frame], Frame] | None = None,
) -> pa.Table:
    """The same for columns that were checked; ``naming``: names events in another way than by row."""
    check_label_names(query, labels.column_names)
    frame = build_frame(query, events)
    frame = frame if naming is None else naming(frame)
    check_time_kind(query, frame.axis)
    points = read_points(frame, query.time, labels, at_time, at_by)
    frame.warn_of_rejected(query.time)
    points.warn_of_rejected(at_time)
    columns = points.all_scattered(_seen_columns(query, frame, points))
    return with_results(query, labels, columns)


def _seen_columns(query: Spec, frame: Frame, points: Points) -> list[Any]:
    """What each point sees, in the order of the points: a column for each aggregate and size."""
    assert query.frames is not None
    seen = _seen_rows(query, frame, points)
    is_one = len(points) == 1
    every = [RowRanges(*seen.ranges(each), disjoint=is_one) for _, each in query.frames.named]
    return aggregate_sizes(frame, [aggregate for _, aggregate in query.aggregates], every)


def _seen_rows(query: Spec, frame: Frame, points: Points) -> SeenRows:
    fractions = fractions_of(frame.axis, frame.table.column(query.time))
    if fractions is not None and frame.permutation is not None:
        fractions = fractions[frame.permutation]
    # behind all keys one without rows, for labels of keys that are not known
    runs = np.append(frame.run_starts, len(frame))
    return SeenRows(frame.times, runs, points.keys, points.times, fractions, points.fractions)
