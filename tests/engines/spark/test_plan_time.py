"""Building a query runs nothing on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windrow as wr
from engines.spark.spark_frames import settings_of
from windrow.engines.spark.rolling.skew import SETTING
from windrow.engines.spark.streaming.even_buckets import even_buckets, spark_hash

SCHEMA = "ts long, key string, v double"
AGGREGATES = {"s": wr.sum("v"), "all": wr.collect("v")}
QUERIES = {
    "slices": wr.query(time="ts", by="key", watermark=5).window(wr.Sliding(10, slide=2)).agg(s=wr.sum("v")),
    "in order": wr.query(time="ts", by="key", watermark=5).window(wr.Rows(3)).agg(**AGGREGATES),
    "rolling": wr.query(time="ts", by="key", watermark=5).rolling(10).agg(**AGGREGATES),
    "rolling by rows": wr.query(time="ts", by="key", watermark=5).rolling(rows=3).agg(**AGGREGATES),
    "without a key": wr.query(time="ts", watermark=5).rolling(10).agg(**AGGREGATES),
    "by rows, without a key": wr.query(time="ts", watermark=5).rolling(rows=3).agg(**AGGREGATES),
    "sessions": wr.query(time="ts", by="key", watermark=5).window(wr.Session(3)).agg(s=wr.sum("v")),
    "sessions in order": wr.query(time="ts", by="key", watermark=5).window(wr.Session(3)).agg(**AGGREGATES),
    "sessions with a limit": wr.query(time="ts", by="key", watermark=5)
    .window(wr.Session(3, max_size=9))
    .agg(**AGGREGATES),
    "corrections": wr.query(time="ts", by="key", watermark=5, allowed_lateness=3, output="update")
    .window(wr.Tumbling(10))
    .agg(s=wr.sum("v")),
}


@contextmanager
def jobs_started() -> Iterator[list[int]]:
    """The jobs that were started meanwhile, by whichever session: the JVM of this process has them all."""
    found = list[int]()
    before = _next_job()
    yield found
    found += range(before, _next_job())


def _next_job() -> int:
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context  # there is one behind Spark Connect, too
    inner = context._jsc.sc()
    inner.listenerBus().waitUntilEmpty()
    jobs = inner.statusStore().jobsList(None)  # the newest first
    return 0 if jobs.isEmpty() else int(jobs.head().jobId()) + 1


@pytest.mark.parametrize("name", QUERIES)
def test_building_a_query_starts_no_job(spark: Any, tmp_path: Path, name: str) -> None:
    wr.spark.session()
    rows = spark.createDataFrame([(1, "a", 1.0), (2, "b", 2.0)], SCHEMA)
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with jobs_started() as jobs, settings_of(spark, {SETTING: "split"}):
        QUERIES[name].run(rows)
        QUERIES[name].explain(rows)
        QUERIES[name].run(stream)
        QUERIES[name].run(stream, history=rows, history_until=2)
    assert jobs == []


def test_building_an_as_of_query_starts_no_job(spark: Any, tmp_path: Path) -> None:
    query = wr.query(time="ts", by="key", watermark=5).asof(10).agg(**AGGREGATES)
    rows = spark.range(100).selectExpr("id AS ts", "string(id % 3) AS key", "double(id) AS v")
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    looked_at = {SETTING: "split", "spark.windrow.prune.minBytes": "1"}
    with jobs_started() as jobs, settings_of(spark, looked_at):
        query.run(rows, at=rows.drop("v"))
        query.run(stream, at=stream.drop("v"))
    assert jobs == []


def own_sum(total: float, value: float) -> float:
    return total + value


def test_taking_late_and_rejected_rows_apart_starts_no_job(spark: Any, tmp_path: Path) -> None:
    """Nor does anything else of ``wr.spark`` that only adds to a plan; a sink runs when its stream does."""
    own = wr.monoid(lift=abs, combine=own_sum, lower=abs, identity=0.0, result_type="float64")
    query = wr.query(time="ts", by="key", watermark=5, late="return", on_error="reject")
    query = query.window(wr.Tumbling(10)).agg(s=own("v"))
    rows = spark.createDataFrame([(1, "a", 1.0), (2, "b", 2.0)], SCHEMA)
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with jobs_started() as jobs:
        results, _ = wr.spark.split_late(query.run(stream, history=rows, history_until=2))
        wr.spark.split_rejected(results)
        write = wr.spark.sink_all(lambda *_: None, late=lambda *_: None, rejected=lambda *_: None)
        query.run(stream).writeStream.foreachBatch(write)
        frame, _ = wr.spark.counted(query, rows)
        query.run(frame)
        query.rejected_rows(rows)
        wr.register(spark)
    assert jobs == []


def test_jobs_would_be_counted(spark: Any) -> None:
    with jobs_started() as jobs:
        spark.range(3).repartition(2).collect()
    assert jobs


def test_hashes_of_ints_are_those_of_spark(spark: Any) -> None:
    rng = np.random.default_rng(3)
    edges = [0, 1, -1, 2**31 - 1, -(2**31)]
    numbers = np.concatenate([edges, np.arange(2000), rng.integers(-(2**31), 2**31, 500)])
    frame = spark.createDataFrame([(int(n),) for n in numbers], "n int")
    assert spark_hash(numbers).tolist() == [row.h for row in frame.selectExpr("hash(n) AS h").collect()]


@pytest.mark.parametrize("partitions", [1, 2, 7, 200])
def test_buckets_are_the_first_that_spark_puts_into_each_partition(spark: Any, partitions: int) -> None:
    place = f"pmod(hash(int(id)), {partitions})"
    frame = spark.range(64 * partitions + 64).selectExpr("int(id) AS id", f"{place} AS place")
    first = frame.groupBy("place").agg({"id": "min"}).toDF("place", "first").collect()
    assert even_buckets(partitions, partitions) == sorted(row.first for row in first)
    assert even_buckets(partitions, 1) == [0]
