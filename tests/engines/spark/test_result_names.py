"""Columns of a DataFrame with names that results need: refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

import windrow as wr


def batch(spark: Any, name: str) -> Any:
    return spark.sql(f"SELECT timestamp_seconds(1) AS ts, 1 AS v, 2 AS `{name}`")


def stream(spark: Any, name: str) -> Any:
    wr.spark.session()
    rate = spark.readStream.format("rate").load()
    return rate.selectExpr("timestamp AS ts", "value AS v", f"2 AS `{name}`")


@pytest.mark.parametrize("frame", [batch, stream])
def test_a_result_with_the_name_of_a_column_is_refused_on_spark(spark: Any, frame: Any) -> None:
    query = wr.query(time="ts", watermark="1m").rolling("1h").agg(n=wr.count("v"))
    with pytest.raises(ValueError, match="the table has a column 'n' already: choose another name"):
        query.run(frame(spark, "n"))
    with pytest.raises(ValueError, match=r"has a column '__windrow_arrival'.*: rename it"):
        query.run(frame(spark, "__windrow_arrival"))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("revision", {"allowed_lateness": "1m"}),
        ("is_final", {"emit": "update"}),
        ("late", {"late": "emit"}),
        ("late_by", {"late": "emit"}),
    ],
)
def test_a_stream_with_a_column_that_is_added_to_rows_is_refused(
    spark: Any, name: str, options: dict[str, Any]
) -> None:
    query = wr.query(time="ts", watermark="1m", **options).rolling("1h").agg(n=wr.count("v"))
    with pytest.raises(ValueError, match=f"has a column '{name}', which is added to rows: rename it"):
        query.run(stream(spark, name))


def test_a_key_with_the_name_of_a_result_column_is_refused_before_spark(spark: Any) -> None:
    with pytest.raises(ValueError, match="column 'window_end' has a name that results need"):
        wr.events(batch(spark, "window_end"), time="ts", by="window_end").window(wr.Tumbling("1h"))
