"""Streams on Spark against Spark's own windows, late rows included; and what must not stop a stream.

A key is a random stream of its own: rows in and out of order, alone and in crowds, on edges and beside them.
So one Spark stream tries many.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.testing import assert_same_results

SCHEMA = "ts timestamp, key long, v double"
START_US = 1_714_521_600_000_000
SECOND = 1_000_000
KEYS, BATCHES = 60, 6
DELAY = "2 minutes"


def random_streams(seed: int) -> list[pa.Table]:
    """Micro-batches of five minutes; a third of the rows come up to a quarter of an hour late."""
    chance = np.random.default_rng(seed)
    tables = []
    for batch in range(BATCHES):
        rows = KEYS * 4
        late = np.where(chance.random(rows) < 0.35, chance.integers(0, 900, rows), 0)
        seconds = batch * 300 + chance.integers(0, 300, rows) - late
        seconds = np.where(chance.random(rows) < 0.3, seconds // 30 * 30, seconds)  # on edges
        moments = START_US + seconds * SECOND
        columns = [
            pa.array(moments, pa.timestamp("us", "UTC")),
            pa.array(chance.integers(0, KEYS, rows)),
            pa.array(chance.integers(0, 100, rows).astype(float)),
        ]
        tables.append(pa.table(columns, names=["ts", "key", "v"]))
    return tables


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def own(window: Any) -> Any:
    """The same with Spark's own window."""
    from pyspark.sql import functions

    def stream(frame: Any) -> Any:
        sums = [functions.count("*").alias("n"), functions.sum("v").alias("total")]
        edges = [functions.col(f"{window}.{edge}").alias(f"window_{edge}") for edge in ("start", "end")]
        kind = {
            "window": lambda: functions.window("ts", "90 seconds", "30 seconds"),
            "session_window": lambda: functions.session_window("ts", "40 seconds"),
        }[window]()
        grouped = frame.withWatermark("ts", DELAY).groupBy("key", kind)
        return grouped.agg(*sums).select("key", *edges, "n", "total")

    return stream


@pytest.mark.parametrize(
    ("window", "peer"),
    [
        (wr.Sliding("90s", slide="30s"), "window"),
        (wr.Session("40s", late_by="row"), "session_window"),
    ],
)
def test_results_are_sparks_own_with_late_rows(source: Source, window: Any, peer: str) -> None:
    source.write(random_streams(5))
    query = wr.query(time="ts", by="key", watermark=DELAY).window(window)
    found, counts = source.run(query.agg(n=wr.count(), total=wr.sum("v")).run)
    assert counts["rows_late"] > 30
    source.checkpoint += "-own"
    native, _ = source.run(own(peer))
    assert_same_results(found, native)


def test_poison_rows_are_counted_and_stop_nothing(source: Source) -> None:
    def table(moments: list[Any], keys: list[Any], values: list[Any]) -> pa.Table:
        columns = [pa.array(moments, pa.timestamp("us", "UTC")), pa.array(keys, pa.int64()), pa.array(values)]
        return pa.table(columns, names=["ts", "key", "v"])

    far = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * SECOND
    source.write(
        [
            table([START_US, None, far], [None, 1, 1], [float("nan"), 1.0, 1.0]),
            table([], [], []),
            table([START_US + 60 * SECOND, 2**62, -(2**62), far], [1, 1, 1, None], [2.0, 3.0, 4.0, 5.0]),
            table([START_US + 1, START_US + 600 * SECOND], [None, 2], [1.5, 7.0]),  # in time
            table([START_US + 601 * SECOND], [2], [1.0]),
        ]
    )
    query = wr.query(time="ts", by="key", watermark="1 minute", max_ahead="1 day")
    query = query.window(wr.Tumbling("1m")).agg(n=wr.count(), total=wr.sum("v"), top=wr.max("v"))
    found, counts = source.run(query.run)
    assert (counts["rows_in"], counts["rows_rejected"], counts["rows_late"]) == (10, 5, 0)
    start = datetime.fromtimestamp(START_US / SECOND, UTC)
    told = {(row["key"], row["window_start"].replace(tzinfo=UTC) - start): row["n"] for row in found}
    assert told == {(None, timedelta(0)): 2, (1, timedelta(minutes=1)): 1}
    (nulls,) = [row for row in found if row["key"] is None]
    assert np.isnan(nulls["total"])


def test_a_million_keys_one_of_them_hot_in_files_out_of_order(source: Source) -> None:
    """Half of the rows have one key; the second file is older than the first, the third has no rows."""
    chance = np.random.default_rng(11)
    keys, third = 1_000_000, 333_334

    def table(part: int, minute: int) -> pa.Table:
        some = np.arange(part * third, (part + 1) * third) % keys
        chosen = chance.permutation(np.concatenate([some, np.zeros_like(some)]))
        seconds = 60 * minute + chance.integers(0, 120, len(chosen))
        moments = pa.array(START_US + seconds * SECOND, pa.timestamp("us", "UTC"))
        return pa.table([moments, chosen, seconds.astype(float)], names=["ts", "key", "v"])

    tables = [table(0, 2), table(1, 0), table(2, 4)]
    tables.insert(2, tables[0].slice(0, 0))
    end = pa.array([START_US + 3_600 * SECOND], pa.timestamp("us", "UTC"))
    source.write([*tables, pa.table([end, pa.array([7]), pa.array([0.0])], names=["ts", "key", "v"])])
    query = wr.query(time="ts", by="key", watermark="5 minutes").window(wr.Tumbling("1m"))
    found, counts = source.run_to_table(query.agg(n=wr.count(), total=wr.sum("v")).run)
    assert (counts["rows_in"], counts["rows_late"], counts["rows_rejected"]) == (6 * third + 1, 0, 0)
    rows = pa.concat_tables(tables)
    minutes = pa.array(rows["ts"].to_numpy().astype("datetime64[m]").astype(np.int64))
    expected = rows.append_column("minute", minutes).group_by(["key", "minute"])
    expected = expected.aggregate([("v", "count"), ("v", "sum")])
    expected = expected.sort_by([("key", "ascending"), ("minute", "ascending")])
    found = found.sort_by([("key", "ascending"), ("window_start", "ascending")])
    assert found["key"].to_pylist() == expected["key"].to_pylist()
    starts = found["window_start"].to_numpy().astype("datetime64[m]").astype(np.int64)
    assert np.array_equal(starts, expected["minute"].to_numpy())
    assert np.array_equal(found["n"].to_numpy(), expected["v_count"].to_numpy())
    assert np.array_equal(found["total"].to_numpy(), expected["v_sum"].to_numpy())


def test_another_number_of_partitions_is_refused(source: Source) -> None:
    name = "spark.sql.shuffle.partitions"
    query = wr.query(time="ts", by="key", watermark=DELAY).window(wr.Tumbling("1m")).agg(n=wr.count())
    source.write(random_streams(6)[:1])
    source.run(query.run)
    before = source.spark.conf.get(name)
    source.write(random_streams(6)[1:2])
    source.spark.conf.set(name, str(int(before) + 1))
    try:
        with pytest.raises(Exception, match=r"number of buckets, that of .*partitions, was 2, is 3"):
            source.run(query.run)
    finally:
        source.spark.conf.set(name, before)
    source.run(query.run)
