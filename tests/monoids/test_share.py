"""share: the share of values that are true."""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.monoid_folds import grouped_fold, native_result, result
from support.oracle_checks import check as check_query
from windrow.monoids.laws import check
from windrow.spec_text import aggregate_of
from windrow.testing import assert_same_results

values = st.one_of(st.booleans(), st.integers(-1, 1), st.floats(), st.sampled_from(["", "x"]))
flags = st.one_of(st.none(), st.booleans())


@given(st.lists(values, min_size=1), st.integers(0, 2**32))
def test_it_is_the_number_of_true_values_over_all(rows, seed):
    expected = Fraction(len([row for row in rows if row]), len(rows))
    assert wr.share.lower(grouped_fold(wr.share, rows, seed)) == float(expected)


@pytest.mark.parametrize("column", [[True, False], [0, 0], [2, 1], [0.0, -0.0, 3.0], [math.nan, 0.0]])
def test_native_results_are_the_same(column):
    answer = native_result(wr.share, np.array(column))
    assert answer == result(wr.share, column)
    assert np.asarray(answer).dtype == "f8"


@given(st.lists(values, min_size=1, max_size=5))
@settings(max_examples=examples(20))
def test_laws(rows):
    assert check(wr.share, rows, cases=100)
    assert wr.share.properties == ("commutative", "invertible")


def test_nulls_are_skipped_and_no_value_is_null():
    table = pa.table({"t": [1, 2, 3, 11, 21], "f": [True, None, False, None, True]})
    query = wr.query(time="t").window(wr.Tumbling(10))
    found = query.agg(s=wr.share("f"), p=wr.share("f", nulls="propagate"), n=wr.count("f")).run(table)
    assert found.select(["s", "p", "n"]).to_pydict() == {
        "s": [0.5, None, 1.0],
        "p": [None, None, 1.0],
        "n": [2, 0, 1],
    }
    assert found.schema.field("s").type == pa.float64()


@given(st.lists(st.tuples(st.integers(0, 30), flags), min_size=1, max_size=40), st.integers(1, 12))
@settings(max_examples=examples(40), deadline=None)
def test_it_is_the_mean_of_a_boolean_of_other_libraries(rows, size):
    times, column = zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    table = pa.table({"t": times, "f": pa.array(column, pa.bool_())})
    found = wr.events(table, time="t").window(wr.Tumbling(size)).agg(s=wr.share("f"))
    grouped = pl.from_arrow(table).group_by_dynamic("t", every=f"{size}i").agg(s=pl.col("f").mean())
    assert found["s"].to_pylist() == grouped["s"].to_list()


def test_it_is_the_average_of_a_cast_boolean_in_duckdb():
    table = pa.table({"t": list(range(100)), "f": [None if i % 7 == 0 else i % 3 == 0 for i in range(100)]})
    found = wr.events(table, time="t").window(wr.Tumbling(10)).agg(s=wr.share("f"))
    grouped = "SELECT avg(f::INT) FROM calls GROUP BY t // 10 ORDER BY t // 10"
    assert found["s"].to_pylist() == [
        row[0] for row in duckdb.from_arrow(table).query("calls", grouped).fetchall()
    ]


@given(st.lists(st.tuples(st.integers(0, 30), flags), min_size=1, max_size=30))
@settings(max_examples=examples(30), deadline=None)
def test_tables_and_operators_give_what_the_oracle_gives(rows):
    column = pa.array([flag for _, flag in rows], pa.bool_())
    table = pa.table({"t": pa.array([time for time, _ in rows], pa.int64()), "f": column})
    start = wr.query(time="t", watermark=100)
    for query in (start.window(wr.Sliding(10, slide=3)), start.window(wr.Session(4)), start.rolling(rows=4)):
        expected = check_query(query.agg(s=wr.share("f")), table)
        operator = query.agg(s=wr.share("f")).open()
        pieces = [operator.push(table.slice(k, 7)) for k in range(0, len(rows), 7)]
        found = pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")
        assert_same_results(found.select(expected.column_names), expected)


def test_spec_text_names_it():
    assert repr(aggregate_of("share(dropped)")) == "share('dropped')"
    with pytest.raises(AttributeError, match=r"it is wr\.share"):
        _ = wr.proportion
