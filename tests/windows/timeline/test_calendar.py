"""Calendar windows: local days, weeks, months, quarters and years, where clocks go forward and back."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import Cumulative, Fixed, Sliding, Tumbling, format_time, to_us

HOUR = 3_600_000_000
DAY = 24 * HOUR

BERLIN = "Europe/Berlin"
SAO_PAULO = "America/Sao_Paulo"
ST_JOHNS = "America/St_Johns"  # until 2011 at 00:01: the clock went back into the day before
HAVANA = "America/Havana"  # at 01:00 back to 00:00: midnight comes twice
APIA = "Pacific/Apia"  # had no 30 December 2011
ZONES = [BERLIN, SAO_PAULO, ST_JOHNS, HAVANA, APIA, "UTC", "Asia/Kathmandu"]


def only(window, time) -> tuple[str, str]:
    ((start, end),) = window.assign(to_us(time))
    return short(start), short(end)


def short(time_us) -> str:
    return format_time(time_us).removesuffix(":00Z")


def hours(window, time) -> float:
    ((start, end),) = window.assign(to_us(time))
    return (end - start) / HOUR


def first_minute_of(day: date, zone: str) -> int:
    """The first minute at which the local clock shows this day or a later one, found by walking there."""
    local = ZoneInfo(zone)
    minute = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=30)
    while minute.astimezone(local).date() < day:
        minute += timedelta(minutes=1)
    return to_us(minute)


@pytest.mark.parametrize(
    ("zone", "time", "start", "end", "length"),
    [
        (BERLIN, "2024-03-30T12:00", "2024-03-29T23:00", "2024-03-30T23:00", 24),
        (BERLIN, "2024-03-31T12:00", "2024-03-30T23:00", "2024-03-31T22:00", 23),
        (BERLIN, "2024-10-27T12:00", "2024-10-26T22:00", "2024-10-27T23:00", 25),
        # 2018-11-04: the clock went from 23:59 to 01:00, so the day begins at 01:00
        (SAO_PAULO, "2018-11-03T12:00", "2018-11-03T03:00", "2018-11-04T03:00", 24),
        (SAO_PAULO, "2018-11-04T12:00", "2018-11-04T03:00", "2018-11-05T02:00", 23),
        # 2018-02-18: the clock went from 23:59 back to 23:00, still the day before
        (SAO_PAULO, "2018-02-17T12:00", "2018-02-17T02:00", "2018-02-18T03:00", 25),
        (HAVANA, "2023-11-05T12:00", "2023-11-05T04:00", "2023-11-06T05:00", 25),
        (APIA, "2011-12-30T00:00", "2011-12-29T10:00", "2011-12-30T10:00", 24),
        (APIA, "2011-12-30T12:00", "2011-12-30T10:00", "2011-12-31T10:00", 24),
        ("Asia/Kathmandu", "2024-01-01T00:00", "2023-12-31T18:15", "2024-01-01T18:15", 24),
    ],
)
def test_local_days(zone, time, start, end, length):
    day = Tumbling("1d", timezone=zone)
    assert only(day, time) == (start, end)
    assert hours(day, time) == length


def test_the_instants_around_a_midnight_that_does_not_exist():
    day = Tumbling("1d", timezone=SAO_PAULO)
    edge = to_us("2018-11-04T03:00")
    ((_, before_end),) = day.assign(edge - 1)
    ((start, _),) = day.assign(edge)
    assert before_end == start == edge
    assert day.next_edge(edge - 1) == edge
    assert list(day.edges(edge, edge)) == [edge]


def test_a_day_that_was_skipped_is_no_window():
    day = Tumbling("1d", timezone=APIA)
    low, high = to_us("2011-12-28T12:00"), to_us("2012-01-01T12:00")
    windows = list(day.windows_ending_in(low, high))
    assert [short(start) for start, _ in windows] == [
        "2011-12-28T10:00",
        "2011-12-29T10:00",
        "2011-12-30T10:00",
        "2011-12-31T10:00",
    ]
    assert day.edges(low, high) == sorted({edge for window in windows for edge in window if edge >= low})
    # Two days from the 29th are one day long
    assert list(Sliding("2d", slide="1d", timezone=APIA).assign(to_us("2011-12-30T12:00"))) == [
        (to_us("2011-12-30T10:00"), to_us("2011-12-31T10:00")),
        (to_us("2011-12-30T10:00"), to_us("2012-01-01T10:00")),
    ]


@pytest.mark.parametrize(
    ("size", "start", "end"),
    [
        ("1w", "2024-03-24T23:00", "2024-03-31T22:00"),  # Monday to Monday, one hour short
        ("1mo", "2024-02-29T23:00", "2024-03-31T22:00"),
        ("1q", "2023-12-31T23:00", "2024-03-31T22:00"),
        ("1y", "2023-12-31T23:00", "2024-12-31T23:00"),
        ("1 month", "2024-02-29T23:00", "2024-03-31T22:00"),
        ("6mo", "2023-12-31T23:00", "2024-06-30T22:00"),
    ],
)
def test_weeks_months_quarters_and_years_of_berlin(size, start, end):
    assert only(Tumbling(size, timezone=BERLIN), "2024-03-31T12:00") == (start, end)


def test_weeks_begin_on_monday():
    for size in ("1w", "2w", "5w"):
        starts = Tumbling(size, timezone="UTC").edges(to_us("1950-01-01"), to_us("2050-01-01"))
        assert all(datetime.fromisoformat(format_time(start)).weekday() == 0 for start in starts)


def test_without_a_timezone_months_are_of_utc_and_days_are_24_hours():
    assert only(Tumbling("1mo"), "2024-02-10") == ("2024-02-01T00:00", "2024-03-01T00:00")
    assert only(Tumbling("1mo"), "1969-12-31T23:59:59.999999") == ("1969-12-01T00:00", "1970-01-01T00:00")
    assert Tumbling("1d").grid == Tumbling("24h").grid
    assert only(Tumbling("1w"), "1970-01-01") == ("1970-01-01T00:00", "1970-01-08T00:00")
    assert only(Tumbling("1w", offset="4d"), "1970-01-05") == ("1970-01-05T00:00", "1970-01-12T00:00")


@pytest.mark.parametrize("size", ["15m", "1h", "6h", "24h", "36h"])
def test_clock_time_is_the_same_in_every_zone(size):
    low, high = to_us("2024-03-30"), to_us("2024-04-02")
    assert Tumbling(size, timezone=BERLIN).edges(low, high) == Tumbling(size).edges(low, high)


def test_an_offset_is_read_on_the_local_clock():
    from_six = Tumbling("1d", offset="6h", timezone=BERLIN)
    assert only(from_six, "2024-03-30T12:00") == ("2024-03-30T05:00", "2024-03-31T04:00")
    assert only(from_six, "2024-03-31T12:00") == ("2024-03-31T04:00", "2024-04-01T04:00")
    # 02:30 did not exist on 31 March: that day's window begins when the clock jumps to 03:00
    assert only(Tumbling("1d", offset="2h30m", timezone=BERLIN), "2024-03-31T12:00")[0] == "2024-03-31T01:00"
    # 02:30 came twice on 27 October: the first one counts
    assert only(Tumbling("1d", offset="2h30m", timezone=BERLIN), "2024-10-27T12:00")[0] == "2024-10-27T00:30"


def test_offsets_of_months_and_of_days_into_months():
    fiscal_year = Tumbling("1y", offset="3mo", timezone=BERLIN)
    assert only(fiscal_year, "2024-03-31T12:00") == ("2023-03-31T22:00", "2024-03-31T22:00")
    from_the_tenth = Tumbling("1mo", offset="9d")
    assert only(from_the_tenth, "2024-03-09T23:59") == ("2024-02-10T00:00", "2024-03-10T00:00")
    assert only(Tumbling("1w", offset="-1d", timezone="UTC"), "2024-03-31") == (
        "2024-03-31T00:00",
        "2024-04-07T00:00",
    )


def test_sliding_months():
    quarter = Sliding("3mo", slide="1mo", timezone=BERLIN)
    assert [(short(start), short(end)) for start, end in quarter.assign(to_us("2024-03-31T12:00"))] == [
        ("2023-12-31T23:00", "2024-03-31T22:00"),
        ("2024-01-31T23:00", "2024-04-30T22:00"),
        ("2024-02-29T23:00", "2024-05-31T22:00"),
    ]


def test_sliding_week_by_local_days():
    week = Sliding("7d", slide="1d", timezone=BERLIN)
    windows = list(week.assign(to_us("2024-03-31T12:00")))
    assert len(windows) == 7
    assert {(end - start) // HOUR for start, end in windows} == {7 * 24 - 1}
    assert all(short(start).endswith(("T22:00", "T23:00")) for start, _ in windows)


def test_two_weeks_by_a_week_start_on_mondays():
    windows = list(Sliding("14d", slide="1w", timezone="UTC").assign(to_us("2024-03-31")))
    assert [short(start) for start, _ in windows] == ["2024-03-18T00:00", "2024-03-25T00:00"]


def test_month_to_date_by_local_days():
    to_date = Cumulative("1mo", step="1d", timezone=BERLIN)
    windows = list(to_date.assign(to_us("2024-03-31T12:00")))
    assert [(short(start), short(end)) for start, end in windows] == [
        ("2024-02-29T23:00", "2024-03-31T22:00")
    ]
    march = list(to_date.windows_ending_in(to_us("2024-02-29T23:00"), to_us("2024-03-31T22:00")))
    assert len(march) == 31
    assert [short(end) for _, end in march[-2:]] == ["2024-03-30T23:00", "2024-03-31T22:00"]


def test_day_to_date_by_hours_has_as_many_hours_as_the_day():
    to_date = Cumulative("1d", step="1h", timezone=BERLIN)
    for day, length in [("2024-03-31", 23), ("2024-04-01", 24), ("2024-10-27", 25)]:
        ((start, end),) = Tumbling("1d", timezone=BERLIN).assign(to_us(f"{day}T12:00"))
        ends = [window[1] for window in to_date.windows_ending_in(start, end)]
        assert ends == [start + hour * HOUR for hour in range(1, length + 1)]


def test_the_last_step_of_a_short_day_is_cut():
    to_date = Cumulative("1d", step="6h", timezone=BERLIN)
    ((start, _),) = Tumbling("1d", timezone=BERLIN).assign(to_us("2024-03-31T12:00"))
    ends = [end - start for _, end in to_date.windows_ending_in(start, start + 23 * HOUR)]
    assert ends == [6 * HOUR, 12 * HOUR, 18 * HOUR, 23 * HOUR]
    assert to_date.next_edge(start + 18 * HOUR) == start + 23 * HOUR


def test_weeks_in_a_month_are_cut_by_its_end():
    to_date = Cumulative("1mo", step="1w", timezone="UTC")
    ends = [short(edge)[:10] for edge in to_date.edges(to_us("2024-02-02"), to_us("2024-03-01"))]
    assert ends == ["2024-02-08", "2024-02-15", "2024-02-22", "2024-02-29", "2024-03-01"]


def test_steps_are_counted_from_where_the_offset_lets_a_period_begin():
    to_date = Cumulative("1mo", step="1d", offset="9d6h", timezone=BERLIN)
    ends = [short(edge) for edge in to_date.edges(to_us("2024-03-30"), to_us("2024-04-01T12:00"))]
    assert ends == ["2024-03-30T05:00", "2024-03-31T04:00", "2024-04-01T04:00"]
    ((start, _),) = Tumbling("1mo", offset="9d6h", timezone=BERLIN).assign(to_us("2024-03-30"))
    assert {window[0] for window in to_date.assign(to_us("2024-03-30"))} == {start}
    assert short(start) == "2024-03-10T05:00"


def test_steps_over_a_skipped_day_are_one_step():
    to_date = Cumulative("1mo", step="1d", timezone=APIA)
    windows = list(to_date.windows_ending_in(to_us("2011-12-28T12:00"), to_us("2011-12-31T10:00")))
    assert [short(end) for _, end in windows] == ["2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00"]


def test_a_fixed_band_of_local_days_and_months():
    assert Fixed("2024-03-31", "1d", timezone=BERLIN).edges(-(2**63), 2**63) == [
        to_us("2024-03-30T23:00"),
        to_us("2024-03-31T22:00"),
    ]
    assert Fixed("2024-04-01", "1mo", timezone=BERLIN).end == to_us("2024-04-30T22:00")
    assert Fixed("2024-01-31", "1mo").end == to_us("2024-02-29")
    assert Fixed("2024-01-31T15:30", "1mo").end == to_us("2024-02-29T15:30")
    assert Fixed("2024-03-30T15:30", "1d", timezone=BERLIN).end == to_us("2024-03-31T13:30")


@pytest.mark.parametrize("zone", [None, "UTC", BERLIN, SAO_PAULO])
@pytest.mark.parametrize("size", ["1mo", "1y", "1q"])
@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999999", "0001-01-01", "0001-12-31", "1969-12-31"])
def test_the_ends_of_the_calendar(zone, size, time):
    window = Tumbling(size, timezone=zone)
    ((start, end),) = window.assign(to_us(time))
    assert start <= to_us(time) < end
    assert window.next_edge(to_us(time)) == end


@given(
    zone=st.sampled_from(ZONES),
    time=st.integers(-(2**63), 2**63 - 1),
    size=st.sampled_from(["1d", "1mo", "2w"]),
)
def test_every_64_bit_time_is_in_one_period(zone, time, size):
    window = Tumbling(size, timezone=zone)
    ((start, end),) = window.assign(time)
    assert start <= time < end
    assert [start] == [last for _, last in window.windows_ending_in(start - 1, end - 1)]


@given(
    zone=st.sampled_from(ZONES),
    day=st.dates(date(1980, 1, 1), date(2040, 1, 1)),
    late_us=st.integers(0, DAY - 1),
)
def test_local_days_against_a_walk_along_the_clock(zone, day, late_us):
    start, end = first_minute_of(day, zone), first_minute_of(day + timedelta(days=1), zone)
    window = Tumbling("1d", timezone=zone)
    if start < end:
        time = start + late_us % (end - start)
        assert list(window.assign(time)) == [(start, end)]
        assert window.next_edge(time) == end
        assert list(window.windows_ending_in(start, end)) == [(start, end)]


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        (BERLIN, date(2024, 3, 31)),
        (BERLIN, date(2024, 10, 27)),
        (SAO_PAULO, date(2018, 11, 4)),
        (SAO_PAULO, date(2018, 2, 18)),
        (ST_JOHNS, date(2010, 11, 7)),
        (ST_JOHNS, date(2011, 3, 13)),
        (HAVANA, date(2023, 11, 5)),
        (HAVANA, date(2023, 3, 12)),
        (APIA, date(2011, 12, 31)),
    ],
)
def test_days_around_a_clock_change_against_a_walk_along_the_clock(zone, day):
    edges = sorted({first_minute_of(day + timedelta(days=shift), zone) for shift in range(-2, 4)})
    window = Tumbling("1d", timezone=zone)
    assert window.edges(edges[0], edges[-1]) == edges
    for start, end in pairwise(edges):
        for time in range(start, end, HOUR // 2):
            assert list(window.assign(time)) == [(start, end)]


calendar_windows = st.one_of(
    st.builds(Tumbling, st.sampled_from(["1d", "3d", "1w", "1mo", "1q"]), timezone=st.sampled_from(ZONES)),
    st.builds(
        lambda pair, offset, zone: Sliding(*pair, offset=offset, timezone=zone),
        st.sampled_from([("7d", "1d"), ("3mo", "1mo"), ("10d", "3d"), ("5mo", "2mo"), ("2w", "1w")]),
        st.sampled_from(["0s", "6h", "-1h", "2h30m", "40d"]),
        st.sampled_from(ZONES),
    ),
    st.builds(
        lambda pair, zone: Cumulative(pair[0], step=pair[1], timezone=zone),
        st.sampled_from(
            [("1d", "6h"), ("1mo", "1d"), ("1w", "1d"), ("1q", "1mo"), ("1mo", "3d"), ("2d", "1d")]
        ),
        st.sampled_from(ZONES),
    ),
)


@given(
    window=calendar_windows,
    time=st.integers(to_us("2005-01-01"), to_us("2030-01-01")),
    days=st.integers(0, 60),
)
def test_the_answers_of_a_calendar_window_agree_with_each_other(window, time, days):
    high = time + days * DAY
    edges = window.edges(time, high)
    assert edges == sorted(set(edges))
    assert all(time <= edge <= high for edge in edges)
    # walking by next_edge finds the same edges
    walked, at = [], time - 1
    while (at := window.next_edge(at)) <= high:
        walked.append(at)
    assert walked == edges
    ending = list(window.windows_ending_in(time, high))
    assert ending == sorted(ending, key=lambda pair: (pair[1], pair[0]))
    assert all(start < end and time < end <= high for start, end in ending)
    assert {end for _, end in ending} <= set(edges)
    # a window that ends in the range holds the microsecond before its end, and is assigned to it
    assert all((start, end) in list(window.assign(end - 1)) for start, end in ending[:10])
    holding = list(window.assign(time))
    assert all(start <= time < end for start, end in holding)
    assert [pair for pair in holding if pair[1] <= high] == [pair for pair in ending if pair[0] <= time]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "+2:00", "+25:00", "europe berlin"])
def test_unknown_zones_are_refused(zone):
    with pytest.raises(
        ValueError, match="is not known: use an IANA name such as 'Europe/Berlin', and install"
    ):
        Tumbling("1d", timezone=zone)


def test_a_zone_may_be_an_offset_as_tables_have_it():
    assert only(Tumbling("1d", timezone="+05:30"), "2024-01-31T20:00") == (
        "2024-01-31T18:30",
        "2024-02-01T18:30",
    )
    assert only(Tumbling("1mo", timezone="-03:00"), "2024-02-01T02:00") == (
        "2024-01-01T03:00",
        "2024-02-01T03:00",
    )


def test_zones_may_be_given_as_objects():
    assert Tumbling("1d", timezone=ZoneInfo(BERLIN)) == Tumbling("1d", timezone=BERLIN)
    assert Tumbling("1d", timezone=UTC) == Tumbling("1d", timezone="UTC")
