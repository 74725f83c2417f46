"""Rolling on Spark streams over windows of many rows, which are kept in chunks, against the local engine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.testing import assert_same_results

SCHEMA = "ts timestamp, seq long, region string, len long"
START = datetime(2024, 5, 1)
DELAY = timedelta(minutes=2)
ROWS = 4000


def calls(batch: int) -> pa.Table:
    """Ten minutes of calls a batch, out of order by less than the delay, some at the same time."""
    rng = np.random.default_rng(batch)
    seconds = batch * 600 + np.sort(rng.integers(0, 600, ROWS)) + rng.integers(-59, 60, ROWS)
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=int(s)) for s in seconds], pa.timestamp("us", "UTC")),
            "seq": batch * ROWS + rng.permutation(ROWS),
            "region": pa.array([["north", "south", None][k] for k in rng.integers(0, 3, ROWS)]),
            "len": rng.integers(0, 1000, ROWS),
        }
    )


BATCHES = [calls(k) for k in range(5)]

#: the lengths in their order: combining must keep to it
IN_ORDER = wr.monoid(
    name="in_order",
    lift=lambda v: (31, v % 1_000_003),
    combine=lambda a, b: (a[0] * b[0] % 1_000_003, (a[1] * b[0] + b[1]) % 1_000_003),
    identity=(1, 0),
    lower=lambda pair: pair[1],
)


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def chunks(source: Source) -> set[str]:
    """The entries of chunks in the checkpoint, without their buckets."""
    reader = source.spark.read.format("statestore").option("path", source.checkpoint)
    names = reader.option("stateVarName", "entries").load().select("user_map_key.name").collect()
    return {name for (name,) in names if name.startswith("c")}


@pytest.mark.parametrize("over", [{"size": "35m"}, {"rows": 5000}], ids=str)
def test_rolling_goes_on_from_its_checkpoint(source: Source, over: Any) -> None:
    start = wr.query(time="ts", by="region", order="seq", watermark=DELAY)
    query = start.rolling(over.get("size"), rows=over.get("rows")).agg(
        n=wr.count(), total=wr.sum("len"), longest=wr.max("len"), order=IN_ORDER("len")
    )
    source.write(BATCHES[:3])
    found, _ = source.run(query.run)
    assert {"0", "1"} <= {name.partition("w")[2] for name in chunks(source)}  # rows folded, and folded again
    assert wr.spark.inspect_state(source.checkpoint).num_rows == 0  # there are no slices

    source.write(BATCHES[3:])
    with pytest.raises(Exception, match="rolling was"):
        source.run(start.rolling("34m").agg(**dict(query.aggregates)).run)
    rest, counts = source.run(query.run)
    every = pa.concat_tables(BATCHES)
    passed = max(time.as_py() for time in every["ts"]) - DELAY
    expected = [row for row in query.run(every).to_pylist() if row["ts"] < passed]
    assert_same_results(found + rest, expected)
    assert counts["rows_late"] == 0


def test_frames_that_look_ahead_go_on_from_their_checkpoint(source: Source) -> None:
    start = wr.query(time="ts", by="region", order="seq", watermark=DELAY)
    query = start.rolling("10m", "35m", closed="left", shift="5m").agg(n=wr.count(), order=IN_ORDER("len"))
    source.write(BATCHES[:1])
    found, _ = source.run(query.run)
    source.write(BATCHES[1:3])
    rest, counts = source.run(query.run)
    every = pa.concat_tables(BATCHES[:3])
    passed = max(time.as_py() for time in every["ts"]) - DELAY
    ahead = timedelta(minutes=5)
    expected = [row for row in query.run(every).to_pylist() if row["ts"] + ahead <= passed]
    assert 0 < len(found) < len(expected)
    assert_same_results(found + rest, expected)
    assert counts["rows_late"] == 0
    stream = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    text = query.explain(stream)
    assert "35m: [t + 5m - 35m, t + 5m)" in text
    assert "a result waits until the watermark has passed t + 5m" in text
