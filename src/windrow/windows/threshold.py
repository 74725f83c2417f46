"""Threshold windows: runs of rows for which something is true, as long as it stays true.

    Threshold('late')    late  T  T  .  T  T  T  .  T
                              |----|   |-------|   |-- (open)

Invariant: all rows of a window are true, and the rows of its key before and after it are not; a row that is
not true is in no window.
Source: the threshold frames of Grossniklaus, Maier, Miller, Moorthy and Tufte: Frames: Data-Driven Windows
(DEBS 2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from windrow.windows.base import JobKey
from windrow.windows.flagged import FlaggedWindow


@dataclass(frozen=True, init=False, repr=False)
class Threshold(FlaggedWindow):
    """The longest runs of rows whose column is true; the row that ends a run is not part of it.

    Args:
        column (str): a boolean column. Null counts as false and also ends a run.

    >>> from windrow.windows import Threshold
    >>> Threshold("late")
    Threshold('late')
    >>> list(Threshold("late").split([True, True, False, True, None, False, True]))
    [(0, 2), (3, 4)]
    """

    example = "Threshold('late')"
    job_keys = (JobKey("column", "text", '"late"'),)

    def split(self, flags: Iterable[bool | None]) -> Iterator[tuple[int, int]]:
        """The ended windows of rows in event-time order, as row numbers [first, last + 1)."""
        start = 0
        for row, flag in enumerate(flags):
            if not flag:
                if start < row:
                    yield start, row
                start = row + 1
