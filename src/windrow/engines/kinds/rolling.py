"""Rolling: which rows each row sees, by time or by number."""

from __future__ import annotations

from windrow.partials.ranges import LastRows, RowRanges
from windrow.rows.frame import Frame
from windrow.slicing.finder.sorted_rows import rolling_time
from windrow.spec import Rolling

__all__ = ["rolling_rows"]


def rolling_rows(frame: Frame, over: Rolling) -> RowRanges | LastRows:
    """What each row of the frame sees, by time or by rows."""
    if over.rows is not None:
        return LastRows(frame.run_starts, over.rows)
    assert over.size is not None
    fronts, stops = rolling_time(frame.times, frame.run_starts, over.size.units)
    return RowRanges(fronts, stops, one_a_row=True)
