"""Punctuation windows: the rows themselves say where a window ends.

    Punctuation('done')    done  .  .  T  .  T  .  .
                                |-------|----|------ (open)

Invariant: a row whose column is true is the last row of its window; every row is in one window.
Source: [RA] section 2: window sizes by punctuation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from windrow.windows.base import JobKey
from windrow.windows.flagged import FlaggedWindow


@dataclass(frozen=True, init=False, repr=False)
class Punctuation(FlaggedWindow):
    """Windows that a row closes whose column is true; that row is the window's last.

    Args:
        column (str): a boolean column. Null counts as false.

    >>> from windrow.windows import Punctuation
    >>> Punctuation("done")
    Punctuation('done')
    >>> list(Punctuation("done").split([False, False, True, None, True, False]))
    [(0, 3), (3, 5)]
    """

    example = "Punctuation('done')"
    job_keys = (JobKey("column", "text", '"done"'),)

    def split(self, flags: Iterable[bool | None]) -> Iterator[tuple[int, int]]:
        """The closed windows of rows in event-time order, as row numbers [first, last + 1)."""
        start = 0
        for row, flag in enumerate(flags):
            if flag:
                yield start, row + 1
                start = row + 1
