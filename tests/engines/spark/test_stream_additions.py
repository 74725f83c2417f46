"""A stream on Spark that is stopped and goes on with more: an aggregate is null over windows with rows from
before, a window comes out if it began after them, and all else is what it would have been."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.testing import assert_same_results

SCHEMA = "ts timestamp, key string, v long, s string, number long"
START = datetime(2024, 5, 1, tzinfo=UTC)
ROWS = 40


def batch(place: int) -> pa.Table:
    """Ten minutes of rows, the last ones five minutes late; the first two batches come before the restart."""
    numbers = range(place * ROWS, (place + 1) * ROWS)
    minutes = [place * 10 + 10 * k / ROWS - (5 if k >= ROWS - 4 else 0) for k in range(ROWS)]
    times = [START + timedelta(minutes=minute) for minute in minutes]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "key": [f"key {number % 3}" for number in numbers],
            "v": [number % 17 for number in numbers],
            "s": [f"<{number}>" for number in numbers],
            "number": list(numbers),
        }
    )


BATCHES = [batch(place) for place in range(6)]
OLD = {"n": wr.count(), "total": wr.sum("v")}
NEW = {"mean": wr.mean("v"), "text": wr.concat("s")}


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def of(found: list[Any], window: str) -> list[Any]:
    return [row for row in found if row["window"] == window]


def keyed(rows: list[Any]) -> dict[Any, Any]:
    """By key, window and start; times that Spark wrote have no zone."""
    return {
        (row["key"], row["window"], row["window_start"].replace(tzinfo=UTC).timestamp()): row for row in rows
    }


def test_a_stream_that_goes_on_with_an_added_aggregate_and_window(source: Source) -> None:
    start, slide = wr.query(time="ts", by="key", watermark="10 minutes"), wr.Sliding("12m", slide="3m")
    query, more = start.window(slide=slide), start.window(slide=slide, new=wr.Tumbling("8m"))
    source.write(BATCHES[:2])
    first, _ = source.run(query.agg(**OLD).run)
    source.write(BATCHES[2:])
    found, _ = source.run(more.agg(**OLD, **NEW).run)

    operator = replace(more.agg(**OLD, **NEW, earliest=wr.min("number")), watermark=None).open()
    for table in BATCHES:
        operator.push(table)
    last = max(time.as_py() for time in BATCHES[-1]["ts"])
    whole = operator.advance(last - timedelta(minutes=10)).to_pylist()

    old = ["key", "window", "window_start", "window_end", *OLD]
    assert_same_results(
        [{name: row[name] for name in old} for row in [*first, *of(found, "slide")]],
        [{name: row[name] for name in old} for row in of(whole, "slide")],
    )
    truth = keyed(whole)
    nulls = 0
    for identity, row in keyed(of(found, "slide")).items():
        holds_earlier = truth[identity]["earliest"] < 2 * ROWS
        nulls += holds_earlier
        for name in NEW:
            assert row[name] == (None if holds_earlier else truth[identity][name])
    assert 0 < nulls < len(of(found, "slide"))

    before = max(time.as_py() for table in BATCHES[:2] for time in table["ts"])
    later = {identity: row for identity, row in truth.items() if row["window_start"] > before}
    new = keyed(of(found, "new"))
    # a bucket may not have seen the largest time of all
    assert new.keys() >= keyed(of(list(later.values()), "new")).keys()
    assert new
    for identity, row in new.items():
        assert truth[identity]["earliest"] >= 2 * ROWS
        assert {name: row[name] for name in (*OLD, *NEW)} == {n: truth[identity][n] for n in (*OLD, *NEW)}
