"""What the test of a standalone cluster runs as its driver: ``cluster_job.py master folder kill``.

Runs queries on many small partitions, prints their results as JSON, and says when the first tasks are done.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any


def main(master: str, folder: str) -> None:
    from pyspark.sql import SparkSession, functions

    import windrow as wr

    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    number = functions.col("id")
    slowly = functions.expr("IF(id % 5000 = 0, java_method('java.lang.Thread', 'sleep', 300L), NULL)")
    rows = spark.range(0, 40_000, 1, 8).select(
        number.alias("ts"), (number % 7).alias("key"), (number % 101).alias("v"), slowly.alias("wait")
    )
    rolling = wr.events(rows, time="ts", by="key").rolling(500).agg(total=wr.sum("v"), last=wr.last("v"))
    sliding = wr.events(rows, time="ts", by="key").window(wr.Sliding(1_000, slide=100)).agg(c=wr.range("v"))
    threading.Thread(target=_announce, args=(spark, Path(folder)), daemon=True).start()
    found: dict[str, Any] = {
        "rolling": rolling.agg(functions.sum("total"), functions.sum("last"), functions.count("*")).first(),
        "sliding": sliding.agg(functions.sum("c"), functions.count("*")).first(),
    }
    print("RESULT", json.dumps({name: list(row) for name, row in found.items()}), flush=True)
    spark.stop()


def expected() -> dict[str, Any]:
    """What it prints, computed on the local engine."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    import windrow as wr

    ids = np.arange(40_000)
    rows = pa.table({"ts": ids, "key": ids % 7, "v": ids % 101})
    query = wr.query(time="ts", by="key")
    rolling = query.rolling(500).agg(total=wr.sum("v"), last=wr.last("v")).run(rows)
    sliding = query.window(wr.Sliding(1_000, slide=100)).agg(c=wr.range("v")).run(rows)
    totals = [pc.sum(rolling[name]).as_py() for name in ("total", "last")]
    return {"rolling": [*totals, 40_000], "sliding": [pc.sum(sliding["c"]).as_py(), sliding.num_rows]}


def _announce(spark: Any, folder: Path) -> None:
    """Write a file once a task has run."""
    tracker = spark.sparkContext.statusTracker()
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numCompletedTasks for stage in stages):
            (folder / "running").touch()
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:3])
