"""increase and rate."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.engine_checks import check_engines
from support.monoid_folds import grouped_fold, native_result, result
from windrow.monoids.laws import check
from windrow.spec_text import aggregate_of

counts = st.integers(0, 1000)


def risen(values):
    """By the definition: from one value to the next, or from 0 after a reset."""
    return float(sum(after - before if after >= before else after for before, after in pairwise(values)))


@given(st.lists(st.one_of(counts, st.floats(0, 1000)), min_size=1, max_size=30), st.integers(0, 2**32))
def test_increase_in_any_grouping(values, seed):
    assert wr.increase.lower(grouped_fold(wr.increase, values, seed)) == pytest.approx(risen(values))


@given(st.lists(st.tuples(counts, st.integers(0, 50)), min_size=1, max_size=30), st.integers(0, 2**32))
def test_rate_in_any_grouping(rows, seed):
    rows = sorted(rows, key=lambda row: row[1])
    took = rows[-1][1] - rows[0][1]
    expected = risen([value for value, _ in rows]) / took * 60 if took else None
    found = wr.rate(per=60).lower(grouped_fold(wr.rate(per=60), rows, seed))
    assert found == (None if expected is None else pytest.approx(expected))


def test_large_counters_lose_no_digits():
    assert result(wr.increase, [2**62 + 1, 2**62 + 4]) == 3.0
    assert native_result(wr.increase, np.array([2**62 + 1, 2**62 + 4])) == 3.0
    low, high = -(2**63), 2**63 - 1
    assert native_result(wr.increase, np.array([low, high])) == result(wr.increase, [low, high]) == 2.0**64
    assert result(wr.increase, [Decimal("0.1"), Decimal("0.3")]) == 0.2


def test_nan_makes_nan_and_one_row_rises_by_nothing():
    assert math.isnan(result(wr.increase, [1.0, math.nan, 3.0]))
    assert math.isnan(result(wr.rate(per=1), [(1.0, 0.0), (2.0, math.nan)]))
    assert result(wr.increase, [5]) == 0.0
    assert result(wr.rate(per=1), [(5, 3), (9, 3)]) is None


def test_native_results_are_the_same():
    values, times = np.array([3, 7, 1, 4]), np.array([0.5, 2.0, 2.0, 8.0])
    rows = list(zip(values.tolist(), times.tolist(), strict=True))
    assert native_result(wr.rate(per=2), values, times) == result(wr.rate(per=2), rows) == 8 / 7.5 * 2


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(-99, 99)), min_size=1, max_size=4))
@settings(max_examples=10)
def test_laws(rows):
    assert check(wr.rate(per=3), rows, cases=100)
    assert check(wr.increase, [value for value, _ in rows], cases=100)
    assert wr.rate.properties == wr.increase.properties == ()


@given(st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), counts)), min_size=1, max_size=30))
@settings(max_examples=5, deadline=None)
def test_tables_operators_and_stores_give_what_the_oracle_gives(rows):
    times, values = zip(*rows, strict=True)
    table = pa.table({"t": times, "v": pa.array(values, pa.int64())})
    check_engines(
        table, i=wr.increase("v"), r=wr.rate("v", "t", per=1), p=wr.rate("v", "t", per=1, nulls="propagate")
    )


START = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("per", "expected"), [("1s", 1.5), ("1m", 90.0), ("1h30m", 8100.0), (timedelta(milliseconds=500), 0.75)]
)
def test_per_is_a_duration_where_times_are_moments(per, expected):
    moments = [START + timedelta(seconds=s) for s in (1, 3, 5)]
    table = pa.table({"ts": moments, "v": [10, 14, 2]})
    query = wr.query(time="ts", watermark="1h").window(wr.Tumbling("1m")).agg(r=wr.rate("v", "ts", per=per))
    assert query.run(table)["r"].to_pylist() == [expected]
    operator = query.open()
    operator.push(table.slice(1))
    operator.push(table.slice(0, 1))
    assert operator.finish()["r"].to_pylist() == [expected]
    assert result(wr.rate(per=per), list(zip([10, 14, 2], moments, strict=True))) == expected


def test_numbers_with_a_duration_and_moments_with_a_number_are_refused():
    table = pa.table({"t": [1, 2], "ts": [START, START], "v": [1, 2]})
    query = wr.query(time="t").window(wr.Tumbling(10))
    with pytest.raises(TypeError, match=r"column 't' of type int64: the times are numbers"):
        query.agg(r=wr.rate("v", "t")).run(table)
    with pytest.raises(TypeError, match=r"column 'ts' of type timestamp.*: the times are moments"):
        query.agg(r=wr.rate("v", "ts", per=1)).run(table)
    with pytest.raises(Exception, match="the times are numbers"):
        wr.swag.DABALite(wr.rate).roll((np.array([1, 2]), np.array([1, 2])), 2)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, "0s", "1mo", "soon", None, True])
def test_per_is_positive_and_as_long_everywhere(wrong):
    with pytest.raises(ValueError, match=r"per"):
        wr.rate("v", "t", per=wrong)


def test_spec_text_names_them():
    assert repr(aggregate_of("rate(hits, ts, per='1m')")) == "rate('hits', 'ts', per='1m')"
    assert repr(aggregate_of("increase(hits)")) == "increase('hits')"


def test_duckdb_gives_the_same():
    table = pa.table({"t": range(60), "v": [(i * 7) % 40 for i in range(60)]})
    found = wr.events(table, time="t").window(wr.Tumbling(10))
    found = found.agg(i=wr.increase("v"), r=wr.rate("v", "t", per=1))
    text = """WITH steps AS (SELECT t, v, lag(v) OVER (PARTITION BY t // 10 ORDER BY t) AS before FROM rows)
              SELECT sum(CASE WHEN v < before THEN v ELSE v - before END)::DOUBLE AS i, i / (max(t) - min(t))
              FROM steps GROUP BY t // 10 ORDER BY t // 10"""
    rows = duckdb.from_arrow(table).query("rows", text).fetchall()
    assert list(zip(found["i"].to_pylist(), found["r"].to_pylist(), strict=True)) == [
        (i, pytest.approx(r)) for i, r in rows
    ]
