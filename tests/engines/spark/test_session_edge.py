"""A row exactly at the end of a session: windrow's streams, its operator and Spark's session_window agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source

SECOND = 1_000_000
#: micro-batches of (seconds, key): key 9 moves the watermark, two minutes behind it
CASES = {
    "the watermark comes with the row": ([(0, 1), (160, 9)], [(40, 1)], [(400, 9)]),
    "the watermark was there before": ([(0, 1), (160, 9)], [(161, 9)], [(40, 1)], [(400, 9)]),
    "the watermark was a second before": ([(0, 1), (159, 9)], [(159, 9)], [(40, 1)], [(400, 9)]),
}
SESSIONS = {
    "the watermark comes with the row": [(0, 80, 2)],
    "the watermark was there before": [(0, 40, 1), (40, 80, 1)],
    "the watermark was a second before": [(0, 80, 2)],
}


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Iterator[Source]:
    with Source.in_folder(spark, tmp_path, "ts timestamp, key long") as found:
        yield found


def table(rows: list[tuple[int, int]]) -> pa.Table:
    moments = pa.array([seconds * SECOND for seconds, _ in rows], pa.timestamp("us", "UTC"))
    return pa.table([moments, pa.array([key for _, key in rows], pa.int64())], names=["ts", "key"])


def own(frame: Any) -> Any:
    from pyspark.sql import functions

    edges = [functions.col(f"session_window.{edge}").alias(f"window_{edge}") for edge in ("start", "end")]
    grouped = frame.withWatermark("ts", "2 minutes").groupBy(
        "key", functions.session_window("ts", "40 seconds")
    )
    return grouped.agg(functions.count("*").alias("n")).select("key", *edges, "n")


def of_key_1(rows: list[Any]) -> list[tuple[int, int, int]]:
    found = [row for row in rows if row["key"] == 1]
    spans = [
        (int(row["window_start"].timestamp()), int(row["window_end"].timestamp()), row["n"]) for row in found
    ]
    return sorted(spans)


@pytest.mark.parametrize("case", CASES)
def test_a_row_at_the_end_of_a_session_is_where_spark_has_it(source: Source, case: str) -> None:
    batches = [table(rows) for rows in CASES[case]]
    source.write(batches)
    native, _ = source.run(own)
    assert of_key_1(native) == SESSIONS[case]
    for late_by in ("session", "row"):
        source.checkpoint += f"-{late_by}"
        window = wr.Session("40s", late_by=late_by)  # type: ignore[arg-type]
        query = wr.query(time="ts", by="key", watermark="2 minutes").window(window).agg(n=wr.count())
        found, _ = source.run(query.run)
        assert of_key_1(found) == SESSIONS[case]
        operator = query.open(lateness="spark")
        pushed = [
            row for batch in [*batches, batches[0].slice(0, 0)] for row in operator.push(batch).to_pylist()
        ]
        assert of_key_1(pushed) == SESSIONS[case]
