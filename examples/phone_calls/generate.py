"""Generates a day of phone calls, as a telephone company would log them.

Calls are busiest around noon. Each is logged up to ten minutes after it began, so that they are out of order;
the calls of a few phones that were offline come a day late. Files are by hour of logging.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

REGIONS = ["north", "east", "south", "west", "islands"]
SHARES = [0.40, 0.30, 0.20, 0.09, 0.01]
DAY = np.datetime64("2024-05-01", "us")
LATE = 0.002


def calls(count: int, seed: int = 2015) -> pa.Table:
    """The calls in the order in which they are logged; ``logged`` is when, in seconds of the day."""
    rng = np.random.default_rng(seed)
    began = rng.beta(2.2, 2.0, count) * 86_400
    logged = began + rng.uniform(0, 590, count)
    offline = (rng.random(count) < LATE) & (logged > 6 * 3_600)
    times = DAY + ((began - 86_400 * 1.5 * offline) * 1e6).astype("m8[us]")
    order = np.argsort(logged, kind="stable")
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "region": np.array(REGIONS)[rng.choice(len(REGIONS), count, p=SHARES)],
            "caller": np.char.add("c", rng.integers(0, 20_000, count).astype(str)),
            "len": np.round(rng.lognormal(4.5, 1.1, count)).astype(np.int64),
            "logged": logged,
        }
    )
    return table.take(pa.array(order))


def write_calls(folder: Path, count: int) -> int:
    """A file for each hour of logging; how many files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = calls(count)
    hours = (np.asarray(table.column("logged")) // 3_600).astype(int)
    table = table.drop_columns(["logged"])
    found = np.unique(hours)
    for hour in found:
        low, high = np.searchsorted(hours, [hour, hour + 1])
        file = folder / f"calls-{hour:02}.parquet"
        pq.write_table(table.slice(low, high - low), file)
        os.utime(file, (1_714_500_000 + hour * 3_600,) * 2)  # Spark takes files in the order of their age
    return len(found)


if __name__ == "__main__":
    print(write_calls(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 150_000), "files")
