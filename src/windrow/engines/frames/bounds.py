"""What frames of rows ask of time: from when on they are complete, and from when on rows are still needed.

All rows before a moment, ``up_to``, have come. A frame is complete once no row that is still to come can be
in it: one that ends at u, if that end is closed, once u < up_to, and else once u <= up_to. Frames by rows are
complete once so many rows of the key have come behind the row.

Invariant: what is found here for a time holds for all later ones, also where ends by the calendar fall (the
last days of January are all a month before the same day; clocks are turned): times are then taken with some
days to spare.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.engines.kept_rows.reading import Span
from windrow.slicing.finder.relative import bounds_at
from windrow.windows.relative import CALENDAR_SLACK, Bound, RelativeFrame, RowFrame, TimeFrame
from windrow.windows.timeline.durations import Duration

__all__ = [
    "are_complete",
    "complete_before",
    "ends_before",
    "ends_of",
    "looks_ahead_by_rows",
    "may_see",
    "needed_from",
    "rows_ahead",
    "rows_needed",
    "seeing_from",
    "span_of",
]


# -- by time -------------------------------------------------------------------------------------------------


def complete_before(frames: Sequence[RelativeFrame], up_to: int) -> int:
    """Rows from this time on have a frame that is not complete; of those before, :func:`are_complete` says
    it."""
    found = up_to
    for frame in _by_time(frames):
        if frame.upper is None:
            return START_OF_TIME
        found = min(found, ends_before(frame.upper, up_to))
    return found


def ends_before(upper: Bound, up_to: int) -> int:
    """Points from this time on have a frame with such an end that is not complete."""
    back = Bound(
        tuple(Duration(-each.amount, each.kind) for each in reversed(upper.offsets)), True, upper.timezone
    )
    last = int(bounds_at(back, np.array([up_to]))[0])
    return last + (CALENDAR_SLACK if upper.is_calendar else 0) + (0 if upper.is_closed else 1)


def are_complete(frames: Sequence[RelativeFrame], times: Ints, up_to: int) -> Mask:
    """Which rows, by their times, have frames that are all complete."""
    found = times < up_to
    for frame in _by_time(frames):
        if frame.upper is None:
            return np.zeros(len(times), np.bool_)
        found &= _stops(frame, times) <= up_to
    return found


def may_see(frames: Sequence[RelativeFrame], times: Ints, since: Ints) -> Mask:
    """Which rows, by their times, have a frame that a row may be in which comes at a time, or later."""
    found = np.zeros(len(times), np.bool_)
    for frame in frames:
        if isinstance(frame, RowFrame):
            found |= frame.stop > 1
        else:
            found |= True if frame.upper is None else _stops(frame, times) > since
    return found


def seeing_from(frames: Sequence[RelativeFrame], time: int) -> int:
    """Rows before this have no frame that a row may be in which comes at a time, or later."""
    if rows_ahead(frames):
        return START_OF_TIME
    uppers = [frame.upper for frame in _by_time(frames) if frame.upper is not None]
    slack = 2 * CALENDAR_SLACK if any(upper.is_calendar for upper in uppers) else 0
    return complete_before(frames, time) - slack


def needed_from(frames: Sequence[RelativeFrame], time: int) -> int:
    """The earliest time that rows may see which are at a time or later."""
    found = END_OF_TIME
    for frame in _by_time(frames):
        slack = CALENDAR_SLACK if frame.lower is not None and frame.lower.is_calendar else 0
        found = min(found, int(_fronts(frame, np.array([time]))[0]) - slack)
    return found


def ends_of(frame: TimeFrame, times: Ints) -> tuple[Ints, Ints]:
    """For each row the first moment in its frame, and the first behind it."""
    return _fronts(frame, times), _stops(frame, times)


def span_of(frame: TimeFrame, times: Ints) -> Span:
    """Where the frames of rows begin and end."""
    fronts, stops = ends_of(frame, times)
    return Span(int(fronts.min()), int(fronts.max()), int(stops.min()), int(stops.max()))


def _by_time(frames: Sequence[RelativeFrame]) -> list[TimeFrame]:
    return [frame for frame in frames if isinstance(frame, TimeFrame)]


def _fronts(frame: TimeFrame, times: Ints) -> Ints:
    """The first moment in the frame of each row."""
    if frame.lower is None:
        return np.full(len(times), START_OF_TIME)
    return bounds_at(frame.lower, times) + (0 if frame.lower.is_closed else 1)


def _stops(frame: TimeFrame, times: Ints) -> Ints:
    """The first moment behind it."""
    if frame.upper is None:
        return np.full(len(times), END_OF_TIME)
    return bounds_at(frame.upper, times) + (1 if frame.upper.is_closed else 0)


# -- by rows -------------------------------------------------------------------------------------------------


#: more rows than a key can have; what is counted from it stays within 64 bits
_MOST = 2**62


def rows_ahead(frames: Sequence[RelativeFrame]) -> int:
    """How many rows must have come behind a row before its frames are complete."""
    return min(_MOST, max([0, *(frame.stop - 1 for frame in frames if isinstance(frame, RowFrame))]))


def looks_ahead_by_rows(frames: Sequence[RelativeFrame]) -> bool:
    """Tell whether frames of rows end elsewhere than at the row or right before it."""
    return any(isinstance(frame, RowFrame) and frame.stop not in (0, 1) for frame in frames)


def rows_needed(frames: Sequence[RelativeFrame]) -> int:
    """How many of the last rows of a key are in frames that are not complete, or may be in later ones; rows
    that wait are among them, since rows are counted from them."""
    back = max([0, *(-frame.front for frame in frames if isinstance(frame, RowFrame))])
    return min(_MOST, rows_ahead(frames) + back)
