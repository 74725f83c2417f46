"""Durations: every way to write one, and every way to get it wrong."""

import re
from datetime import timedelta

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import Duration, Tumbling, format_duration, parse_duration
from windrow.windows.timeline.durations import fixed_duration, positive_duration

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("written", "expected_us"),
    [
        ("1h30m", 90 * MINUTE),
        ("250ms", 250_000),
        ("10us", 10),
        ("2000ns", 2),
        ("1w2d", 9 * DAY),
        ("30m1h", 90 * MINUTE),
        ("-1h30m", -90 * MINUTE),
        ("0s", 0),
        ("10 minutes", 10 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("2 days", 2 * DAY),
        ("1 WEEK", 7 * DAY),
        ("interval 5 seconds", 5 * SECOND),
        ("-  3 Hours", -3 * HOUR),
        ("7 milliseconds  8 microseconds", 7_008),
        (timedelta(days=1, seconds=2, microseconds=3), DAY + 2 * SECOND + 3),
        (timedelta(microseconds=-1), -1),
        (np.timedelta64(90, "s"), 90 * SECOND),
        (np.timedelta64(-2, "h"), -2 * HOUR),
        (np.timedelta64(3_000, "ns"), 3),
        (np.timedelta64(1, "D"), DAY),
        (np.timedelta64(2, "25us"), 50),
    ],
)
def test_fixed_durations(written, expected_us):
    assert parse_duration(written).on_clock == Duration(expected_us, "fixed")


@pytest.mark.parametrize(
    ("written", "local"),
    [
        ("2 days", Duration(2, "days")),
        ("1w2d", Duration(9, "days")),
        ("1 WEEK", Duration(1, "weeks")),
        (timedelta(days=1), Duration(1, "days")),
        (np.timedelta64(1, "D"), Duration(1, "days")),
        ("-3d", Duration(-3, "days")),
        ("24h", Duration(DAY, "fixed")),
        ("1d12h", Duration(36 * HOUR, "fixed")),
        ("1mo", Duration(1, "months")),
        (7, Duration(7, "integer")),
    ],
)
def test_days_that_were_written_as_days_are_known_to_be(written, local):
    found = parse_duration(written)
    assert found.local == local
    assert parse_duration(str(found) if found.kind != "integer" else written) == found


@pytest.mark.parametrize(
    "written",
    ["interval -10 seconds", "INTERVAL  - 10 seconds", "-interval 10 seconds", "-10 seconds", "-10s"],
)
def test_an_interval_may_be_negative(written):
    assert parse_duration(written, "offset") == Duration(-10 * SECOND, "fixed")
    assert Tumbling("1m", offset=written) == Tumbling("1m", offset=timedelta(seconds=-10))


@pytest.mark.parametrize(
    ("written", "expected_us"),
    [
        ("30min", 30 * MINUTE),
        ("1h30min", 90 * MINUTE),
        ("15 mins", 15 * MINUTE),
        ("1 hr 15 Min", 75 * MINUTE),
        ("2hrs", 2 * HOUR),
        ("90 secs", 90 * SECOND),
        ("5sec", 5 * SECOND),
        ("interval -1 min", -MINUTE),
    ],
)
def test_short_words_for_minutes_seconds_and_hours(written, expected_us):
    assert parse_duration(written).on_clock == Duration(expected_us, "fixed")


@pytest.mark.parametrize(
    ("written", "amount", "kind"),
    [
        ("1mo", 1, "months"),
        ("1q", 3, "months"),
        ("1y", 12, "months"),
        ("1y3mo", 15, "months"),
        ("2 months", 2, "months"),
        (np.timedelta64(2, "Y"), 24, "months"),
        (np.timedelta64(5, "M"), 5, "months"),
        (10, 10, "integer"),
        (np.int32(-3), -3, "integer"),
    ],
)
def test_calendar_and_integer_durations(written, amount, kind):
    assert parse_duration(written) == Duration(amount, kind)


