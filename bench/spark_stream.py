"""Spark streams: windrow against what Spark has, on the same micro-batches in one session.

Run: ``python bench/spark_stream.py`` (``--quick``, ``--only`` with names of sections below; ``--keys 10`` and
``--overlap 1`` leave out the other lines of ``windows``).
Both sides read the same parquet files, one micro-batch after the other, into the ``noop`` sink, with RocksDB
and changelog checkpointing, in a session that :func:`windrow.spark.session` made. Seconds are the median of
steady micro-batches: all but the first ones, which load kernels and fill the windows, after streams of both
sides that warm the JVM. A ratio is Spark's seconds over windrow's on the same rows.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import heading, machine, names_among, progress, table
from sections.spark_aggregates import in_streams
from sections.spark_session import spark_session
from sections.stream_floor import executions_since, last_execution, medians, parts_left_out

import windrow as wr

MINUTE_US = 60_000_000
START_US = 1_700_000_000_000_000 // (1_440 * MINUTE_US) * (1_440 * MINUTE_US)
#: files of a micro-batch: a task each
FILES = 2
WATERMARK = "2 minutes"
#: in which order windrow (w) and Spark (s) run; once where Spark takes minutes
TURNS, ONCE = "wssw", "ws"
Row = dict[str, Any]
Stream = Callable[[Any], Any]


@dataclass(frozen=True)
class Input:
    """So many micro-batches of so many rows, each of so many minutes (by default ten are a day); rows are out
    of order by a minute.

    ``active``: the share of the keys that have rows in a micro-batch, always the same ones; all keys have a
    row in the first."""

    rows: int
    batches: int
    keys: int
    minutes: float = 144.0
    active: float = 1.0

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.rows}-{self.batches}-{self.keys}-{self.minutes}-{self.active}"
        if path.exists():
            return path
        path.mkdir()
        chance = np.random.default_rng(7)
        span = int(self.minutes * MINUTE_US)
        for batch, part in itertools.product(range(self.batches), range(FILES)):
            count = self.rows // FILES
            times = np.sort(chance.integers(0, span, count)) + START_US + batch * span
            times -= chance.integers(0, MINUTE_US, count)
            some = max(1, int(self.keys * self.active))
            keys = chance.integers(0, self.keys if batch == 0 else some, count)
            columns = [
                pa.array(keys),
                pa.array(times, pa.timestamp("us", "UTC")),
                pa.array(chance.random(count)),
            ]
            file = path / f"{batch:05}-{part}.parquet"
            pq.write_table(pa.table(columns, names=["key", "ts", "v"]), file)
            os.utime(file, (1_700_000_000 + batch * FILES + part,) * 2)  # the source takes them in this order
        return path


@dataclass(frozen=True)
class Ran:
    """What Spark reports of a stream, micro-batches with rows only."""

    progresses: list[Any]
    checkpoint: Path

    def steady(self, first: int) -> float:
        """Seconds of a micro-batch, the first ones left out."""
        return statistics.median(self.seconds[first:])

    @property
    def seconds(self) -> list[float]:
        return [p["durationMs"]["triggerExecution"] / 1000 for p in self.progresses]

    def state(self) -> Any:
        return self.progresses[-1]["stateOperators"][0]

    def counts(self, name: str) -> list[int]:
        each = [counts for p in self.progresses for counts in wr.spark.stream_counts(p).values()]
        return [int(counts[name]) for counts in each]


class Bench:
    """Files on disk, and streams over them."""

    def __init__(self, spark: Any, folder: Path, keys: int | None = None, overlap: int | None = None) -> None:
        self.spark = spark
        self._folder = folder
        self._wanted = (keys, overlap)
        self._number = itertools.count()

    def wants(self, keys: int, overlap: int) -> bool:
        """Whether a line of ``windows`` was asked for."""
        return all(asked in (None, found) for asked, found in zip(self._wanted, (keys, overlap), strict=True))

    def run(self, given: Input, stream: Stream, mode: str = "append") -> Ran:
        return self.run_all(given, [stream], mode)[0]

    def run_all(self, given: Input, streams: list[Stream], mode: str = "append") -> list[Ran]:
        """Queries over the same files, all running at once."""
        files = given.write(self._folder)
        queries = []
        for stream in streams:
            source = (
                self.spark.readStream.schema("key long, ts timestamp, v double")
                .option("maxFilesPerTrigger", FILES)
                .parquet(str(files))
            )
            checkpoint = self._folder / f"checkpoint-{next(self._number)}"
            writer = stream(source).writeStream.format("noop").outputMode(mode)
            writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
            queries.append((writer.start(), checkpoint))
        for query, _ in queries:
            query.awaitTermination()
        return [
            Ran([p for p in query.recentProgress if p["numInputRows"]], checkpoint)
            for query, checkpoint in queries
        ]


def spark_windows(size: str, slide: str) -> Stream:
    from pyspark.sql import functions

    def stream(source: Any) -> Any:
        window = functions.window("ts", size, slide)
        timed = source.withWatermark("ts", WATERMARK)
        return timed.groupBy("key", window).agg(functions.sum("v"), functions.count("*"))

    return stream


def windrow_windows(*windows: Any, **options: Any) -> Stream:
    def stream(source: Any) -> Any:
        named = {f"w{k}": window for k, window in enumerate(windows)}
        query = wr.events(source, time="ts", by="key", watermark=WATERMARK, **options)
        chosen = query.window(windows[0]) if len(windows) == 1 else query.window(**named)
        return chosen.agg(s=wr.sum("v"), n=wr.count())

    return stream


def sliding(overlap: int) -> Any:
    return wr.Tumbling("1m") if overlap == 1 else wr.Sliding(f"{overlap}m", slide="1m")


def steady(
    bench: Bench, given: Input, mine: Stream, peer: Stream, first: int, turns: str = TURNS
) -> tuple[float, float]:
    """Seconds of a micro-batch of either side, the first ones of each stream left out. The machine's pace
    drifts and the JVM warms up meanwhile, so the sides take turns: windrow (``w``) and Spark (``s``)."""
    seconds: dict[str, list[float]] = {"w": [], "s": []}
    for side in turns:
        seconds[side] += bench.run(given, mine if side == "w" else peer).seconds[first:]
    return statistics.median(seconds["w"]), statistics.median(seconds["s"])


def windows(bench: Bench, rows: int) -> Iterator[Row]:
    """Sums and counts over windows of 1 and 60 minutes, each minute."""
    for keys, overlap, each, batches, turns in _sizes(rows):
        if not bench.wants(keys, overlap):
            continue
        # the same stream, taken in larger pieces: ten times the rows are ten times the minutes
        given = Input(each, batches, keys, minutes=144.0 * max(1.0, each / rows))
        progress(f"windows, overlap {overlap}, {keys} keys")
        mine, peer = windrow_windows(sliding(overlap)), spark_windows(f"{overlap} minutes", "1 minute")
        found = steady(bench, given, mine, peer, batches // 2, turns)
        yield _line(f"overlap {overlap}", keys, each, *found)


def _sizes(rows: int) -> Iterator[tuple[int, int, int, int, str]]:
    """Keys, overlap, rows of a micro-batch, their number, of which the second half is measured, and turns."""
    for keys, turns in ((10, TURNS), (1_000, ONCE), (10_000, ONCE)):
        yield keys, 1, rows, 40, turns
        yield keys, 1, 10 * rows, 12, turns
    for keys, batches, turns in ((10, 24, TURNS), (1_000, 16, ONCE), (10_000, 4, ONCE)):
        yield keys, 60, rows, batches, turns
    for keys in (10, 1_000):
        yield keys, 60, 10 * rows, 6, TURNS


def day(bench: Bench, rows: int) -> Iterator[Row]:
    """The same over windows of 1,440 minutes. A micro-batch takes Spark a minute or more, so there are five,
    the last two of them measured, and with many keys of fewer rows."""
    for keys, share in ((1_000, 1), (10, 1), (10_000, 10)):
        given = Input(rows // share, 5, keys)
        progress(f"windows, overlap 1440, {keys} keys")
        mine, peer = windrow_windows(sliding(1_440)), spark_windows("1440 minutes", "1 minute")
        yield _line("overlap 1440", keys, given.rows, *steady(bench, given, mine, peer, 3, "wwsww"))


def state(bench: Bench, rows: int) -> Iterator[Row]:
    """Rows and bytes of state at overlap 1,440; a key has about so many rows a day."""
    for a_day in (6, 144, 1_440):
        keys = 100 if a_day < 1_440 else 10
        given = Input(keys * a_day // 8, 10, keys, minutes=180)
        progress(f"state, {a_day} rows a day and key")
        mine = bench.run(given, windrow_windows(sliding(1_440)))
        peer = bench.run(given, spark_windows("1440 minutes", "1 minute"))
        spark = bench.spark
        held = _entries(spark, mine).selectExpr("count(*) n", "sum(length(user_map_value.value)) b").first()
        entries, size = held.n, held.b
        peer_rows = spark.read.format("statestore").load(str(peer.checkpoint)).count()
        # key, start, end, sum, count: 8 bytes each, without what Spark and RocksDB add
        peer_bytes = peer_rows * 40
        yield {
            "rows a day and key": a_day,
            "keys": keys,
            "windrow entries": entries,
            "spark entries": peer_rows,
            "entries, times fewer": peer_rows / entries,
            "windrow bytes per key": size / keys,
            "spark bytes per key": peer_bytes / keys,
            "bytes, times fewer": peer_bytes / size,
        }


def _entries(spark: Any, ran: Ran) -> Any:
    """What is in the state of a windrow stream."""
    return spark.read.format("statestore").option("stateVarName", "entries").load(str(ran.checkpoint))


def shared(bench: Bench, rows: int) -> Iterator[Row]:
    """Ten windows in one query, against ten Spark queries that run at once."""
    sizes = (5, 10, 15, 20, 30, 40, 45, 50, 60, 90)
    given = Input(rows, 6, 1_000)
    progress("ten windows")
    mine = bench.run(given, windrow_windows(*(wr.Sliding(f"{m}m", slide="1m") for m in sizes)))
    begun = time.perf_counter()
    peers = bench.run_all(given, [spark_windows(f"{m} minutes", "1 minute") for m in sizes])
    progress(f"ten Spark queries took {time.perf_counter() - begun:.0f} s")
    # they share the machine, so that a micro-batch of each takes as long as one of all
    together = statistics.mean(peer.steady(2) for peer in peers)
    yield _line("ten windows in one query, against ten queries", 1_000, rows, mine.steady(2), together)


def sessions(bench: Bench, rows: int) -> Iterator[Row]:
    """Sessions with gaps that close most of them within a micro-batch, and with gaps that close few."""
    from pyspark.sql import functions

    for keys, gap in itertools.product((10, 1_000, 10_000), (5, 600)):

        def spark_s(source: Any, gap: int = gap) -> Any:
            window = functions.session_window("ts", f"{gap} seconds")
            timed = source.withWatermark("ts", WATERMARK)
            return timed.groupBy("key", window).agg(functions.sum("v"), functions.count("*"))

        given = Input(rows, 10, keys)
        progress(f"sessions with a gap of {gap} s, {keys} keys")
        found = steady(bench, given, windrow_windows(wr.Session(f"{gap}s")), spark_s, 4)
        yield _line(f"sessions, gap {gap} s", keys, rows, *found)


def touched(bench: Bench, rows: int) -> Iterator[Row]:
    """Bytes that a micro-batch touches: 24 h / 1 min, 10,000 keys, all active or one in a hundred."""
    for active in (1.0, 0.01):
        given = Input(max(10_000, rows // 10), 12, 10_000, active=active)
        progress(f"bytes touched, {active:.0%} of the keys active")
        mine = bench.run(given, windrow_windows(sliding(1_440)))
        size = _entries(bench.spark, mine).selectExpr("sum(length(user_map_value.value)) b").first().b
        yield {
            "active keys": f"{active:.0%}",
            "state bytes": size,
            "read": statistics.median(mine.counts("state_bytes_read")[4:]),
            "written": statistics.median(mine.counts("state_bytes_written")[4:]),
            "share written": statistics.median(mine.counts("state_bytes_written")[4:]) / size,
            "seconds": mine.steady(4),
            "results": mine.counts("windows_fired")[-1],
        }


def rolling(bench: Bench, rows: int) -> Iterator[Row]:
    """A result per row, over windows of more and more rows: the cost of a row should not grow."""
    for minutes in (1, 15, 150):
        given = Input(rows, 14, 10)

        def stream(source: Any, minutes: int = minutes) -> Any:
            query = wr.events(source, time="ts", by="key", watermark=WATERMARK)
            return query.rolling(f"{minutes}m").agg(s=wr.sum("v"), most=wr.max("v"))

        progress(f"rolling over {minutes} minutes")
        mine = bench.run(given, stream)
        yield {
            "window": f"{minutes} min",
            "rows in it": int(rows * minutes / given.minutes),
            "µs a row": mine.steady(11) / rows * 1e6,
            "read": statistics.median(mine.counts("state_bytes_read")[11:]),
            "written": statistics.median(mine.counts("state_bytes_written")[11:]),
        }


def fixed(bench: Bench, rows: int) -> Iterator[Row]:
    """Seconds of a micro-batch of 100 rows: what each costs, however few rows it has."""
    given = Input(100, 20, 10)
    progress("micro-batches of 100 rows")
    found = steady(bench, given, windrow_windows(sliding(60)), spark_windows("60 minutes", "1 minute"), 8)
    yield _line("micro-batches of 100 rows", 10, 100, *found)


def floor(bench: Bench, rows: int) -> Iterator[Row]:
    """Windows of a minute, ten keys: windrow, its plan without each of its parts, a query on Spark's own
    plan, and Spark's own window(). Each line has what Spark tells of where a micro-batch's time goes. What
    steps that do nothing take is Spark's: planning, two stages of Python tasks, state and its commit."""
    given = Input(rows, 24, 10)
    sides = parts_left_out(windrow_windows(sliding(1)))
    sides["on Spark's plan"] = windrow_windows(sliding(1), late="drop", plan="spark")
    sides["spark"] = spark_windows("1 minute", "1 minute")
    progresses: dict[str, list[Any]] = {side: [] for side in sides}
    executions: dict[str, list[Row]] = {side: [] for side in sides}
    for side in [*sides, *reversed(sides)]:
        progress(f"floor, {side}")
        before = last_execution(bench.spark)
        progresses[side] += bench.run(given, sides[side]).progresses[given.batches // 2 :]
        executions[side] += executions_since(bench.spark, before)[given.batches // 2 : given.batches]
    parts = {side: medians(progresses[side], executions[side]) for side in sides}
    for side, row in parts.items():
        ratio = parts["spark"]["triggerExecution s"] / row["triggerExecution s"]
        yield {"what": side, "ratio": ratio} | row


def aggregates(bench: Bench, rows: int) -> Iterator[Row]:
    """Quantiles and sketches over windows of 1 and 60 minutes, each minute."""

    def given(overlap: int, keys: int) -> Input:
        few = overlap > 1 and keys > 1_000
        return Input(rows // 10 if few else rows, 4 if few else 12, keys)

    def pair(data: Input, mine: Stream, peer: Stream) -> tuple[float, float]:
        return steady(bench, data, mine, peer, data.batches // 2, ONCE)

    yield from in_streams(pair, given, _line)


def first(bench: Bench, rows: int) -> Iterator[Row]:
    """The first micro-batch of a stream beside its later ones: Spark asks for the variables of the state, and
    what a stream needs is loaded. The session has run other streams, and kernels are on disk."""
    given = Input(rows, 12, 10)
    sides = {"windrow": windrow_windows(sliding(1)), "spark": spark_windows("1 minute", "1 minute")}
    for side, stream in sides.items():
        progress(f"the first micro-batch, {side}")
        runs = [bench.run(given, stream) for _ in range(3)]
        begun = statistics.median(run.seconds[0] for run in runs)
        later = statistics.median(seconds for run in runs for seconds in run.seconds[4:])
        yield {"what": side, "first s": begun, "steady s": later, "first / steady": begun / later}


def _line(what: str, keys: int, rows: int, mine: float, peer: float) -> Row:
    progress(f"{what}, {keys} keys: {peer / mine:.2f}")
    return {
        "what": what,
        "keys": keys,
        "rows a micro-batch": rows,
        "windrow s": mine,
        "spark s": peer,
        "ratio": peer / mine,
    }


SECTIONS = {
    "windows": windows,
    "aggregates": aggregates,
    "day": day,
    "state": state,
    "shared": shared,
    "sessions": sessions,
    "touched": touched,
    "rolling": rolling,
    "fixed": fixed,
    "floor": floor,
    "first": first,
}
FORMATS = {
    "rows a micro-batch": ",",
    "windrow s": ".2f",
    "spark s": ".2f",
    "ratio": ".2f",
    "first s": ".2f",
    "steady s": ".2f",
    "first / steady": ".1f",
    "windrow entries": ",",
    "spark entries": ",",
    "entries, times fewer": ",.0f",
    "windrow bytes per key": ",.0f",
    "spark bytes per key": ",.0f",
    "bytes, times fewer": ",.1f",
    "state bytes": ",",
    "read": ",",
    "written": ",",
    "share written": ".3f",
    "seconds": ".2f",
    "results": ",",
    "rows in it": ",",
    "µs a row": ".2f",
}


def warm(bench: Bench, quick: bool) -> None:
    """Streams run for days; the JVM still gets faster after a hundred micro-batches. Either side has more
    than that before anything is measured, or thirty in a quick run."""
    given = Input(20_000, 10 if quick else 40, 10)
    for overlap in (60, 1, 60):
        progress("warming the JVM")
        bench.run(given, windrow_windows(sliding(overlap)))
        bench.run(given, spark_windows(f"{overlap} minutes", "1 minute"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a micro-batch")
    parser.add_argument(
        "--only", type=names_among(SECTIONS), default=list(SECTIONS), help="sections, with commas between"
    )
    parser.add_argument("--quick", action="store_true", help="micro-batches of 20,000 rows")
    parser.add_argument("--keys", type=int, help="lines of windows with so many keys alone")
    parser.add_argument("--overlap", type=int, help="lines of windows with this overlap alone")
    parser.add_argument("--memory", default="4g", help="of the driver")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
    spark = spark_session(given.memory, spark_sql_streaming_numRecentProgressUpdates="1000")
    try:
        bench = Bench(spark, folder, given.keys, given.overlap)
        warm(bench, given.quick)
        for name, value in machine().items():
            print(f"{name}: {value}")
        for name in given.only:
            heading(name)
            found = list(SECTIONS[name](bench, 20_000 if given.quick else given.rows))
            seconds = {column: ".3f" for row in found for column in row if column.endswith(" s")}
            table(found, **seconds | FORMATS)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
