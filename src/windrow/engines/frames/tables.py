"""Rolling: which rows each row sees, by time or by number."""

from __future__ import annotations

from windrow.partials.ranges import LastRows, RowRanges
from windrow.rows.frame import Frame
from windrow.slicing.finder.relative import SeenRows
from windrow.slicing.finder.sorted_rows import rolling_time
from windrow.spec import Frames, Rolling
from windrow.windows.relative import RelativeFrame, RowFrame

__all__ = ["rolling_rows", "rolling_sizes"]


def rolling_rows(frame: Frame, over: Rolling) -> RowRanges | LastRows:
    """What each row of the frame sees, by time or by rows."""
    if over.rows is not None:
        return LastRows(frame.run_starts, over.rows)
    assert over.size is not None
    return _last_time(frame, over.size.units)


def rolling_sizes(frame: Frame, frames: Frames) -> list[RowRanges | LastRows]:
    """The same for several sizes, other ends, or ends that are moved: one for each."""
    seen = SeenRows(frame.times, frame.run_starts)
    return [_rows_of(frame, each, seen) for _, each in frames.named]


def _rows_of(frame: Frame, each: RelativeFrame, seen: SeenRows) -> RowRanges | LastRows:
    """Frames that end with the row itself are found and aggregated as those of plain rolling, in a fraction
    of the time that ranges take."""
    if isinstance(each, RowFrame):
        if each.front <= 0 and each.stop == 1:
            return LastRows(frame.run_starts, each.rows)
    elif (units := each.plain_size) is not None:
        return _last_time(frame, units)
    return RowRanges(*seen.ranges(each), one_a_row=True)


def _last_time(frame: Frame, units: int) -> RowRanges:
    fronts, stops = rolling_time(frame.times, frame.run_starts, units)
    return RowRanges(fronts, stops, one_a_row=True)
