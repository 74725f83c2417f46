"""How long events are kept: as long as a label may look at them that is not older than the watermark.

An end of a frame by time says from which moment on events are needed. For frames of rows it is how many are
needed of each key, before the near end. ``"all"`` needs everything.

Invariant: a label is answered from all events that it sees, or refused; which labels are refused depends on
the watermark alone, and not on what happens to be dropped already.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.arrays import START_OF_TIME, Ints, Mask
from windrow.slicing.finder.relative import bounds_at
from windrow.spec import Spec
from windrow.windows.relative import Bound, TimeFrame
from windrow.windows.timeline.integers import DAY_US

__all__ = ["Retention"]

#: on a calendar a later label may reach back further than an earlier one: the same reading on the last day of
#: a shorter month, and clocks that are set back. It is never as much as this
_FALL = 2 * DAY_US


@dataclass(frozen=True)
class Retention:
    """What labels from a moment on may see."""

    frames: tuple[TimeFrame, ...]

    @classmethod
    def of(cls, query: Spec) -> Retention:
        assert query.asof_over is not None
        return cls(tuple(frame for _, frame in query.asof_over.named if isinstance(frame, TimeFrame)))

    @cached_property
    def keeps_all(self) -> bool:
        """Whether some frame looks at everything that has been."""
        return any(frame.lower is None and frame.rows is None for frame in self.frames)

    @cached_property
    def rows(self) -> int:
        """How many of the last events of a key are kept, whatever their times; 0: none."""
        counts = [frame.rows for frame in self.frames if frame.lower is None and frame.rows is not None]
        return max(counts, default=0)

    @cached_property
    def _ends(self) -> list[Bound]:
        """The end of each frame that says what is needed: the far one, or of rows the near one."""
        ends = [frame.lower or frame.upper for frame in self.frames]
        return [end for end in ends if end is not None]

    @cached_property
    def _fall(self) -> int:
        return _FALL if any(end.is_calendar for end in self._ends) else 0

    def horizon(self, watermark: int) -> int:
        """Events before this time are seen by no label from the watermark on, unless they are among the last
        ``rows`` of their key."""
        if self.keeps_all or watermark == START_OF_TIME:
            return START_OF_TIME
        return max(min(end.at(watermark) for end in self._ends) - 2 * self._fall, START_OF_TIME)

    def too_old(self, times: Ints, watermark: int) -> Mask:
        """Which labels may see an event that was dropped, at this watermark or before."""
        horizon = self.horizon(watermark)
        found = np.zeros(len(times), np.bool_)
        if horizon > START_OF_TIME:
            for end in self._ends:
                found |= bounds_at(end, times) < horizon + self._fall
        return found

    def needed(self, keys: Ints, times: Ints, watermark: int) -> Mask:
        """Which of these rows are still needed; they are all rows of their keys, by key, then by time."""
        kept = times >= self.horizon(watermark)
        if not self.rows or kept.all():
            return kept
        # the last ones before the horizon, and with the first of these all of its time
        old = np.flatnonzero(~kept)
        lasts = np.flatnonzero(np.append(keys[old][1:] != keys[old][:-1], True))
        starts = np.append(0, lasts[:-1] + 1)
        firsts = np.maximum(starts, lasts + 1 - self.rows)
        kept[old] = times[old] >= np.repeat(times[old][firsts], lasts + 1 - starts)
        return kept
