"""Sessions: the reference merge, its borders, and how long a session may become."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import Session


def spans(times, gap, max_size=None):
    return list(Session(gap=gap, max_size=max_size).merge(times))


def test_rows_exactly_a_gap_apart_are_one_session():
    #  0    5    10        rows, gap 5
    # |---------------|    [0, 15)
    assert spans([0, 5, 10], 5) == [(0, 15)]


def test_rows_further_apart_are_two_sessions():
    #  0      6            rows, gap 5
    # |----| |----|
    assert spans([0, 6], 5) == [(0, 5), (6, 11)]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], []),
        ([7], [(7, 12)]),
        ([7, 7, 7], [(7, 12)]),
        ([-20, -16, 3], [(-20, -11), (3, 8)]),
    ],
)
def test_few_rows(times, expected):
    assert spans(times, 5) == expected


def test_a_row_at_the_largest_size_starts_a_new_session():
    #  0   4   8   12  16       rows, gap 5, max_size 12
    # |-----------|---------|
    assert spans([0, 4, 8, 12, 16], 5, max_size=12) == [(0, 12), (12, 21)]
    assert spans([0, 4, 8, 11, 16], 5, max_size=12) == [(0, 12), (16, 21)]


def test_the_largest_size_also_ends_a_session_that_was_not_cut():
    assert spans([0, 9], 10, max_size=12) == [(0, 12)]
    assert spans([0, 1], 10, max_size=12) == [(0, 11)]


def test_a_largest_size_below_the_gap():
    assert spans([0, 1, 2, 3, 4], 10, max_size=2) == [(0, 2), (2, 4), (4, 6)]


gaps = st.integers(1, 20)
sorted_times = st.lists(st.integers(-200, 200), max_size=40).map(sorted)


@given(times=sorted_times, gap=gaps)
def test_sessions_are_the_islands_of_the_rows(times, gap):
    # a row begins a session if no other is at most a gap before it
    firsts = {time for time in times if not any(time - gap <= other < time for other in times)}
    assert [start for start, _ in spans(times, gap)] == sorted(firsts)
    for start, end in spans(times, gap):
        inside = [time for time in times if start <= time < end]
        assert (inside[0], inside[-1] + gap) == (start, end)


@given(times=sorted_times, gap=gaps, max_size=st.none() | st.integers(1, 60))
def test_sessions_are_disjoint_hold_every_row_and_are_never_too_long(times, gap, max_size):
    sessions = spans(times, gap, max_size)
    assert all(before[1] <= after[0] for before, after in pairwise(sessions))
    assert all(sum(start <= time < end for start, end in sessions) == 1 for time in times)
    assert max_size is None or all(end - start <= max_size for start, end in sessions)


@given(times=sorted_times, gap=gaps)
def test_a_largest_size_that_is_never_reached_changes_nothing(times, gap):
    assert spans(times, gap, max_size=1_000) == spans(times, gap)


@given(times=sorted_times, gap=gaps, max_size=st.integers(1, 60))
def test_the_largest_size_is_the_only_other_reason_to_start_anew(times, gap, max_size):
    sessions = spans(times, gap, max_size)
    for before, after in pairwise(sessions):
        last = max(time for time in times if time < before[1])
        assert after[0] - last > gap or after[0] - before[0] >= max_size


def test_times_must_be_sorted():
    with pytest.raises(ValueError, match="time 1 comes after time 2: sort the times"):
        spans([2, 1], 5)


def test_the_gap_in_microseconds():
    session = Session(gap="30m", max_size="2h")
    assert (session.gap_us, session.max_size_us) == (1_800_000_000, 7_200_000_000)
    assert not session.uses_integer_time
    assert Session(5).uses_integer_time
    assert Session(5).max_size_us is None
