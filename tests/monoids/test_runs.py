"""longest_run."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from support.monoid_folds import grouped_fold, native_result, result
from windrow.monoids.laws import check
from windrow.monoids.runs import longest_run

numbers = st.lists(
    st.one_of(st.integers(-3, 3), st.sampled_from([math.nan, math.inf, -math.inf, 0.5])), min_size=1
)


def longest(rows):
    best = current = 1
    for before, after in itertools.pairwise(rows):
        current = current + 1 if before < after else 1
        best = max(best, current)
    return best


@given(numbers, st.integers(0, 2**32))
def test_it_is_the_longest_rise_however_the_rows_are_grouped(rows, seed):
    assert longest_run.lower(grouped_fold(longest_run, rows, seed)) == longest(rows)


@given(st.lists(st.text(max_size=2), min_size=1), st.integers(0, 2**32))
def test_text_can_rise_too(rows, seed):
    assert longest_run.lower(grouped_fold(longest_run, rows, seed)) == longest(rows)


@given(numbers)
def test_native(rows):
    assert native_result(longest_run, np.array(rows, "f8")) == longest(rows)


def test_native_integers_are_compared_exactly():
    column = np.array([2**60, 2**60 + 1, 2**60 + 1])
    assert native_result(longest_run, column) == 2


def test_equal_neighbours_and_nan_end_a_run():
    assert result(longest_run, [1, 2, 2, 3]) == 2
    assert result(longest_run, [1.0, 2.0, math.nan, 3.0, 4.0, 5.0]) == 3
    assert result(longest_run, [math.nan]) == 1


@given(st.lists(st.one_of(st.integers(), st.floats()), min_size=1, max_size=6))
@settings(max_examples=examples(20))
def test_laws(rows):
    assert check(longest_run, rows, cases=200)
