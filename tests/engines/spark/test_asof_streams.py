"""As-of windows on streams of events and labels: each label once, over restarts, with what a table gives."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow as wr
from support.stream_source import counted, keep_in, kept_in
from windrow.testing import assert_same_results

START = datetime(2024, 3, 1, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
QUERY = (
    wr.query(time="ts", by="user", watermark="1h")
    .asof("2h", "1d")
    .agg(spent=wr.sum("amount"), n=wr.count(), shops=wr.concat("shop"))
)


def at(*hours: float) -> Any:
    return pa.array([START + timedelta(hours=hour) for hour in hours], MOMENT)


def events(hours: list[float], users: list[int | None], amounts: list[int], shops: str) -> pa.Table:
    kinds = {"user": pa.array(users, pa.int32()), "amount": amounts, "shop": list(shops)}
    return pa.table({"ts": at(*hours)} | kinds)


EVENTS = [
    events([1, 2, 4, 3, 6, 5.5, 7], [1, 2, 1, None, 1, 2, None], [5, 7, 9, 2, 1, 3, 4], "abcdefg"),
    # the second is two hours behind the watermark that those before lead to
    events([9, 4, 40], [2, 1, 3], [8, 1000, 0], "hxz"),
]
LABELS = [
    pa.table({"user id": [1, 2, None, 77, 1, 1], "at": at(4.5, 6, 8, 3, 7, 8.5), "y": range(6)}),
    # the first is behind what is kept, the last waits for events beyond the end
    pa.table({"user id": [2, 2, 1], "at": at(0.5, 9.5, 60), "y": [6, 7, 8]}),
]


class Folder:
    """Files of a stream, one a micro-batch."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        path.mkdir()

    def write(self, tables: list[pa.Table]) -> None:
        for table in tables:
            file = self.path / f"{self.count:03}.parquet"
            pq.write_table(table, file)
            os.utime(file, (1_700_000_000 + self.count,) * 2)  # files are read by age
            self.count += 1

    def stream(self, spark: Any) -> Any:
        schema = spark.read.parquet(str(self.path)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", "1").parquet(str(self.path))


@pytest.mark.parametrize("is_declared", [False, True])
def test_labels_come_out_once_over_a_restart(spark: Any, tmp_path: Path, is_declared: bool) -> None:
    """``is_declared``: the stream of events has a watermark before the query."""
    wr.spark.session()
    payments, labels = Folder(tmp_path / "events"), Folder(tmp_path / "labels")
    found: list[Any] = []
    late = 0
    for run, (known, asked) in enumerate(zip(EVENTS, LABELS, strict=True)):
        payments.write([known])
        labels.write([asked])
        rows = payments.stream(spark)
        rows = rows.withWatermark("ts", "1 hour") if is_declared else rows
        features = QUERY.run(rows, at=labels.stream(spark), at_time="at", at_by="user id")
        assert features.columns == ["user id", "at", "y", *QUERY.result_names]
        writer = features.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        output = tmp_path / f"output{run}"
        stream = writer.foreachBatch(keep_in(output)).trigger(availableNow=True).start()
        stream.awaitTermination()
        found += kept_in(output).to_pylist()
        late += counted(stream)["rows_late"]
    every, points = pa.concat_tables(EVENTS), pa.concat_tables(LABELS)
    in_time = every.filter(pc.field("shop") != "x")
    answered = points.filter(~pc.field("y").isin([6, 8]))
    expected = QUERY.run(in_time, at=answered, at_time="at", at_by="user id")
    assert_same_results(found, expected)
    assert late == 2


def test_streams_that_cannot_be_answered_are_refused(spark: Any, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "events")
    folder.write(EVENTS[:1])
    stream, frame = folder.stream(spark), spark.read.parquet(str(folder.path))
    labels = frame.select("user", "ts")
    start = wr.query(time="ts", by="user", watermark="1h")
    points = stream.select("user", "ts")
    for known, asked in ((stream, labels), (frame, points)):
        with pytest.raises(TypeError, match="give both as streams"):
            QUERY.run(known, at=asked)
    for query, message in (
        (wr.query(time="ts", by="user").asof("1h"), "a stream needs a watermark"),
        (start.asof("all", direction="forward"), "have no end on a stream"),
        (wr.query(time="ts", by="user", watermark="1h", late="return").asof("1h"), "gives each label once"),
    ):
        with pytest.raises(ValueError, match=message):
            query.agg(n=wr.count()).run(stream, at=points)
    said = start.asof("1h").agg(n=wr.count()).explain(stream)
    assert "as-of windows on streams: a result per label, over\n  [t - 1h, t)\n" in said
    assert "a label comes out once the watermark has passed what it may see" in said
