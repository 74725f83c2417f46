"""exp_decay."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from support.monoid_folds import fold, grouped_fold, native_result, result
from windrow.monoids.base import Monoid
from windrow.monoids.decay import exp_decay
from windrow.monoids.laws import check

rows_of_numbers = st.lists(
    st.tuples(st.floats(-1e6, 1e6), st.one_of(st.integers(-1000, 1000), st.floats(-1000, 1000))), min_size=1
)


def decayed(rows, half_life):
    newest = max(time for _, time in rows)
    weights = [2.0 ** ((time - newest) / half_life) for _, time in rows]
    return math.fsum(value * weight for (value, _), weight in zip(rows, weights, strict=True)), math.fsum(
        weights
    )


@given(rows_of_numbers, st.floats(0.5, 500), st.integers(0, 2**32))
def test_it_is_the_weighted_sum_or_mean_in_any_order_and_grouping(rows, half_life, seed):
    total, weight = decayed(rows, half_life)
    slack = 1e-9 * max(1.0, max(abs(value) for value, _ in rows)) * len(rows)
    sum_of = exp_decay(half_life=half_life)
    mean_of = exp_decay(half_life=half_life, mean=True)
    assert sum_of.lower(grouped_fold(sum_of, rows, seed)) == pytest.approx(total, abs=slack)
    assert sum_of.lower(fold(sum_of, rows[::-1])) == pytest.approx(total, abs=slack)
    assert mean_of.lower(grouped_fold(mean_of, rows, seed)) == pytest.approx(total / weight, abs=slack)


def test_a_half_life_halves():
    assert result(exp_decay(half_life=10), [(8.0, 0), (0.0, 10)]) == 4.0
    assert result(exp_decay(half_life=10), [(8.0, 0), (0.0, 30)]) == 1.0
    assert result(exp_decay(half_life=10, mean=True), [(8.0, 0), (2.0, 10)]) == 4.0


def test_moments_and_integer_microseconds_mean_the_same_under_a_timedelta():
    monoid = exp_decay(half_life=timedelta(seconds=10))
    start = datetime(2024, 5, 1, tzinfo=UTC)
    rows = [(8.0, start), (1.0, start + timedelta(seconds=10))]
    assert result(monoid, rows) == 5.0
    assert result(monoid, [(8.0, start.replace(tzinfo=None)), (1.0, rows[1][1])]) == 5.0
    assert result(monoid, [(8.0, 0), (1.0, 10_000_000)]) == 5.0


def test_nan_and_infinity_come_through_at_any_age():
    monoid = exp_decay(half_life=1)
    assert math.isnan(result(monoid, [(math.nan, 0), (1.0, 10_000)]))
    assert math.isnan(result(monoid, [(1.0, math.nan), (1.0, 5.0)]))
    assert result(monoid, [(math.inf, 0), (1.0, 10_000)]) == math.inf
    assert result(monoid, [(5.0, 0), (1.0, 10_000)]) == 1.0


@pytest.mark.parametrize("times", [np.array([0, 3, 7]), np.array([0.0, 3.5, 1.0])], ids=["i8", "f8"])
@pytest.mark.parametrize("mean", [False, True])
def test_native(times, mean):
    monoid = exp_decay(half_life=2.0, mean=mean)
    values = np.array([1.0, -2.0, 4.0])
    plain = result(monoid, list(zip(values.tolist(), times.tolist(), strict=True)))
    assert native_result(monoid, values, times) == pytest.approx(plain, rel=1e-14)


def test_it_says_that_it_needs_a_half_life():
    assert isinstance(exp_decay, Monoid)
    with pytest.raises(TypeError, match="half_life"):
        exp_decay("value", "time")
    with pytest.raises(TypeError, match="half_life"):
        exp_decay.lift(1.0, 0)
    assert (
        repr(exp_decay("value", "time", half_life=60))
        == "exp_decay('value', 'time', half_life=60, mean=False)"
    )


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, "0m", None, True, timedelta(0)])
def test_a_half_life_is_positive(wrong):
    with pytest.raises(ValueError, match="half_life="):
        exp_decay(half_life=wrong)


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1000, 1000)), min_size=1, max_size=4), st.booleans()
)
@settings(max_examples=examples(20))
def test_laws(rows, mean):
    assert check(exp_decay(half_life=7, mean=mean), rows, cases=150)
