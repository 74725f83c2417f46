"""assert_same_results: what is the same, what is not, and what it says."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_results, rows_of

ROWS = [{"key": "a", "n": 1, "x": 0.5}, {"key": None, "n": 2, "x": None}, {"key": "b", "n": 3, "x": 1.5}]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize(
    "kind",
    [
        lambda table: table.to_pylist()[::-1],
        lambda table: table,
        lambda table: table.to_batches()[0],
        lambda table: table.to_pandas(),
        pl.from_arrow,
        duckdb.from_arrow,
        lambda table: table.select(["x", "n", "key"]),
    ],
    ids=["list", "arrow", "batch", "pandas", "polars", "duckdb", "columns"],
)
def test_tables_of_any_kind_and_order_are_the_same(kind: Any) -> None:
    table = kind(TABLE)
    assert_same_results(table, ROWS)
    assert_same_results(ROWS, table)


def test_rounding_is_tolerated_and_more_is_not() -> None:
    assert_same_results([{"x": 0.1 + 0.2}], [{"x": 0.3}])
    assert_same_results([{"x": 1e12 + 0.001}], [{"x": 1e12}])
    assert_same_results([{"x": 1.001}], [{"x": 1.0}], tolerance=0.01)
    for wrong in (1.0001, math.nan, math.inf, None):
        with pytest.raises(AssertionError, match="results differ"):
            assert_same_results([{"x": wrong}], [{"x": 1.0}])
    assert_same_results([{"x": [math.nan, -math.inf]}], [{"x": (math.nan, -math.inf)}])


def test_integers_must_be_equal() -> None:
    with pytest.raises(AssertionError):
        assert_same_results([{"n": 10**15}], [{"n": 10**15 + 1}])


def test_null_and_nan_differ_except_in_pandas() -> None:
    with pytest.raises(AssertionError):
        assert_same_results([{"x": math.nan}], [{"x": None}])
    assert_same_results(pd.DataFrame({"x": [1.0, math.nan]}), [{"x": 1.0}, {"x": None}])


def test_times_are_compared_as_instants() -> None:
    noon = datetime(2024, 5, 1, 12)
    elsewhere = datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Berlin"):
            table = pa.table({"t": pa.array([noon.replace(tzinfo=UTC)], pa.timestamp(unit, zone or "UTC"))})
            found = table if zone else table.cast(pa.schema([("t", pa.timestamp(unit))]))
            assert_same_results(found, [{"t": noon}])
            assert_same_results(found, [{"t": elsewhere}])
    with pytest.raises(AssertionError):
        assert_same_results([{"t": noon}], [{"t": noon + timedelta(microseconds=1)}])


def test_times_after_year_9999_are_read() -> None:
    us = 253_402_300_800_000_000
    table = pa.table({"t": pa.array([us], pa.timestamp("us"))})
    assert rows_of(table) == [{"t": "+10000-01-01T00:00:00Z"}]


def test_named_tuples_are_structs() -> None:
    result = wr.m4.lower(wr.m4.lift(3))
    table = pa.table({"r": [{"first": 3, "last": 3, "min": 3, "max": 3}]})
    assert_same_results(table, [{"r": result}])


def test_decimals_are_equal_whatever_their_scale() -> None:
    assert_same_results([{"d": Decimal("2.50")}], [{"d": Decimal("2.5")}])
    with pytest.raises(AssertionError):
        assert_same_results([{"d": Decimal("2.51")}], [{"d": Decimal("2.5")}])


def test_rows_are_matched_one_to_one() -> None:
    with pytest.raises(AssertionError, match="2 rows found, 2 expected, 1 the same"):
        assert_same_results([{"n": 1}, {"n": 1}], [{"n": 1}, {"n": 2}])
    with pytest.raises(AssertionError, match="1 row found, 0 expected"):
        assert_same_results([{"n": 1}], [])


def test_other_columns_are_named() -> None:
    with pytest.raises(AssertionError, match=r"columns differ: found \['m'\], expected \['n'\]"):
        assert_same_results([{"m": 1}], [{"n": 1}])


def test_the_report_puts_like_rows_side_by_side() -> None:
    found = [
        {"key": "a", "end": 10, "n": 1},
        {"key": "b", "end": 10, "n": 5},
        {"key": "c", "end": 30, "n": 7},
    ]
    expected = [
        {"key": "b", "end": 10, "n": 2},
        {"key": "a", "end": 10, "n": 1},
        {"key": "z", "end": 90, "n": 8},
    ]
    with pytest.raises(AssertionError) as caught:
        assert_same_results(found, expected)
    assert str(caught.value).splitlines() == [
        "results differ: 3 rows found, 3 expected, 1 the same",
        "found              | expected",
        "key='b' end=10 n=5 | key='b' end=10 n=2  <- n",
        "key='c' end=30 n=7 |",
        "                   | key='z' end=90 n=8",
    ]


def test_a_long_report_is_cut() -> None:
    with pytest.raises(AssertionError, match=r"\.\.\. and 80 more"):
        assert_same_results([{"n": n} for n in range(100)], [])
