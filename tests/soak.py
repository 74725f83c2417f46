"""``make soak``: an operator and a stream on Spark under a steady load for an hour: memory, state and open
files stay flat.

    python tests/soak.py [--seconds 3600] [--only operator|stream] [--rows 20000] [--every 1] [--store FOLDER]

Rows of many keys come at a steady rate, out of order and some late; windows fire and leave. After a warm-up
of a third of the time, the largest memory, state and number of open files of the last third may not be above
those of the middle third by more than a tenth. Counts must add up. Both run at the same time, the stream in a
process of its own; each ends with a line, and all of it with 1 if something grows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr
from support.java import JAVA
from support.soaking import Sample, Soaked, memory_of, open_files_of

#: a heap that is there from the beginning, so that whatever else the JVM takes is seen; by Spark's setting,
#: since ``JDK_JAVA_OPTIONS`` is for Spark's launcher, too, whose heap is smaller
HEAP = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-Xms512m -XX:+AlwaysPreTouch",
}


def soak(seconds: float, rows: int, every: float = 0.0, keys: int = 500, store: Any = None) -> Soaked:
    """Push rows every so many seconds, for so many seconds; each push is a minute of event time."""
    query = wr.query(time="ts", by="key", watermark="2m", late="return", on_error="reject")
    query = query.window(hour=wr.Sliding("1h", slide="5m"), visit=wr.Session("3m"))
    operator = query.agg(n=wr.count(), top=wr.max("v"), total=wr.sum("v")).open(store=store)
    rng, began = np.random.default_rng(1), time.monotonic()
    samples: list[Sample] = []
    pushes = back = 0
    while time.monotonic() - began < seconds or len(samples) < 30:
        operator.push(_rows(rng, pushes, rows, keys))
        back += operator.late_rows().num_rows + operator.rejected_rows().num_rows
        pushes += 1
        if time.monotonic() - began > len(samples) * seconds / 60:
            samples.append(_sample(time.monotonic() - began, operator.metrics.state_bytes))
        time.sleep(max(began + pushes * every - time.monotonic(), 0))
    return Soaked(
        pushes * rows, samples, _wrong(operator.metrics, pushes * rows, back), _counts(operator.metrics)
    )


def _rows(rng: Any, push: int, rows: int, keys: int) -> pa.Table:
    """A minute of event time; one row in a hundred is hours late, and one in a thousand has no time."""
    behind = np.where(rng.random(rows) < 0.01, 4 * 3_600_000_000, rng.integers(0, 90_000_000, rows))
    times = push * 60_000_000 + rng.integers(0, 60_000_000, rows) - behind + 10**15
    moments = pa.array(times, mask=rng.random(rows) < 0.001).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": moments, "key": rng.integers(0, keys, rows), "v": rng.integers(0, 1000, rows)})


def _sample(at: float, state: int) -> Sample:
    own = [os.getpid()]
    return Sample(at, {"memory": memory_of(own), "state": state, "files": open_files_of(own)})


def _counts(metrics: Any) -> dict[str, int]:
    names = ("rows_aggregated", "rows_late", "rows_rejected", "windows_fired")
    return {name: int(getattr(metrics, name)) for name in names}


def _wrong(metrics: Any, rows: int, back: int) -> list[str]:
    """Rows that came in are aggregated, or were handed back."""
    if rows == metrics.rows_in == metrics.rows_aggregated + back:
        return []
    return [f"{rows:,} rows came, {metrics.rows_in:,} are counted, {back:,} were handed back"]


# -- the two of them -----------------------------------------------------------------------------------------


def operator_soak(options: argparse.Namespace) -> Soaked:
    store = None
    if options.store is not None:
        from windrow.state import RocksDBStore

        store = RocksDBStore(options.store)
    return soak(options.seconds, options.rows, options.every, store=store)


def stream_soak(options: argparse.Namespace) -> Soaked:
    from support.soak_stream import SETTINGS, soak_stream

    os.environ["JDK_JAVA_OPTIONS"] = JAVA
    settings = SETTINGS | HEAP | {"spark.sql.shuffle.partitions": "2"}
    spark = wr.spark.session(settings, master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            return soak_stream(spark, folder, options.seconds, options.rows, options.every)
    finally:
        spark.stop()


SOAKS = {"operator": operator_soak, "stream": stream_soak}


def main() -> int:
    parser = argparse.ArgumentParser(description="A steady load: memory, state and open files stay flat.")
    parser.add_argument("--seconds", type=float, default=3_600, help="how long (default: 3600)")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a push (default: 20000)")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two (default: 1)")
    parser.add_argument("--only", choices=tuple(SOAKS), help="one of the two (default: both)")
    parser.add_argument("--store", metavar="FOLDER", help="keep the operator's state there, in RocksDB")
    options = parser.parse_args()
    if options.only is not None:
        return _ended(options.only, SOAKS[options.only](options))
    beside = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--only", "stream"])
    try:
        code = _ended("operator", operator_soak(options))
        return beside.wait() or code
    finally:
        if beside.poll() is None:
            beside.terminate()


def _ended(what: str, found: Soaked) -> int:
    print(f"{what}: {found.text()}", flush=True)
    for grown in found.growth():
        print(f"{what}: {grown}", file=sys.stderr)
    return 1 if found.growth() else 0


if __name__ == "__main__":
    sys.exit(main())
