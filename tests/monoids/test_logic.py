"""any and all."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from support.monoid_folds import fold, grouped_fold, native_result
from windrow.monoids.laws import check
from windrow.monoids.logic import all, any

values = st.one_of(st.booleans(), st.integers(-1, 1), st.floats(), st.sampled_from(["", "x"]))


@given(st.lists(values), st.integers(0, 2**32))
def test_they_are_pythons_any_and_all(rows, seed):
    assert grouped_fold(any, rows, seed) is builtins.any(rows)
    assert grouped_fold(all, rows, seed) is builtins.all(rows)


@pytest.mark.parametrize("column", [[True, False], [0, 0], [2, 1], [0.0, -0.0], [math.nan, 0.0]])
@pytest.mark.parametrize("monoid", [any, all], ids=repr)
def test_native_results_are_the_same_booleans(monoid, column):
    answer = native_result(monoid, np.array(column))
    assert answer == fold(monoid, column)
    assert np.asarray(answer).dtype == "?"


def test_without_a_value_the_result_is_null():
    assert any.empty_result() is None
    assert all.empty_result() is None


@given(st.lists(values, min_size=1, max_size=5))
@settings(max_examples=examples(20))
def test_laws(rows):
    assert check(any, rows, cases=100)
    assert check(all, rows, cases=100)
