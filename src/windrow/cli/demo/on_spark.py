"""The same windows by Spark's own ``window()`` and by windrow, on the same calls: what each takes, and
whether the results are equal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import windrow as wr
from windrow.cli.demo.calls import calls
from windrow.cli.show.comparison import Comparison

__all__ = ["FULL", "compare"]

WAYS = ["Spark's window()", "windrow"]
WARM = 100
FULL = "bench/spark_batch.py --only day"


def compare(
    spark: Any, folder: Path, most: int, tell: Callable[[str], None], slide: str = "10 minutes"
) -> Comparison:
    """On a quarter of the calls, and on all. Before that both compute the same of a few calls: the JVM
    compiles while it runs, which would make the first time much longer than the next."""
    sizes = [max(most // 4, 1), most]
    tell("a first run of both on few calls, which is not measured")
    few = _sample(spark, folder, min(WARM, most))
    _windrow(few, slide).toArrow()
    _spark(few, slide).toArrow()
    seconds, agree = [], True
    for size in sizes:
        sample = _sample(spark, folder, size)
        tell(f"{size:,} calls by windrow")
        mine, our_seconds = _timed(_windrow, sample, slide)
        tell(f"{size:,} calls by Spark's window()")
        theirs, their_seconds = _timed(_spark, sample, slide)
        agree = agree and rows(mine) == rows(theirs)
        seconds.append((f"{size:,} calls", [their_seconds, our_seconds]))
    return Comparison("What it costs without windrow", _about(agree), WAYS, seconds)


def _about(agree: bool) -> str:
    return (
        "The longest call and the number of calls in 24-hour windows that slide by ten minutes, in batch, "
        "each run once after a first run on few calls. Spark's window() copies a call into each of the 144 "
        "windows that hold it, and its time grows with the calls. windrow touches a call once: with so few "
        "calls, nearly all its time is what Spark takes for any query that runs Python, so the factor is "
        f"small here and grows with the input. python {FULL} measures windows that slide by a minute, ten "
        "times as many copies, on 60,000 rows, in some minutes. "
        f"The results are {'equal' if agree else 'NOT EQUAL: please report this'}."
    )


def _sample(spark: Any, folder: Path, size: int) -> Any:
    file = folder / f"sample-{size}.parquet"
    pq.write_table(calls(size, days=1).drop_columns(["logged"]), file)
    return spark.read.parquet(str(file))


def _windrow(sample: Any, slide: str) -> Any:
    query = wr.query(time="ts", by="region").window(wr.Sliding("24h", slide=slide))
    return query.agg(longest=wr.max("len"), calls=wr.count()).run(sample)


def _spark(sample: Any, slide: str) -> Any:
    from pyspark.sql import functions as f

    windows = sample.groupBy("region", f.window("ts", "24 hours", slide).alias("w"))
    found = windows.agg(f.max("len").alias("longest"), f.count("*").alias("calls"))
    return found.select("region", "w.start", "w.end", "longest", "calls")


def _timed(query: Callable[[Any, str], Any], sample: Any, slide: str) -> tuple[Any, float]:
    """Return the results of a query, and seconds."""
    before = time.perf_counter()
    return query(sample, slide).toArrow(), time.perf_counter() - before


def rows(table: Any) -> set[tuple[Any, ...]]:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))
