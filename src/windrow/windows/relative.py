"""Frames: which rows a point in time sees. The point is a label's time, or a row's own.

Purpose: one value for as-of windows and for rolling, by time or by rows.

    [t - size, t)        closed="left"     what was known before t
    (t - size, t]        closed="right"    rolling: a row sees itself
    (t, t + size]        direction="forward"

Invariant: an end by time is the point moved by signed durations, one after the other; months, and days in a
time zone, move on the local clock. Where an end is missing the frame is open on that side. Nothing here looks
at rows: :mod:`windrow.slicing.finder.relative` finds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from windrow.windows.timeline.durations import Duration
from windrow.windows.timeline.integers import DAY_US
from windrow.windows.timeline.moves import moved

__all__ = [
    "CALENDAR_SLACK",
    "Bound",
    "Closed",
    "RelativeFrame",
    "RowFrame",
    "TimeFrame",
    "fixed_reach",
    "includes_end",
    "includes_start",
]

Closed = Literal["left", "right", "both", "neither"]

#: by the calendar, a later point may reach back further than an earlier one: the last four days of a month
#: may all be a month after one day, and clocks are turned; but no further than a point so much earlier
CALENDAR_SLACK = 5 * DAY_US


def includes_start(closed: Closed) -> bool:
    return closed in ("left", "both")


def includes_end(closed: Closed) -> bool:
    return closed in ("right", "both")


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of a frame by time: the point, moved by these durations one after the other."""

    offsets: tuple[Duration, ...]
    #: whether a row at that very moment is inside
    is_closed: bool
    #: whose calendar months and days are of; None: UTC
    timezone: str | None = None

    def at(self, time: int) -> int:
        """The moment, for a point at this time.

        >>> Bound((Duration(-10, "integer"), Duration(3, "integer")), True).at(50)
        43
        """
        for offset in self.offsets:
            time = moved(time, offset, self.timezone)
        return time

    @property
    def is_calendar(self) -> bool:
        return any(offset.is_calendar for offset in self.offsets)

    @property
    def is_ahead(self) -> bool:
        """Whether it may be after the point."""
        return any(offset.amount > 0 for offset in self.offsets)

    @property
    def follows_zone(self) -> bool:
        """Whether it has days, weeks or months and names no zone."""
        return self.timezone is None and any(offset.follows_zone for offset in self.offsets)

    def in_zone(self, zone: str) -> Bound:
        """The bound where times are in this zone, if it names none."""
        return self if self.timezone else Bound(tuple(d.local for d in self.offsets), self.is_closed, zone)

    def __str__(self) -> str:
        lengths = (each.on_clock for each in self.offsets)
        steps = (f" {'-' if each.amount < 0 else '+'} {str(each).removeprefix('-')}" for each in lengths)
        return "t" + "".join(steps)


@dataclass(frozen=True, slots=True)
class TimeFrame:
    """The rows of a key between two moments; with ``rows`` at most so many of them, those nearest to the end
    that there is.

    >>> week, past = Bound((Duration(-7, "integer"),), True), Bound((), False)
    >>> print(TimeFrame(week, past), "|", TimeFrame(None, past), "|", TimeFrame(None, past, rows=3))
    [t - 7, t) | all before t | the last 3 rows before t
    """

    #: None: from the first row on
    lower: Bound | None
    #: None: to the last row
    upper: Bound | None
    #: the last ones before ``upper`` where there is no lower end, and the first ones behind ``lower``
    #: where there is no upper end
    rows: int | None = None

    @property
    def follows_zone(self) -> bool:
        return any(bound is not None and bound.follows_zone for bound in (self.lower, self.upper))

    def in_zone(self, zone: str) -> TimeFrame:
        """The frame where times are in this zone, if it names none."""
        lower, upper = (bound and bound.in_zone(zone) for bound in (self.lower, self.upper))
        return TimeFrame(lower, upper, self.rows)

    @property
    def plain_size(self) -> int | None:
        """The size of a frame (t - size, t] of fixed length; None: it is another one.

        >>> TimeFrame(Bound((Duration(-7, "integer"),), False), Bound((), True)).plain_size
        7
        """
        lower, upper = self.lower, self.upper
        if lower is None or upper != Bound((), True, lower.timezone) or lower.is_closed or lower.is_calendar:
            return None
        return -lower.offsets[0].units if len(lower.offsets) == 1 else None

    def __str__(self) -> str:
        if self.lower is not None and self.upper is not None:
            ends = "[" if self.lower.is_closed else "(", "]" if self.upper.is_closed else ")"
            return f"{ends[0]}{self.lower}, {self.upper}{ends[1]}{self._calendar}"
        near = self.upper or self.lower
        if near is None:
            return "all rows"
        side, last = ("before", "last") if near is self.upper else ("after", "next")
        where = f"{'at or ' if near.is_closed else ''}{side} {near}{self._calendar}"
        return f"all {where}" if self.rows is None else f"the {last} {self.rows} rows {where}"

    @property
    def _calendar(self) -> str:
        """Whose days and months are counted, where a zone is named."""
        zones = [each.timezone for each in (self.lower, self.upper) if each and each.is_calendar]
        return f" on the calendar of {zones[0]}" if zones and zones[0] else ""


@dataclass(frozen=True, slots=True)
class RowFrame:
    """The rows of a key by number, counted from the row itself in order of time: [row + front, row + stop).

    >>> print(RowFrame(-3, 0), "|", RowFrame(-1, 2))
    rows [i - 3, i) | rows [i - 1, i + 2)
    """

    front: int
    stop: int
    follows_zone: ClassVar[bool] = False

    def in_zone(self, zone: str) -> RowFrame:
        return self

    @property
    def rows(self) -> int:
        """How many rows it holds at most."""
        return self.stop - self.front

    def __str__(self) -> str:
        return f"rows [{_place(self.front)}, {_place(self.stop)})"


def _place(offset: int) -> str:
    return f"i {'-' if offset < 0 else '+'} {abs(offset)}" if offset else "i"


RelativeFrame = TimeFrame | RowFrame


def fixed_reach(frames: Iterable[RelativeFrame]) -> tuple[int, int] | None:
    """How far before a point and behind it rows may lie that frames hold; None: no fixed time says so.

    >>> day, hour = Duration(-24, "integer"), Duration(1, "integer")
    >>> fixed_reach([TimeFrame(Bound((day,), True), Bound((hour,), False))])
    (24, 1)
    >>> fixed_reach([TimeFrame(None, Bound((), False))])
    """
    before, behind = 0, 0
    for frame in frames:
        if isinstance(frame, RowFrame) or frame.lower is None or frame.upper is None:
            return None
        if frame.lower.is_calendar or frame.upper.is_calendar:
            return None
        before = max(before, -frame.lower.at(0))
        behind = max(behind, frame.upper.at(0))
    return before, behind
