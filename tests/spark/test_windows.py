"""Windows on Spark DataFrames: against the local engine and against Spark's own window functions."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_results

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")


def check(spark: Any, query: wr.Query, table: pa.Table) -> None:
    """The same rows and columns as the local engine gives."""
    found, expected = query.run(spark.createDataFrame(table)), query.run(table)
    assert found.columns == expected.column_names
    assert_same_results(found.toArrow(), expected)


def calls(count: int = 3_000, keys: int = 5, span: int = 40_000) -> pa.Table:
    """Calls within some hours, in no order."""
    rng = np.random.default_rng(count)
    moments = rng.integers(0, span, count) * 1_000_000 + 1_700_000_000_000_000
    return pa.table(
        {
            "ts": pa.array(moments).cast(pa.timestamp("us", "UTC")),
            "key": rng.choice(["a", "b", "c", "d", None][:keys], count),
            "v": rng.integers(-50, 50, count),
            "x": pa.array(rng.normal(size=count), mask=rng.random(count) < 0.1),
        }
    )


def own(frame: Any, window: Any) -> Any:
    """The results of Spark's own time windows, under windrow's names."""
    from pyspark.sql import functions

    grouped = frame.groupBy("key", window.alias("w")).agg(
        functions.sum("v").alias("total"),
        functions.max("x").alias("top"),
        functions.avg("x").alias("mean"),
        functions.count("*").alias("n"),
    )
    edges = [functions.col("w.start").alias("window_start"), functions.col("w.end").alias("window_end")]
    return grouped.select("key", *edges, "total", "top", "mean", "n")


AGGREGATES = {"total": wr.sum("v"), "top": wr.max("x"), "mean": wr.mean("x"), "n": wr.count()}


@pytest.mark.parametrize(
    ("window", "arguments"),
    [
        (wr.Tumbling("10m"), ("10 minutes",)),
        (wr.Sliding("1h", slide="5m"), ("1 hour", "5 minutes")),
        (wr.Sliding("50m", slide="20m"), ("50 minutes", "20 minutes")),
        (wr.Tumbling("1h", offset="7m"), ("1 hour", "1 hour", "7 minutes")),
    ],
    ids=repr,
)
def test_time_windows_are_those_of_spark(spark: Any, window: Any, arguments: tuple[str, ...]) -> None:
    from pyspark.sql import functions

    frame = spark.createDataFrame(calls())
    found = wr.events(frame, time="ts", by="key").window(window).agg(**AGGREGATES)
    assert_same_results(found.toArrow(), own(frame, functions.window("ts", *arguments)).toArrow())


def test_sessions_are_those_of_spark(spark: Any) -> None:
    from pyspark.sql import functions

    frame = spark.createDataFrame(calls())
    found = wr.events(frame, time="ts", by="key").window(wr.Session("40s")).agg(**AGGREGATES)
    assert_same_results(found.toArrow(), own(frame, functions.session_window("ts", "40 seconds")).toArrow())


@pytest.mark.parametrize("partitions", ["1", "5"])
def test_results_do_not_depend_on_partitions(spark: Any, partitions: str) -> None:
    query = wr.query(time="ts", by="key").window(
        a=wr.Sliding("1h", slide="7m"), b=wr.Session("1m"), c=wr.Tumbling("1d", timezone="Europe/Berlin")
    )
    before = spark.conf.get("spark.sql.shuffle.partitions")
    table = calls(800)
    try:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        frame = spark.createDataFrame(table).repartition(int(partitions) + 1)
        for aggregates in (AGGREGATES, {"n": wr.count(), "all": wr.collect("v")}):
            asked = query.agg(**aggregates)
            rows = asked.run(frame).toArrow()
            if "all" in aggregates:  # rows of equal time came in another order
                rows = rows.drop_columns(["all"])
                asked = query.agg(n=wr.count())
            assert_same_results(rows, asked.run(table))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_windows_without_a_key(spark: Any) -> None:
    query = wr.query(time="ts").window(a=wr.Sliding("1h", slide="7m"), b=wr.Rows(100))
    check(spark, query.agg(total=wr.sum("v")), calls(500))
    check(spark, wr.query(time="ts").window(wr.Session("40s")).agg(total=wr.sum("v")), calls(500))


def test_an_empty_frame_has_the_columns_of_a_full_one(spark: Any) -> None:
    frame = spark.createDataFrame(calls(20))
    query = wr.query(time="ts", by="key").window(w=wr.Tumbling("1h")).agg(**AGGREGATES, c=wr.collect("v"))
    assert query.run(frame.limit(0)).schema == query.run(frame).schema
    assert query.run(frame.limit(0)).toArrow().num_rows == 0


def test_a_users_aggregate_in_slices_and_in_order(spark: Any) -> None:
    spread: Any = {
        "name": "spread",
        "lift": lambda v: (v, v),
        "combine": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        "lower": lambda a: a[1] - a[0],
        "identity": (float("inf"), float("-inf")),
    }
    commutes, may_not = wr.monoid(**spread, commutative=True), wr.monoid(**spread)
    for each in (commutes, may_not):
        query = wr.query(time="ts", by="key").window(wr.Sliding("1h", slide="20m")).agg(s=each("x"))
        check(spark, query, calls(500))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda f: wr.events(f, time="when").window(wr.Tumbling("5m")).agg(n=wr.count()), KeyError, "'when'"),
        (lambda f: wr.events(f, time="ts").window(wr.Tumbling(5)).agg(n=wr.count()), TypeError, "timestamps"),
        (lambda f: wr.events(f, time="x").window(wr.Tumbling(5)).agg(n=wr.count()), TypeError, "double"),
        (lambda f: wr.events(f, time="ts").rolling("5m").agg(v=wr.count()), ValueError, "'v' already"),
        (
            lambda f: wr.events(f, time="ts").rolling("5m").agg(c=wr.concat("v")),
            TypeError,
            "does not work on",
        ),
        (
            lambda f: (
                wr.events(f, time="ts")
                .rolling("5m")
                .agg(c=wr.monoid(lift=lambda v: v.year, combine=max, identity=0, compile=False)("v"))
            ),
            TypeError,
            "result_type=",
        ),
    ],
)
def test_errors_before_anything_runs(spark: Any, build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build(spark.createDataFrame(calls(10)))


def test_moments_before_1970_and_in_year_9999(spark: Any) -> None:
    moments = [dt.datetime(1901, 1, 1), dt.datetime(1969, 12, 31, 23, 59), dt.datetime(9999, 12, 31)]
    utc = [moment.replace(tzinfo=dt.UTC) for moment in moments]
    table = pa.table({"ts": pa.array(utc, pa.timestamp("us", "UTC")), "v": [1, 2, 3]})
    check(spark, wr.query(time="ts").window(wr.Sliding("1h", slide="20m")).agg(s=wr.sum("v")), table)


def test_sums_that_leave_64_bits_are_never_wrong(spark: Any) -> None:
    table = pa.table({"t": [1, 2, 3], "v": [2**62, 2**62, 2**62]})
    query = wr.query(time="t").window(wr.Tumbling(10)).agg(mean=wr.mean("v"))
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        found = query.run(spark.createDataFrame(table.to_pandas())).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert [row["mean"] for row in found] == [float(2**62)]


def test_what_spark_folds_is_what_windrow_folds(spark: Any) -> None:
    odd = [1.5, float("nan"), None, float("inf"), -0.0, float("-inf"), 2.0, None, 4.0, 8.0]
    table = pa.table(
        {
            "ts": [1, 2, 11, 21, 31, 32, -5, -6, 41, 42],
            "x": pa.array(odd, from_pandas=False),
            "n": pa.array([1, None, 2, None, 5, 2**40, -7, None, 1, 2], pa.int64()),
            "small": pa.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], pa.int8()),
            "key": ["a"] * 5 + ["b"] * 5,
        }
    )
    aggregates: dict[str, Any] = {"rows": wr.count()}
    for name in ("x", "n", "small"):
        for make in (wr.count, wr.sum, wr.mean, wr.max, wr.min, wr.var, wr.stddev):
            aggregates[f"{make.name}_{name}"] = make(name)
    aggregates["strict"] = wr.sum("n", nulls="propagate")
    frame = spark.createDataFrame(table)
    for window in (wr.Sliding(20, slide=5), wr.Tumbling(10, offset=3), wr.Sliding(20, slide=7)):
        for by in ("key", None):
            query = wr.query(time="ts", by=by, min_count=0 if by else 2).window(window).agg(**aggregates)
            assert "Spark groups rows by key and slice itself" in query.explain(frame)
            check(spark, query, table)
