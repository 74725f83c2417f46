"""Streams into tables of Delta and Iceberg, in processes of their own: a program to be killed, and one that
reads the tables back.

    python table_program.py run|read FOLDER FORMAT SETTINGS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import windrow as wr
from support.chaos_job import SETTINGS

SCHEMA = "ts timestamp, region string, len long"
NAMES = ("results", "late", "rejected")


def query(**settings: Any) -> Any:
    found = wr.query(time="ts", by="region", watermark="2m", **settings)
    return found.window(slide=wr.Sliding("10m", slide="1m")).agg(n=wr.count(), total=wr.sum("len"))


def table(folder: Path, form: str, name: str) -> str:
    """A table in the catalog of Iceberg; of Delta, a folder."""
    return f"own.calls.{name}" if form == "iceberg" else str(folder / name)


def run(spark: Any, folder: Path, form: str) -> None:
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(folder / "input"))
    frame = query().run(stream)
    writer = frame.writeStream.format(form).option("checkpointLocation", str(folder / "checkpoint"))
    writer = writer.trigger(availableNow=True)
    place = table(folder, form, "results")
    running = writer.toTable(place) if form == "iceberg" else writer.start(place)
    running.awaitTermination()


def read(spark: Any, folder: Path, form: str) -> None:
    tables = folder / "warehouse" / "calls" if form == "iceberg" else folder
    for name in NAMES:
        if (tables / name).exists():
            found = spark.read.format(form).load(table(folder, form, name))
            pq.write_table(found.toArrow(), folder / f"{name}.parquet")


if __name__ == "__main__":
    what, place, form = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    settings = SETTINGS | {"spark.sql.shuffle.partitions": "1"} | json.loads(sys.argv[4])
    session = wr.spark.session(settings, master="local[2]")
    session.sparkContext.setLogLevel("ERROR")
    {"run": run, "read": read}[what](session, place, form)
