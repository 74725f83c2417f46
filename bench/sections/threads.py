"""One thread against two, on the same table; results must be the same, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from common import Row, Settings, least_seconds, progress, verdict

import windrow as wr

__all__ = ["threads"]

_AGGREGATES = {
    "sum": wr.sum("v"),
    "stddev": wr.stddev("v"),
    "median": wr.median("v"),
    "count_distinct": wr.count_distinct("i"),
    "approx_distinct": wr.approx_distinct("i"),
}
_GOAL = 1.7


def threads(settings: Settings) -> list[Row]:
    """How many times faster two threads are than one. Goal for sums over 1 and 100 keys: 1.7."""
    rows = settings.pick(5_000_000, 1_000_000)
    found: list[Row] = []
    for keys in (1, 100, 10_000):
        data = _events(rows, keys)
        for shape, query in _queries(keys).items():
            for name, aggregate in _AGGREGATES.items():
                if name == "sum" or keys == 100:
                    progress(f"{name} over {shape}, {keys:,} keys")
                    found.append(_compared(keys, shape, name, query.agg(r=aggregate), data))
    return found


def _events(rows: int, keys: int) -> pa.Table:
    random = np.random.default_rng(7)
    return pa.table(
        {
            "t": np.sort(random.integers(0, 30 * 86_400, rows)),
            "k": random.integers(0, keys, rows),
            "v": random.random(rows),
            "i": random.integers(0, 5_000, rows),
        }
    )


def _queries(keys: int) -> dict[str, wr.Query]:
    query = wr.query(time="t", by="k" if keys > 1 else None, max_windows=10**9)
    found = {
        "rolling 1,000 rows": query.rolling(rows=1_000),
        "rolling 10 min": query.rolling(600),
        "sliding 1 h by 10 min": query.window(wr.Sliding(3_600, slide=600)),
        "tumbling 1 h": query.window(wr.Tumbling(3_600)),
    }
    if keys > 1_000:  # more windows than rows
        del found["sliding 1 h by 10 min"]
    return found


def _compared(keys: int, shape: str, name: str, query: Any, data: pa.Table) -> Row:
    one, two = query.run(data, threads=1), query.run(data, threads=2)
    assert _bits(one) == _bits(two), f"{name} over {shape} of {keys} keys depends on the number of threads"
    alone, together = least_seconds(
        [lambda: query.run(data, threads=1), lambda: query.run(data, threads=2)], repeats=5, patience=0
    )
    has_goal = name == "sum" and keys <= 100
    return {
        "keys": keys,
        "over": shape,
        "aggregate": name,
        "one thread s": alone,
        "two threads s": together,
        "faster x": alone / together,
        "goal": verdict(alone / together >= _GOAL) if has_goal else None,
    }


def _bits(table: pa.Table) -> list[bytes]:
    """The results without nulls, and which are null."""
    column = table["r"].combine_chunks()
    return [
        column.drop_null().to_numpy(zero_copy_only=False).tobytes(),
        column.is_null().to_numpy(False).tobytes(),
    ]
