"""Tumbling, Sliding, Cumulative and Fixed on plain integers, against their definitions written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import Arithmetic, Cumulative, Fixed, Sliding, TimeWindow, Tumbling

REACH = 400  # no time below, and no edge asked for, is further from zero


def all_windows(window: TimeWindow) -> set[tuple[int, int]]:
    """Every window near zero, by enumerating the k of its definition."""
    wide = range(-3 * REACH, 3 * REACH)
    match window:
        case Tumbling():
            size, offset = window.size.units, window.offset.units
            return {(offset + k * size, offset + k * size + size) for k in wide}
        case Sliding():
            size, slide, offset = window.size.units, window.slide.units, window.offset.units
            return {(offset + k * slide, offset + k * slide + size) for k in wide}
        case Cumulative():
            size, step, offset = window.size.units, window.step.units, window.offset.units
            steps = range(step, size + 1, step)
            return {(offset + k * size, offset + k * size + length) for k in wide for length in steps}
        case Fixed():
            return {(window.start, window.end)}
    raise AssertionError(window)


sizes = st.integers(1, 40)
offsets = st.integers(-50, 50)
times = st.integers(-REACH // 2, REACH // 2)

tumbling = st.builds(Tumbling, sizes, offset=offsets)
sliding = sizes.flatmap(lambda size: st.builds(Sliding, st.just(size), st.integers(1, size), offset=offsets))
cumulative = st.builds(
    lambda step, steps, offset: Cumulative(step * steps, step=step, offset=offset),
    st.integers(1, 12),
    st.integers(1, 6),
    offsets,
)
fixed = st.builds(Fixed, times, sizes)
any_window = st.one_of(tumbling, sliding, cumulative, fixed)


def by_end(windows):
    return sorted(windows, key=lambda window: (window[1], window[0]))


@given(window=any_window, time=times)
def test_assign_is_every_window_that_holds_the_time(window, time):
    expected = {(start, end) for start, end in all_windows(window) if start <= time < end}
    assert list(window.assign(time)) == by_end(expected)


@given(window=any_window, low=times, width=st.integers(-2, 100))
def test_edges_are_all_starts_and_ends_once(window, low, width):
    edges = {edge for pair in all_windows(window) for edge in pair}
    assert window.edges(low, low + width) == sorted(edge for edge in edges if low <= edge <= low + width)


@given(window=any_window, low=times, width=st.integers(-2, 100))
def test_windows_ending_in_leaves_out_low_and_takes_high(window, low, width):
    expected = {(start, end) for start, end in all_windows(window) if low < end <= low + width}
    assert list(window.windows_ending_in(low, low + width)) == by_end(expected)


@given(window=any_window, time=times)
def test_next_edge_is_the_first_after_the_time(window, time):
    edges = {edge for pair in all_windows(window) for edge in pair}
    assert window.next_edge(time) == min((edge for edge in edges if edge > time), default=None)


@given(window=st.one_of(tumbling, sliding, cumulative), low=times, width=st.integers(0, 100))
def test_progressions_describe_the_same_edges_each_once(window, low, width):
    described = [
        edge
        for anchor, period in window.edge_progressions()
        for edge in range(low, low + width + 1)
        if (edge - anchor) % period == 0
    ]
    assert sorted(described) == window.edges(low, low + width)
    assert all(0 <= anchor < period for anchor, period in window.edge_progressions())


@given(window=any_window, low=times, widths=st.lists(st.integers(0, 30), max_size=6))
def test_a_moving_watermark_fires_each_window_once(window, low, widths):
    fired, reached = [], low
    for width in widths:
        fired += window.windows_ending_in(reached, reached + width)
        reached += width
    assert fired == list(window.windows_ending_in(low, reached))


@given(window=any_window, time=times)
def test_windows_do_not_change_between_edges(window, time):
    following = window.next_edge(time)
    last = time + 50 if following is None else following - 1
    assert list(window.assign(time)) == list(window.assign(last))


@pytest.mark.parametrize(
    ("window", "progressions"),
    [
        (Tumbling(10, offset=-3), ((7, 10),)),
        (Sliding(10, slide=5), ((0, 5),)),
        (Sliding(10, slide=4), ((0, 4), (2, 4))),
        (Sliding(7, slide=3, offset=1), ((1, 3), (2, 3))),
        (Sliding("24h", slide="1m"), ((0, 60_000_000),)),
        (Cumulative(30, step=10, offset=5), ((5, 10),)),
        (Fixed(0, 10), None),
        (Tumbling("1mo"), None),
        (Cumulative("1mo", step="1d"), None),
        (Tumbling("1d", timezone="Europe/Berlin"), None),
        (Tumbling("24h", timezone="Europe/Berlin"), ((0, 86_400_000_000),)),
    ],
)
def test_progressions(window, progressions):
    assert window.edge_progressions() == progressions


def test_a_progression_says_what_its_numbers_are():
    (edges,) = Tumbling(10, offset=3).edge_progressions()
    assert edges == Arithmetic(anchor=3, period=10)


def test_overlap_of_a_day_by_minutes():
    holding = list(Sliding("24h", slide="1m").assign(-1))
    assert len(holding) == 1_440
    assert holding[0] == (-86_400_000_000, 0)
    assert holding[-1] == (-60_000_000, 86_340_000_000)


@pytest.mark.parametrize("time", [-(2**63), 2**63 - 1])
def test_the_ends_of_64_bits(time):
    ((start, end),) = Tumbling(10).assign(time)
    assert start <= time < end == start + 10
    assert start % 10 == 0


def test_a_size_that_is_the_slide_is_tumbling():
    assert Sliding(10, slide=10, offset=3).edges(0, 50) == Tumbling(10, offset=3).edges(0, 50)


@pytest.mark.parametrize(
    ("time", "holds"), [(99, False), (100, True), (149, True), (150, False), (151, False)]
)
def test_a_fixed_band_holds_its_start_and_not_its_end(time, holds):
    assert list(Fixed(100, 50).assign(time)) == [(100, 150)] * holds


@pytest.mark.parametrize(
    ("low", "high", "ends"), [(148, 149, False), (149, 150, True), (150, 151, False), (0, 200, True)]
)
def test_a_fixed_band_ends_once(low, high, ends):
    assert list(Fixed(100, 50).windows_ending_in(low, high)) == [(100, 150)] * ends
    assert Fixed(100, 50).edges(low, high) == [edge for edge in (100, 150) if low <= edge <= high]


def test_a_fixed_band_has_no_edge_after_its_end():
    band = Fixed("2024-05-01", "1h")
    assert band.next_edge(band.start - 1) == band.start
    assert band.next_edge(band.start) == band.end
    assert band.next_edge(band.end) is None
