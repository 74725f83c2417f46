"""Queries that would give far too many windows are refused on Spark, too: the limit reaches its workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source

YEAR_9999 = 253_370_764_800_000_000
EXPLOSIONS: dict[str, tuple[Any, Any, str]] = {
    "sliding": (wr.Sliding("1d", slide="1us"), "skip", "172,800,000,000"),
    "cumulative": (wr.Cumulative("1d", step="1us"), "skip", "172,800,000,000"),
    "empty": (wr.Tumbling("1s"), "emit", "253,370,764,801"),
    "delta": (wr.Delta("v", size=2**32, slide=2**-20), "skip", "4,503,599,627,370,496"),
}


def rows(*times: int) -> pa.Table:
    moments = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.table({"ts": moments, "key": ["a"] * len(times), "v": [1.0] * len(times)})


def asked(window: Any, **settings: Any) -> wr.Query:
    return wr.query(time="ts", by="key", **settings).window(window).agg(n=wr.count())


@pytest.mark.parametrize("case", EXPLOSIONS)
def test_a_frame_that_would_give_too_many_windows_is_refused(spark: Any, case: str) -> None:
    window, empty, count = EXPLOSIONS[case]
    frame = asked(window, empty=empty).run(spark.createDataFrame(rows(0, YEAR_9999)))
    with pytest.raises(Exception, match=f"TooManyWindows: one step would give {count} windows"):
        frame.toArrow()


def test_max_windows_reaches_the_workers(spark: Any) -> None:
    frame = spark.createDataFrame(rows(0))
    tens = wr.Sliding("10s", slide="1s")
    with pytest.raises(Exception, match=r"10 windows .* at most 9 are allowed"):
        asked(tens, max_windows=9).run(frame).toArrow()
    assert asked(tens, max_windows=10).run(frame).toArrow().num_rows == 10


def test_the_limit_holds_for_all_kinds_of_windows_together_on_spark(spark: Any, tmp_path: Path) -> None:
    """In one line, with the numbers. On streams, what was refused has changed nothing."""
    both = {"a": wr.Sliding("10s", slide="1s"), "b": wr.Tumbling("5s")}

    def query(limit: int) -> wr.Query:
        settings = wr.query(time="ts", by="key", watermark="1s", max_windows=limit)
        return settings.window(**both).agg(n=wr.count())

    refusal = r"at least 11 windows \(10 of Sliding\(.*, 1 of Tumbling\(.* at most 10 are allowed: use"
    frame = spark.createDataFrame(rows(0))
    with pytest.raises(Exception, match=refusal):
        query(10).run(frame).toArrow()
    assert query(11).run(frame).toArrow().num_rows == 11
    with Source.in_folder(spark, tmp_path, "ts timestamp, key string, v double") as source:
        source.write([rows(0), rows(60_000_000), rows(61_000_000)])
        with pytest.raises(Exception, match=refusal):
            source.run(query(10).run)
        found, _ = source.run(query(11).run)
    assert len(found) == 11


def test_a_stream_that_was_refused_goes_on_with_another_limit(spark: Any, tmp_path: Path) -> None:
    tens = wr.Sliding("10s", slide="1s")
    with Source.in_folder(spark, tmp_path, "ts timestamp, key string, v double") as source:
        source.write([rows(0), rows(60_000_000), rows(61_000_000)])
        with pytest.raises(Exception, match=r"10 windows .* at most 9 are allowed"):
            source.run(asked(tens, watermark="1s", max_windows=9).run)
        found, _ = source.run(asked(tens, watermark="1s", max_windows=10).run)
    assert len(found) == 10
