"""Session windows: periods of activity with silence between them.

    Session(gap='5m')     x  x   x         x x          x
                         |----------|     |------|     |----|
                         first  last+5m

Invariant: the sessions of one key are disjoint, unless late rows are judged by themselves. Rows exactly
``gap`` apart are in one session, as Spark, Flink and Scotty have it.
Source: [Scotty] sections II and IV: of several gaps, only the smallest cuts slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from windrow.windows.arguments import check_same_time
from windrow.windows.base import JobKey, Window
from windrow.windows.timeline.durations import Duration, DurationLike, fixed_duration


@dataclass(frozen=True, init=False, repr=False)
class Session(Window):
    """Rows at most ``gap`` apart, as [first, last + gap).

    Args:
        gap: the silence that ends a session. Sessions are apart if their nearest rows are more than this
            apart.
        max_size: how long a session may become. A row at ``first + max_size`` or later starts a new session
            however close it is to the last row, and the session before it ends at ``first + max_size`` at the
            latest. So a session is never longer than this, and sessions stay disjoint.
        late_by: what decides whether a row of a stream is late. Its ``"session"``: it joins one that is still
            open, and is late for one that has fired. By the ``"row"`` itself: it is late if its own
            [time, time + gap) has ended, and otherwise it counts, in a session of its own if the one it
            would belong to has fired. That is what Spark's ``session_window`` does; sessions may overlap.

    >>> from windrow.windows import Session
    >>> Session(gap="30 minutes")
    Session('30m')
    >>> list(Session(gap=5).merge([0, 3, 8, 14]))
    [(0, 13), (14, 19)]
    >>> list(Session(gap=5, max_size=10).merge([0, 4, 8, 12, 16]))
    [(0, 10), (12, 21)]
    """

    decided_by = "gaps"
    example = "Session('30m')"
    job_keys = (JobKey("gap", "time", '"30m"'), JobKey("max_size", "time", '"12h"', is_needed=False))

    gap: Duration
    max_size: Duration | None
    late_by: Literal["session", "row"]

    def __init__(
        self,
        gap: DurationLike,
        max_size: DurationLike | None = None,
        late_by: Literal["session", "row"] = "session",
    ) -> None:
        gap = fixed_duration(gap, "gap")
        limit = None if max_size is None else fixed_duration(max_size, "max_size")
        if limit is not None:
            check_same_time(gap, limit, "gap", "max_size")
        if late_by not in ("session", "row"):
            raise ValueError(f"late_by={late_by!r}: use 'session' or 'row'")
        if limit is not None and late_by == "row":
            raise ValueError("late_by='row' is for sessions of any size: leave out max_size")
        object.__setattr__(self, "late_by", late_by)
        object.__setattr__(self, "gap", gap)
        object.__setattr__(self, "max_size", limit)

    @property
    def uses_integer_time(self) -> bool:
        return self.gap.kind == "integer"

    @property
    def is_sliced(self) -> bool:
        return self.max_size is None

    @property
    def refuses_lateness(self) -> bool:
        return self.late_by == "row"

    @property
    def gap_us(self) -> int:
        """The gap in microseconds, or in the units of integer time."""
        return self.gap.units

    @property
    def max_size_us(self) -> int | None:
        """The longest a session may become, in microseconds or in the units of integer time."""
        return None if self.max_size is None else self.max_size.units

    def joins(self, first: int, last: int, time: int) -> bool:
        """Whether a row at this time, not before ``last``, joins the session of the rows first to last."""
        is_near = time - last <= self.gap_us
        return is_near and (self.max_size_us is None or time - first < self.max_size_us)

    def end(self, first: int, last: int) -> int:
        """Where the session of the rows first to last ends."""
        end = last + self.gap_us
        return end if self.max_size_us is None else min(end, first + self.max_size_us)

    def merge(self, times: Iterable[int]) -> Iterator[tuple[int, int]]:
        """The sessions of sorted times: the definition, one row at a time.

        Raises:
            ValueError: if the times are not sorted.
        """
        first = last = None
        for time in times:
            if last is not None and time < last:
                raise ValueError(f"time {time} comes after time {last}: sort the times before merging them")
            if first is not None and last is not None and not self.joins(first, last, time):
                yield first, self.end(first, last)
                first = None
            first, last = time if first is None else first, time
        if first is not None and last is not None:
            yield first, self.end(first, last)

    def _arguments(self) -> Iterator[str]:
        yield self.gap.argument
        if self.max_size is not None:
            yield f"max_size={self.max_size.argument}"
        if self.late_by != "session":
            yield f"late_by={self.late_by!r}"
