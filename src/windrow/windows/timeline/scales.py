"""Scales: the numbers that a time line is divided by, and the instants that they stand for.

Purpose: one window arithmetic for fixed and for calendar windows. A window is [label, label + size) on a
scale, and labels are plain integers: microseconds (or the units of integer time), local days, or local
months.
Invariant: ``at`` never decreases, and ``floor(t)`` is the largest label with ``at(label) <= t``. Two labels
may share an instant where a zone skips a whole day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from windrow.windows.timeline.calendar import first_day_of_month, month_of_day
from windrow.windows.timeline.integers import DAY_US
from windrow.windows.timeline.zones import Zone


class Scale(Protocol):
    """What a window arithmetic needs of a time line."""

    @property
    def is_uniform(self) -> bool:
        """Whether all labels are equally far apart."""

    def floor(self, time: int) -> int:
        """The largest label whose instant is not after this time."""

    def at(self, label: int) -> int:
        """The instant of a label."""


@dataclass(frozen=True)
class UniformScale:
    """Each label is its own instant: fixed durations and integer time.

    >>> UniformScale().floor(-7), UniformScale().at(-7)
    (-7, -7)
    """

    is_uniform = True

    def floor(self, time: int) -> int:
        return time

    def at(self, label: int) -> int:
        return label


@dataclass(frozen=True)
class CalendarScale:
    """Local days or months, counted from 1970, each beginning ``offset_us`` later on the local clock.

    >>> months = CalendarScale("months", Zone("UTC"))
    >>> months.floor(-1), months.at(1) // DAY_US
    (-1, 31)
    """

    unit: Literal["days", "months"]
    zone: Zone
    offset_us: int = 0

    is_uniform = False

    def floor(self, time: int) -> int:
        day = (self.zone.local(time) - self.offset_us) // DAY_US
        label = day if self.unit == "days" else month_of_day(day)
        # The label has begun, as the clock shows it; a later one has too if the clock was set back since
        while self.at(label + 1) <= time:
            label += 1
        return label

    def at(self, label: int) -> int:
        day = label if self.unit == "days" else first_day_of_month(label)
        return self.zone.first_instant(day * DAY_US + self.offset_us)
