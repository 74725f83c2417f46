"""Float keys on Spark: 0.0 and -0.0 are one, and every NaN is one, whatever the plan, as in Spark itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from engines.spark.spark_frames import in_partitions
from support.float_keys import COUNTS, counted, float_rows
from support.stream_source import Source

ROWS = float_rows()
#: windows and aggregates that take the different ways through Spark
WAYS: dict[str, tuple[Any, Any]] = {
    "Spark finishes": (wr.Tumbling("1h"), wr.count()),
    "Spark folds": (wr.Sliding("2h", slide="1h"), wr.count()),
    "slices": (wr.Session("10s"), wr.count("v")),
    "in order": (wr.Tumbling("1h"), wr.count("l")),
    "limited sessions": (wr.Session("10s", max_size="1h"), wr.count("v")),
    "rows decide": (wr.Delta("v", size=100), wr.count("v")),
}
KINDS = ["k", "s", "l"]


def frame(spark: Any) -> Any:
    """Rows of a key in different partitions."""
    return in_partitions(spark, [ROWS.slice(0, 3), ROWS.slice(3, 3), ROWS.slice(6)])


def counts(table: pa.Table, key: str) -> dict[str, int]:
    return counted(table.column(key).to_pylist(), table.column("n").to_pylist())


@pytest.mark.parametrize(("window", "aggregate"), WAYS.values(), ids=WAYS)
def test_zeros_are_one_key_and_every_nan_is_one_key_on_spark(spark: Any, window: Any, aggregate: Any) -> None:
    for key in KINDS:
        # a picked row is folded in order
        found = wr.events(frame(spark), time="t", by=key).window(window).agg(n=aggregate, x=wr.last("v"))
        assert counts(found.toArrow(), key) == COUNTS
        alone = wr.events(frame(spark), time="t", by=key).window(window).agg(n=aggregate)
        assert counts(alone.toArrow(), key) == COUNTS


@pytest.mark.parametrize("over", [{"size": "1h"}, {"rows": 100}], ids=["time", "rows"])
def test_rolling_has_one_window_for_such_keys_on_spark(spark: Any, over: Any) -> None:
    for key in ("k", "s"):
        found = wr.events(frame(spark), time="t", by=key).rolling(**over).agg(n=wr.count()).toArrow()
        pairs = zip(found.column("v").to_pylist(), found.column("n").to_pylist(), strict=True)
        assert [n for _, n in sorted(pairs)] == [1, 1, 2, 2, 1, 1, 3, 3, 2]


def test_spark_itself_has_these_keys(spark: Any) -> None:
    for key in KINDS:
        found = frame(spark).groupBy(key).count().withColumnRenamed("count", "n")
        assert counts(found.toArrow(), key) == COUNTS


SCHEMA = "t timestamp, k double, s struct<x: double>, l array<double>, v long"


@pytest.mark.parametrize("key", ["k", "s"])
def test_zeros_are_one_key_and_every_nan_is_one_key_in_streams(spark: Any, tmp_path: Path, key: str) -> None:
    hours_later = ROWS.slice(0, 1).set_column(0, "t", pa.array([10**10], pa.timestamp("us", "UTC")))
    query = wr.query(time="t", by=key, watermark="0s").window(wr.Tumbling("1h")).agg(n=wr.count())
    with Source.in_folder(spark, tmp_path, SCHEMA) as source:
        source.write([ROWS.slice(0, 3), ROWS.slice(3), hours_later])
        found, _ = source.run_to_table(query.run)
    assert counts(found, key) == COUNTS


def test_rolling_has_one_window_for_such_keys_in_streams(spark: Any, tmp_path: Path) -> None:
    query = wr.query(time="t", by="s", watermark="0s").rolling("1h").agg(n=wr.count())
    with Source.in_folder(spark, tmp_path, SCHEMA) as source:
        source.write([ROWS.slice(0, 3), ROWS.slice(3)])
        found, _ = source.run_to_table(query.run)
    pairs = zip(found.column("v").to_pylist(), found.column("n").to_pylist(), strict=True)
    # the last row waits for the watermark
    assert [n for _, n in sorted(pairs)] == [1, 1, 2, 2, 1, 1, 3, 3]
