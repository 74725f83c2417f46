"""A stream on Spark that is stopped and goes on with a query that has changed; and one on another checkpoint
that takes over from it, with windows and aggregates that history fills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.testing import assert_same_results

SCHEMA = "ts long, key string, v long, s string"
ROWS = 40


def batch(place: int) -> pa.Table:
    """Ten units of time, the last rows out of order, or late."""
    numbers = range(place * ROWS, (place + 1) * ROWS)
    return pa.table(
        {
            "ts": [place * 10 + k // 4 - (6 if k % 9 == 8 and place else 0) for k in range(ROWS)],
            "key": [f"key {number % 3}" for number in numbers],
            "v": [number % 17 for number in numbers],
            "s": [f"<{number}>" for number in numbers],
        }
    )


BATCHES = [batch(place) for place in range(8)]
BEFORE = (
    wr.query(time="ts", by="key", watermark=3, allowed_lateness=2)
    .window(slide=wr.Sliding(20, slide=5), visit=wr.Session(2), five=wr.Rows(5))
    .agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("s"))
)
AFTER = (
    wr.query(time="ts", by="key", watermark=6, allowed_lateness=4)
    .window(slide=wr.Sliding(20, slide=5), five=wr.Rows(5))
    .agg(n=wr.count(), text=wr.concat("s"))
)


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def steps(operator: Any, batches: list[pa.Table]) -> list[Any]:
    """What an operator gives for micro-batches, and the one without rows that Spark ends with."""
    tables = [operator.push(table) for table in [*batches, BATCHES[0].slice(0, 0)]]
    return [row for table in tables for row in table.to_pylist()]


def test_a_stream_goes_on_with_other_waits_and_with_less(source: Source) -> None:
    operator = BEFORE.open(judge="spark")
    source.write(BATCHES[:3])
    assert_same_results(source.run(BEFORE.run)[0], steps(operator, BATCHES[:3]))
    source.write(BATCHES[3:6])
    wr.spark.check_checkpoint(AFTER, source.checkpoint, source.spark)
    after = AFTER.restore(operator.snapshot(), judge="spark")
    assert_same_results(source.run(AFTER.run)[0], steps(after, BATCHES[3:6]))
    assert wr.spark.check_state(source.checkpoint, source.spark).buckets == 2


WEEK = wr.query(time="ts", by="key", watermark=3).window(slide=wr.Sliding(20, slide=5)).agg(n=wr.count())
GROWN = (
    wr.query(time="ts", by="key", watermark=3)
    .window(slide=wr.Sliding(20, slide=5), long=wr.Sliding(60, slide=5), visit=wr.Session(2))
    .agg(n=wr.count(), text=wr.concat("s"))
)


def test_another_checkpoint_takes_over_with_what_was_added_filled(source: Source) -> None:
    source.write(BATCHES[:5])
    first, _ = source.run(WEEK.run)
    cut = wr.spark.watermark_of_state(source.checkpoint, source.spark)
    assert cut == 46
    past = source.spark.createDataFrame(pa.concat_tables(BATCHES[:6]).to_pandas(), SCHEMA)
    source.write(BATCHES[5:])
    source.checkpoint += "-grown"
    rest, _ = source.run(lambda live: GROWN.run(live, history=past, history_until=cut))
    assert wr.spark.watermark_of_state(source.checkpoint, source.spark) == 76
    whole = GROWN.run(pa.concat_tables(BATCHES)).to_pylist()
    due = [row for row in whole if row["window_end"] <= 76]
    weeks = [{"key": r["key"], "end": r["window_end"], "n": r["n"]} for r in due if r["window"] == "slide"]
    found = [row for row in [*first, *rest] if row["window"] == "slide"]
    assert_same_results([{"key": r["key"], "end": r["window_end"], "n": r["n"]} for r in found], weeks)
    assert_same_results(
        [row for row in rest if row["window"] != "slide"],
        [row for row in due if row["window"] != "slide" and row["window_end"] > cut],
    )
