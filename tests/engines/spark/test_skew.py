"""Hot keys, split in time: results are those of keys that are not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from engines.spark.spark_frames import settings_of
from windrow.engines.spark.rolling.segments import in_segments, later_segments
from windrow.engines.spark.rolling.skew import LARGE, SETTING
from windrow.engines.spark.worker.local_task import SEGMENT
from windrow.testing import assert_same_results

pytestmark = pytest.mark.filterwarnings("ignore:.*have no time:windrow.RejectedRows")

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


SIZES = {"integer": 20, "timestamp": "40m", "ntz": "40m", "date": "20d"}
AGGREGATES = {"total": wr.sum("v"), "last": wr.last("name"), "n": wr.count()}


def check(spark: Any, query: wr.Query, table: pa.Table) -> None:
    """Hot keys are looked for, and results are those of the local engine."""
    frame = spark.createDataFrame(table)
    assert "hot keys: split in time" in query.explain(frame)
    found = query.run(frame)
    assert found.columns == [*table.column_names, *(name for name, _ in query.aggregates)]
    assert_same_results(found.toArrow(), query.run(table))


@pytest.mark.parametrize("kind", SIZES)
def test_results_of_a_hot_key_do_not_change(spark: Any, kind: str) -> None:
    query = wr.query(time="ts", by="key").rolling(SIZES[kind]).agg(**AGGREGATES)
    with settings_of(spark, {SETTING: "split"}):
        check(spark, query, skewed(kind))


@pytest.mark.parametrize("by", ["key", None])
@pytest.mark.parametrize("rows", [1, 25])
def test_results_by_rows_of_a_hot_key_do_not_change(spark: Any, rows: int, by: str | None) -> None:
    query = wr.query(time="ts", by=by).rolling(rows=rows).agg(**AGGREGATES)
    with settings_of(spark, {SETTING: "split"}):
        check(spark, query, skewed("integer"))


def test_without_a_key_all_rows_are_one_and_split(spark: Any) -> None:
    check(spark, wr.query(time="ts").rolling("40m").agg(**AGGREGATES), skewed("timestamp"))


def segments(query: wr.Query, frame: Any) -> dict[Any, Any]:
    """For each key: segments, rows with context, rows of the segment that has most."""
    from pyspark.sql import functions

    keys = list(query.by)
    each = in_segments(query, frame).groupBy(*keys, SEGMENT).agg(functions.count("*").alias("rows"))
    most = each.groupBy(*keys).agg(
        functions.count("*").alias("segments"),
        functions.sum("rows").alias("rows"),
        functions.max("rows").alias("most"),
    )
    return {row["key"] if keys else None: row for row in most.collect()}


@pytest.mark.parametrize("over", [{"size": 20}, {"rows": 25}], ids=str)
def test_a_hot_key_goes_to_several_tasks_and_others_do_not(spark: Any, over: dict[str, int]) -> None:
    query = wr.query(time="ts", by="key").rolling(**over).agg(total=wr.sum("v"))
    found = segments(query, spark.createDataFrame(skewed("integer")))
    assert found["hot"]["segments"] == 6
    assert found["a"]["segments"] == 1
    assert found["hot"]["rows"] < 1.25 * 0.92 * COUNT
    assert found["hot"]["most"] < 0.25 * COUNT


@pytest.mark.parametrize("over", [{"size": 20}, {"rows": 25}], ids=str)
def test_times_far_from_all_others_do_not_stretch_segments(spark: Any, over: dict[str, int]) -> None:
    far = pa.table({"ts": [-(2**61), 2**61], "key": ["hot", "hot"], "v": [1, 1], "name": ["p", "p"]})
    table = pa.concat_tables([skewed("integer"), far])
    query = wr.query(time="ts", by="key").rolling(**over).agg(total=wr.sum("v"))
    found = segments(query, spark.createDataFrame(table))
    assert found["hot"]["segments"] == 6
    assert found["hot"]["rows"] < 1.25 * 0.92 * COUNT
    with settings_of(spark, {SETTING: "split"}):
        check(spark, query, table)


@pytest.mark.parametrize("over", [{"size": 20}, {"rows": 3}], ids=str)
def test_rows_without_a_time_are_kept(spark: Any, over: dict[str, int]) -> None:
    table = skewed("integer").slice(0, 2_000)
    without = pa.array(np.arange(table.num_rows) % 10 == 0)
    table = table.set_column(0, "ts", pc.if_else(without, pa.scalar(None, pa.int64()), table["ts"]))
    query = wr.query(time="ts", by="key").rolling(**over).agg(**AGGREGATES)
    with settings_of(spark, {SETTING: "split"}):
        check(spark, query, table)


@pytest.mark.parametrize("over", [{"size": 10}, {"rows": 10}], ids=str)
def test_few_rows_and_none(spark: Any, over: dict[str, int]) -> None:
    table = pa.table({"ts": pa.array([1, None, 3, 500, None]), "v": [1, 2, 3, 4, 5]})
    query = wr.query(time="ts").rolling(**over).agg(total=wr.sum("v"))
    check(spark, query, table)
    assert query.run(spark.createDataFrame(table).limit(0)).count() == 0


@pytest.mark.classic("hot keys are not looked for, since its plan is not shown")
def test_auto_looks_where_the_input_is_large_and_cheap_to_read_twice(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions

    folder = str(tmp_path / "calls")
    spark.createDataFrame(skewed("integer")).write.parquet(folder)
    stored = spark.read.parquet(folder).where("v >= 0").withColumn("v", functions.col("v") + 0)
    query = wr.query(time="ts", by="key").rolling(20).agg(total=wr.sum("v"), n=wr.count())
    assert "not split: the input is of" in query.explain(stored)
    with settings_of(spark, {LARGE: "1000"}):
        assert "hot keys: split in time" in query.explain(stored)
        assert_same_results(query.run(stored).toArrow(), query.run(stored.toArrow()))
        assert "would do Aggregate twice" in query.explain(stored.distinct())
        by_rows = wr.query(time="ts", by="key").rolling(rows=20).agg(n=wr.count())
        assert "not split: rows before each cut would have to be counted" in by_rows.explain(stored)
    with settings_of(spark, {LARGE: "much"}), pytest.raises(ValueError, match="whole number of bytes"):
        query.run(stored)


def test_policies_and_off_are_not_split(spark: Any) -> None:
    frame = spark.createDataFrame(skewed("integer"))
    start = wr.query(time="ts")
    policy = start.rolling(wr.Policy(lambda total, old: False)).agg(total=wr.sum("v"))
    assert "not split: how far back a window reaches is known neither" in policy.explain(frame)
    with settings_of(spark, {SETTING: "off"}):
        assert f"not split: {SETTING} is off" in start.rolling(5).agg(n=wr.count()).explain(frame)


def test_an_unknown_setting_is_an_error(spark: Any) -> None:
    events = wr.events(spark.createDataFrame(skewed("integer")), time="ts").rolling(10)
    with settings_of(spark, {SETTING: "maybe"}), pytest.raises(ValueError, match="auto, split, off"):
        events.agg(total=wr.sum("v"))


@given(
    counts=st.lists(st.tuples(st.integers(0, 79), st.integers(1, 9)), min_size=1, unique_by=lambda c: c[0]),
    size=st.integers(1, 40),
)
def test_cells_that_come_along_hold_the_rows_that_windows_reach_and_start_with_the_first_of_them(
    counts: list[tuple[int, int]], size: int
) -> None:
    cells, rows = np.array(sorted(counts)).T
    later = later_segments(cells, rows, size)
    for segment in sorted({int(cell) // 16 for cell in cells})[1:]:
        before = [int(n) for cell, n in zip(cells, rows, strict=True) if cell < segment * 16]
        come = [int(n) for n, goes in zip(rows, later, strict=True) if segment in goes]
        assert come == before[len(before) - len(come) :]
        assert sum(come) >= min(size - 1, sum(before))
        assert not come or sum(come[1:]) < size - 1
