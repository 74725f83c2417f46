"""What lies close together far from 0: no digit of a moment is lost, in any grouping."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.aggregates import ALGORITHMS
from support.both_forms import checking
from support.budget import examples
from support.exact_moments import assert_exact, close_numbers
from support.monoid_folds import fold, grouped_fold, result
from windrow.monoids.base import Monoid
from windrow.monoids.laws import check
from windrow.monoids.means import apart, mean_of_one

SINGLE = [
    wr.var,
    wr.var(ddof=0),
    wr.stddev,
    wr.skew,
    wr.skew(bias=True),
    wr.kurtosis,
    wr.kurtosis(bias=True),
]
PAIRS = [wr.cov, wr.cov(ddof=0), wr.corr, wr.slope]
ALL = [*SINGLE, *PAIRS]
#: those whose kernels other tests of algorithms compile
ONE_OF_EACH = [wr.var(ddof=0), wr.stddev, wr.skew, wr.kurtosis(bias=True), wr.cov, wr.corr, wr.slope]


def rows_of(monoid: Monoid, first: list[Any], second: list[Any]) -> list[Any]:
    count = min(len(first), len(second))
    return first if monoid.arity[0] == 1 else list(zip(first[:count], second[:count], strict=True))


def columns_of(rows: list[Any]) -> Any:
    """These rows as NumPy has them: a column, or a tuple of two."""
    columns = np.array(rows)
    return columns if columns.ndim == 1 else tuple(map(np.ascontiguousarray, columns.T))


# -- digits that were lost -----------------------------------------------------------------------------------

FIVE = [(1.0, 2.0), (2.0, 1.0), (4.0, 5.0), (7.0, 3.0), (3.0, 8.0)]


@pytest.mark.parametrize("offset", [1e10, 1e14])
@pytest.mark.parametrize("monoid", PAIRS, ids=repr)
def test_cov_corr_and_slope_lost_digits_to_an_offset(monoid: Monoid, offset: float) -> None:
    far = [(offset + x, offset - y) for x, y in FIVE]
    assert result(monoid, far) == pytest.approx(result(monoid, [(x, -y) for x, y in FIVE]), rel=1e-14)
    assert_exact(monoid, far, result(monoid, far), 1e-15)


@pytest.mark.parametrize("monoid", SINGLE, ids=repr)
def test_var_skew_and_kurtosis_lost_digits_to_an_offset(monoid: Monoid) -> None:
    far = [1e14 + x for x in (1.0, 2.0, 4.0, 9.0, 4.5, 3.0)]
    assert_exact(monoid, far, result(monoid, far), 3e-15)


@pytest.mark.parametrize("monoid", [wr.var, wr.stddev, wr.slope], ids=repr)
def test_seconds_since_the_epoch_cost_three_parts_in_a_hundred_million(monoid: Monoid) -> None:
    seconds = [1_731_960_200.0 + 0.001 * k * k for k in range(100)]
    rows = rows_of(monoid, seconds, seconds)
    assert_exact(monoid, rows, result(monoid, rows), 1e-13)


@pytest.mark.parametrize("monoid", SINGLE, ids=repr)
def test_values_a_smallest_step_apart(monoid: Monoid) -> None:
    step = math.ulp(1e8)
    codes = [0, 1, 0, 2, 1, 0, 3, 1, 2, 0, 1, 4, 0, 2, 1, 0]
    found = wr.swag.DABALite(monoid).roll(np.array([1e8 + step * code for code in codes]), 4)
    for k, each in enumerate(found):
        inside = [1e8 + step * code for code in codes[max(0, k - 3) : k + 1]]
        assert_exact(monoid, inside, None if each != each else each)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e13])
def test_a_large_value_leaves_nothing_behind(monoid: Monoid, offset: float) -> None:
    first = [2.0, 5.0, 3.0, 8.0, 6.5e12, 1.0, 4.0, 4.0, 9.0, 7.0, 2.0, 6.0]
    second = [offset + each for each in (3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0)]
    rows, size = rows_of(monoid, first, second), 5
    for algorithm in [wr.swag.DABALite, *([wr.swag.SubtractOnEvict] if monoid.invertible else [])]:
        for k, found in enumerate(algorithm(monoid).roll(rows, size)):
            assert_exact(monoid, rows[max(0, k + 1 - size) : k + 1], found)


@pytest.mark.parametrize("monoid", [wr.cov, wr.var], ids=repr)
def test_values_at_both_ends_of_the_range_stay_numbers(monoid: Monoid) -> None:
    first, second = [1e308, 1.0, 2.0, 3.0, -1e308, 4.0, 5.0], [0.2, 0.1, 0.5, 0.3, 0.8, 0.4, 0.9]
    found = wr.swag.DABA(monoid).roll(rows_of(monoid, first, second), 5)
    assert not any(each is not None and math.isnan(each) for each in found)
    assert found[4] == (math.inf if monoid is wr.var else pytest.approx(-1.5e307))


# -- all of it, against the definitions ----------------------------------------------------------------------


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@settings(max_examples=examples(100), deadline=None)
@given(close_numbers(60), close_numbers(60), st.integers(0, 2**32))
def test_they_are_their_definitions_wherever_values_lie(
    monoid: Monoid, first: list[float], second: list[float], seed: int
) -> None:
    rows = rows_of(monoid, first, second)
    assert_exact(monoid, rows, monoid.lower(grouped_fold(monoid, rows, seed)))
    assert_exact(monoid, rows, result(monoid, rows))
    assert_exact(monoid, rows[::-1], result(monoid, rows[::-1]))


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@settings(max_examples=examples(20), deadline=None)
@given(close_numbers(3000, least=500), close_numbers(3000, least=500))
def test_windows_of_thousands_of_rows(monoid: Monoid, first: list[float], second: list[float]) -> None:
    rows = rows_of(monoid, first, second)
    for algorithm in (wr.swag.DABALite, wr.swag.TwoStacksLite, wr.swag.FlatFAT):
        found = float(algorithm(monoid).roll(columns_of(rows), len(rows))[-1])
        assert_exact(monoid, rows, None if math.isnan(found) else found)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda each: each.__name__)
@settings(max_examples=examples(15), deadline=None)
@given(close_numbers(40), close_numbers(40), st.integers(1, 12))
def test_every_algorithm_keeps_all_digits(
    algorithm: Any, first: list[float], second: list[float], size: int
) -> None:
    for monoid in ONE_OF_EACH:
        if algorithm is wr.swag.SubtractOnEvict and not monoid.invertible:
            continue
        rows = rows_of(monoid, first, second)
        for k, found in enumerate(algorithm(monoid).roll(rows, size)):
            assert_exact(monoid, rows[max(0, k + 1 - size) : k + 1], found)


# -- forms with an inverse -----------------------------------------------------------------------------------


def test_var_by_subtraction_lost_all_digits_to_an_offset() -> None:
    values = [1e15 + 0.125 * (k * k % 11) for k in range(50)]
    for monoid in (wr.var, wr.var(ddof=0), wr.stddev):
        for k, found in enumerate(wr.swag.SubtractOnEvict(monoid).roll(values, 7)):
            assert_exact(monoid, values[max(0, k - 6) : k + 1], found, 1e-15)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=12), st.integers(1, 5))
def test_var_by_subtraction_is_correct_to_the_last_digit(values: list[float], size: int) -> None:
    for k, found in enumerate(wr.swag.SubtractOnEvict(wr.var(ddof=0)).roll(values, size)):
        assert_exact(wr.var(ddof=0), values[max(0, k + 1 - size) : k + 1], found, 3e-16)


def test_var_by_subtraction_of_what_is_not_finite() -> None:
    window = wr.swag.SubtractOnEvict(wr.var)
    found = window.roll([1.0, math.nan, 2.0, 4.0, math.inf, -math.inf, 7.0, 8.0, 8.0, 1e200, 3.0], 2)
    shown = [None if each is None else "nan" if math.isnan(each) else each for each in found]
    assert shown == [None, "nan", "nan", 2.0, "nan", "nan", "nan", 0.5, 0.0, math.inf, math.inf]


# -- integers and decimals -----------------------------------------------------------------------------------

LARGE = [2**62 + each for each in (1, 4, 9, 2, 30)]


@pytest.mark.parametrize("monoid", ALL, ids=repr)
def test_integers_beyond_the_digits_of_floats_were_rounded(monoid: Monoid) -> None:
    for values in (LARGE, [2**63 - 1, -(2**63), 5, 0], [2**63 - k * k for k in (1, 2, 3, 5, 8)]):
        rows = rows_of(monoid, values, [-each for each in values])
        assert_exact(monoid, rows, result(monoid, rows), 3e-15)
        if all(-(2**63) <= each < 2**63 for row in rows for each in np.atleast_1d(row)):
            found = float(wr.swag.DABALite(monoid).roll(columns_of(rows), 9)[-1])
            assert_exact(monoid, rows, found, 3e-15)


def test_numbers_of_any_kind_are_all_there() -> None:
    """As an origin and a distance from it, together the number itself."""
    kinds = [2**53 + 1, -(2**62) - 77, 2**64 - 1, True, Decimal("1234567890123456.789"), np.int64(2**63 - 1)]
    for number in (*kinds, np.int64(-(2**53) - 1), np.uint64(2**64 - 1), np.float32(0.1), 5e-324, 1.7e308):
        whole = sum(map(Fraction, mean_of_one(number)))
        exact = Fraction(number.item() if isinstance(number, np.generic) else number)
        assert abs(whole - exact) <= abs(exact) * Fraction(2) ** -100
    assert apart(*mean_of_one(Decimal("1e25")), *mean_of_one(Decimal("1e25") + Decimal("0.25"))) == 0.25
    assert math.isnan(result(wr.var, [Decimal("Infinity"), Decimal(1)]))
    assert check(wr.kurtosis, [Decimal(1), Decimal("2.5"), Decimal(9), Decimal("1e15")], cases=100)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(25, 3)], ids=str)
def test_columns_of_integers_and_decimals_keep_all_digits(kind: Any) -> None:
    values = [10**18 + k * k % 17 for k in range(30)]
    if pa.types.is_decimal(kind):
        values = [Decimal(each) / 1000 for each in values]
    table = pa.table({"t": range(30), "x": pa.array(values, kind)})
    windows = wr.events(table, time="t").window(wr.Tumbling(10))
    for monoid in (wr.var, wr.skew):
        for k, found in enumerate(windows.agg(found=monoid("x"))["found"].to_pylist()):
            assert_exact(monoid, values[10 * k : 10 * k + 10], found)


def test_both_forms_of_kernels_agree_on_integers_beyond_floats() -> None:
    values = [2**63 - 1, -(2**63), 2**53 + 1, -(2**60) - 1, 7, 2**62 + 3] * 4
    table = pa.table({"t": range(24), "x": values, "y": [float(each % 11) for each in values]})
    with checking() as compared:
        wr.events(table, time="t").rolling(rows=4).agg(a=wr.var("x"), b=wr.cov("x", "y"), c=wr.kurtosis("x"))
    assert compared


# -- laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@settings(max_examples=examples(10), deadline=None)
@given(close_numbers(4), close_numbers(4))
def test_laws_hold_far_from_zero(monoid: Monoid, first: list[float], second: list[float]) -> None:
    assert check(monoid, rows_of(monoid, first, second), cases=60)


def test_which_value_is_the_origin_makes_no_difference() -> None:
    for monoid in ALL:
        rows = rows_of(monoid, [5.0, 1.0, 9.0, 2.5], [1.0, 4.0, 1.5, -2.0])
        one, other = fold(monoid, rows), fold(monoid, rows[::-1])
        assert monoid.equal is not None
        assert one != other
        assert monoid.equal(one, other, 9.0)
        assert not monoid.equal(one, fold(monoid, rows[1:]), 9.0)
