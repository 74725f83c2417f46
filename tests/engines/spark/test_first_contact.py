"""What a newcomer gets wrong on Spark, and what comes out under names that were not given."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr

SCHEMA = "ts timestamp, region string, length long"


@pytest.mark.parametrize(
    ("query", "wrong", "meant"),
    [
        (wr.query(time="ts").window(wr.Tumbling("1h")).agg(n=wr.sum("lenght")), "lenght", "length"),
        (wr.query(time="tss").window(wr.Tumbling("1h")).agg(n=wr.count()), "tss", "ts"),
        (wr.query(time="ts", by="Region").rolling("1h").agg(n=wr.count()), "Region", "region"),
        (wr.query(time="ts", order="lenth").rolling(rows=2).agg(n=wr.count()), "lenth", "length"),
        (wr.query(time="ts").window(wr.Delta("leng", size=5)).agg(n=wr.count()), "leng", "length"),
    ],
)
def test_a_wrong_column_of_a_dataframe_names_the_nearest_and_lists_all(
    spark: Any, query: Any, wrong: str, meant: str
) -> None:
    with pytest.raises(KeyError) as caught:
        query.run(spark.createDataFrame([], SCHEMA))
    assert str(caught.value) == (
        f"there is no column {wrong!r}: did you mean {meant!r}? The DataFrame has 'ts', 'region', 'length'"
    )


def test_a_wrong_column_of_a_stream_names_the_nearest(spark: Any) -> None:
    rows = spark.readStream.format("rate").load()
    query = wr.query(time="timestampp", watermark="1m").window(wr.Tumbling("1h")).agg(n=wr.count())
    with pytest.raises(KeyError, match=r"did you mean 'timestamp'\? The DataFrame has 'timestamp', 'value'"):
        query.run(rows)


def test_aggregates_without_a_keyword_have_the_same_names_on_spark(spark: Any) -> None:
    from datetime import datetime

    frame = spark.createDataFrame([(datetime(2024, 5, 1, 12), "n", 5)], SCHEMA)
    found = wr.events(frame, time="ts").window(wr.Tumbling("1h")).agg(wr.sum("length"), wr.count())
    assert found.columns == ["window_start", "window_end", "length_sum", "count"]
    assert found.select("length_sum", "count").collect() == [(5, 1)]


def test_a_spark_expression_is_not_an_aggregate(spark: Any) -> None:
    from pyspark.sql import functions

    query = wr.query(time="ts").window(wr.Tumbling("1h"))
    with pytest.raises(TypeError, match=r"n=<pyspark Column> is not an aggregate: write for instance n=wr\."):
        query.agg(n=functions.max("length"))
    with pytest.raises(TypeError, match="max takes the name of a column and not a pyspark Column"):
        wr.max(functions.col("length"))
