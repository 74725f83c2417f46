"""``nan="ignore"``, ``min_count``, decimals and sketches: batches, rolling results, labels and streams on
Spark give what tables give, in the same types."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.monoids.sketches import bloom_contains
from windrow.testing import StreamOracle, assert_same_results

START = datetime(2024, 5, 1, tzinfo=UTC)
SCHEMA = "ts timestamp, key string, n long, x double, owed decimal(10,2), who string"
ROWS = 120


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=30 * k) for k in numbers], pa.timestamp("us", "UTC")),
            "key": [["a", "b", None][k % 3] for k in numbers],
            "n": pa.array([k * 7 % 11 for k in numbers], pa.int64()),
            "x": pa.array(
                [[math.nan, 1.0 + k, None, k / 2][k % 4] for k in numbers], pa.float64(), from_pandas=False
            ),
            "owed": pa.array([None if k % 5 else Decimal(k * k) / 4 for k in numbers], pa.decimal128(10, 2)),
            "who": [f"user {k * 13 % 40}" for k in numbers],
        }
    )


TABLE = rows(0, ROWS)
RULES = {
    "first": wr.first("x", nan="ignore"),
    "last": wr.last("x", nan="ignore"),
    "most": wr.arg_max("n", value="x", nan="ignore"),
    "least": wr.arg_min("n", value="x", nan="ignore"),
    "mean": wr.mean("x", nan="ignore", min_count=3),
    "some": wr.count(min_count=4),
    "sum": wr.sum("n", min_count=4),
    "total": wr.sum("owed"),
    "average": wr.mean("owed"),
    "top": wr.max("owed"),
    "span": wr.range("owed"),
    "candle": wr.ohlc("owed"),
    "both": wr.together(total=wr.sum, mean=wr.mean)("owed"),
    "users": wr.approx_distinct("who", precision=4),
    "recent": wr.exp_decay("n", "ts", half_life="5m"),
    "tail": wr.skew("x", bias=True, nan="ignore"),
}
#: that Spark itself folds, and makes results of
FOLDED = {"sum": wr.sum("n", min_count=4), "rows": wr.count(min_count=4), "top": wr.max("x", min_count=2)}
QUERY = wr.query(time="ts", by="key", watermark="5m")


def check(found: Any, expected: pa.Table) -> None:
    table = found.toArrow()
    assert_same_results(table, expected)
    for name in set(RULES) & set(table.column_names):
        kind, wanted = (str(each.schema.field(name).type) for each in (table, expected))
        assert kind.replace("element", "item") == wanted


@pytest.mark.parametrize(
    "start",
    [
        lambda query: query.window(wr.Sliding("10m", slide="2m")),
        lambda query: query.window(wr.Tumbling("5m")),
        lambda query: query.window(wr.Session("1m")),
        lambda query: query.rolling("4m", min_count=2),
        lambda query: query.rolling(rows=5),
        lambda query: query.rolling("4m", "8m", closed="left"),
    ],
)
def test_rules_of_aggregates_on_batches(spark: Any, start: Any) -> None:
    for aggregates in (RULES, FOLDED):
        query = start(QUERY).agg(**aggregates)
        check(query.run(spark.createDataFrame(TABLE)), query.run(TABLE))


def test_rules_of_aggregates_as_of_labels(spark: Any) -> None:
    labels = TABLE.select(["ts", "key"]).slice(0, 60)
    query = wr.query(time="ts", by="key").asof("6m").agg(**RULES)
    found = query.run(spark.createDataFrame(TABLE), at=spark.createDataFrame(labels))
    check(found, query.run(TABLE, at=labels))


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


@pytest.mark.parametrize("over", [{"slide": wr.Sliding("10m", slide="4m")}, {"visit": wr.Session("1m")}])
def test_rules_of_aggregates_on_streams(source: Source, over: dict[str, Any]) -> None:
    query = QUERY.window(**over).agg(**RULES)
    batches = [rows(first, 30) for first in range(0, ROWS, 30)]
    source.write(batches)
    found, _ = source.run(query.run)
    oracle = StreamOracle(query, judge="spark")
    assert_same_results(found, [row for batch in (*batches, TABLE.slice(0, 0)) for row in oracle.push(batch)])
    digits = {"total": 2, "average": 6, "top": 2}
    for name, behind in digits.items():
        assert {row[name].as_tuple().exponent for row in found if row[name] is not None} == {-behind}


def test_a_sum_of_decimals_that_does_not_fit_on_spark(spark: Any) -> None:
    large = pa.table({"t": [1, 2], "v": pa.array([Decimal(9) * 10**37] * 2, pa.decimal128(38, 0))})
    for start in (lambda query: query.window(wr.Tumbling(10)), lambda query: query.rolling(rows=2)):
        query = start(wr.query(time="t")).agg(total=wr.sum("v"))
        with pytest.raises(
            Exception, match=r"DecimalOverflow: sum = 18\d+ over .* does not fit decimal128\(38, 0\)"
        ):
            query.run(spark.createDataFrame(large)).toArrow()


def test_filters_made_on_spark_carry_their_parameters(spark: Any) -> None:
    query = wr.query(time="ts").window(wr.Tumbling("1d")).agg(seen=wr.bloom("who", bits=1024, hashes=3))
    (seen,) = query.run(spark.createDataFrame(TABLE)).toArrow()["seen"].to_pylist()
    assert all(bloom_contains(seen, who) for who in TABLE["who"].to_pylist())


def test_an_aggregate_names_a_column_that_it_does_not_take_on_spark(spark: Any) -> None:
    with pytest.raises(TypeError, match="does not work on column 'who' of type string: cast it to a number"):
        wr.events(spark.createDataFrame(TABLE), time="ts").window(wr.Tumbling("1d")).agg(m=wr.mean("who"))
