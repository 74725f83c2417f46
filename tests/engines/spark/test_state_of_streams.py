"""The state of a stream knows which stream it is of, across restarts, and refuses to go on in another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.stream_source import Source
from windrow.engines.spark.streaming.checkpoint import entries_of, operators_of
from windrow.engines.spark.streaming.processor import FENCE, HEADER
from windrow.engines.spark.worker.streaming.step import bucket_place
from windrow.engines.stream.persistence.bound_entries import read_header
from windrow.state.codec import checksum_of

QUERY = wr.query(time="ts", by="key", watermark=5).window(wr.Session(3)).agg(s=wr.sum("v"))


def rows(start: int) -> pa.Table:
    times = list(range(start, start + 20))
    return pa.table({"ts": times, "key": ["abcdefgh"[t % 8] for t in times], "v": [1.0] * 20})


def entries(source: Source) -> dict[int, dict[str, bytes]]:
    found: dict[int, dict[str, bytes]] = {}
    (operator,) = operators_of(source.checkpoint, source.spark)
    for bucket, name, data in entries_of(source.checkpoint, source.spark, operator).collect():
        found.setdefault(bucket, {})[name] = bytes(data)
    return found


def run(source: Source) -> None:
    """To the end of the input, by jobs of the stream's own: those that ``foreachBatch`` starts on Spark
    Connect do not know whose they are."""
    rows = source.spark.readStream.schema(source.schema).option("maxFilesPerTrigger", "1")
    writer = QUERY.run(rows.parquet(str(source.input))).writeStream.format("noop")
    writer = writer.option("checkpointLocation", source.checkpoint).trigger(availableNow=True)
    writer.start().awaitTermination()


def check(source: Source, query_id: str) -> None:
    for bucket, named in entries(source).items():
        assert read_header(named[HEADER], bucket_place(bucket))["owner"] == query_id
        assert named[FENCE] == checksum_of(named[HEADER]).to_bytes(4, "big")


def test_state_is_of_one_stream_across_restarts_and_refused_in_another(spark: Any, tmp_path: Path) -> None:
    with Source.in_folder(spark, tmp_path, "ts long, key string, v double") as source:
        metadata = Path(source.checkpoint) / "metadata"
        source.write([rows(0), rows(20)])
        run(source)
        query_id = json.loads(metadata.read_text())["id"]
        check(source, query_id)
        source.write([rows(40)])
        run(source)
        check(source, query_id)
        assert wr.spark.inspect_state(source.checkpoint, spark).num_rows > 0
        wr.spark.check_checkpoint(QUERY, source.checkpoint, spark)
        # the same state under the id of another stream is what a bucket of another checkpoint would be
        other = "00000000-0000-0000-0000-000000000000"
        metadata.write_text(json.dumps({"id": other}))
        (metadata.parent / ".metadata.crc").unlink(missing_ok=True)
        source.write([rows(60)])
        with pytest.raises(Exception, match=f"of another stream, '{query_id}', and this is '{other}'"):
            run(source)
