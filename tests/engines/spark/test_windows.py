"""Windows on Spark DataFrames: against the local engine and against Spark's own window functions."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.spark_frames import settings_of
from windrow.testing import assert_same_results

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")


def check(spark: Any, query: wr.Query, table: pa.Table) -> None:
    """The same rows and columns as the local engine gives."""
    found, expected = query.run(spark.createDataFrame(table)), query.run(table)
    assert found.columns == expected.column_names
    assert_same_results(found.toArrow(), expected)


def calls(count: int = 3_000, seed: int = 3, null_times: bool = False) -> pa.Table:
    """Calls within some hours, in no order; null is a key."""
    rng = np.random.default_rng(seed)
    moments = rng.integers(0, 40_000, count) * 1_000_000 + 1_700_000_000_000_000
    without = rng.random(count) < 0.05 if null_times else None
    return pa.table(
        {
            "ts": pa.array(moments, mask=without).cast(pa.timestamp("us", "UTC")),
            "key": rng.choice(["a", "b", "c", "d", None], count),
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
        functions.min("v").alias("low"),
        functions.avg("x").alias("mean"),
        functions.stddev_samp("v").alias("spread"),
        functions.var_pop("v").alias("var"),
        functions.count("*").alias("n"),
        functions.count("x").alias("held"),
    )
    edges = [functions.col("w.start").alias("window_start"), functions.col("w.end").alias("window_end")]
    return grouped.select("key", *edges, *AGGREGATES)


AGGREGATES = {
    "total": wr.sum("v"),
    "top": wr.max("x"),
    "low": wr.min("v"),
    "mean": wr.mean("x"),
    "spread": wr.stddev("v"),
    "var": wr.var("v", ddof=0),
    "n": wr.count(),
    "held": wr.count("x"),
}


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

    frame = spark.createDataFrame(calls(null_times=True))
    found = wr.events(frame, time="ts", by="key").window(window).agg(**AGGREGATES)
    assert_same_results(found.toArrow(), own(frame, functions.window("ts", *arguments)).toArrow())


def test_sessions_are_those_of_spark(spark: Any) -> None:
    from pyspark.sql import functions

    frame = spark.createDataFrame(calls(null_times=True))
    found = wr.events(frame, time="ts", by="key").window(wr.Session("40s")).agg(**AGGREGATES)
    assert_same_results(found.toArrow(), own(frame, functions.session_window("ts", "40 seconds")).toArrow())


@pytest.mark.parametrize("seed", [1, 2])
def test_values_in_windows_are_those_that_spark_collects(spark: Any, seed: int) -> None:
    """Windows in order: collected, distinct, first and last, against Spark's own over the same windows."""
    from pyspark.sql import functions

    table = calls(400, seed=seed)
    table = table.append_column("place", pa.array(np.arange(table.num_rows)))
    frame = spark.createDataFrame(table)
    pairs = functions.sort_array(functions.collect_list(functions.struct("ts", "place", "v")))
    grouped = frame.groupBy("key", functions.window("ts", "1 hour", "20 minutes").alias("w")).agg(
        functions.transform(pairs, lambda pair: pair["v"]).alias("all"),
        functions.sort_array(functions.collect_set("v")).alias("distinct"),
    )
    expected = grouped.select(
        "key",
        functions.col("w.start").alias("window_start"),
        functions.col("w.end").alias("window_end"),
        "all",
        "distinct",
        functions.element_at("all", 1).alias("first"),
        functions.element_at("all", -1).alias("last"),
    )
    asked = wr.events(frame, time="ts", by="key", order="place").window(wr.Sliding("1h", slide="20m"))
    found = asked.agg(
        all=wr.collect("v"), distinct=wr.collect_distinct("v"), first=wr.first("v"), last=wr.last("v")
    ).withColumn("distinct", functions.sort_array("distinct"))
    assert_same_results(found.toArrow(), expected.toArrow())


