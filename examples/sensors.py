"""A dashboard of a sensor at many zoom levels: for each pixel column the first, last, smallest and largest
value (M4), which draws the very line that all values would draw.

Six zoom levels are six windows of one query: each reading is touched once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import windrow as wr

ZOOMS = {
    "second": "1s",
    "ten_seconds": "10s",
    "minute": "1m",
    "ten_minutes": "10m",
    "hour": "1h",
    "day": "1d",
}


def readings(count: int = 200_000, seed: int = 7) -> pa.Table:
    """A random walk with a spike here and there, ten readings a second."""
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(0, 0.1, count)) + 20 + (rng.random(count) < 1e-4) * 15
    times = np.datetime64("2024-05-01", "us") + np.arange(count) * np.timedelta64(100_000, "us")
    return pa.table({"ts": times, "celsius": values})


def main(count: int = 200_000) -> pa.Table:
    table = readings(count)
    windows = {name: wr.Tumbling(size) for name, size in ZOOMS.items()}
    result = wr.events(table, time="ts").window(**windows).agg(drawn=wr.m4("celsius"), n=wr.count())
    print(f"{table.num_rows:,} readings")
    for zoom in ZOOMS:
        rows = [row for row in result.to_pylist() if row["window"] == zoom]
        print(f"  {zoom:12} {len(rows):7,} columns, the first {rows[0]['drawn']}")
    return result


if __name__ == "__main__":
    main()
