"""What the test of a packed environment runs as its driver: ``packed_job.py MASTER FOLDER``.

A query on a table, then a stream over the files in the folder; says where workers have windrow from."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow as wr
from support import connect_job

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def table_query() -> Any:
    """An aggregate that Spark does not know itself, so that workers fold rows, too."""
    query = wr.query(time="ts", by="key").window(wr.Sliding(20, slide=5))
    return query.agg(spread=wr.range("len"), n=wr.count())


def origins(batches: Iterable[Any]) -> Iterator[Any]:
    """Where a worker has windrow from."""
    import windrow

    for batch in batches:
        yield pa.record_batch({"origin": [windrow.__file__] * batch.num_rows})


def stream_results(spark: Any, folder: Path) -> list[Any]:
    """What a stream over the files writes, with a micro-batch for each."""
    reader = spark.readStream.schema(connect_job.SCHEMA).option("maxFilesPerTrigger", "1")
    stream = reader.parquet(str(folder / "input"))
    writer = connect_job.query().run(stream).writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("path", str(folder / "output"))
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    return list(spark.read.parquet(str(folder / "output")).collect())


def main(master: str, folder: Path) -> None:
    spark = wr.spark.session(SETTINGS, master=master)
    events = spark.read.schema(connect_job.SCHEMA).parquet(str(folder / "input"))
    results = {
        "table": [row.asDict() for row in table_query().run(events).collect()],
        "stream": [row.asDict() for row in stream_results(spark, folder)],
    }
    found = spark.range(0, 4, 1, 4).mapInArrow(origins, "origin string").distinct().collect()
    results["origins"] = [row.origin for row in found]
    (folder / "results.json").write_text(json.dumps(results))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
