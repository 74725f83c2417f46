"""A streaming job in a process of its own, to be killed: files in, one a micro-batch; results out, a folder a
micro-batch, written anew if the micro-batch is run again. Where the folder has a file past.parquet, the
stream begins with it, and makes a file ``reads`` when it begins to read it, ``has_read`` when it has. With
CHECKPOINT and PARTITIONS, it goes on from a copy of that checkpoint, rescaled, which it makes if it is not
there yet.

    python chaos_job.py FOLDER MASTER [CHECKPOINT PARTITIONS]
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr

SCHEMA = "ts timestamp, region string, len long"
#: where history ends
HISTORY_UNTIL = datetime(2024, 5, 1, 0, 30, tzinfo=UTC)
#: the file that asks for Spark's own plan
GROUPED = "grouped"
#: seconds that reading history takes at least
READING = 3.0
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    # on a busy machine, Python workers and heartbeats may take longer than Spark's defaults allow
    "spark.network.timeout": "30m",
    "spark.python.authenticate.socketTimeout": "30m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def grouped_query() -> Any:
    """A query on Spark's own plan."""
    q = wr.query(time="ts", by="region", watermark="2m", late="drop", plan="spark").window(
        minute=wr.Tumbling("1m")
    )
    return q.agg(n=wr.count(), longest=wr.max("len"))


def query() -> Any:
    q = wr.query(time="ts", by="region", watermark="2m")
    q = q.window(slide=wr.Sliding("10m", slide="1m"), visit=wr.Session("20s"), five=wr.Rows(5))
    return q.agg(n=wr.count(), total=wr.sum("len"), longest=wr.max("len"))


def results(folder: Path) -> list[Any]:
    """What the job has given for all micro-batches."""
    tables = [pq.read_table(each) for each in sorted((folder / "output").iterdir())]
    return pa.concat_tables(tables).to_pylist()


def rescaled(folder: Path, checkpoint: str, partitions: str) -> Path:
    """Where the job goes on from a checkpoint with so many partitions."""
    return folder / f"{checkpoint}-{partitions}"


def slowly(folder: Path, rows: Any) -> Any:
    """The rows of a DataFrame, read so slowly that there is time to kill what reads them."""

    def read(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            (folder / "reads").touch()
            time.sleep(READING)
            yield batch
        (folder / "has_read").touch()

    return rows.mapInArrow(read, rows.schema)


def main(folder: Path, master: str, checkpoint: str = "checkpoint", partitions: str = "2") -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    own = {"spark.sql.shuffle.partitions": partitions, "spark.windrow.buckets": "8"}
    spark = wr.spark.session(SETTINGS | own, master=master)
    spark.sparkContext.setLogLevel("ERROR")
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(folder / "input"))

    def write(frame: Any, number: int) -> None:
        target, fresh = folder / "output" / f"{number:05}", folder / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        frame.write.parquet(str(fresh))
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)  # a folder is there whole, or not at all

    past, history = folder / "past.parquet", dict[str, Any]()
    if past.exists():
        rows = spark.read.schema(SCHEMA).parquet(str(past))
        history = {"history": slowly(folder, rows), "history_until": HISTORY_UNTIL}
    point = folder / checkpoint
    if partitions != "2":
        point = rescaled(folder, checkpoint, partitions)
        if not point.exists():
            wr.spark.rescale(str(folder / checkpoint), int(partitions), str(point), spark)
    asked = grouped_query() if (folder / GROUPED).exists() else query()
    frame = asked.run(stream, **history)
    writer = frame.writeStream.option("checkpointLocation", str(point))
    writer.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
    (folder / "done").touch()


if __name__ == "__main__":
    (Path(sys.argv[1]) / "output").mkdir(exist_ok=True)
    main(Path(sys.argv[1]), *sys.argv[2:])
