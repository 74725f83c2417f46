"""What more buckets cost a stream on Spark: the work of its Python tasks for a micro-batch, without Spark.

Run: ``python bench/buckets.py`` (``--keys``, ``--rows``). Keys are spread over more and more buckets, all of
them stepped in every micro-batch, as Spark does it. Milliseconds are those of the processor, the median of
micro-batches after the first ones; Spark's own calls for each bucket, some ten a micro-batch, come on top.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from common import heading, machine, progress, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import windrow as wr
from support.packed_stream import DictEntries
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.streaming.even_buckets import even_buckets
from windrow.engines.spark.worker.streaming.pack_task import pack_batches
from windrow.engines.spark.worker.streaming.step import bucket_place, step

MINUTE_US = 60_000_000
START_US = 1_700_000_000_000_000
COUNTS = (2, 8, 32, 128)
BATCHES, FIRST = 9, 4
QUERY = (
    wr.query(time="ts", by="key", watermark="2 minutes")
    .window(wr.Sliding("60m", slide="1m"))
    .agg(total=wr.sum("v"))
)


def rows_of(batch: int, rows: int, keys: int) -> pa.Table:
    """A minute; all keys are in the first one."""
    chance = np.random.default_rng(batch)
    count = max(rows, keys) if batch == 0 else rows
    times = START_US + batch * MINUTE_US + chance.integers(0, MINUTE_US, count)
    of_keys = np.arange(count) % keys if batch == 0 else chance.integers(0, keys, count)
    columns = [of_keys, pa.array(times, pa.timestamp("us", "UTC")), chance.random(count)]
    return pa.table(columns, names=["key", "ts", "v"])


def seconds(buckets: int, rows: int, keys: int) -> float:
    """Processor time of a micro-batch."""
    payload, numbers = packed(QUERY), even_buckets(buckets, buckets)
    entries = {number: DictEntries(bucket_place(number)) for number in numbers}
    found = []
    for batch in range(BATCHES):
        given = rows_of(batch, rows, keys)
        watermark_ms = (START_US + (batch - 3) * MINUTE_US) // 1000 if batch else 0
        begun = time.process_time()
        blobs: dict[int, list[bytes]] = {number: [] for number in numbers}
        for packed_rows in pack_batches(payload, given.schema, numbers, given.to_batches()):
            for row in packed_rows.select(["bucket", "blob"]).to_pylist():
                blobs[row["bucket"]] += [] if row["blob"] is None else [row["blob"]]
        for number in numbers:
            step(payload, given.schema, entries[number], blobs[number], watermark_ms, {}, buckets)
        found.append(time.process_time() - begun)
    return statistics.median(found[FIRST:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rows", type=int, nargs="*", default=[100, 20_000], help="of a micro-batch")
    given = parser.parse_args()
    for name, value in machine().items():
        print(f"{name}: {value}")
    heading("buckets", f"{given.keys:,} keys; sliding windows of an hour, each minute")
    lines = []
    for rows in given.rows:
        seconds(COUNTS[0], rows, given.keys)  # kernels are loaded
        least = seconds(COUNTS[0], rows, given.keys)
        for buckets in COUNTS:
            progress(f"{buckets} buckets, {rows:,} rows")
            took = seconds(buckets, rows, given.keys)
            more = (took - least) / max(1, buckets - COUNTS[0])
            lines.append(
                {
                    "rows a micro-batch": rows,
                    "buckets": buckets,
                    "ms a micro-batch": took * 1e3,
                    "ms a bucket more": more * 1e3,
                }
            )
    table(lines, **{"rows a micro-batch": ",", "ms a micro-batch": ".0f", "ms a bucket more": ".1f"})


if __name__ == "__main__":
    main()
