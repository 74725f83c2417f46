"""cov, corr and slope."""

from __future__ import annotations

import math

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
from support.monoid_folds import grouped_fold, native_result, result
from windrow.monoids.laws import check

ALL = [wr.cov, wr.cov(ddof=0), wr.corr, wr.slope]
pairs = st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=1, max_size=30)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@given(pairs, st.integers(0, 2**32))
def test_they_are_their_definitions_in_any_grouping(monoid, rows, seed):
    found, expected = monoid.lower(grouped_fold(monoid, rows, seed)), definition(monoid, rows)[0]
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-9))


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@pytest.mark.parametrize("columns", [([3, 1, 4], [1, 5, 9]), ([0.5, -2.0, 7.0], [2, 7, 1])])
def test_native_results_are_the_same(monoid, columns):
    plain = result(monoid, list(zip(*columns, strict=True)))
    assert native_result(monoid, *map(np.array, columns)) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@given(st.lists(st.tuples(st.floats(-100, 100), st.integers(-100, 100)), min_size=1, max_size=4))
@settings(max_examples=10)
def test_laws(monoid, rows):
    assert check(monoid, rows, cases=100)
    assert monoid.properties == ("commutative",)


@pytest.mark.parametrize("monoid", ALL, ids=repr)
def test_large_means_cost_no_digits(monoid):
    near = [(i % 7 + 0.5, (i * i) % 11) for i in range(500)]
    far = [(x + 2**30, y - 2**30) for x, y in near]
    assert result(monoid, far) == pytest.approx(result(monoid, near), rel=1e-13)


def test_where_they_are_not_defined_they_are_null():
    assert [result(m, [(1.0, 2.0)]) for m in ALL] == [None, 0.0, None, None]
    constant = [(1.0, 5.0), (2.0, 5.0), (4.0, 5.0)]
    assert [result(m, constant) for m in ALL] == [0.0, 0.0, None, None]
    assert result(wr.slope, [(y, x) for x, y in constant]) == 0.0
    assert [wr.swag.DABA(m).query() for m in ALL] == [None] * 4


@pytest.mark.parametrize("monoid", ALL, ids=repr)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_nan_and_infinities_in_either_column_make_nan(monoid, wrong):
    rows = [(1.0, 2.0), (2.0, 4.5), (3.0, 1.0)]
    assert math.isnan(result(monoid, [*rows, (wrong, 1.0)]))
    assert math.isnan(result(monoid, [(1.0, wrong), *rows]))


@given(st.integers(2, 40), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_a_correlation_is_never_beyond_one(count, start, step):
    rows = [(start + step * k, 3.0 * (start + step * k)) for k in range(count)]
    found = result(wr.corr, rows)
    assert found is None or -1.0 <= found <= 1.0


rows_with_nulls = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.one_of(st.none(), st.integers(-9, 9)),
        st.one_of(st.none(), st.floats(-9, 9), st.just(math.nan)),
    ),
    min_size=1,
    max_size=30,
)


@given(rows_with_nulls)
@settings(max_examples=5, deadline=None)
def test_tables_operators_and_stores_give_what_the_oracle_gives(rows):
    times, x, y = zip(*rows, strict=True)
    table = pa.table(
        {"t": pa.array(times, pa.int64()), "x": pa.array(x, pa.int64()), "y": pa.array(y, pa.float64())}
    )
    check_engines(
        table,
        v=wr.cov("x", "y"),
        i=wr.cov("x", "y", ddof=0, nan="ignore"),
        a=wr.cov("x", "x", nulls="propagate"),
        b=wr.slope("y", "x", nan="ignore"),
    )


def example():
    x = [None if i % 13 == 0 else float((i * i) % 17) for i in range(60)]
    y = [None if i % 11 == 0 else float((i * 7) % 19) for i in range(60)]
    return pa.table({"t": list(range(60)), "x": x, "y": y})


def test_pandas_gives_the_same():
    found = wr.events(example(), time="t").rolling(rows=10).agg(v=wr.cov("x", "y"), r=wr.corr("x", "y"))
    frame = example().to_pandas()
    for at in range(2, 60):
        rows = frame.iloc[max(0, at - 9) : at + 1]
        assert found["v"][at].as_py() == pytest.approx(rows["x"].cov(rows["y"]), nan_ok=True)
        mine, theirs = found["r"][at].as_py(), rows["x"].corr(rows["y"])
        assert mine == (None if pd.isna(theirs) else pytest.approx(theirs))


def test_polars_and_duckdb_give_the_same():
    found = wr.events(example(), time="t").window(wr.Tumbling(10))
    found = found.agg(
        v=wr.cov("x", "y"), p=wr.cov("x", "y", ddof=0), r=wr.corr("x", "y"), b=wr.slope("y", "x")
    )
    text = """SELECT covar_samp(x, y), covar_pop(x, y), corr(x, y), regr_slope(y, x)
              FROM rows GROUP BY t // 10 ORDER BY t // 10"""
    rows = duckdb.from_arrow(example()).query("rows", text).fetchall()
    for name, column in zip("vprb", zip(*rows, strict=True), strict=True):
        assert found[name].to_pylist() == pytest.approx(list(column), rel=1e-9)
    complete = pl.from_arrow(example()).drop_nulls()
    grouped = complete.group_by_dynamic("t", every="10i").agg(v=pl.cov("x", "y"), r=pl.corr("x", "y"))
    for name in "vr":
        assert found[name].to_pylist() == pytest.approx(grouped[name].to_list(), rel=1e-9)


def test_decimals_are_floats_in_the_end():
    numbers = pa.array([1, 2, 4], pa.int64()).cast(pa.decimal128(21, 2))
    table = pa.table({"t": [1, 2, 3], "x": numbers, "y": [2.0, 4.0, 8.0]})
    found = wr.events(table, time="t").window(wr.Tumbling(9))
    found = found.agg(v=wr.cov("x", "y"), r=wr.corr("x", "x"), b=wr.slope("y", "x"))
    assert [found.schema.field(name).type for name in "vrb"] == [pa.float64()] * 3
    assert [found[name][0].as_py() for name in "vrb"] == pytest.approx([14 / 3, 1.0, 2.0])


def test_calls_that_are_refused():
    with pytest.raises(ValueError, match="ddof=-1"):
        wr.cov("x", "y", ddof=-1)
    with pytest.raises(TypeError, match="corr reads 2 columns"):
        wr.corr("x")
    with pytest.raises(AttributeError, match=r"it is wr\.slope"):
        _ = wr.regr_slope
