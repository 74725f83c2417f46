"""Durations: how long a window, a slide, a gap or a delay is.

Purpose: read durations in every form users write them, and write them back short.
Invariant: a duration is one signed number of one kind, and the number fits in 64 bits:

- ``fixed``: microseconds, each as long as the other;
- ``integer``: plain units of an integer time column;
- ``months``, ``weeks``, ``days``: calendar periods, whose length depends on where they lie.

Months (and quarters and years) are always calendar periods. Days and weeks are calendar periods only where
there is a timezone, and 24 and 168 hours otherwise; those of a fixed duration are remembered, since its
timezone may be that of a column of times. Hours and below are always fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal, TypeAlias

from windrow.duration_text import counted_units
from windrow.windows.base import Window
from windrow.windows.timeline.integers import DAY_US, as_integer, fit_int64
from windrow.windows.timeline.numpy_scalars import NumpyScalar, count_and_unit, is_timedelta64

Kind = Literal["fixed", "integer", "months", "weeks", "days"]

DurationLike: TypeAlias = "str | int | timedelta | NumpyScalar | Duration"

_MONTHS = {"y": 12, "q": 3, "mo": 1}
_DAYS = {"w": 7, "d": 1}
_UNIT_US = {"days": DAY_US, "weeks": 7 * DAY_US}
_CLOCK_US = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_SPOKEN_US = {"years": 31_556_952_000_000, "days": DAY_US, "hours": 3_600_000_000, "minutes": 60_000_000}
_SPOKEN_US |= {"seconds": 1_000_000, "milliseconds": 1_000}
# numpy's units that are spelled otherwise
_FROM_NUMPY = {"Y": "y", "M": "mo", "W": "w", "D": "d"}


@dataclass(frozen=True, slots=True)
class Duration:
    """A signed amount of one kind of time; ``written`` is what the user gave, for messages.

    >>> parse_duration("90m") == parse_duration("1h30m")
    True
    >>> str(parse_duration("90m")), parse_duration("90m").units
    ('1h30m', 5400000000)
    """

    amount: int
    kind: Kind
    written: str = field(default="", compare=False, repr=False)
    #: what a fixed duration counts that was given in days or weeks alone
    unit: Literal["days", "weeks"] | None = field(default=None, repr=False)

    @property
    def is_calendar(self) -> bool:
        """Whether the length depends on the place in the calendar."""
        return self.kind in ("months", "weeks", "days")

    @property
    def follows_zone(self) -> bool:
        """Whether it is another stretch of time in a time zone than without one."""
        return self.is_calendar or self.unit is not None

    @property
    def local(self) -> Duration:
        """The duration where there is a timezone: days and weeks are those of the calendar.

        >>> parse_duration("7d").local, parse_duration("168h").local
        (Duration(amount=7, kind='days'), Duration(amount=604800000000, kind='fixed'))
        """
        if self.unit is None:
            return self
        return Duration(self.amount // _UNIT_US[self.unit], self.unit, self.written)

    @property
    def on_clock(self) -> Duration:
        """The duration where no timezone matters: a day is 24 hours."""
        return self if self.unit is None else replace(self, unit=None)

    @property
    def units(self) -> int:
        """Microseconds, or the plain units of integer time.

        Raises:
            ValueError: if this is a calendar duration, which has no one length.
        """
        if self.kind not in ("fixed", "integer"):
            raise ValueError(f"duration {self.quoted} has no fixed length: use hours or below")
        return self.amount

    @property
    def labels(self) -> int:
        """The amount in what its time line counts: microseconds, plain units, days or months."""
        return self.amount * 7 if self.kind == "weeks" else self.amount

    @property
    def quoted(self) -> str:
        """The duration as the user wrote it, quoted as in source text."""
        return self.written or self.argument

    @property
    def argument(self) -> str:
        """The duration as source text that reads back equal: ``'1h30m'`` in quotes, or a bare integer."""
        return str(self.amount) if self.kind == "integer" else repr(str(self))

    def __str__(self) -> str:
        return format_duration(self)


def parse_duration(value: DurationLike, name: str = "duration", *, local_days: bool = False) -> Duration:
    """Read a duration; ``local_days`` keeps days and weeks as calendar periods (there is a timezone).

    Accepted are ``timedelta``, ``numpy.timedelta64``, Polars style text, Spark style text, and plain integers
    for integer time. With ``local_days``, a ``timedelta`` of whole days counts as days.

    >>> parse_duration("10 minutes").units
    600000000
    >>> parse_duration("1d"), parse_duration("1d", local_days=True)
    (Duration(amount=86400000000, kind='fixed'), Duration(amount=1, kind='days'))
    >>> parse_duration("1q")
    Duration(amount=3, kind='months')
    >>> parse_duration("5ns", "gap")
    Traceback (most recent call last):
    ValueError: gap '5ns' is not a whole number of microseconds: use 'us' or above
    """
    if isinstance(value, Duration):
        return value.local if local_days else value
    if isinstance(value, str):
        return _from_counts(counted_units(value, name), repr(value), name, local_days)
    if isinstance(value, timedelta):
        return _from_timedelta(value, name, local_days)
    if is_timedelta64(value):
        count, unit = count_and_unit(value, name)
        return _from_counts({_FROM_NUMPY.get(unit, unit): count}, repr(value), name, local_days)
    if isinstance(value, Window) or (isinstance(value, type) and issubclass(value, Window)):
        shown = value.__name__ if isinstance(value, type) else repr(value)
        raise TypeError(f"{name} {shown} is a window where a duration is wanted: give one such as '10m'")
    amount = as_integer(value, name, "a duration such as '10m', a timedelta, or an integer")
    return Duration(amount, "integer", repr(value))


def is_duration(value: object) -> bool:
    """Whether a value can be read as a duration.

    >>> is_duration("10m"), is_duration(10), is_duration("often"), is_duration(None)
    (True, True, False, False)
    """
    try:
        parse_duration(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def positive_duration(value: DurationLike, name: str, *, local_days: bool = False) -> Duration:
    """Read a duration that must be longer than zero.

    >>> positive_duration("0s", "size")
    Traceback (most recent call last):
    ValueError: size '0s' is not positive: give a duration longer than zero
    """
    duration = parse_duration(value, name, local_days=local_days)
    if duration.amount <= 0:
        raise ValueError(f"{name} {duration.quoted} is not positive: give a duration longer than zero")
    return duration


def fixed_duration(value: DurationLike, name: str) -> Duration:
    """Read a positive duration that has one length, so not months.

    >>> fixed_duration("1mo", "gap")
    Traceback (most recent call last):
    ValueError: gap '1mo' has no fixed length: use weeks or below, such as '30d'
    """
    duration = positive_duration(value, name)
    if duration.is_calendar:
        raise ValueError(f"{name} {duration.quoted} has no fixed length: use weeks or below, such as '30d'")
    return duration.on_clock


def format_duration(duration: Duration) -> str:
    """Short text that reads back as the same duration.

    A fixed duration uses days only if it was given in days, which mean something else in a timezone.

    >>> format_duration(parse_duration("7d")), format_duration(parse_duration("168h"))
    ('7d', '168h')
    >>> format_duration(parse_duration(timedelta(days=1))), format_duration(parse_duration("1500ms"))
    ('1d', '1s500ms')
    >>> format_duration(parse_duration("12mo")), format_duration(parse_duration("-90 minutes"))
    ('1y', '-1h30m')
    """
    duration = duration.local
    amount, sign = abs(duration.amount), "-" if duration.amount < 0 else ""
    if duration.kind == "months":
        unit = next(unit for unit, months in _MONTHS.items() if amount % months == 0)
        unit = unit if amount else "mo"
        return f"{sign}{amount // _MONTHS[unit]}{unit}"
    if duration.kind == "fixed":
        return sign + format_us(amount)
    return f"{sign}{amount}" + {"days": "d", "weeks": "w", "integer": ""}[duration.kind]


def format_us(amount_us: int) -> str:
    """Microseconds, zero or more, as short text.

    >>> format_us(5_400_000_000), format_us(0)
    ('1h30m', '0s')
    """
    text = ""
    for unit, length in _CLOCK_US.items():
        count, amount_us = divmod(amount_us, length)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def rough_duration(amount_us: int) -> str:
    """Microseconds as people say them: a whole number of the largest unit of which there are two.

    >>> rough_duration(820_501_200_000_000), rough_duration(90_000_000), rough_duration(5)
    ('26 years', '90 seconds', '5 microseconds')
    """
    for unit, length in _SPOKEN_US.items():
        if amount_us >= 2 * length:
            return f"{amount_us // length:,} {unit}"
    return f"{amount_us} microseconds"


def _from_timedelta(value: timedelta, name: str, local_days: bool) -> Duration:
    # pandas.Timedelta is a timedelta that also counts nanoseconds
    if getattr(value, "nanoseconds", 0):
        raise ValueError(f"{name} {value!r} is not a whole number of microseconds: round it to microseconds")
    total_us = value.days * DAY_US + value.seconds * 1_000_000 + value.microseconds
    fit_int64(total_us, f"{name} {value!r}")
    found = Duration(total_us, "fixed", unit=None if total_us % DAY_US else "days")
    return found.local if local_days else found


def _from_counts(counts: dict[str, int], written: str, name: str, local_days: bool) -> Duration:
    months, days = _total(counts, _MONTHS), _total(counts, _DAYS)
    has_months, has_days = bool(counts.keys() & _MONTHS), bool(counts.keys() & _DAYS)
    if has_months and counts.keys() - _MONTHS:
        remedy = "use months alone, or days alone as '30d'"
        raise ValueError(f"{name} {written} mixes months with shorter units: {remedy}")
    if has_months:
        fit_int64(months * 31 * DAY_US, f"{name} {written}")
        return Duration(months, "months", written)
    is_mixed = bool(counts.keys() - _DAYS)
    if has_days and is_mixed and local_days:
        raise ValueError(
            f"{name} {written} mixes local days with clock time, and a local day may have 23 or 25 hours: "
            "use days alone, or hours alone as '36h'"
        )
    total_us = fit_int64(days * DAY_US + _clock_us(counts, written, name), f"{name} {written}")
    if not has_days or is_mixed:
        return Duration(total_us, "fixed", written)
    found = Duration(total_us, "fixed", written, "days" if "d" in counts else "weeks")
    return found.local if local_days else found


def _clock_us(counts: dict[str, int], written: str, name: str) -> int:
    unknown = counts.keys() - _CLOCK_US.keys() - _DAYS.keys() - {"ns"}
    whole_us, rest_ns = divmod(counts.get("ns", 0), 1_000)
    if unknown or rest_ns:
        raise ValueError(f"{name} {written} is not a whole number of microseconds: use 'us' or above")
    return _total(counts, _CLOCK_US) + whole_us


def _total(counts: dict[str, int], lengths: dict[str, int]) -> int:
    return sum(count * lengths.get(unit, 0) for unit, count in counts.items())
