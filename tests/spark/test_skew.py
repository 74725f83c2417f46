"""Hot keys, split in time: results are those of keys that are not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.spark.skew import SETTING
from windrow.testing import assert_same_results

COUNT = 6_000


def skewed(kind: str) -> pa.Table:
    """Nine rows in ten have the same key; many times are equal."""
    rng = np.random.default_rng(9)
    ticks = rng.integers(-COUNT // 8, COUNT // 8, COUNT)
    start = dt.datetime(2024, 3, 30)
    if kind == "integer":
        times = pa.array(ticks)
    elif kind == "date":
        times = pa.array(ticks.astype(np.int32)).cast(pa.date32())
    else:
        moments = [start + dt.timedelta(seconds=int(t) * 97, microseconds=int(t) % 7) for t in ticks]
        times = pa.array(moments, pa.timestamp("us")).cast(
            pa.timestamp("us", None if kind == "ntz" else "UTC")
        )
    return pa.table(
        {
            "ts": times,
            "key": np.where(rng.random(COUNT) < 0.9, "hot", rng.choice(["a", "b", "c"], COUNT)),
            "v": rng.integers(0, 100, COUNT),
            "name": rng.choice(["p", "q", "r"], COUNT),
        }
    )


@pytest.fixture
def setting(spark: Any, request: Any) -> Iterator[str]:
    spark.conf.set(SETTING, request.param)
    yield request.param
    spark.conf.unset(SETTING)


SIZES = {"integer": 20, "timestamp": "40m", "ntz": "40m", "date": "20d"}


@pytest.mark.parametrize(
    ("setting", "kind"), [*(("split", kind) for kind in SIZES), ("auto", "timestamp")], indirect=["setting"]
)
def test_results_of_a_hot_key_do_not_change(spark: Any, setting: str, kind: str) -> None:
    by = "key" if setting == "split" else None
    table = skewed(kind)
    aggregates = {"total": wr.sum("v"), "last": wr.last("name"), "n": wr.count()}
    query = wr.query(time="ts", by=by).rolling(SIZES[kind]).agg(**aggregates)
    frame = spark.createDataFrame(table)
    assert "split in time" in query.explain(frame)
    found = query.run(frame)
    assert found.columns == [*table.column_names, *aggregates]
    assert_same_results(found.toArrow(), query.run(table))


def test_a_hot_key_goes_to_several_tasks(spark: Any) -> None:
    from pyspark.sql import functions

    from windrow.engines.spark.skew import in_segments

    spark.conf.set(SETTING, "split")
    try:
        frame = spark.createDataFrame(skewed("integer"))
        query = wr.query(time="ts", by="key").rolling(20).agg(total=wr.sum("v"))
        rows = (
            in_segments(query, frame)
            .groupBy("key")
            .agg(
                functions.countDistinct("__windrow_segment").alias("segments"),
                functions.count("*").alias("rows"),
            )
        )
        found = {row["key"]: row for row in rows.collect()}
    finally:
        spark.conf.unset(SETTING)
    assert found["hot"]["segments"] == 6
    assert found["a"]["segments"] == 1
    assert found["hot"]["rows"] < 1.25 * 0.92 * COUNT


def test_rows_without_a_time_are_kept(spark: Any) -> None:
    table = pa.table({"ts": pa.array([1, None, 3, 500, None]), "v": [1, 2, 3, 4, 5]})
    query = wr.query(time="ts").rolling(10).agg(total=wr.sum("v"))
    found = query.run(spark.createDataFrame(table)).toArrow()
    assert sorted((r["v"], r["total"]) for r in found.to_pylist()) == [
        (1, 1),
        (2, None),
        (3, 4),
        (4, 4),
        (5, None),
    ]


def test_an_unknown_setting_is_an_error(spark: Any) -> None:
    spark.conf.set(SETTING, "maybe")
    events = wr.events(spark.createDataFrame(skewed("integer")), time="ts").rolling(10)
    try:
        with pytest.raises(ValueError, match="auto, split, off"):
            events.agg(total=wr.sum("v"))
    finally:
        spark.conf.unset(SETTING)
