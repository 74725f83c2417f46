"""Times in and out, and the calendar below them."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import format_time, to_datetime, to_us
from windrow.windows.timeline.calendar import add_months, date_of, day_of, first_day_of_month, month_of_day
from windrow.windows.timeline.times import looks_like_time
from windrow.windows.timeline.zones import Zone

DAY_US = 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00+01:00", 0),
        (" 1969-12-31 23:59:59.999999 ", -1),
        (datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-2))), 7_200_000_000),
        (date(1970, 1, 2), DAY_US),
        ("0001-01-01", -62_135_596_800_000_000),
        ("9999-12-31T23:59:59.999999", 253_402_300_799_999_999),
        (np.datetime64("1970-01-02"), DAY_US),
        (np.datetime64("1969-12-31T23:59:59.999"), -1_000),
        (np.datetime64("1970-02"), 31 * DAY_US),
        (np.datetime64("1971", "Y"), 365 * DAY_US),
        (np.datetime64(3_000, "ns"), 3),
    ],
)
def test_times_as_microseconds(written, expected):
    assert to_us(written) == expected


def test_aware_times_at_the_ends_of_the_calendar():
    east, west = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
    assert to_us(datetime(1, 1, 1, tzinfo=east)) == to_us("0001-01-01") - 14 * 3_600_000_000
    assert to_us(datetime(9999, 12, 31, 23, tzinfo=west)) == to_us("9999-12-31T23:00") + 12 * 3_600_000_000


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("yesterday", "start 'yesterday' is not a time: use ISO 8601 text such as '2024-01-31T12:00Z', or"),
        ("20240131", "start '20240131' is not a time"),
        ("2024-02-30", "start '2024-02-30' is not a time"),
        ("", "start '' is not a time"),
        ("2024-01-01T00:00:00.0000001", "is finer than a microsecond: give at most six digits"),
        (np.datetime64("NaT"), "has no unit"),
        (np.datetime64("NaT", "s"), "start is NaT"),
        (np.datetime64(5, "ns"), "is finer than a microsecond"),
    ],
)
def test_unclear_times_are_refused(written, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        to_us(written, "start")


@pytest.mark.parametrize("written", [5, 5.0, None, timedelta(1)])
def test_wrong_types_are_refused(written):
    with pytest.raises(TypeError, match="give a datetime, a date or ISO 8601 text"):
        to_us(written)


def test_a_year_beyond_64_bits_is_refused():
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        to_us(np.datetime64(400_000, "Y"))


def test_seven_digits_of_a_second_are_fine_where_the_last_is_zero():
    assert to_us("1970-01-01T00:00:00.0000010") == 1


def test_pandas_timestamps():
    assert to_us(pandas.Timestamp("1970-01-01T01:00", tz="Europe/Berlin")) == 0
    with pytest.raises(ValueError, match="NaT"):
        to_us(pandas.NaT)
    with pytest.raises(ValueError, match="finer than a microsecond"):
        to_us(pandas.Timestamp(5))


@given(st.datetimes(timezones=st.just(UTC)))
def test_datetimes_come_back_as_they_went_in(moment):
    assert to_datetime(to_us(moment)) == moment
    assert to_us(format_time(to_us(moment))) == to_us(moment)
    assert to_us(moment) == (moment - EPOCH) // timedelta(microseconds=1)


def test_datetimes_end_with_year_9999():
    with pytest.raises(OverflowError, match=r"\+10000-01-01T00:00:00Z is not in the years 1 to 9999"):
        to_datetime(to_us("9999-12-31") + DAY_US)
    assert format_time(day_of(-5, 1, 2) * DAY_US) == "-0005-01-02T00:00:00Z"


def test_local_times_where_a_zone_is_given():
    berlin = Zone("Europe/Berlin")
    assert to_us("2024-07-01", zone=berlin) == to_us("2024-06-30T22:00Z")
    assert to_us(np.datetime64("2024-07-01"), zone=berlin) == to_us("2024-06-30T22:00Z")
    assert to_us("2024-07-01T00:00Z", zone=berlin) == to_us("2024-07-01T00:00Z")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2024-01-01", True), ("24h", False), (date(2024, 1, 1), True), (timedelta(1), False), (5, False)],
)
def test_what_looks_like_a_time(value, expected):
    assert looks_like_time(value) is expected


@given(st.dates())
def test_civil_days_agree_with_datetime(moment):
    day = (moment - date(1970, 1, 1)).days
    assert day_of(moment.year, moment.month, moment.day) == day
    assert date_of(day) == (moment.year, moment.month, moment.day)
    assert month_of_day(day) == (moment.year - 1970) * 12 + moment.month - 1
    assert first_day_of_month(month_of_day(day)) == day - moment.day + 1


@given(st.integers(-(10**8), 10**8))
def test_civil_days_are_inverse_for_any_year(day):
    assert day_of(*date_of(day)) == day
    assert date_of(day + 1) > date_of(day)


def test_adding_months_stays_in_the_month():
    assert date_of(add_months(day_of(2023, 1, 31), 1)) == (2023, 2, 28)
    assert date_of(add_months(day_of(2023, 1, 31), 2)) == (2023, 3, 31)
    assert date_of(add_months(day_of(2024, 3, 15), -3)) == (2023, 12, 15)


ZONES = ["Europe/Berlin", "America/Sao_Paulo", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"]


@given(zone=st.sampled_from(ZONES), moment=st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)))
def test_local_clock_agrees_with_zoneinfo(zone, moment):
    reading = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    assert Zone(zone).local(to_us(moment)) == to_us(reading)


@given(zone=st.sampled_from(ZONES), time=st.integers(-(2**63), 2**63 - 1))
def test_zones_work_for_every_64_bit_time(zone, time):
    local = Zone(zone).local(time)
    first = Zone(zone).first_instant(local)
    # Either this is the first time the clock shows this, or it has shown it before the clock was set back
    assert first == time or (first < time and Zone(zone).local(first) >= local)
    assert Zone(zone).local(first - 1) < local


@given(zone=st.sampled_from(ZONES), time=st.integers(to_us("2007-01-01"), to_us("2030-01-01")))
def test_the_first_instant_is_first(zone, time):
    first = Zone(zone).first_instant(time)
    assert Zone(zone).local(first) >= time
    assert Zone(zone).local(first - 1) < time