@pytest.mark.parametrize(
    ("written", "amount", "kind"),
    [
        ("1d", 1, "days"),
        ("1w", 1, "weeks"),
        ("2 weeks", 2, "weeks"),
        ("1w1d", 8, "days"),
        ("24h", DAY, "fixed"),
        ("36h", 36 * HOUR, "fixed"),
        (timedelta(days=7), 7, "days"),
        (timedelta(hours=25), 25 * HOUR, "fixed"),
        (np.timedelta64(1, "W"), 1, "weeks"),
    ],
)
def test_days_and_weeks_are_local_where_there_is_a_timezone(written, amount, kind):
    assert parse_duration(written, local_days=True) == Duration(amount, kind)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("1M", "size '1M' is ambiguous: write '1mo' or '1m'"),
        ("1 m 2 months", "size '1 m 2 months' is ambiguous: write '1m' or '1mo'"),
        ("5", "size '5' has no unit: write '5m' or '5s', or the integer 5 for integer time"),
        ("1Min2m", "size '1Min2m' names the unit 'm' twice: write each unit once"),
        ("1 M", "size '1 M' is ambiguous: write '1m' or '1mo'"),
        ("2mon", "size '2mon' has the unknown unit 'mon': write '2mo'"),
        ("-interval -1 day", "size '-interval -1 day' has two signs: write one minus, or none"),
        (
            "-1 hour 30 minutes",
            "size '-1 hour 30 minutes' is ambiguous, as the minus may be for the first number alone: "
            "write '-1h30m' if it is for all of it",
        ),
        ("interval -1 hour 30 minutes", "size 'interval -1 hour 30 minutes' is ambiguous, as the minus may"),
        ("10minutes", "size '10minutes' has the unknown unit 'minutes': write '10m'"),
        ("1H", "size '1H' has the unknown unit 'H': write '1h'"),
        ("1 h", "size '1 h' has the unknown unit 'h': write '1h'"),
        ("3 fortnights", "size '3 fortnights' has the unknown unit 'fortnights': use one of y, q, mo"),
        ("5i", "size '5i' has the unknown unit 'i'"),
        ("1h2h", "size '1h2h' names the unit 'h' twice: write each unit once"),
        ("1.5h", "size '1.5h' has a fraction: use whole numbers of smaller units, as in '1h30m'"),
        ("1h 30m", "size '1h 30m' is not a duration: write it like '1h30m' (no spaces)"),
        ("1h-30m", "size '1h-30m' is not a duration"),
        ("PT1H", "size 'PT1H' is not a duration"),
        ("٣m", "size '٣m' is not a duration"),
        ("", "size '' is empty: write a duration such as '10m' or '10 minutes'"),
        ("-", "size '-' is empty"),
        ("5ns", "size '5ns' is not a whole number of microseconds: use 'us' or above"),
        ("1mo2d", "size '1mo2d' mixes months with shorter units: use months alone, or days alone as '30d'"),
        (np.timedelta64(5, "ps"), "is not a whole number of microseconds: use 'us' or above"),
        (np.timedelta64("NaT", "s"), "size is NaT: give a real time or duration"),
        (np.timedelta64(5), "has no unit: give one, such as numpy.timedelta64(5, 'm')"),
    ],
)
def test_what_is_not_clear_is_refused_with_a_remedy(written, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_duration(written, "size")


@pytest.mark.parametrize("written", [2.5, None, True, [1], np.float64(2.0), np.bool_(True)])
def test_wrong_types_are_refused(written):
    with pytest.raises(TypeError, match=r"size .* is a \w+: give a duration such as '10m', a timedelta, or"):
        parse_duration(written, "size")


@pytest.mark.parametrize("written", ["1d12h", "1w 1h".replace(" ", "")])
def test_local_days_do_not_mix_with_hours(written):
    assert parse_duration(written).kind == "fixed"
    with pytest.raises(ValueError, match=r"mixes local days with clock time.*hours alone as '36h'"):
        parse_duration(written, local_days=True)


@pytest.mark.parametrize(
    "written",
    ["300000y", "9223372036855s", "99999999999999999999us", timedelta.max, 2**63, -(2**63) - 1, "110000000d"],
)
def test_what_does_not_fit_in_64_bits_is_refused(written):
    with pytest.raises((OverflowError, ValueError), match="does not fit in 64 bits"):
        parse_duration(written)


def test_local_days_that_do_not_fit_in_64_bits_are_refused():
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        parse_duration(timedelta(days=999_999_999), local_days=True)


def test_the_largest_durations_fit():
    assert parse_duration("9223372036854775807us").amount == 2**63 - 1
    assert parse_duration(-(2**63)).amount == -(2**63)


@pytest.mark.parametrize("written", ["0m", "-5m", 0, -1, timedelta(0), "0mo"])
def test_zero_and_negative_are_refused_where_a_length_is_needed(written):
    with pytest.raises(ValueError, match=r"^gap .* is not positive: give a duration longer than zero$"):
        positive_duration(written, "gap")


def test_months_are_refused_where_one_length_is_needed():
    with pytest.raises(ValueError, match="gap '1mo' has no fixed length"):
        fixed_duration("1mo", "gap")
    with pytest.raises(ValueError, match="duration '1mo' has no fixed length"):
        _ = parse_duration("1mo").units


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ("24 hours", "24h"),
        ("1d", "1d"),
        ("1w2d", "9d"),
        ("1d12h", "36h"),
        ("90m", "1h30m"),
        ("1500ms", "1s500ms"),
        ("1us", "1us"),
        ("0h", "0s"),
        ("-90s", "-1m30s"),
        ("18mo", "6q"),
        ("24mo", "2y"),
        ("5mo", "5mo"),
        ("0y", "0mo"),
        (12, "12"),
    ],
)
def test_short_text(written, short):
    assert format_duration(parse_duration(written)) == short == str(parse_duration(written))


@given(
    amount=st.integers(-(10**9), 10**9) | st.integers(-(2**63), 2**63 - 1),
    kind=st.sampled_from(["fixed", "integer"]),
    local_days=st.booleans(),
)
def test_fixed_and_integer_text_reads_back_the_same(amount, kind, local_days):
    duration = Duration(amount, kind)
    read = eval(duration.argument)
    assert parse_duration(read, local_days=local_days) == duration


@given(amount=st.integers(-(10**6), 10**6), kind=st.sampled_from(["months", "weeks", "days"]))
def test_calendar_text_reads_back_the_same(amount, kind):
    duration = Duration(amount, kind)
    assert parse_duration(str(duration), local_days=True) == duration


def test_what_the_user_wrote_is_kept_for_messages_and_does_not_compare():
    assert parse_duration("60 minutes").quoted == "'60 minutes'"
    assert parse_duration("60 minutes") == parse_duration("1h")
    assert hash(parse_duration("60 minutes")) == hash(parse_duration(timedelta(hours=1)))


def test_pandas_timedelta_is_read_and_its_nanoseconds_are_refused():
    assert parse_duration(pandas.Timedelta("90min")).units == 90 * MINUTE
    with pytest.raises(ValueError, match="is not a whole number of microseconds"):
        parse_duration(pandas.Timedelta(5, "ns"))
