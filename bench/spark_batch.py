"""Spark batch: rolling and windows against what Spark has, on the same rows in one session.

Run: ``python bench/spark_batch.py`` (``--rows``, ``--quick``, ``--only`` with names of sections below). Every
figure is a ratio: Spark's time over windrow's, both on the rows that the line names, results thrown away (the
``noop`` sink): the median of three turns in ``rolling``, ``windows``, ``day`` and ``own``, elsewhere the
shortest of some runs in turn. Where Spark would take hours, both get fewer rows.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from common import heading, least_seconds, machine, names_among, progress, table
from sections.alternating import TURNS, Figure, Part, alternate, clocked
from sections.field_command import add_outcome, ask
from sections.spark_aggregates import in_batch
from sections.spark_asof import asof_lines
from sections.spark_session import spark_session

import windrow as wr

DAY_US = 86_400_000_000
START_US = 1_700_000_000_000_000 // DAY_US * DAY_US
#: how figures name what Spark has
PEERS = {
    "plain": "rowsBetween",
    "tree": "rowsBetween with Spark's segment tree",
    "window": "window()",
    "function": "pandas function over a window",
}
SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
Row = dict[str, Any]


class Bench:
    """Data on disk, and pairs of DataFrames that are timed against each other."""

    def __init__(self, spark: Any, folder: Path, repeats: int) -> None:
        self.spark = spark
        self._folder = folder
        self._repeats = repeats
        self.figures: list[Figure] = []

    def events(self, rows: int, keys: int, hot: float = 0.0) -> Any:
        """A day of events in order of time; ``hot`` is the share of rows that have the key 0."""
        from pyspark.sql import functions

        path = self._folder / f"{rows}-{keys}-{hot}"
        if not path.exists():
            number = functions.col("id")
            time = functions.timestamp_micros(
                functions.lit(START_US) + number * functions.lit(DAY_US // rows)
            )
            key = functions.when(functions.rand(3) < hot, 0).otherwise(number % keys)
            columns = [key.alias("key"), time.alias("ts"), functions.rand(1).alias("v")]
            self.spark.range(0, rows, 1, 4).select(*columns).write.parquet(str(path))
        return self.spark.read.parquet(str(path))

    def kept(self, frame: Any) -> Any:
        """The same rows, from disk."""
        path = str(self._folder / f"kept{len(list(self._folder.iterdir()))}")
        frame.write.parquet(path)
        return self.spark.read.parquet(path)

    def seconds(self, *frames: Callable[[], Any], repeats: int | None = None) -> list[float]:
        runs = [lambda frame=frame: _save(frame()) for frame in frames]
        return least_seconds(runs, repeats or self._repeats, 0.0)

    def turns(self, what: str, rows: int, mine: Callable[[], Any], **peers: Callable[[], Any]) -> list[float]:
        """The medians of windrow and of each peer, over turns of all of them; figures keep their spread."""
        runs = {"windrow": mine, **peers}
        seconds = alternate(
            {name: clocked(lambda frame=frame: _save(frame())) for name, frame in runs.items()}, TURNS
        )
        for name in peers:
            against = PEERS[name]
            self.figures.append(
                Figure(what, "windrow on Spark", against, rows, seconds["windrow"], seconds[name])
            )
        return [statistics.median(of) for of in seconds.values()]

    def warm(self, frame: Callable[[], Any]) -> Callable[[], Any]:
        """The same, with its kernels loaded: run once before it is timed."""
        _save(frame())
        return frame

    def with_segment_tree(self, frame: Callable[[], Any]) -> Callable[[], Any]:
        """The same with Spark's segment tree, which is off by default."""

        class Switched:
            def __init__(self, spark: Any) -> None:
                self.spark = spark

            def save(self) -> None:
                self.spark.conf.set(SEGMENT_TREE, "true")
                try:
                    _save(frame())
                finally:
                    self.spark.conf.set(SEGMENT_TREE, "false")

        switched = Switched(self.spark)
        return lambda: _Saved(switched.save)