@pytest.mark.parametrize("partitions", ["1", "5"])
def test_results_do_not_depend_on_partitions(spark: Any, partitions: str) -> None:
    query = wr.query(time="ts", by="key").window(
        a=wr.Sliding("1h", slide="7m"), b=wr.Session("1m"), c=wr.Tumbling("1d", timezone="Europe/Berlin")
    )
    table = calls(800)
    with settings_of(spark, {"spark.sql.shuffle.partitions": partitions}):
        frame = spark.createDataFrame(table).repartition(int(partitions) + 1)
        for aggregates in (AGGREGATES, {"n": wr.count(), "all": wr.collect("v")}):
            asked = query.agg(**aggregates)
            rows = asked.run(frame).toArrow()
            if "all" in aggregates:  # rows of equal time came in another order
                rows = rows.drop_columns(["all"])
                asked = query.agg(n=wr.count())
            assert_same_results(rows, asked.run(table))


def test_windows_without_a_key(spark: Any) -> None:
    query = wr.query(time="ts").window(a=wr.Sliding("1h", slide="7m"), b=wr.Rows(100))
    check(spark, query.agg(total=wr.sum("v")), calls(500))
    check(spark, wr.query(time="ts").window(wr.Session("40s")).agg(total=wr.sum("v")), calls(500))


def test_runs_of_late_flights_of_a_plane(spark: Any) -> None:
    table, rng = calls(900), np.random.default_rng(5)
    late = pa.array(rng.random(900) < 0.7, mask=rng.random(900) < 0.05)
    table = table.append_column("late", late).append_column("seq", pa.array(rng.permutation(900)))
    query = wr.query(time="ts", by="key", order="seq").window(wr.Threshold("late"))
    query = query.agg(n=wr.count(), v=wr.collect("v"))
    check(spark, query, table)
    assert "is decided by the rows of a key" in query.explain(spark.createDataFrame(table))


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
    with settings_of(spark, {"spark.sql.ansi.enabled": "false"}):
        found = query.run(spark.createDataFrame(table.to_pandas())).collect()
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
        for make in (wr.count, wr.sum, wr.mean, wr.max, wr.min):
            aggregates[f"{make.name}_{name}"] = make(name)
    aggregates["strict"] = wr.sum("n", nulls="propagate")
    frame = spark.createDataFrame(table)
    for window in (wr.Sliding(20, slide=5), wr.Tumbling(10, offset=3), wr.Sliding(20, slide=7)):
        for by in ("key", None):
            query = wr.query(time="ts", by=by, min_count=0 if by else 2).window(window).agg(**aggregates)
            assert "Spark groups rows by key and slice itself" in query.explain(frame)
            check(spark, query, table)
    simple = {name: a for name, a in aggregates.items() if name != "strict"}
    timed = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
    for window, rows in ((wr.Tumbling(10, offset=3), table), (wr.Tumbling("10us"), timed)):
        for min_count, windows in ((0, {"w": window}), (2, {'it\'s `a\\ "w"': window}), (0, {})):
            query = wr.query(time="ts", by="key", min_count=min_count)
            query = (query.window(**windows) if windows else query.window(window)).agg(**simple)
            assert "MapInArrow" not in query.explain(spark.createDataFrame(rows))
            check(spark, query, rows)


def test_rows_without_a_time_are_counted_where_that_is_asked_for(spark: Any) -> None:
    table = calls(300, null_times=True)
    rejected = table["ts"].null_count
    assert rejected
    query = wr.query(time="ts", by="key").window(wr.Tumbling("1h")).agg(n=wr.count())
    frame, counts = wr.spark.counted(query, spark.createDataFrame(table))
    found = query.run(frame).toArrow()
    assert sum(found["n"].to_pylist()) == 300 - rejected
    assert counts.get == {"rows_in": 300, "rows_rejected": rejected}
    assert "rows without a time are in no window" in query.explain(frame)
