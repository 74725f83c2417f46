"""A streaming job that reaches Spark by ``sc://``, in a process of its own: files in, one a micro-batch, and
Parquet out, through Spark's own file sink. It runs once over all files, goes on from its checkpoint, and then
writes what is there into one file.

    python connect_job.py URL FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr

SCHEMA = "ts long, key string, len long"
BEHIND = 10


def query() -> Any:
    q = wr.query(time="ts", by="key", watermark=BEHIND)
    q = q.window(slide=wr.Sliding(20, slide=5), visit=wr.Session(3))
    return q.agg(total=wr.sum("len"), n=wr.count())


def rows(batch: int, batches: int) -> pa.Table:
    """Twenty units of time, out of order by less than the watermark stays behind; the last batch is far
    ahead, so that all windows before it come out."""
    rng = np.random.default_rng(batch)
    times = batch * 20 + rng.integers(-9, 20, 30)
    if batch == batches - 1:
        times = np.array([batches * 20 + 1_000])
    keys = pa.array(["a", "b", None]).take(pa.array(rng.integers(0, 3, len(times))))
    return pa.table({"ts": times, "key": keys, "len": rng.integers(0, 50, len(times))})


def due(batches: int) -> list[dict[str, Any]]:
    """What comes out of so many batches, by the local engine."""
    found = query().run(pa.concat_tables(rows(number, batches) for number in range(batches))).to_pylist()
    return [row for row in found if row["window_end"] <= batches * 20 + 1_000 - BEHIND]


def main(url: str, folder: Path) -> None:
    spark = wr.spark.session({"spark.sql.shuffle.partitions": "2"}, remote=url)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(folder / "input"))
    writer = query().run(stream).writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("path", str(folder / "output"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.start().awaitTermination()
    found = spark.read.parquet(str(folder / "output")).toArrow()
    pq.write_table(found, folder / "found.parquet")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