def _save(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


class _Saved:
    """Looks like a DataFrame to the code that saves it."""

    def __init__(self, save: Callable[[], None]) -> None:
        self.save = save
        self.write = self

    def format(self, _: str) -> _Saved:
        return self

    def mode(self, _: str) -> _Saved:
        return self


def rolling(bench: Bench, rows: int) -> Iterator[Row]:
    """A sum and a stddev over the last rows, against rowsBetween."""
    from pyspark.sql import Window, functions

    for keys, frame_rows, count, peers in (
        (10, 10, rows, ("plain", "tree")),
        (10, 1_000, rows, ("plain", "tree")),
        (10, 100_000, rows, ("tree",)),
        # without the tree, a frame of 100,000 rows costs Spark about a millisecond a row: minutes
        (1, 100_000, 200_000 if rows > 200_000 else 0, ("plain",)),
        (10_000, 10, rows, ("plain", "tree")),
    ):
        if frame_rows >= count // keys:
            continue
        events = bench.events(count, keys)
        over = Window.partitionBy("key").orderBy("ts").rowsBetween(1 - frame_rows, 0)
        for name, own, ours in (
            ("sum", functions.sum, wr.sum("v")),
            ("stddev", functions.stddev, wr.stddev("v")),
        ):
            if peers == ("plain",) and name == "stddev":
                continue
            progress(f"rolling {name} over {frame_rows} rows, {keys} keys")

            def spark_s(own: Any = own, events: Any = events, over: Any = over) -> Any:
                return events.withColumn("r", own("v").over(over))

            def windrow_s(ours: Any = ours, events: Any = events, n: int = frame_rows) -> Any:
                return wr.events(events, time="ts", by="key").rolling(rows=n).agg(r=ours)

            plainly = bench.warm(spark_s) if frame_rows == 10 else spark_s
            sides = {"tree": bench.with_segment_tree(spark_s), "plain": plainly}
            mine, *others = bench.turns(
                f"rolling {name}, {frame_rows:,} rows, {keys:,} keys",
                count,
                bench.warm(windrow_s),
                **{peer: side for peer, side in sides.items() if peer in peers},
            )
            plain = others[-1] if "plain" in peers else None
            tree = others[0] if "tree" in peers else None
            yield {
                "what": f"rolling {name}, {frame_rows} rows",
                "keys": keys,
                "events": count,
                "windrow s": mine,
                "spark s": "" if plain is None else plain,
                "ratio": "" if plain is None else plain / mine,
                "tree s": "" if tree is None else tree,
                "tree ratio": "" if tree is None else tree / mine,
            }


def ranges(bench: Bench, rows: int) -> Iterator[Row]:
    """A sum over the last so much time, against rangeBetween."""
    from pyspark.sql import Window, functions

    for keys, frame_rows in ((10, 10), (10, 1_000), (10_000, 10)):
        events = bench.events(rows, keys)
        micros = DAY_US // rows * keys * frame_rows
        progress(f"rolling sum over the time of {frame_rows} rows, {keys} keys")
        over = Window.partitionBy("key").orderBy(functions.unix_micros("ts")).rangeBetween(1 - micros, 0)

        def spark_s(events: Any = events, over: Any = over) -> Any:
            return events.withColumn("r", functions.sum("v").over(over))

        def windrow_s(events: Any = events, micros: int = micros) -> Any:
            return wr.events(events, time="ts", by="key").rolling(f"{micros}us").agg(r=wr.sum("v"))

        tree = bench.with_segment_tree(spark_s)
        if frame_rows == 10:
            mine, by_tree, plain = bench.seconds(bench.warm(windrow_s), tree, bench.warm(spark_s))
        else:
            mine, by_tree = bench.seconds(bench.warm(windrow_s), tree)
            (plain,) = bench.seconds(spark_s, repeats=1)
        line = _line(f"rangeBetween, time of {frame_rows} rows", keys, rows, mine, plain)
        yield line | {"tree s": by_tree, "tree ratio": by_tree / mine}


def windows(bench: Bench, rows: int) -> Iterator[Row]:
    """Sums over sliding windows, against groupBy(window(...))."""
    for keys in (10, 10_000):
        for overlap in (1, 60):
            yield _window_line(bench, rows, keys, 3_600, overlap)


def day(bench: Bench, rows: int) -> Iterator[Row]:
    """Windows of 24 hours by the minute: Spark has each row 1,440 times, and so gets fewer of them."""
    yield _window_line(bench, min(rows // 5, 60_000), 10, 86_400, 1_440)


def _window_line(bench: Bench, rows: int, keys: int, size: int, overlap: int) -> Row:
    from pyspark.sql import functions

    events = bench.events(rows, keys)
    progress(f"windows, overlap {overlap}, {keys} keys")

    def spark_s() -> Any:
        window = functions.window("ts", f"{size} seconds", f"{size // overlap} seconds")
        return events.groupBy("key", window).agg(functions.sum("v"), functions.count("*"))

    def windrow_s() -> Any:
        window = wr.Sliding(f"{size}s", slide=f"{size // overlap}s") if overlap > 1 else wr.Tumbling("1h")
        return wr.events(events, time="ts", by="key").window(window).agg(s=wr.sum("v"), n=wr.count())

    what = f"{size // 3_600} h sliding by {size // overlap // 60} min" if overlap > 1 else "1 h"
    title = f"windows of {what}, {keys:,} keys, {rows:,} rows"
    theirs = bench.warm(spark_s) if overlap == 1 else spark_s  # which takes so long that it warms itself
    mine, plain = bench.turns(title, rows, bench.warm(windrow_s), window=theirs)
    return _line(f"window(), overlap {overlap}", keys, rows, mine, plain)


def sessions(bench: Bench, rows: int) -> Iterator[Row]:
    """Sessions of one row each, and of many, against session_window."""
    from pyspark.sql import functions

    for keys in (10, 10_000):
        for gap in (1, 7_200):
            events = bench.events(rows, keys)
            progress(f"sessions with a gap of {gap} s, {keys} keys")

            def spark_s(events: Any = events, gap: int = gap) -> Any:
                window = functions.session_window("ts", f"{gap} seconds")
                return events.groupBy("key", window).agg(functions.sum("v"), functions.count("*"))

            def windrow_s(events: Any = events, gap: int = gap) -> Any:
                window = wr.Session(f"{gap}s")
                return wr.events(events, time="ts", by="key").window(window).agg(s=wr.sum("v"), n=wr.count())

            mine, plain = bench.seconds(bench.warm(windrow_s), spark_s)
            yield _line(f"session_window, gap {gap} s", keys, rows, mine, plain)


def own(bench: Bench, rows: int) -> Iterator[Row]:
    """Aggregates of one's own, against a grouped-aggregate pandas function over the same frames: one that
    pandas has all parts of, and one that depends on the order of rows."""
    import pandas as pd
    from pyspark.sql import Window
    from pyspark.sql.functions import pandas_udf

    spread = wr.monoid(
        name="spread",
        lift=lambda x: (x, x),
        combine=lambda a, b: (a[0] if a[0] < b[0] else b[0], a[1] if a[1] > b[1] else b[1]),
        lower=lambda s: s[1] - s[0],
        identity=(float("inf"), float("-inf")),
        commutative=True,
    )
    # least, largest, and the largest fall from a row to one behind it
    fall = wr.monoid(
        name="fall",
        lift=lambda x: (x, x, 0.0),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2], a[1] - b[0])),
        lower=lambda s: s[2],
        identity=(float("inf"), float("-inf"), 0.0),
        commutative=False,
    )

    def largest_less_smallest(values: pd.Series) -> float:
        return float(values.max() - values.min())

    def largest_fall(values: pd.Series) -> float:
        return float((values.cummax() - values).max())

    events = bench.events(rows, 10)
    for frame_rows, monoid, peer in (
        (1_000, spread, largest_less_smallest),
        (1_000, fall, largest_fall),
        (100_000, spread, largest_less_smallest),
    ):
        if frame_rows >= rows // 10:
            continue
        progress(f"{monoid.name} over {frame_rows} rows")
        over = Window.partitionBy("key").orderBy("ts").rowsBetween(1 - frame_rows, 0)
        rolled = wr.events(events, time="ts", by="key").rolling(rows=frame_rows)
        peer.__annotations__ = {"values": pd.Series, "return": float}
        function: Any = pandas_udf(peer, "double")

        def windrow_s(rolled: Any = rolled, monoid: Any = monoid) -> Any:
            return rolled.agg(r=monoid("v"))

        def spark_s(over: Any = over, function: Any = function) -> Any:
            return events.withColumn("r", function("v").over(over))

        what = f"own aggregate, {monoid.name} over {frame_rows:,} rows, against a pandas function"
        title = f"own aggregate: {monoid.name} over {frame_rows:,} rows, 10 keys, {rows:,} rows"
        mine, plain = bench.turns(title, rows, bench.warm(windrow_s), function=spark_s)
        yield _line(what, 10, rows, mine, plain)


