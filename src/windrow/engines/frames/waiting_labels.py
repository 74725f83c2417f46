"""Labels of a stream, which wait until nothing that they may see can still come.

A label is due once the watermark has reached the end of its windows: every event before the watermark has
come then, or is late. A label without a time is due at once. One that is older than what is kept when it
comes is late, and gets no answer.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.engines.frames.bounds import ends_before
from windrow.engines.frames.retention import Retention
from windrow.rows.times import read_times
from windrow.slicing.finder.relative import bounds_at
from windrow.spec import Spec

__all__ = ["are_due", "check_ends", "due_before", "late_labels"]


def check_ends(query: Spec) -> None:
    """Refuse windows that never end, so that their labels would never be due."""
    for frame in Retention.of(query).frames:
        if frame.upper is None:
            raise ValueError(
                f"as-of windows of {frame} have no end on a stream, and labels would wait for ever: give a "
                f"size, as in asof('7d', direction='forward')"
            )


def late_labels(query: Spec, labels: pa.Table, at_time: str, watermark: int) -> Mask:
    """Which labels look at events that are not kept any more."""
    _, times, missing = read_times(labels.column(at_time), at_time)
    old = Retention.of(query).too_old(times, watermark)
    return old if missing is None else old & ~missing


def due_before(query: Spec, watermark: int) -> int:
    """Labels from this time on are not due; of those before, :func:`are_due` says it."""
    uppers = [frame.upper for frame in Retention.of(query).frames]
    return min(START_OF_TIME if upper is None else ends_before(upper, watermark) for upper in uppers)


def are_due(query: Spec, times: Ints, watermark: int) -> Mask:
    """Which labels, by their times, see nothing any more that may still come."""
    found = np.full(len(times), watermark > START_OF_TIME)
    for frame in Retention.of(query).frames:
        if frame.upper is not None:
            ends = bounds_at(frame.upper, times)
            found &= ends < watermark if frame.upper.is_closed else ends <= watermark
    return found
