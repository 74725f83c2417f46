"""The proleptic Gregorian calendar in plain integers, for any year.

Purpose: count days and months where ``datetime`` stops (before year 1, after year 9999).
Invariant: day 0 is 1970-01-01, month 0 is January 1970; both functions are exact inverses.
Source: shifting the year to begin in March puts the leap day last (Hinnant, "chrono-compatible low-level date
algorithms").
"""

from __future__ import annotations

# 400 years are a whole number of days and of weeks, and the calendar repeats after them
DAYS_PER_CYCLE = 146_097
# Days from 0000-03-01 to 1970-01-01
_EPOCH_SHIFT = 719_468


def day_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01.

    >>> day_of(1970, 1, 1), day_of(2024, 3, 31), day_of(1969, 12, 31)
    (0, 19813, -1)
    """
    year -= month <= 2
    cycle, year_of_cycle = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_cycle = year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year
    return cycle * DAYS_PER_CYCLE + day_of_cycle - _EPOCH_SHIFT


def date_of(day: int) -> tuple[int, int, int]:
    """Year, month and day of the month of a day since 1970-01-01.

    >>> date_of(19813), date_of(-1)
    ((2024, 3, 31), (1969, 12, 31))
    """
    cycle, day_of_cycle = divmod(day + _EPOCH_SHIFT, DAYS_PER_CYCLE)
    leap_days = day_of_cycle // 1_460 - day_of_cycle // 36_524 + day_of_cycle // 146_096
    year_of_cycle = (day_of_cycle - leap_days) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = cycle * 400 + year_of_cycle + (month <= 2)
    return year, month, day_of_year - (153 * shifted_month + 2) // 5 + 1


def month_of_day(day: int) -> int:
    """Months since January 1970.

    >>> month_of_day(0), month_of_day(-1), month_of_day(day_of(2024, 3, 31))
    (0, -1, 650)
    """
    year, month, _ = date_of(day)
    return (year - 1970) * 12 + month - 1


def first_day_of_month(month: int) -> int:
    """The first day of a month that is counted from January 1970.

    >>> first_day_of_month(1), first_day_of_month(-1)
    (31, -31)
    """
    years, month_of_year = divmod(month, 12)
    return day_of(1970 + years, month_of_year + 1, 1)


def add_months(day: int, months: int) -> int:
    """The same day of the month, months later; the last day of the month where there is no such day.

    >>> date_of(add_months(day_of(2024, 1, 31), 1))
    (2024, 2, 29)
    """
    month = month_of_day(day) + months
    last_day = first_day_of_month(month + 1) - 1
    return min(first_day_of_month(month) + date_of(day)[2] - 1, last_day)
