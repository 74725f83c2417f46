"""Sessions with a longest size, over rows in order: where one is cut depends on where it began.

Rows of the session that is still open are kept, and no others. Source: the sessions of
:mod:`windrow.slicing.finder.sorted_rows`, which this feeds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow.engines.result_tables import result_table
from windrow.engines.spark.worker.sorted_rows import named_by_time
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.ranges import RowRanges
from windrow.rows.frame import build_frame
from windrow.slicing.finder.sorted_rows import session_ranges
from windrow.spec import Spec
from windrow.windows import Session

__all__ = ["LimitedSessions"]


class LimitedSessions:
    """The sessions of some keys; rows of a key come in order."""

    def __init__(self, query: Spec, name: str, window: Session) -> None:
        self._query = replace(query, order=())  # the rows have it already
        self._name = name
        self._window = window
        self._rows: list[pa.Table] = []

    def push(self, table: pa.Table, arrivals: Any) -> None:
        """Hold rows; they have a time each."""
        self._rows.append(table)

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        """The sessions that no later row can belong to: all but the last, or all with ``closing``."""
        table = pa.concat_tables(self._rows)
        frame = named_by_time(build_frame(self._query, table), self._query.time)
        ranges = session_ranges(frame.times, frame.run_starts, self._window)
        if not closing:
            begin = int(ranges.fronts[-1])
            assert frame.permutation is None, "rows of one key, in order"
            self._rows = [table.slice(begin)]
            ranges = ranges.take(slice(0, -1))
        over = RowRanges(ranges.fronts, ranges.stops, disjoint=True)
        columns = aggregate_columns(frame, [a for _, a in self._query.aggregates], over)
        return result_table(self._query, frame, self._name, ranges, columns) if len(ranges) else None