def hot(bench: Bench, rows: int) -> Iterator[Row]:
    """One key with nine rows in ten, split in time, against even keys: here the ratio is even over hot."""
    from windrow.engines.spark.rolling.skew import SETTING

    even, skewed = bench.events(rows, 10), bench.events(rows, 10, hot=0.9)

    def rolled(events: Any, setting: str) -> Callable[[], Any]:
        def frame() -> Any:
            bench.spark.conf.set(SETTING, setting)
            return wr.events(events, time="ts", by="key").rolling("10m").agg(r=wr.sum("v"))

        return frame

    progress("one hot key")
    base, whole, split = bench.seconds(
        bench.warm(rolled(even, "auto")), rolled(skewed, "off"), bench.warm(rolled(skewed, "split"))
    )
    yield _line("hot key kept whole: even keys take", 10, rows, whole, base)
    yield _line("hot key split: even keys take", 10, rows, split, base)


def aggregates(bench: Bench, rows: int) -> Iterator[Row]:
    """Quantiles and sketches over windows, against those that Spark has."""
    yield from in_batch(bench, rows, _line)


def asof(bench: Bench, rows: int) -> Iterator[Row]:
    """Features of labels, against a range join; the last two ratios are of windrow with itself."""
    progress("as-of windows")
    yield from asof_lines(bench.spark, bench.seconds, _line, rows, bench.kept)


