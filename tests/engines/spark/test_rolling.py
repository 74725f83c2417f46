"""Rolling on Spark DataFrames: against the local engine and against Spark's own frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.spark_frames import settings_of
from windrow.testing import assert_same_results

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")


def check(spark: Any, query: wr.Query, table: pa.Table) -> Any:
    """The same rows as the local engine gives, with the input's columns first."""
    found = query.run(spark.createDataFrame(table))
    expected = query.run(table)
    assert found.columns == expected.column_names
    collected = found.toArrow()
    assert_same_results(collected, expected)
    return collected


def numbers(count: int = 4_000, keys: int = 7) -> pa.Table:
    rng = np.random.default_rng(count)
    return pa.table(
        {
            "ts": rng.permutation(count),
            "key": pa.array(rng.integers(0, keys, count), mask=rng.random(count) < 0.1),
            "v": rng.integers(-50, 50, count),
            "x": pa.array(rng.normal(size=count), mask=rng.random(count) < 0.1),
        }
    )


def of_spark(frame: Any, over: Any) -> Any:
    """The same frames by Spark's own window functions."""
    from pyspark.sql import functions

    columns = {
        "total": functions.sum("v"),
        "top": functions.max("x"),
        "low": functions.min("v"),
        "mean": functions.avg("x"),
        "spread": functions.stddev("v"),
        "held": functions.count("x"),
        "n": functions.count("*"),
        "rows": functions.collect_list("v"),
        "different": functions.collect_set("v"),
    }
    return in_any_order(frame.withColumns({name: each.over(over) for name, each in columns.items()}))


def in_any_order(frame: Any) -> Any:
    """What is collected has no order in Spark's frames; of what differs the number is enough."""
    from pyspark.sql import functions

    return frame.withColumns({"rows": functions.sort_array("rows"), "different": functions.size("different")})


def of_windrow(rolling: Any) -> Any:
    found = rolling.agg(
        total=wr.sum("v"),
        top=wr.max("x"),
        low=wr.min("v"),
        mean=wr.mean("x"),
        spread=wr.stddev("v"),
        held=wr.count("x"),
        n=wr.count(),
        rows=wr.collect("v"),
        different=wr.collect_distinct("v"),
    )
    return in_any_order(found)


@pytest.mark.parametrize("rows", [1, 10])
def test_frames_of_rows_are_those_of_spark(spark: Any, rows: int) -> None:
    from pyspark.sql import Window

    frame = spark.createDataFrame(numbers(1_500))
    over = Window.partitionBy("key").orderBy("ts").rowsBetween(1 - rows, 0)
    found = of_windrow(wr.events(frame, time="ts", by="key").rolling(rows=rows))
    assert_same_results(found.toArrow(), of_spark(frame, over).toArrow())


@pytest.mark.parametrize("clock", ["integer", "timestamp"])
def test_frames_by_time_are_those_of_spark(spark: Any, clock: str) -> None:
    from pyspark.sql import Window, functions

    table = numbers(1_500)
    ticks = table["ts"].to_numpy() // 3 - 200  # with peers, and before 1970
    frame = spark.createDataFrame(table.set_column(0, "ts", pa.array(ticks)))
    time = functions.col("ts")
    if clock == "timestamp":
        frame = frame.withColumn("ts", functions.timestamp_seconds("ts"))
        time = functions.unix_seconds("ts")
    over = Window.partitionBy("key").orderBy(time).rangeBetween(-49, 0)
    found = of_windrow(wr.events(frame, time="ts", by="key").rolling(50 if clock == "integer" else "50s"))
    assert_same_results(found.toArrow(), of_spark(frame, over).toArrow())


@pytest.mark.parametrize("partitions", ["1", "5"])
@pytest.mark.parametrize("batch", ["10000", "17"])
def test_results_do_not_depend_on_partitions_or_batches(spark: Any, partitions: str, batch: str) -> None:
    settings = {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.execution.arrow.maxRecordsPerBatch": batch,
    }
    query = wr.query(time="ts", by="key").rolling(100).agg(m=wr.max("x"), l=wr.last("v"), c=wr.collect("v"))
    with settings_of(spark, settings):
        check(spark, query, numbers(500))


def test_without_a_key(spark: Any) -> None:
    check(
        spark,
        wr.query(time="ts").rolling(30).agg(total=wr.sum("v"), who=wr.arg_max("x", value="v")),
        numbers(300),
    )


def test_a_users_aggregate_that_raises_is_named_in_the_driver(spark: Any) -> None:
    inverse = wr.monoid(name="inverse", lift=lambda v: 1 / v, combine=lambda a, b: a + b, identity=0.0)
    table = pa.table({"ts": [1, 2], "key": ["a", "b"], "v": [4.0, 0.0]})
    found = wr.events(spark.createDataFrame(table), time="ts", by="key").rolling(5).agg(x=inverse("v"))
    with pytest.raises(
        Exception, match=r"'inverse' raised ZeroDivisionError at the row with ts=2 of key 'b'"
    ):
        found.toArrow()


def test_nothing_runs_before_results_are_asked_for(spark: Any) -> None:
    from pyspark.sql import functions

    failing = spark.range(3).select("id", functions.raise_error(functions.lit("too early")).alias("v"))
    found = wr.events(failing.select("id", functions.length("v").alias("v")), time="id").rolling(2)
    assert found.agg(total=wr.sum("v")).schema["total"].dataType.simpleString() == "bigint"
