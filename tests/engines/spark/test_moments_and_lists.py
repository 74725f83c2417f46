"""Aggregates of moments, of time, of counters and of lists on Spark: batches, rolling results and streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.test_streaming import BATCHES, SCHEMA, expected, query
from support.aggregate_texts import aggregate_texts
from support.stream_source import Source
from windrow.engines.spark.plan import plan_of
from windrow.spec_text import aggregate_of
from windrow.testing import assert_same_results

ALL = {name: aggregate_of(text) for name, text in aggregate_texts("len", "seq", "caller", "ts").items()}
ROWS = pa.concat_tables(BATCHES)


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def test_windows_of_a_batch_are_those_of_a_table(spark: Any) -> None:
    q = wr.query(time="ts", by="region", order="seq").window(wr.Sliding("10m", slide="5m")).agg(**ALL)
    assert_same_results(q.run(spark.createDataFrame(ROWS)).toArrow(), q.run(ROWS))


def test_rolling_results_of_a_batch_are_those_of_a_table(spark: Any) -> None:
    q = wr.query(time="ts", by="region", order="seq").rolling(rows=5).agg(**ALL)
    assert_same_results(q.run(spark.createDataFrame(ROWS)).toArrow(), q.run(ROWS))


def test_windows_and_sessions_of_a_stream_are_those_of_the_operator(source: Source) -> None:
    q = query().window(slide=wr.Sliding("10m", slide="4m"), visit=wr.Session("40s")).agg(**ALL)
    source.write(BATCHES)
    found, _ = source.run(q.run)
    assert_same_results(found, expected(q, BATCHES)[0])


def test_sketches_and_quantiles_by_slices_are_those_of_a_table(spark: Any) -> None:
    q = wr.query(time="ts", by="region").window(wr.Sliding("10m", slide="5m"))
    q = q.agg(
        seen=wr.bloom("caller", bits=256),
        often=wr.count_min("caller", width=16, depth=2),
        kinds=wr.approx_distinct("caller"),
        about=wr.approx_quantile("len", 0.9),
        exact=wr.quantile("len", 0.9),
    )
    assert plan_of(q, ROWS.schema).slices
    assert_same_results(q.run(spark.createDataFrame(ROWS)).toArrow(), q.run(ROWS))


def test_sparks_own_functions_give_the_same(spark: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.createDataFrame(ROWS)
    names = ["s", "k", "c", "p", "r", "b", "top"]
    mine = wr.query(time="ts", by="region").window(wr.Tumbling("10m"))
    mine = mine.agg(
        s=wr.skew("len", bias=True),
        k=wr.kurtosis("len", bias=True),
        c=wr.cov("len", "seq"),
        p=wr.cov("len", "seq", ddof=0),
        r=wr.corr("len", "seq"),
        b=wr.slope("len", "seq"),
        top=wr.top_k("len", 3),
    )
    found = mine.run(frame).select("region", "window_start", *names).toArrow()
    own = frame.groupBy("region", F.window("ts", "10 minutes")).agg(
        F.skewness("len").alias("s"),
        F.kurtosis("len").alias("k"),
        F.covar_samp("len", "seq").alias("c"),
        F.covar_pop("len", "seq").alias("p"),
        F.corr("len", "seq").alias("r"),
        F.regr_slope("len", "seq").alias("b"),
        F.slice(F.sort_array(F.collect_list("len"), False), 1, 3).alias("top"),
    )
    several = own.select("region", F.col("window.start").alias("window_start"), *names)
    assert_same_results(found, several.toArrow())


def test_a_rate_of_numbers_by_a_duration_is_refused_before_a_job_starts(spark: Any) -> None:
    q = wr.query(time="ts").window(wr.Tumbling("10m")).agg(speed=wr.rate("len", "seq"))
    with pytest.raises(TypeError, match="the times are numbers"):
        q.run(spark.createDataFrame(ROWS))
