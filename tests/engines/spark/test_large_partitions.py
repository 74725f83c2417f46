"""Partitions that are larger than a task may hold, on Spark: the results are those of one table."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.spark.frames import task_memory
from windrow.testing import assert_same_results

START = wr.query(time="t", by="k")
QUERIES: dict[str, Any] = {
    "rolling by rows": START.rolling(rows=7),
    "rolling by time, two sizes": START.rolling(20, 90),
    "rolling ahead": START.rolling(30, closed="both", shift=20),
    "rolling by policy": START.rolling(wr.Policy(lambda total, old: total.n - old.n >= 5)),
    "windows that rows decide": START.window(r=wr.Rows(6, slide=2), d=wr.Delta("t", size=40)),
    "sessions with a largest size": START.window(wr.Session(3, max_size=20)),
}


@pytest.fixture(params=["3k", "1"], ids=["parts on disk", "keys in order of time"])
def memory(spark: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    spark.conf.set("spark.windrow.taskMemory", request.param)
    yield
    spark.conf.unset("spark.windrow.taskMemory")


def rows() -> pa.Table:
    """Keys with null and NaN among them, one with most of the rows; times that many rows share, and none."""
    rng = np.random.default_rng(3)
    keys = rng.choice([0.5, 1.5, float("nan"), -0.0, 7.25], 1_500, p=[0.7, 0.1, 0.1, 0.05, 0.05])
    return pa.table(
        {
            "t": pa.array(rng.integers(0, 600, 1_500), mask=rng.random(1_500) < 0.02),
            "k": pa.array(keys, mask=rng.random(1_500) < 0.05),
            "v": rng.integers(0, 100, 1_500),
            "s": rng.choice(["p", "q", "r"], 1_500),
        }
    )


@pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("name", QUERIES)
def test_results_are_those_of_one_table(spark: Any, name: str) -> None:
    query = QUERIES[name].agg(
        n=wr.count(), total=wr.sum("v"), text=wr.concat("s"), most=wr.arg_max("v", value="s")
    )
    found = query.run(spark.createDataFrame(rows())).toArrow()
    assert_same_results(found, query.run(rows()))


@pytest.mark.filterwarnings("ignore:.*have no time:UserWarning")
@pytest.mark.usefixtures("memory")
def test_labels_see_what_they_see_in_one_table(spark: Any) -> None:
    query = START.asof(30, 200, lag=2).agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("s"))
    labels = rows().slice(0, 300).select(["k", "t"]).append_column("id", pa.array(range(300)))
    found = query.run(spark.createDataFrame(rows()), at=spark.createDataFrame(labels), at_time="t", at_by="k")
    expected = query.run(rows(), at=labels, at_time="t", at_by="k")
    assert_same_results(found.toArrow(), expected)


@pytest.mark.parametrize(
    ("settings", "memory"),
    [
        ({}, 512 << 20),
        ({"taskMemory": "1g", "pyspark.memory": "8g"}, 1 << 30),
        ({"pyspark.memory": "8g"}, 2 << 30),
        ({"pyspark.memory": "8192", "cores": "4"}, 512 << 20),
    ],
)
def test_the_budget_follows_from_what_a_worker_has(settings: dict[str, str], memory: int) -> None:
    own = {"taskMemory": "spark.windrow.taskMemory"}
    known = {own.get(name, f"spark.executor.{name}"): value for name, value in settings.items()}
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: known.get(name, default)))
    assert task_memory(session) == memory


def test_a_budget_that_is_no_size_is_refused(spark: Any) -> None:
    spark.conf.set("spark.windrow.taskMemory", "much")
    try:
        with pytest.raises(ValueError, match=r"spark\.windrow\.taskMemory='much': give a number of bytes"):
            START.rolling(rows=2).agg(n=wr.count()).run(spark.createDataFrame(rows()))
    finally:
        spark.conf.unset("spark.windrow.taskMemory")
