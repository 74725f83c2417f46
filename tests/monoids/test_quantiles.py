"""quantile and median."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.budget import examples
from support.monoid_folds import fold, grouped_fold, lifted, result
from windrow.monoids.laws import check
from windrow.monoids.quantiles import Ranks, median, quantile, rank_error

finite = st.floats(-1e9, 1e9)
shares = st.one_of(st.sampled_from([0, 0.25, 0.5, 1]), st.floats(0, 1))


def by_halves(monoid, partials):
    """Combine neighbours level by level: the fewest merges a row goes through."""
    while len(partials) > 1:
        pairs = [monoid.combine(a, b) for a, b in zip(partials[::2], partials[1::2], strict=False)]
        partials = pairs + partials[len(pairs) * 2 :]
    return partials[0]


@given(st.lists(finite, min_size=1, max_size=64), shares, st.integers(0, 2**32))
def test_few_values_give_the_exact_interpolated_quantile(rows, q, seed):
    monoid = quantile(q)
    expected = float(np.quantile(rows, q))
    assert monoid.lower(grouped_fold(monoid, rows, seed)) == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_median_and_integers():
    assert result(median, [4, 1, 3]) == 3.0
    assert result(median, [4, 1, 3, 2]) == 2.5
    assert result(median, [True, False]) == 0.5


def test_infinities():
    assert result(median, [-math.inf, 1.0, math.inf]) == 1.0
    assert result(median, [-math.inf, 1.0]) == -math.inf
    assert result(quantile(1), [1.0, math.inf]) == math.inf


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled"])
@pytest.mark.parametrize("grouping", ["one by one", "by halves", "in chunks"])
def test_ranks_are_off_by_no_more_than_stated_for_windows_of_100_000_rows(order, grouping):
    count = 100_000
    rows = np.arange(count, dtype=float)
    if order == "falling":
        rows = rows[::-1]
    if order == "shuffled":
        rows = np.random.default_rng(5).permutation(rows)
    partials = lifted(median, rows.tolist())
    if grouping == "one by one":
        partial = fold(median, rows.tolist())
    elif grouping == "by halves":
        partial = by_halves(median, partials)
    else:
        partial = by_halves(median, [by_halves(median, partials[k : k + 777]) for k in range(0, count, 777)])
    # the stated error holds with 99 % confidence, so one answer in a hundred may be off by somewhat more
    errors = [abs(quantile(q).lower(partial) / count - q) for q in np.linspace(0, 1, 101)]
    assert sum(error > rank_error(200) for error in errors) <= 1
    assert max(errors) <= 1.5 * rank_error(200)
    assert errors[0] <= 1 / count
    assert errors[-1] <= 1 / count


def test_a_larger_k_is_more_precise():
    rows = np.random.default_rng(3).permutation(50_000).astype(float).tolist()
    monoid = quantile(0.5, k=2000)
    assert rank_error(2000) < 0.002
    assert abs(result(monoid, rows) / 50_000 - 0.5) <= 2 * rank_error(2000)


def test_nan_makes_the_result_nan_and_is_gone_with_its_row():
    nothing, many = lifted(median, [math.nan])[0], fold(median, [float(k) for k in range(100)])
    assert math.isnan(median.lower(nothing))
    assert math.isnan(median.lower(median.combine(many, nothing)))
    assert median.lower(many) == pytest.approx(49.5, abs=2)


def test_no_rows_give_null():
    assert median.empty_result() is None
    assert median.lower(median.identity) is None


@given(st.lists(finite, min_size=40, max_size=300), st.lists(finite, min_size=1, max_size=300))
@settings(max_examples=examples(30))
def test_combine_changes_neither_side(left, right):
    a, b = fold(median, left), fold(median, right)
    before = [(p.values, p.sketch and p.sketch.serialize()) for p in (a, b)]
    both = median.combine(a, b)
    assert [(p.values, p.sketch and p.sketch.serialize()) for p in (a, b)] == before
    assert (both.sketch.n if both.sketch else len(both.values)) == len(left) + len(right)


@given(st.lists(st.one_of(finite, st.sampled_from([math.nan, math.inf])), min_size=1, max_size=6))
@settings(max_examples=examples(20))
def test_laws(rows):
    assert check(quantile(0.9), rows, cases=150)


@given(st.lists(st.integers(0, 400), min_size=3, max_size=3), st.integers(0, 2**32))
@settings(max_examples=examples(30))
def test_large_partials_are_associative_and_commutative_up_to_the_stated_error(sizes, seed):
    random = np.random.default_rng(seed)
    a, b, c = (fold(median, random.normal(size=n).tolist()) for n in sizes)
    left, right = median.combine(median.combine(a, b), c), median.combine(a, median.combine(b, c))
    assert median.equal(left, right)
    assert median.equal(median.combine(a, b), median.combine(b, a))
    assert median.equal(median.combine(a, median.identity), a)
    assert median.equal(median.combine(median.identity, a), a)


def test_equality_of_partials_tells_different_samples_apart():
    a = fold(median, [float(k) for k in range(1000)])
    assert not median.equal(a, fold(median, [float(k + 500) for k in range(1000)]))
    assert not median.equal(a, fold(median, [float(k) for k in range(999)]))
    assert median.equal(a, copy.deepcopy(a))
    assert not median.equal(Ranks(0, (1.0,)), Ranks(0, (2.0,)))


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, None, True])
def test_q_is_a_share(wrong):
    with pytest.raises(ValueError, match="q="):
        quantile(q=wrong)


@pytest.mark.parametrize("wrong", [7, 65536, 200.0, None])
def test_k_is_checked(wrong):
    with pytest.raises(ValueError, match="k="):
        median(k=wrong)


def test_binding():
    assert repr(quantile("len", 0.99)) == repr(quantile("len", q=0.99)) == "quantile('len', q=0.99, k=200)"
    assert quantile(0.99).parameters == {"q": 0.99, "k": 200}
    assert repr(median("len", k=400)) == "median('len', k=400)"
