"""weighted_mean and time_weighted_mean."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.engine_checks import check_engines
from support.monoid_folds import grouped_fold, native_result, result
from windrow.monoids.laws import check
from windrow.testing import assert_same_results

values = st.integers(-1000, 1000)
pairs = st.lists(st.tuples(values, st.integers(-100, 100)), min_size=1, max_size=30)


def held(rows):
    """By the definition: each value until the next time, which never goes back."""
    steps = [(value, max(0, after - time)) for (value, time), (_, after) in pairwise(rows)]
    total = sum(gap for _, gap in steps)
    return float(Fraction(sum(value * gap for value, gap in steps), total) if total else rows[-1][0])


@given(pairs, st.integers(0, 2**32))
def test_a_weighted_mean_in_any_grouping(rows, seed):
    weight = sum(weight for _, weight in rows)
    expected = sum(value * weight for value, weight in rows) / weight if weight else None
    found = wr.weighted_mean.lower(grouped_fold(wr.weighted_mean, rows, seed))
    assert found == (None if expected is None else pytest.approx(expected))


@given(pairs, st.booleans(), st.integers(0, 2**32))
def test_a_time_weighted_mean_in_any_grouping(rows, is_sorted, seed):
    rows = sorted(rows, key=lambda row: row[1]) if is_sorted else rows
    found = wr.time_weighted_mean.lower(grouped_fold(wr.time_weighted_mean, rows, seed))
    assert found == pytest.approx(held(rows), rel=1e-9, abs=1e-9)


def test_a_moment_alone_gives_its_last_arrival():
    assert result(wr.time_weighted_mean, [(7.0, 3)]) == 7.0
    assert result(wr.time_weighted_mean, [(7.0, 3), (9.0, 3)]) == 9.0
    assert result(wr.time_weighted_mean, [(7.0, 3), (9.0, 3), (1.0, 5)]) == 9.0


def test_a_value_that_holds_for_no_time_counts_nothing_even_if_it_is_nan():
    for wrong in (math.nan, math.inf):
        assert result(wr.time_weighted_mean, [(4.0, 0), (wrong, 2)]) == 4.0
        assert result(wr.time_weighted_mean, [(wrong, 0), (4.0, 0), (8.0, 2)]) == 4.0
        found = result(wr.time_weighted_mean, [(wrong, 0), (4.0, 1), (8.0, 2)])
        assert found == wrong or (found != found and wrong != wrong)
    assert math.isnan(result(wr.time_weighted_mean, [(1.0, 0.0), (1.0, math.nan)]))


def test_weights():
    assert result(wr.weighted_mean, [(1.0, 0), (2.0, 0)]) is None
    assert result(wr.weighted_mean, [(Decimal(1), 3), (5, Decimal(1))]) == 2.0
    assert math.isnan(result(wr.weighted_mean, [(1.0, 1), (math.nan, 1)]))
    assert math.isnan(result(wr.weighted_mean, [(1.0, math.nan), (1.0, 1)]))
    window = wr.swag.SubtractOnEvict(wr.weighted_mean)
    for row in [(math.nan, 1.0), (0.1, 3.0), (0.7, 1.0)]:
        window.insert(*row)
    window.evict()
    assert window.query() == pytest.approx(0.25)


@pytest.mark.parametrize("times", [np.array([0, 3, 7]), np.array([0.0, 3.5, 1.0])], ids=["i8", "f8"])
@pytest.mark.parametrize("monoid", [wr.weighted_mean, wr.time_weighted_mean], ids=repr)
def test_native_results_are_the_same(monoid, times):
    column = np.array([1.0, -2.0, 4.0])
    plain = result(monoid, list(zip(column.tolist(), times.tolist(), strict=True)))
    assert native_result(monoid, column, times) == plain


def test_times_further_apart_than_64_bits():
    low, high = -(2**63), 2**63 - 1
    found = native_result(wr.time_weighted_mean, np.array([4.0, 6.0, 1.0]), np.array([low, 0, high]))
    assert found == pytest.approx(5.0)


@pytest.mark.parametrize("monoid", [wr.weighted_mean, wr.time_weighted_mean], ids=repr)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(-99, 99)), min_size=1, max_size=4))
@settings(max_examples=10)
def test_laws(monoid, rows):
    assert check(monoid, rows, cases=100)


rows_with_nulls = st.lists(
    st.tuples(
        st.integers(0, 30), st.one_of(st.none(), st.just(math.nan), st.floats(-9, 9)), st.integers(0, 3)
    ),
    min_size=1,
    max_size=30,
)


@given(rows_with_nulls)
@settings(max_examples=5, deadline=None)
def test_tables_operators_and_stores_give_what_the_oracle_gives(rows):
    times, column, weights = zip(*rows, strict=True)
    table = pa.table({"t": times, "v": pa.array(column, pa.float64()), "w": weights})
    check_engines(table, m=wr.weighted_mean("v", "w"), h=wr.time_weighted_mean("v", "t", nan="ignore"))


START = datetime(2024, 5, 1, tzinfo=UTC)
KINDS = [pa.timestamp("s"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns"), pa.duration("ms")]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_times_of_every_kind_mean_the_same(kind):
    seconds = pa.array([1_000, 1_002, None, 1_003, 1_011], pa.int64())
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    moments = pa.array([s.as_py() and s.as_py() * per_second for s in seconds], pa.int64()).cast(kind)
    table = pa.table({"t": range(5), "v": [10, 40, 99, 0, 7], "n": seconds, "m": moments})
    query = wr.query(time="t").window(wr.Tumbling(9))
    by_number = query.agg(h=wr.time_weighted_mean("v", "n")).run(table)
    by_moment = query.agg(h=wr.time_weighted_mean("v", "m"))
    assert by_moment.run(table)["h"].to_pylist() == by_number["h"].to_pylist()
    decimals = table.set_column(1, "v", table["v"].cast(pa.decimal128(21, 1)))
    assert by_moment.run(decimals)["h"].to_pylist() == by_number["h"].to_pylist()


def test_dates_and_moments_without_a_zone():
    days = [(1.0, date(2024, 5, 1)), (3.0, date(2024, 5, 2)), (0.0, date(2024, 5, 4))]
    assert result(wr.time_weighted_mean, days) == pytest.approx(7 / 3)
    table = pa.table({"t": [1, 2, 3], "v": [1.0, 3.0, 0.0], "d": [day for _, day in days]})
    found = wr.events(table, time="t").rolling(rows=3).agg(h=wr.time_weighted_mean("v", "d"))
    assert found["h"].to_pylist() == pytest.approx([1.0, 1.0, 7 / 3])
    mixed = [(8.0, START), (2.0, START.replace(tzinfo=None) + timedelta(seconds=3)), (1.0, START)]
    assert result(wr.time_weighted_mean, mixed) == 8.0
    with pytest.raises(TypeError, match="a time is a number"):
        wr.time_weighted_mean.lift(1.0, "noon")


def test_rows_out_of_order_count_by_their_times_on_operators():
    rows = [
        {"ts": START + timedelta(seconds=s), "v": v} for s, v in ((3, 0.0), (0, 10.0), (2, 40.0), (2, 50.0))
    ]
    query = wr.query(time="ts", watermark="1h").window(wr.Tumbling("10s"))
    query = query.agg(h=wr.time_weighted_mean("v", "ts"))
    operator = query.open()
    pieces = [operator.push(pa.Table.from_pylist([row])) for row in rows]
    found = pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")
    assert found["h"].to_pylist() == [pytest.approx((2 * 10 + 50) / 3)]
    assert_same_results(found.select(["h"]), query.run(pa.Table.from_pylist(rows)).select(["h"]))


def test_polars_and_duckdb_give_the_same_weighted_mean():
    table = pa.table(
        {"t": range(60), "v": [float(i * i % 17) for i in range(60)], "w": [i % 5 for i in range(60)]}
    )
    found = wr.events(table, time="t").window(wr.Tumbling(10)).agg(m=wr.weighted_mean("v", "w"))
    grouped = pl.from_arrow(table).group_by_dynamic("t", every="10i")
    theirs = grouped.agg(m=(pl.col("v") * pl.col("w")).sum() / pl.col("w").sum())
    assert found["m"].to_pylist() == pytest.approx(theirs["m"].to_list())
    text = "SELECT sum(v * w) / sum(w) FROM rows GROUP BY t // 10 ORDER BY t // 10"
    rows = duckdb.from_arrow(table).query("rows", text).fetchall()
    assert found["m"].to_pylist() == pytest.approx([row[0] for row in rows])


def test_duckdb_gives_the_same_time_weighted_mean():
    table = pa.table(
        {"t": [i * i % 97 + 100 * (i // 20) for i in range(60)], "v": [float(i % 7) for i in range(60)]}
    )
    found = wr.events(table, time="t").window(wr.Tumbling(100)).agg(m=wr.time_weighted_mean("v", "t"))
    text = """WITH steps AS (
                SELECT t // 100 AS w, v, lead(t) OVER (PARTITION BY t // 100 ORDER BY t, n) - t AS d
                FROM (SELECT *, row_number() OVER () AS n FROM rows))
              SELECT sum(v * d) / sum(d) FROM steps GROUP BY w ORDER BY w"""
    rows = duckdb.from_arrow(table).query("rows", text).fetchall()
    assert found["m"].to_pylist() == pytest.approx([row[0] for row in rows])
