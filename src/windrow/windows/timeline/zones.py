"""Time zones: local clock readings and the instants that show them.

Purpose: where local calendar periods begin, daylight saving included.
Invariant: ``first_instant`` never decreases as its local reading increases, and is the first instant at which
the local clock shows that reading or a later one. So where the clock skips midnight, the day begins when the
clock jumps; where midnight comes twice, the day begins the first time (as in java.time).
Cost: one lookup in the zone's table; about 30 where the reading is skipped. Recent answers are kept.

Times are int64 microseconds. A local reading is what the clock shows, counted from 1970-01-01 on that clock.
Years that ``datetime`` does not have are mapped to years that look the same: the calendar and every zone's
rule repeat after 400 years.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache

from windrow.windows.timeline.calendar import DAYS_PER_CYCLE, day_of
from windrow.windows.timeline.integers import DAY_US

_CYCLE_US = DAYS_PER_CYCLE * DAY_US
_FIRST_US = day_of(400, 1, 1) * DAY_US
_LAST_US = day_of(9600, 1, 1) * DAY_US
_EPOCH = datetime(1970, 1, 1)
# what a table has for a zone that is an offset from UTC
_OFFSET = re.compile(r"[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]")


@dataclass(frozen=True)
class Zone:
    """A time zone by its IANA name.

    >>> berlin = Zone("Europe/Berlin")
    >>> midnight = day_of(2024, 3, 31) * DAY_US
    >>> (midnight - berlin.first_instant(midnight)) // 3_600_000_000
    1
    """

    name: str

    @property
    def rule(self) -> tzinfo:
        """The zone as Python has it."""
        return UTC if self.name == "UTC" else _load(self.name)

    def local(self, time_us: int) -> int:
        """What the local clock shows at an instant."""
        if self.name == "UTC":
            return time_us
        return time_us + _offset_us(self.name, time_us)

    def first_instant(self, local_us: int) -> int:
        """The first instant at which the local clock shows this reading or a later one."""
        if self.name == "UTC":
            return local_us
        return _first_instant(self.name, local_us)


def zone_name(given: object) -> str | None:
    """The name of a time zone that is known to exist, or a fixed offset; None stays None.

    >>> zone_name("Europe/Berlin")
    'Europe/Berlin'
    >>> zone_name("+05:30")
    '+05:30'
    >>> zone_name("Mars/Olympus")
    Traceback (most recent call last):
    ValueError: timezone 'Mars/Olympus' is not known: use an IANA name such as 'Europe/Berlin', and install
    the 'tzdata' package where the system has no time zones
    """
    if given is None:
        return None
    name = str(getattr(given, "key", given))
    if name != "UTC":
        _load(name)
    return name


@cache
def is_utc(name: str) -> bool:
    """Whether the clocks of a zone always show UTC.

    >>> is_utc("Etc/UTC"), is_utc("+00:00"), is_utc("Europe/London")
    (True, True, False)
    """
    # zones whose offset changes have none without a moment
    return name == "UTC" or _load(name).utcoffset(None) == timedelta(0)


@cache
def _load(name: str) -> tzinfo:
    # Imported here so that windows without a timezone never load it
    from zoneinfo import ZoneInfo

    if _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(name[1:3]), minutes=int(name[4:]))
        return timezone(-offset if name[0] == "-" else offset)

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError(
            f"timezone {name!r} is not known: use an IANA name such as 'Europe/Berlin', and install the "
            "'tzdata' package where the system has no time zones"
        ) from error


def _offset_us(name: str, time_us: int) -> int:
    """Local clock minus UTC at an instant."""
    zone = _load(name)
    local = zone.fromutc(_naive(time_us).replace(tzinfo=zone))
    return _microseconds(local.utcoffset())


@lru_cache(maxsize=16_384)
def _first_instant(name: str, local_us: int) -> int:
    reading = _naive(local_us).replace(tzinfo=_load(name))
    earlier = local_us - _microseconds(reading.utcoffset())
    later = local_us - _microseconds(reading.replace(fold=1).utcoffset())
    # PEP 495: folds give earlier < later, and only skipped readings give the reverse
    return earlier if earlier <= later else _transition(name, later, earlier)


def _transition(name: str, before_us: int, after_us: int) -> int:
    """The instant in (before, after] at which the offset changes."""
    old = _offset_us(name, before_us)
    while after_us - before_us > 1:
        middle = (before_us + after_us) // 2
        if _offset_us(name, middle) == old:
            before_us = middle
        else:
            after_us = middle
    return after_us


def _naive(time_us: int) -> datetime:
    """A datetime of the same date and rule, in the years that datetime has room for."""
    if not _FIRST_US <= time_us < _LAST_US:
        bound = _FIRST_US if time_us < _FIRST_US else _LAST_US - _CYCLE_US
        time_us = bound + (time_us - bound) % _CYCLE_US
    return _EPOCH + timedelta(microseconds=time_us)


def _microseconds(offset: timedelta | None) -> int:
    assert offset is not None
    return offset // timedelta(microseconds=1)
