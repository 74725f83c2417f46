"""quantile, median and approx_quantile."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.monoid_folds import fold, grouped_fold, lifted, result
from windrow.monoids.laws import check
from windrow.monoids.quantiles import Ranks, approx_quantile, median, quantile, rounded

finite = st.floats(-1e9, 1e9)
numbers = st.one_of(finite, st.sampled_from([0.0, -0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]))
shares = st.one_of(st.sampled_from([0, 0.25, 0.5, 1]), st.floats(0, 1))
accuracies = st.sampled_from([0.5, 0.1, 0.01, 1e-4, 1e-9])


@given(st.lists(finite, min_size=1, max_size=200), shares, st.integers(0, 2**32))
def test_quantiles_are_exact_and_interpolated(rows, q, seed):
    monoid = quantile(q)
    expected = float(np.quantile(rows, q))
    assert monoid.lower(grouped_fold(monoid, rows, seed)) == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_median_and_integers():
    assert result(median, [4, 1, 3]) == 3.0
    assert result(median, [4, 1, 3, 2]) == 2.5
    assert result(median, [True, False]) == 0.5


@pytest.mark.parametrize("monoid", [median, approx_quantile])
def test_infinities(monoid):
    assert result(monoid, [-math.inf, 1.0, math.inf]) == 1.0
    assert result(monoid, [-math.inf, 1.0]) == -math.inf
    assert result(monoid(1) if monoid is approx_quantile else quantile(1), [1.0, math.inf]) == math.inf


@pytest.mark.parametrize("monoid", [median, approx_quantile])
def test_nan_makes_the_result_nan_and_is_gone_with_its_row(monoid):
    nothing, many = lifted(monoid, [math.nan])[0], fold(monoid, [float(k) for k in range(101)])
    assert math.isnan(monoid.lower(nothing))
    assert math.isnan(monoid.lower(monoid.combine(many, nothing)))
    assert monoid.lower(many) == 50


@pytest.mark.parametrize("monoid", [median, approx_quantile])
def test_no_rows_give_null(monoid):
    assert monoid.empty_result() is None
    assert monoid.lower(monoid.identity) is None


@pytest.mark.parametrize("value", [Decimal("1.5"), "1.5"])
@pytest.mark.parametrize("monoid", [median, approx_quantile])
def test_what_is_not_a_number_is_refused(monoid, value):
    if isinstance(value, str):
        value = [value]
    with pytest.raises(TypeError):
        monoid.lift(value)


def test_decimals_and_moments_are_refused_and_never_silently_floats():
    import datetime as dt

    import pyarrow as pa

    for value in (Decimal("1.5"), dt.datetime(2024, 1, 1), dt.date(2024, 1, 1), dt.timedelta(1), "1.5"):
        table = pa.table({"t": [1], "x": [value]})
        for aggregate in (wr.median("x"), wr.approx_quantile("x")):
            with pytest.raises(TypeError, match=r"on column 'x' of type .*quantiles are .*: (cast|take)"):
                wr.events(table, time="t").window(wr.Tumbling(10)).agg(m=aggregate)


def test_explain_says_that_state_grows_with_the_rows_and_what_does_not():
    query = wr.query(time="t").window(wr.Sliding(60, slide=1))
    for aggregate in (wr.median("x"), wr.quantile("x", 0.9)):
        assert (
            "m: every value of its windows, so that state grows with the rows; approx_quantile keeps few"
            in (query.agg(m=aggregate).explain())
        )
    assert "grows" not in query.agg(m=wr.approx_quantile("x")).explain()


# -- rounded -------------------------------------------------------------------------------------------------


@given(numbers, accuracies)
def test_rounding_moves_a_value_by_its_accuracy_at_most(value, accuracy):
    (found,) = rounded(np.array([value]), accuracy).tolist()
    assert approx_quantile(0.5, accuracy=accuracy).lift(value).values == (found,)
    if math.isinf(value):
        assert found == value
    elif abs(value) < 1e-300:
        assert abs(found - value) < 1e-300
    elif abs(value) > 1e307:
        assert not math.isinf(found)
    else:
        assert abs(found - value) <= accuracy * abs(value)
    assert rounded(np.array([found]), accuracy).tolist() == [found]


@given(st.lists(numbers, min_size=2, max_size=50), accuracies)
def test_rounding_keeps_the_order_of_values(rows, accuracy):
    found = rounded(np.sort(np.array(rows)), accuracy)
    assert (found[1:] >= found[:-1]).all()
    assert not any(struct.pack("<d", v) == struct.pack("<d", -0.0) for v in found.tolist())


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=200), shares, accuracies, st.integers(0, 2**32))
def test_an_approximate_quantile_is_off_by_its_accuracy_at_most_however_rows_are_grouped(
    rows, q, accuracy, seed
):
    monoid = approx_quantile(q, accuracy=accuracy)
    found = monoid.lower(grouped_fold(monoid, rows, seed))
    assert found == result(monoid, rows) == result(monoid, rows[::-1])
    exact = float(np.quantile(rows, q))
    assert abs(found - exact) <= accuracy * exact * (1 + 1e-9)


def test_a_partial_stays_small():
    rows = np.random.default_rng(1).lognormal(size=20_000).tolist()
    assert len(fold(approx_quantile, rows[:4000]).values) < 64 * 12


# -- laws, parameters ----------------------------------------------------------------------------------------


@given(st.lists(st.one_of(numbers, st.just(math.nan)), min_size=1, max_size=6))
@settings(max_examples=examples(20))
def test_laws(rows):
    assert check(quantile(0.9), rows, cases=150)
    assert check(approx_quantile(0.9), rows, cases=150)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, None, True])
@pytest.mark.parametrize("monoid", [quantile, approx_quantile])
def test_q_is_a_share(monoid, wrong):
    with pytest.raises(ValueError, match="q="):
        monoid(q=wrong)


@pytest.mark.parametrize("wrong", [0, 1e-10, 0.6, 1, True, None, "1%"])
def test_accuracy_is_checked(wrong):
    with pytest.raises(ValueError, match="accuracy="):
        approx_quantile(accuracy=wrong)


def test_binding():
    assert repr(quantile("len", 0.99)) == repr(quantile("len", q=0.99)) == "quantile('len', q=0.99)"
    assert quantile(0.99).parameters == {"q": 0.99}
    assert repr(median("len")) == "median('len')"
    assert repr(approx_quantile("len", 0.9)) == "approx_quantile('len', q=0.9, accuracy=0.01)"
    with pytest.raises(TypeError, match="'k'"):
        quantile("len", 0.9, k=200)


@pytest.mark.parametrize("plain", [(0, (2.0, 1.0)), (-1, ()), (0, (math.nan,)), (0, ("a",)), (0, [1.0])])
def test_stored_ranks_that_are_not_sorted_numbers_are_refused(plain):
    from windrow.monoids.stored_types import by_name

    with pytest.raises(ValueError, match="ranks"):
        by_name("sorted").from_plain(plain)
    assert by_name("sorted").from_plain((1, (1.0, 2.0))) == Ranks(1, (1.0, 2.0))


@pytest.mark.parametrize(
    "plain",
    [(0, (1.0,), ()), (0, (1.0, 1.0), (1, 1)), (0, (1.0,), (0,)), (0, (1.0,), (1.5,)), (-1, (), ())],
)
def test_stored_occurrences_that_are_not_sorted_numbers_with_counts_are_refused(plain):
    from windrow.monoids.stored_types import by_name

    with pytest.raises(ValueError, match=r"ranks|counts"):
        by_name("occurrences").from_plain(plain)
