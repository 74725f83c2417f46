"""Streams whose source is silent: with idle_timeout the last windows fire, once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source

SCHEMA = "ts timestamp, key string"
START = datetime(2024, 5, 1, tzinfo=UTC)
QUERY = (
    wr.query(time="ts", by="key", watermark="2s", idle_timeout="2s")
    .window(minute=wr.Tumbling("3s"), visit=wr.Session("2s"))
    .agg(n=wr.count())
)
#: seconds after which a stream hangs, however busy the machine is
HANGS = 600


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, SCHEMA) as found:
        yield found


def rows(*seconds: int) -> pa.Table:
    moments = [START + timedelta(seconds=each) for each in seconds]
    keys = [f"key {each % 5}" for each in seconds]
    return pa.table({"ts": pa.array(moments, pa.timestamp("us", "UTC")), "key": keys})


def plain(found: pa.Table) -> list[tuple[Any, ...]]:
    """Results, sorted, with the starts of windows as they are in UTC."""
    starts = found["window_start"].cast(pa.timestamp("us")).cast(pa.int64())
    columns = [starts, *(found[name] for name in ("key", "window", "n"))]
    return sorted(zip(*(each.to_pylist() for each in columns), strict=True))


def expected(*seconds: int) -> list[tuple[Any, ...]]:
    return plain(QUERY.run(rows(*seconds)))


class Running:
    """A stream that goes on until it is stopped. ``output``: the results of micro-batches, by their numbers;
    those of one that is repeated take the place of what it gave before."""

    def __init__(self, source: Source, output: dict[int, list[tuple[Any, ...]]]) -> None:
        self.output = output
        stream = source.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
        writer = QUERY.run(stream.parquet(str(source.input))).writeStream.foreachBatch(self.keep)
        self.query = writer.option("checkpointLocation", source.checkpoint).start()

    def keep(self, frame: Any, number: int) -> None:
        self.output[number] = plain(frame.toArrow())

    def stop_after(self, wanted: list[tuple[Any, ...]]) -> None:
        """Stop once there are as many results; they are these, each once."""
        deadline = time.monotonic() + HANGS
        while len(results(self.output)) < len(wanted):
            assert self.query.exception() is None, self.query.exception()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        self.query.stop()
        assert results(self.output) == wanted


def results(output: dict[int, list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return sorted(each for found in list(output.values()) for each in found)


def undo_commits(source: Source, since: int) -> None:
    """Leave the checkpoint as it would be if the stream had been killed before this micro-batch was done."""
    for log, first in (("offsets", since + 1), ("commits", since)):
        for file in (Path(source.checkpoint) / log).iterdir():
            number = file.name.strip(".").removesuffix(".crc")
            if number.isdigit() and int(number) >= first:
                file.unlink()


@pytest.mark.classic("foreachBatch runs here, and its results are kept here")
def test_the_last_windows_fire_once_over_restarts_and_repeated_micro_batches(source: Source) -> None:
    early, output = (0, 1, 5, 4, 9), dict[int, list[tuple[Any, ...]]]()
    source.write([rows(0, 1, 5), rows(4, 9)])
    Running(source, output).stop_after(expected(*early))
    fired = max(number for number, found in output.items() if found)
    undo_commits(source, fired)
    first = {number: output.pop(number) for number in list(output) if number >= fired}
    Running(source, output).stop_after(expected(*early))
    assert output[fired] == first[fired]
    source.write([rows(3_000, 3_001)])
    Running(source, output).stop_after(expected(*early, 3_000, 3_001))
    wr.spark.check_state(source.checkpoint)
    assert wr.spark.inspect_state(source.checkpoint).num_rows == 0


def test_labels_on_streams_have_no_timeout(source: Source) -> None:
    frame = source.spark.readStream.schema(SCHEMA).parquet(str(source.input))
    query = wr.query(time="ts", by="key", watermark="2s", idle_timeout="2s").asof("1m").agg(n=wr.count())
    with pytest.raises(ValueError, match="not for labels on streams"):
        query.run(frame, at=frame)
    with pytest.raises(
        ValueError, match="plan='spark' cannot run this query: it gives a result for each label"
    ):
        replace(query, idle_timeout=None, plan="spark").run(frame, at=frame)
