"""A stream that begins with history, against one that goes through it: the same rows, the same state.

Run: ``python bench/history.py`` (``--quick``: a tenth of the keys; ``--keys``, ``--days``).
Every key has a row per day. One stream has the state of all days but the last ones computed in batch, and
takes those live, one micro-batch per day; the other takes every day live. Both have sliding windows of all
days, by day, and write parquet. Seconds are those that Spark reports of micro-batches, after streams that
warm the JVM and load kernels. What the two say about the last days is compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from common import heading, machine, progress, table, verdict
from sections.spark_session import spark_session

import windrow as wr

DAY_US = 86_400_000_000
START_US = 1_700_000_000_000_000 // DAY_US * DAY_US
#: days that both take live
LIVE_DAYS = 8
SCHEMA = "key long, ts timestamp, v double"
GOAL, FIRST_GOAL = 20, 2


def write_days(folder: Path, keys: int, first: int, last: int) -> Path:
    """A file per day, in which each key has a row."""
    folder.mkdir()
    for day in range(first, last):
        chance = np.random.default_rng(day)
        times = START_US + day * DAY_US + chance.integers(0, DAY_US, keys)
        columns = [np.arange(keys), pa.array(times, pa.timestamp("us", "UTC")), chance.random(keys)]
        file = folder / f"{day:05}.parquet"
        pq.write_table(pa.table(columns, names=["key", "ts", "v"]), file)
        os.utime(file, (1_700_000_000 + day,) * 2)  # the source takes them in this order
    return folder


class Bench:
    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self._number = spark, folder, 0

    def run(self, query: Any, live: Path, **history: Any) -> tuple[list[float], pa.Table]:
        """Seconds of each micro-batch with rows, and the results."""
        self._number += 1
        out = self.folder / f"out{self._number}"
        source = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(live))
        writer = query.run(source, **history).writeStream.format("parquet").option("path", str(out))
        point = str(self.folder / f"point{self._number}")
        stream = writer.option("checkpointLocation", point).trigger(availableNow=True).start()
        stream.awaitTermination()
        rows = [p for p in stream.recentProgress if p["numInputRows"]]
        return [p["durationMs"]["triggerExecution"] / 1000 for p in rows], pq.read_table(out)


def measure(bench: Bench, keys: int, days: int) -> None:
    cut = days - LIVE_DAYS
    query = (
        wr.query(time="ts", by="key", watermark="1 hour")
        .window(wr.Sliding(f"{days}d", slide="1d"))
        .agg(total=wr.sum("v"), n=wr.count())
    )
    progress("writing files")
    past = write_days(bench.folder / "past", keys, 0, cut)
    live = write_days(bench.folder / "live", keys, cut, days)
    every = write_days(bench.folder / "every", keys, 0, days)
    until = np.datetime64(START_US + cut * DAY_US, "us").item()
    history = {"history": bench.spark.read.schema(SCHEMA).parquet(str(past)), "history_until": until}
    progress("warming the JVM")
    few = write_days(bench.folder / "few", 1_000, 0, 20)
    bench.run(query, few)
    bench.run(query, few, **history | {"history": history["history"].limit(10_000)})
    progress("history in batch, then live")
    with_history, found = bench.run(query, live, **history)
    progress(f"the first micro-batch took {with_history[0]:.1f} s, the others {sum(with_history[1:]):.1f} s")
    progress("all days live")
    replayed, truth = bench.run(query, every)
    check(found, truth, until)
    steady = statistics.median(with_history[3:])
    built, replay = with_history[0] - steady, sum(replayed[:cut])
    heading(f"{cut} days of {keys:,} keys", "a row per key and day; sliding windows of all days, by day")
    rows = [
        {"what": "in batch, s", "figure": built, "goal": ""},
        {"what": "through the stream, s", "figure": replay, "goal": ""},
        {"what": "ratio", "figure": replay / built, "goal": verdict(replay / built >= GOAL)},
        {"what": "micro-batch after it / steady", "figure": with_history[1] / steady, "goal": ""},
    ]
    rows[-1]["goal"] = verdict(rows[-1]["figure"] <= FIRST_GOAL)
    table(rows, figure=".2f")


def check(found: pa.Table, truth: pa.Table, until: Any) -> None:
    """Windows that ended after the cut, and by the watermark of both, are the same."""

    def after(rows: pa.Table) -> dict[Any, Any]:
        ends = rows["window_end"].cast(pa.timestamp("us"))
        kept = rows.filter(pc.greater(ends, pa.scalar(until, pa.timestamp("us")))).to_pylist()
        return {(row["key"], row["window_end"]): (round(row["total"], 6), row["n"]) for row in kept}

    mine, theirs = after(found), after(truth)
    shared = mine.keys() & theirs.keys()
    wrong = [key for key in shared if mine[key] != theirs[key]]
    if wrong or len(shared) < min(len(mine), len(theirs)) or not shared:
        raise SystemExit(f"the two differ: {len(wrong)} of {len(shared)} windows, {len(mine)}, {len(theirs)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--quick", action="store_true", help="10,000 keys")
    parser.add_argument("--memory", default="4g", help="of the driver")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
    spark = spark_session(given.memory, spark_sql_streaming_numRecentProgressUpdates="1000")
    try:
        for name, value in machine().items():
            print(f"{name}: {value}")
        measure(Bench(spark, folder), 10_000 if given.quick else given.keys, given.days)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
