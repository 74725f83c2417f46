"""Windows that data decides: Rows, Delta, Punctuation, Threshold, Policy."""

import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.windows import Delta, Policy, Punctuation, Rows, Threshold

sizes = st.integers(1, 20)
size_and_slide = sizes.flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size)))


@given(shape=size_and_slide, row=st.integers(0, 200))
def test_rows_in_windows_by_count(shape, row):
    size, slide = shape
    expected = [(k * slide, k * slide + size) for k in range(250) if k * slide <= row < k * slide + size]
    assert list(Rows(size, slide=slide).assign(row)) == expected


@given(shape=size_and_slide, low=st.integers(0, 100), more=st.integers(0, 60))
def test_count_windows_that_become_complete(shape, low, more):
    size, slide = shape
    expected = [(k * slide, k * slide + size) for k in range(250) if low < k * slide + size <= low + more]
    assert list(Rows(size, slide=slide).windows_ending_in(low, low + more)) == expected


def test_count_windows_do_not_overlap_unless_asked_to():
    assert Rows(10).slide == 10
    assert Rows(10) == Rows(10, slide=10)
    assert Rows(10).edge_progressions() == ((0, 10),)
    assert Rows(10, slide=4).edge_progressions() == ((0, 4), (2, 4))


@given(shape=size_and_slide, value=st.integers(-500, 500))
def test_delta_windows_of_integers(shape, value):
    size, slide = shape
    window = Delta("km", size=size, slide=slide)
    expected = [k for k in range(-600, 600) if k * slide <= value < k * slide + size]
    assert list(window.assign(value)) == expected


@given(shape=size_and_slide, quarters=st.integers(-500, 500))
def test_delta_windows_of_floats_that_are_exact(shape, quarters):
    size, slide = (Fraction(number, 4) for number in shape)
    value = Fraction(quarters, 4)
    window = Delta("km", size=float(size), slide=float(slide))
    expected = [k for k in range(-600, 600) if k * slide <= value < k * slide + size]
    assert list(window.assign(float(value))) == expected


def test_delta_bounds():
    assert Delta("km", size=2.5).bounds(3) == (7.5, 10.0)
    assert Delta("km", size=10, slide=4).bounds(-1) == (-4, 6)


def test_large_integers_stay_exact():
    assert list(Delta("ticks", size=1).assign(2**62 + 1)) == [2**62 + 1]


@given(st.lists(st.sampled_from([True, False, None])))
def test_punctuation_ends_a_window_with_its_own_row(flags):
    windows = list(Punctuation("done").split(flags))
    assert [end - 1 for _, end in windows] == [row for row, flag in enumerate(flags) if flag]
    assert [start for start, _ in windows] == [0, *(end for _, end in windows)][: len(windows)]


@given(st.lists(st.sampled_from([True, False, None])))
def test_a_threshold_window_is_a_longest_run_that_has_ended(flags):
    windows = list(Threshold("late").split(flags))
    for start, end in windows:
        assert all(flags[start:end])
        assert not flags[end]
        assert start == 0 or not flags[start - 1]
    held = {row for start, end in windows for row in range(start, end)}
    last = max((row for row, flag in enumerate(flags) if not flag), default=0)
    assert held == {row for row, flag in enumerate(flags[:last]) if flag}


def test_policies_compare_by_function():
    def too_much(total, old):
        return total.n - old.n > 10

    assert Policy(too_much) == Policy(too_much)
    assert Policy(too_much) != Policy(operator.lt)
    assert Policy(too_much).fn is too_much
    assert repr(Policy(too_much)) == "Policy(too_much)"


@pytest.mark.parametrize(
    "fn", [lambda: True, lambda total: True, lambda a, b, c: True, lambda *, total, old: True]
)
def test_policies_take_two_arguments(fn):
    with pytest.raises(TypeError, match=r"does not take two arguments: write it as fn\(total, old\)"):
        Policy(fn)


def test_a_policy_is_a_function():
    with pytest.raises(TypeError, match="policy 5 is a int: give a function"):
        Policy(5)
