"""Labels of a stream, which wait until nothing that they may see can still come.

A label is due once the watermark has reached the end of its windows: every event before the watermark has
come then, or is late. A label without a time is due at once. One that is older than what is kept when it
comes is late, and gets no answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.engines.frames.retention import Retention
from windrow.rows.times import read_times
from windrow.slicing.finder.relative import bounds_at
from windrow.spec import Spec

__all__ = ["check_ends", "due_labels", "earliest_label", "late_labels"]


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
    times, missing = _times(labels, at_time)
    return Retention.of(query).too_old(times, watermark) & ~missing


def due_labels(query: Spec, labels: pa.Table, at_time: str, watermark: int) -> Mask:
    """Which labels see nothing any more that may still come."""
    times, missing = _times(labels, at_time)
    found = np.full(len(times), watermark > START_OF_TIME)
    for frame in Retention.of(query).frames:
        if frame.upper is not None:
            ends = bounds_at(frame.upper, times)
            found &= ends < watermark if frame.upper.is_closed else ends <= watermark
    return found | missing


def earliest_label(labels: pa.Table, at_time: str) -> int:
    """The earliest time of labels; the end of time if none has one."""
    times, missing = _times(labels, at_time)
    return int(times[~missing].min(initial=END_OF_TIME))


def _times(labels: pa.Table, at_time: str) -> tuple[Ints, Any]:
    _, times, missing = read_times(labels.column(at_time), at_time)
    return times, np.zeros(len(times), np.bool_) if missing is None else missing
