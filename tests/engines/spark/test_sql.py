"""The table function for SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType

import windrow as wr
from windrow.engines.spark.sql import KeyRows, register
from windrow.testing import assert_same_results

RNG = np.random.default_rng(2)
CALLS = pa.table(
    {
        "ts": pa.array(RNG.permutation(300) * 60_000_000).cast(pa.timestamp("us", "UTC")),
        "region": RNG.choice(["north", "south", None], 300),
        "len": RNG.integers(1, 99, 300),
    }
)


@pytest.fixture
def calls(spark: Any) -> Any:
    register(spark)
    spark.createDataFrame(CALLS).createOrReplaceTempView("calls")
    return spark


def test_rows_in_another_order_than_that_of_time_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be late, and lost."""
    monkeypatch.setattr("windrow.engines.spark.sql._ROWS", 2)
    query = wr.query(time="ts").rolling(5).agg(n=wr.count())
    fields = {"ts": LongType()}
    rows = KeyRows(query, fields)
    given = [row for time in (1, 2, 2, 3) for row in rows.push({"ts": time})]
    assert [tuple(row) for row in given] == [("ts", 1), ("ts", 3), ("ts", 3)]
    rows = KeyRows(query, fields)
    with pytest.raises(ValueError, match="rows come in another order than time says: ORDER BY ts"):
        _ = [row for time in (4, 3, 2, 1) for row in rows.push({"ts": time})]


def test_rolling_by_time(calls: Any) -> None:
    found = calls.sql(
        "SELECT * FROM windrow_rolling(TABLE(calls) PARTITION BY region ORDER BY ts, time => 'ts', "
        "size => '1h', longest => 'max(len)', spread => 'stddev(len, ddof=0)', n => 'count()')"
    )
    query = wr.query(time="ts", by="region").rolling("1h")
    expected = query.agg(longest=wr.max("len"), spread=wr.stddev("len", ddof=0), n=wr.count())
    assert found.columns == ["ts", "region", "len", "longest", "spread", "n"]
    assert_same_results(found.toArrow(), expected.run(CALLS))


def test_rolling_by_rows(calls: Any) -> None:
    found = calls.sql(
        "SELECT * FROM windrow_rolling(TABLE(SELECT * FROM calls) PARTITION BY region ORDER BY ts, "
        "time => 'ts', rows => 5, total => 'sum(len)')"
    )
    expected = wr.query(time="ts", by="region").rolling(rows=5).agg(total=wr.sum("len"))
    assert_same_results(found.toArrow(), expected.run(CALLS))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("size => '1h', n => 'count()'", "needs time"),
        ("time => 'ts', n => 'count()'", "one of size"),
        ("time => 'ts', rows => 5", "needs an aggregate"),
        ("time => 'ts', rows => 5, x => 'max(width)'", "no column 'width'"),
        (
            "time => 'ts', rows => 5, x => 'maximum(len)'",
            r"aggregate 'maximum\(len\)': .*use one of all, any",
        ),
        ("time => 'ts', rows => 5, x => 'max'", "write a name and columns, as in max"),
        ("time => 'ts', rows => 5, x => 'max(open(1))'", "arguments are numbers, text"),
        ("time => 'ts', rows => 5, x => 7", "aggregate 7: write it as text"),
    ],
)
def test_errors_come_when_the_statement_is_analysed(calls: Any, arguments: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        calls.sql(f"SELECT * FROM windrow_rolling(TABLE(calls) PARTITION BY region ORDER BY ts, {arguments})")
