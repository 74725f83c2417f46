"""A stream on Spark under a steady load: a micro-batch is a minute of event time, out of order and some late.

Spark makes the rows from their numbers, so that an operator which judges as Spark does can be given the same
ones: its counts are what the stream must have counted.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from support.soaking import Sample, Soaked, memory_of, open_files_of, python_below

__all__ = ["SETTINGS", "soak_stream"]

#: what Spark keeps for its pages is bounded by numbers of queries, jobs and tasks, which minutes do not reach
SETTINGS = {
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.retainedJobs": "5",
    "spark.ui.retainedStages": "5",
    "spark.ui.retainedTasks": "50",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_MINUTE = 60_000_000
_START_MS = 1_700_000_000_000
#: rows of numbers that divide by these are hours late, or have no time
_LATE, _NO_TIME = 101, 1_009
_COUNTED = ("rows_in", "rows_aggregated", "rows_late", "rows_rejected", "windows_fired")


def query() -> Any:
    found = wr.query(time="ts", by="key", watermark="2m")
    found = found.window(five=wr.Sliding("5m", slide="1m"), visit=wr.Session("30s"))
    return found.agg(n=wr.count(), top=wr.max("v"), total=wr.sum("v"))


def soak_stream(spark: Any, folder: str, seconds: float, rows: int, every: float, keys: int = 200) -> Soaked:
    """``rows`` every so many seconds, or as soon as Spark is done with those before."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    source = source.option("advanceMillisPerBatch", 60_000).option("startTimestamp", _START_MS)
    frame = (
        source.option("numPartitions", 2)
        .load()
        .selectExpr(
            f"CASE WHEN value % {_NO_TIME} = 0 THEN NULL ELSE timestamp_micros(unix_micros(timestamp) + "
            f"(value * 7919) % {_MINUTE} - (value * 104729) % 90000000 - "
            f"CASE WHEN value % {_LATE} = 0 THEN {240 * _MINUTE} ELSE 0 END) END AS ts",
            f"(value * 31) % {keys} AS key",
            "value % 1000 AS v",
        )
    )
    writer = query().run(frame).writeStream.format("noop").option("checkpointLocation", folder)
    stream = writer.trigger(processingTime=f"{round(every * 1000)} milliseconds").start()
    try:
        steps, samples = _watched(stream, seconds)
    finally:
        stream.stop()
    if stream.exception() is not None:
        raise stream.exception()
    return _held_against_an_operator(steps, samples, rows, keys)


def _watched(stream: Any, seconds: float) -> tuple[dict[int, dict[str, Any]], list[Sample]]:
    """What micro-batches counted, and what was in use, once the first has ended."""
    from pyspark import SparkContext

    steps: dict[int, dict[str, Any]] = {}
    samples: list[Sample] = []
    jvm: Any = SparkContext._jvm  # of this process, also behind Spark Connect
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    began: float | None = None
    while stream.isActive and (began is None or time.monotonic() - began < seconds or len(samples) < 12):
        fresh = [each for each in stream.recentProgress if each["batchId"] not in steps]
        steps |= {each["batchId"]: next(iter(wr.spark.stream_counts(each).values()), {}) for each in fresh}
        if steps and began is None:
            began = time.monotonic()
        if fresh and began is not None and time.monotonic() - began >= len(samples) * seconds / 60:
            state = int(next(reversed(steps.values())).get("state_bytes") or 0)
            samples.append(_sample(jvm, pid, time.monotonic() - began, state))
        time.sleep(0.1)
    return steps, samples


def _sample(jvm: Any, pid: int, at: float, state: int) -> Sample:
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    workers = python_below(pid)
    return Sample(
        at,
        {
            "heap of the JVM": int(runtime.totalMemory() - runtime.freeMemory()),
            "memory of the JVM": memory_of([pid]),
            "memory of Python's workers": memory_of(workers),
            "state": state,
            "files of the JVM": open_files_of([pid]),
            "files of Python's workers": open_files_of(workers),
        },
    )


def _held_against_an_operator(
    steps: dict[int, dict[str, Any]], samples: list[Sample], rows: int, keys: int
) -> Soaked:
    counted: Counter[str] = Counter()
    for counts in steps.values():
        counted.update({name: int(counts.get(name) or 0) for name in _COUNTED})
    operator = query().open(lateness="spark")
    for batch in range(max(steps) + 1):
        operator.push_parts([_rows(batch, rows, keys)])
    expected = {name: int(getattr(operator.metrics, name)) for name in _COUNTED}
    wrong = [f"{n}: {counted[n]:,}, and not {expected[n]:,}" for n in _COUNTED if counted[n] != expected[n]]
    others = sum(counted[name] for name in _COUNTED[1:4])
    if counted["rows_in"] != others:
        wrong.append(f"{counted['rows_in']:,} rows came in, and {others:,} were counted")
    return Soaked(counted["rows_in"], samples, wrong, counted | {"micro-batches": len(steps)})


def _rows(batch: int, rows: int, keys: int) -> pa.Table:
    """The rows of a micro-batch, as Spark makes them."""
    value = np.arange(batch * rows, (batch + 1) * rows, dtype=np.int64)
    times = _START_MS * 1_000 + batch * _MINUTE + value * 7919 % _MINUTE - value * 104729 % 90_000_000
    times -= np.where(value % _LATE == 0, 240 * _MINUTE, 0)
    moments = pa.array(times, mask=value % _NO_TIME == 0).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": moments, "key": value * 31 % keys, "v": value % 1000})
