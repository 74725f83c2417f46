"""Phone calls of several days, as a telephone company would log them; the same ones every time.

Calls are busiest around noon, and fewer but longer at the weekend. Each is logged up to ten minutes after it
began, so that they are out of order; those of a few phones that were offline come two days late.
Files are by hour of logging.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["DAYS", "calls", "write_calls"]

REGIONS = ["north", "east", "south", "west", "islands"]
SHARES = [0.40, 0.30, 0.20, 0.09, 0.01]
#: a Wednesday
FIRST_DAY = np.datetime64("2024-05-01", "us")
DAYS = 5
#: how busy Wednesday, Thursday, Friday, Saturday and Sunday are, then again
BUSY = [1.0, 1.1, 1.3, 0.7, 0.5]
#: and how long their calls are
LONG = [1.0, 1.0, 1.0, 1.3, 1.6]
LATE = 0.002
OFFLINE = 2 * 86_400


def calls(count: int, days: int = DAYS, seed: int = 2015) -> pa.Table:
    """Return the calls in the order of logging; ``logged`` is when, in seconds since the first day."""
    rng = np.random.default_rng(seed)
    busy = np.resize(BUSY, days)
    day = rng.choice(days, count, p=busy / busy.sum())
    began = (day + rng.beta(2.2, 2.0, count)) * 86_400
    logged = began + rng.uniform(0, 590, count)
    offline = (rng.random(count) < LATE) & (began > OFFLINE)
    times = FIRST_DAY + ((began - OFFLINE * offline) * 1e6).astype("m8[us]")
    order = np.argsort(logged, kind="stable")
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "region": np.array(REGIONS)[rng.choice(len(REGIONS), count, p=SHARES)],
            "caller": np.char.add("c", rng.integers(0, 20_000, count).astype(str)),
            "len": np.round(rng.lognormal(4.5, 1.1, count) * np.resize(LONG, days)[day]).astype(np.int64),
            "logged": logged,
        }
    )
    return table.take(pa.array(order))


def write_calls(folder: Path, count: int) -> int:
    """Write a file for each hour of logging in which there were calls, and return how many files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = calls(count)
    hours = (np.asarray(table.column("logged")) // 3_600).astype(int)
    table = table.drop_columns(["logged"])
    found = np.unique(hours)
    for hour in found:
        low, high = np.searchsorted(hours, [hour, hour + 1])
        file = folder / f"calls-{hour:03}.parquet"
        pq.write_table(table.slice(low, high - low), file)
        os.utime(file, (1_714_500_000 + hour * 3_600,) * 2)  # Spark takes files in the order of their age
    return len(found)