def _line(what: str, keys: int, rows: int, mine: float, plain: float) -> Row:
    progress(f"{what}, {keys} keys: {plain / mine:.2f}")
    return {
        "what": what,
        "keys": keys,
        "events": rows,
        "windrow s": mine,
        "spark s": plain,
        "ratio": plain / mine,
        "tree s": "",
        "tree ratio": "",
    }


SECTIONS = {
    "rolling": rolling,
    "ranges": ranges,
    "windows": windows,
    "day": day,
    "aggregates": aggregates,
    "sessions": sessions,
    "own": own,
    "hot": hot,
    "asof": asof,
}


def show(name: str, bench: Bench, rows: int) -> None:
    heading(name)
    numbers = dict.fromkeys(("windrow s", "spark s", "ratio", "tree s", "tree ratio"), ".2f")
    table(list(SECTIONS[name](bench, rows)), events=",", **numbers)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument(
        "--only", type=names_among(SECTIONS), default=list(SECTIONS), help="sections, with commas between"
    )
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--quick", action="store_true", help="200,000 rows, one run each")
    parser.add_argument("--memory", default="4g", help="of the driver")
    add_outcome(parser)
    given = parser.parse_args()
    rows, repeats = (200_000, 1) if given.quick else (given.rows, given.repeats)
    folder = Path(tempfile.mkdtemp(prefix="windrow-bench-"))
    spark = spark_session(given.memory, spark_sql_shuffle_partitions="4")
    try:
        bench = Bench(spark, folder, repeats)
        part = Part("spark", f"Spark batch, {rows:,} rows", figures=bench.figures)
        bench.seconds(lambda: bench.events(rows, 10), repeats=1)  # warm
        for line in (f"{name}: {value}" for name, value in machine().items()):
            print(line)
        part.about["spark"] = spark.version
        ask(part, {name: partial(show, name, bench, rows) for name in given.only}, given)
    finally:
        spark.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
