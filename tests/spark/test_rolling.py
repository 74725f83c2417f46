"""Rolling on Spark DataFrames: against the local engine and against Spark's own frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
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
            "key": rng.integers(0, keys, count),
            "v": rng.integers(-50, 50, count),
            "x": pa.array(rng.normal(size=count), mask=rng.random(count) < 0.1),
        }
    )


def test_frames_of_rows_are_those_of_spark(spark: Any) -> None:
    from pyspark.sql import Window, functions

    frame = spark.createDataFrame(numbers())
    over = Window.partitionBy("key").orderBy("ts").rowsBetween(-9, 0)
    expected = frame.withColumns(
        {
            "total": functions.sum("v").over(over),
            "top": functions.max("x").over(over),
            "mean": functions.avg("x").over(over),
            "spread": functions.stddev("v").over(over),
            "n": functions.count("x").over(over),
        }
    )
    found = (
        wr.events(frame, time="ts", by="key")
        .rolling(rows=10)
        .agg(total=wr.sum("v"), top=wr.max("x"), mean=wr.mean("x"), spread=wr.stddev("v"), n=wr.count("x"))
    )
    assert_same_results(found.toArrow(), expected.toArrow())


def test_frames_by_time_are_those_of_spark(spark: Any) -> None:
    from pyspark.sql import Window, functions

    table = numbers()
    table = table.set_column(0, "ts", pa.array(table["ts"].to_numpy() // 3))  # with peers
    frame = spark.createDataFrame(table)
    over = Window.partitionBy("key").orderBy("ts").rangeBetween(-49, 0)
    names = {"total": functions.sum("v"), "low": functions.min("v"), "n": functions.count("*")}
    expected = frame.withColumns({name: column.over(over) for name, column in names.items()})
    found = wr.events(frame, time="ts", by="key").rolling(50)
    found = found.agg(total=wr.sum("v"), low=wr.min("v"), n=wr.count())
    assert_same_results(found.toArrow(), expected.toArrow())


@pytest.mark.parametrize("partitions", ["1", "5"])
@pytest.mark.parametrize("batch", ["10000", "17"])
def test_results_do_not_depend_on_partitions_or_batches(spark: Any, partitions: str, batch: str) -> None:
    settings_ = {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.execution.arrow.maxRecordsPerBatch": batch,
    }
    before = {name: spark.conf.get(name) for name in settings_}
    query = wr.query(time="ts", by="key").rolling(100).agg(m=wr.max("x"), l=wr.last("v"), c=wr.collect("v"))
    try:
        for name, value in settings_.items():
            spark.conf.set(name, value)
        check(spark, query, numbers(500))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_without_a_key(spark: Any) -> None:
    check(
        spark, wr.query(time="ts").rolling(30).agg(total=wr.sum("v"), who=wr.arg_max("x", "v")), numbers(300)
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
