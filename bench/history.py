"""A stream that begins with history, against one that goes through it: the same rows, the same state.

Run: ``python bench/history.py`` (``--quick``: a tenth of the keys; ``--keys``, ``--days``; ``--only floor``:
what of it Spark takes by itself, without the replay).
Every key has a row per day. One stream has the state of all days but the last ones computed in batch, and
takes those live, one micro-batch per day; the other takes every day live. Both have sliding windows of all
days, by day, and write parquet. Seconds are those that Spark reports of micro-batches, after streams that
warm the JVM and load kernels. What the two say about the last days is compared.

The floor is what Spark takes for the same plan over the same rows, with blobs and entries of as many bytes,
where nothing is computed (:mod:`sections.history_floor`). Before it, what parts of it take by themselves: the
scan, rows crossing to Python tasks that drop them, and a first micro-batch beyond a steady one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from common import heading, machine, names_among, progress, table, verdict
from sections.history_floor import Sizes, nothing_computed
from sections.spark_session import spark_session

import windrow as wr
from windrow.engines.spark.streaming.history import history_blobs
from windrow.engines.spark.streaming.run import bucket_numbers

DAY_US = 86_400_000_000
START_US = 1_700_000_000_000_000 // DAY_US * DAY_US
#: days that both take live
LIVE_DAYS = 8
SCHEMA = "key long, ts timestamp, v double"
GOAL, FIRST_GOAL = 20, 2
PARTS = ["ratio", "floor"]


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


@dataclass(frozen=True)
class Ran:
    """What Spark reports of the micro-batches with rows, and the results."""

    progresses: list[Any]
    results: pa.Table

    @property
    def seconds(self) -> list[float]:
        return [p["durationMs"]["triggerExecution"] / 1000 for p in self.progresses]

    @property
    def beginning(self) -> float:
        """The seconds of the first micro-batch beyond those of a steady one."""
        return self.seconds[0] - statistics.median(self.seconds[3:])


class Bench:
    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self._number = spark, folder, 0

    def run(self, stream: Callable[[Any], Any], live: Path) -> Ran:
        """The stream of rows of these files, one a micro-batch."""
        self._number += 1
        out = self.folder / f"out{self._number}"
        source = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(live))
        writer = stream(source).writeStream.format("parquet").option("path", str(out))
        point = str(self.folder / f"point{self._number}")
        running = writer.option("checkpointLocation", point).trigger(availableNow=True).start()
        running.awaitTermination()
        return Ran([p for p in running.recentProgress if p["numInputRows"]], pq.read_table(out))


@dataclass(frozen=True)
class Given:
    """Files of days, and the query over them."""

    query: Any
    keys: int
    cut: int
    live: Path
    every: Path
    history: dict[str, Any]


def prepared(bench: Bench, keys: int, days: int) -> Given:
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
    bench.run(query.run, few)
    bench.run(lambda source: query.run(source, **begun(history, 10_000)), few)
    return Given(query, keys, cut, live, every, history)


def begun(history: dict[str, Any], rows: int) -> dict[str, Any]:
    """The same with few rows of history."""
    return history | {"history": history["history"].limit(rows)}


def measure(bench: Bench, given: Given, only: list[str]) -> None:
    progress("history in batch, then live")
    built = bench.run(lambda source: given.query.run(source, **given.history), given.live)
    progress(
        f"the first micro-batch took {built.seconds[0]:.1f} s, the others {sum(built.seconds[1:]):.1f} s"
    )
    rows = [{"what": "in batch, s", "figure": built.beginning, "goal": ""}]
    replay = None
    if "ratio" in only:
        progress("all days live")
        replayed = bench.run(given.query.run, given.every)
        check(built.results, replayed.results, given.history["history_until"])
        replay = sum(replayed.seconds[: given.cut])
        ratio, after = replay / built.beginning, built.seconds[1] / statistics.median(built.seconds[3:])
        rows += [
            {"what": "through the stream, s", "figure": replay, "goal": ""},
            {"what": "ratio", "figure": ratio, "goal": verdict(ratio >= GOAL)},
            {"what": "micro-batch after it / steady", "figure": after, "goal": verdict(after <= FIRST_GOAL)},
        ]
    title = f"{given.cut} days of {given.keys:,} keys"
    heading(title, "a row per key and day; sliding windows of all days, by day")
    table(rows, figure=".2f")
    if "floor" in only:
        found = list(floor(bench, given, built, replay))
        heading(f"{title}: what Spark takes by itself", "the same plan, rows and bytes, nothing computed")
        table(found, figure=".2f")


def floor(bench: Bench, given: Given, built: Ran, replay: float | None) -> Iterator[dict[str, Any]]:
    """What Spark takes by itself."""
    past = given.history["history"]
    progress("the floor: scanning")
    yield {"what": "scan, s", "figure": seconds_of(past)}
    progress("the floor: rows to Python")
    crossing = past.mapInArrow(dropped, "key long")
    yield {"what": "scan, and rows to Python, s", "figure": seconds_of(crossing)}
    progress("the floor: no history")
    begun_alone = bench.run(given.query.run, given.live).beginning
    yield {"what": "the first micro-batch without history, s", "figure": begun_alone}
    sizes = sizes_of(bench, given, built)
    progress(
        f"the floor: {sizes.blobs} blobs of {sizes.blob_bytes:,} bytes in all, {sizes.entries} entries of "
        f"{sizes.entry_bytes:,}"
    )
    found = bench.run(
        lambda source: nothing_computed(given.query, source, sizes, **given.history), given.live
    ).beginning
    progress("history in batch, once more")
    again = bench.run(lambda source: given.query.run(source, **given.history), given.live).beginning
    yield {"what": "floor: all of it, s", "figure": found}
    yield {"what": "in batch once more, in a JVM as warm, s", "figure": again}
    yield {"what": "in batch / floor", "figure": again / found}
    if replay is not None:
        yield {"what": "ratio at the floor", "figure": replay / found}


def seconds_of(frame: Any) -> float:
    """The seconds that Spark takes for the rows of a DataFrame, which go nowhere; the second time."""
    for _ in range(2):
        start = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def dropped(batches: Iterable[Any]) -> Iterator[Any]:
    for _ in batches:
        pass
    yield from ()


def sizes_of(bench: Bench, given: Given, built: Ran) -> Sizes:
    """What a stream that begins with history sends and stores."""
    past, first = given.history["history"], built.progresses[0]
    until = START_US + given.cut * DAY_US
    buckets = bucket_numbers(given.query, bench.spark)
    blobs = history_blobs(given.query, past, past, buckets, until)
    count, total = blobs.selectExpr("count(blob)", "sum(length(blob))").first()
    puts = first["stateOperators"][0]["customMetrics"]["rocksdbPutCount"]
    (counts,) = wr.spark.stream_counts(first).values()
    return Sizes(given.keys * given.cut, count, total, puts, counts["state_bytes_written"])


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
    parser.add_argument(
        "--only", type=names_among(PARTS), default=PARTS, metavar="NAMES", help=", ".join(PARTS)
    )
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
    spark = spark_session(given.memory, spark_sql_streaming_numRecentProgressUpdates="1000")
    try:
        for name, value in machine().items():
            print(f"{name}: {value}")
        bench = Bench(spark, folder)
        measure(bench, prepared(bench, 10_000 if given.quick else given.keys, given.days), given.only)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
