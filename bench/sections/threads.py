"""One thread against two, on the same table; results must be the same, bit for bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
    """How many times faster two threads are than one; NumPy: what the machine gives. Goal for sums: 1.7."""
    rows = settings.pick(5_000_000, 1_000_000)
    found = _limits(rows)
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


def _limits(rows: int) -> list[Row]:
    """Halves of an array in two threads: arithmetic, a sum of what lies in memory, and a copy of it."""
    values = np.random.default_rng(7).random(rows)
    halves = [values[: rows // 2], values[rows // 2 :]]
    work = {"sin": np.sin, "sum": np.sum, "copy": np.copy}
    with ThreadPoolExecutor(2) as pool:
        return [
            _line(
                0,
                "NumPy",
                name,
                _both(lambda f=f: [f(half) for half in halves], lambda f=f: [*pool.map(f, halves)]),
            )
            for name, f in work.items()
        ]


def _both(alone: Any, together: Any) -> list[float]:
    return least_seconds([alone, together], repeats=5, patience=0)


def _compared(keys: int, shape: str, name: str, query: Any, data: pa.Table) -> Row:
    one, two = query.run(data, threads=1), query.run(data, threads=2)
    assert _bits(one) == _bits(two), f"{name} over {shape} of {keys} keys depends on the number of threads"
    seconds = _both(lambda: query.run(data, threads=1), lambda: query.run(data, threads=2))
    return _line(keys, shape, name, seconds, has_goal=name == "sum" and keys <= 100)


def _line(keys: int, over: str, name: str, seconds: list[float], has_goal: bool = False) -> Row:
    alone, together = seconds
    return {
        "keys": keys,
        "over": over,
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
