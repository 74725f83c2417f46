"""skew and kurtosis."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.engine_checks import check_engines
from support.exact_moments import definition
from support.monoid_folds import fold, grouped_fold, native_result, result
from windrow.monoids.laws import check

BOTH = [wr.skew, wr.kurtosis]
ALL = [*BOTH, wr.skew(bias=True), wr.kurtosis(bias=True)]
numbers = st.lists(st.integers(-1000, 1000), min_size=1, max_size=30)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@given(numbers, st.integers(0, 2**32))
def test_they_are_their_definitions_in_any_grouping(monoid, values, seed):
    found, expected = monoid.lower(grouped_fold(monoid, values, seed)), definition(monoid, values)[0]
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-9))


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@pytest.mark.parametrize("column", [[3, 1, 4, 1, 5], [0.5, -2.0, 7.0, 7.0]])
def test_native_results_are_the_same(monoid, column):
    assert native_result(monoid, np.array(column)) == pytest.approx(result(monoid, column), rel=1e-12)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=4))
@settings(max_examples=15)
def test_laws(monoid, values):
    assert check(monoid, values, cases=100)
    assert monoid.properties == ("commutative",)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
def test_a_large_mean_costs_no_digits(monoid):
    values = np.random.default_rng(7).exponential(size=1000)
    far = list((np.round(values * 2**20) / 2**20 + 2**30).tolist())
    near = [value - 2**30 for value in far]
    assert result(monoid, far) == pytest.approx(result(monoid, near), rel=1e-13)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
def test_where_they_are_not_defined_they_are_null(monoid):
    biased, least = monoid.parameters["bias"], {"skew": 3, "kurtosis": 4}[monoid.name]
    assert result(monoid, [5.0] * 6) is None
    assert result(monoid, [1.0]) is None
    assert (result(monoid, [1.0, 2.0, 4.0][: least - 1]) is None) == (not biased)
    assert result(monoid, [1.0, 2.0, 4.0, 9.0][:least]) is not None
    assert wr.swag.DABA(monoid).query() is None


@pytest.mark.parametrize("monoid", ALL, ids=repr)
def test_one_value_has_no_shape_even_if_it_is_nan(monoid):
    for only in (math.nan, math.inf, 1.0):
        assert result(monoid, [only]) is None
        rows = pa.table({"t": [1], "v": [only]})
        assert wr.events(rows, time="t").window(wr.Tumbling(10)).agg(r=monoid("v"))["r"].to_pylist() == [None]
        assert wr.swag.DABALite(monoid).roll([only], size=3) == [None]


@pytest.mark.parametrize("monoid", ALL, ids=repr)
def test_nan_and_infinities_make_nan(monoid):
    for wrong in (math.nan, math.inf, -math.inf):
        assert math.isnan(result(monoid, [1.0, 2.0, wrong, 4.0, 9.0]))
        assert not math.isnan(result(monoid(nan="ignore"), [1.0, 2.0, 4.0, 9.0]))
    rolled = wr.swag.DABALite(monoid).roll(np.array([math.nan, 1.0, 2.0, 4.0, 9.0, 2.0]), 4)
    assert math.isnan(rolled[3])
    assert not np.isnan(rolled[4:]).any()


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_tiny_and_huge_values_stay_in_range(monoid, scale):
    plain = result(monoid, [1.0, 2.0, 4.0, 9.0])
    assert result(monoid, [v * scale for v in (1.0, 2.0, 4.0, 9.0)]) == pytest.approx(plain, rel=1e-9)


@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=40), st.integers(4, 9))
@settings(max_examples=10, deadline=None)
def test_pandas_gives_the_same(values, size):
    table = pa.table({"t": range(len(values)), "x": pa.array(values, pa.float64())})
    found = wr.events(table, time="t").rolling(rows=size).agg(s=wr.skew("x"), k=wr.kurtosis("x"))
    series = pd.Series(values, dtype="float64")
    for name, expected in (("s", pd.Series.skew), ("k", pd.Series.kurt)):
        for at, mine in enumerate(found[name].to_pylist()):
            rows = series[max(0, at + 1 - size) : at + 1]
            theirs = expected(rows)
            # pandas says 0 where all values are the same
            same = rows.dropna().nunique() < 2
            assert mine is None if same or theirs != theirs else mine == pytest.approx(theirs, abs=1e-7)


def test_polars_and_duckdb_give_the_same():
    values = [float((i * i) % 17) for i in range(60)]
    table = pa.table({"t": range(60), "x": values})
    found = wr.events(table, time="t").window(wr.Tumbling(10))
    found = found.agg(
        s=wr.skew("x"), k=wr.kurtosis("x"), bs=wr.skew("x", bias=True), bk=wr.kurtosis("x", bias=True)
    )
    x = pl.col("x")
    grouped = pl.from_arrow(table).group_by_dynamic("t", every="10i")
    theirs = grouped.agg(s=x.skew(bias=False), k=x.kurtosis(bias=False), bs=x.skew(), bk=x.kurtosis())
    for name in ("s", "k", "bs", "bk"):
        assert found[name].to_pylist() == pytest.approx(theirs[name].to_list(), rel=1e-9)
    text = "SELECT skewness(x), kurtosis(x), kurtosis_pop(x) FROM rows GROUP BY t // 10 ORDER BY t // 10"
    rows = duckdb.from_arrow(table).query("rows", text).fetchall()
    for name, column in zip(("s", "k", "bk"), zip(*rows, strict=True), strict=True):
        assert found[name].to_pylist() == pytest.approx(list(column), rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), st.integers(-9, 9))), min_size=1, max_size=30)
)
@settings(max_examples=6, deadline=None)
def test_tables_operators_and_stores_give_what_the_oracle_gives(rows):
    times, values = zip(*rows, strict=True)
    table = pa.table({"t": pa.array(times, pa.int64()), "x": pa.array(values, pa.float64())})
    check_engines(table, s=wr.skew("x"), k=wr.kurtosis("x"), b=wr.kurtosis("x", bias=True))


def test_decimals_and_integers_are_floats_in_the_end():
    for kind in (pa.decimal128(9, 2), pa.int32(), pa.uint64()):
        column = pa.array([1, 2, 4, 9], pa.int64()).cast(pa.decimal128(21, 2)).cast(kind)
        table = pa.table({"t": range(4), "x": column})
        found = wr.events(table, time="t").window(wr.Tumbling(9)).agg(s=wr.skew("x"), k=wr.kurtosis("x"))
        assert found.schema.field("s").type == found.schema.field("k").type == pa.float64()
        assert found["s"].to_pylist() == [pytest.approx(pd.Series([1, 2, 4, 9]).skew())]
    assert result(wr.skew, [Decimal(1), Decimal(2), Decimal(9)]) == result(wr.skew, [1, 2, 9])


@pytest.mark.parametrize("monoid", BOTH, ids=repr)
def test_bias_is_a_boolean(monoid):
    with pytest.raises(ValueError, match="bias='no'"):
        monoid(bias="no")
    assert repr(monoid("x", bias=True)) == f"{monoid.name}('x', bias=True)"


def test_the_variance_is_that_of_var():
    values = [1.0, 4.0, 4.5]
    assert fold(wr.kurtosis, values)[3] / 2 == pytest.approx(statistics.variance(values))
