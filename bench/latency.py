"""How long one push takes: small pushes, the slowest of a day, and pushes while state grows.

    python bench/latency.py [--quick] [--frozen] [--only small|kinds|day|growth|events]

Times are those of the processor, one push at a time, results included; the garbage collector is on. Tables
are made before the clock starts. Now and then Python's collector goes through all objects of the process,
most of them Numba's: ``--frozen`` takes those that are loaded after some pushes out of its sight
(``gc.freeze``), as a service does that must not pause.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from common import Settings, heading, machine, progress, table

import windrow as wr

SECTIONS = ("small", "kinds", "day", "growth", "events")

_SECOND = 1_000_000


def tables(rows: int, keys: int, seconds: float, seed: int = 7, after: float = 0.0) -> Iterator[pa.Table]:
    """Tables of so many rows, in order of time, each of so many seconds of event time."""
    rng = np.random.default_rng(seed)
    begin, span = int(after * _SECOND), int(seconds * _SECOND)
    while True:
        times = begin + np.sort(rng.integers(0, span, rows))
        names = np.char.add("key", rng.integers(0, keys, rows).astype(str))
        begin += span
        yield pa.table({"ts": pa.array(times, pa.timestamp("us")), "k": names, "v": rng.random(rows)})


def windows(count: int) -> dict[str, Any]:
    """One minute, tumbling; then others of 1 to 20 minutes that slide by some seconds."""
    found: dict[str, Any] = {"w0": wr.Tumbling("1m")}
    for k in range(1, count):
        size = 60 + 5 * (k % 229)
        slide = size // (1 + k % 4)
        found[f"w{k}"] = wr.Sliding(f"{size}s", slide=f"{slide}s", offset=f"{k // 229}s")
    return found


def opened(count: int) -> Any:
    asked = windows(count)
    query = wr.query(time="ts", by="k", watermark="5s")
    query = query.window(asked["w0"]) if count == 1 else query.window(**asked)
    return query.agg(total=wr.sum("v")).open()


def took(operator: Any, given: Iterator[pa.Table], count: int) -> np.ndarray[Any, Any]:
    """Microseconds of each push; tables are made some at a time."""
    found, ready = np.empty(count), list[pa.Table]()
    for k in range(count):
        if not ready:
            ready = [next(given) for _ in range(min(100, count - k))][::-1]
        each = ready.pop()
        begun = process_time()
        operator.push(each)
        found[k] = process_time() - begun
    return found * 1e6


def small(settings: Settings) -> list[dict[str, Any]]:
    """Microseconds per push, after some pushes of the same sort; a push is a second of event time."""
    found = []
    cases = (
        (100, 1, 1),
        (100, 100, 3),
        (10_000, 1, 1),
        (10_000, 100, 1),
        (10_000, 100, 100),
        (10_000, 100, 1_000),
    )
    for rows, keys, count in cases:
        progress(f"{rows:,} rows, {keys} keys, {count:,} windows")
        operator, given = opened(count), tables(rows, keys, 1.0)
        took(operator, given, settings.pick(200, 100))
        each = took(operator, given, settings.pick(2_000, 400) if rows == 100 else settings.pick(400, 100))
        found.append(
            {
                "rows a push": rows,
                "keys": keys,
                "windows": count,
                "median us": float(np.median(each)),
                "mean us": float(each.mean()),
                "rows/s": int(rows / each.mean() * 1e6),
            }
        )
    return found


def _kinds(n: int) -> dict[str, Any]:
    """Windows of n rows; a row comes with each unit of time."""
    query = wr.query(time="t", watermark=0)
    policy = wr.Policy(lambda total, old: total.n - old.n >= n)
    return {
        "Tumbling": query.window(wr.Tumbling(n)),
        "Sliding, slide 1": query.window(wr.Sliding(n, slide=1)),
        "Rows, slide 1": query.window(wr.Rows(n, slide=1)),
        "Delta, slide 1": query.window(wr.Delta("x", n, slide=1)),
        "Punctuation": query.window(wr.Punctuation("b")),
        "rolling rows": query.rolling(rows=n),
        "rolling time": query.rolling(n),
        "rolling n/4 and n": query.rolling(n // 4, n),
        "Policy": query.window(policy),
    }


def kinds(settings: Settings) -> list[dict[str, Any]]:
    """Windows of n rows of each kind: microseconds per push, and combines per row in pushes of one row."""
    found, n, combined = [], settings.pick(65_536, 4_096), 0

    def rows(begin: int, count: int) -> pa.Table:
        numbers = np.arange(begin, begin + count)
        return pa.table({"t": numbers, "x": numbers, "b": numbers % n == 0, "v": numbers % 7 * 0.5})

    def combine(a: float, b: float) -> float:
        nonlocal combined
        combined += 1
        return a + b

    counting = wr.monoid(name="counting", lift=lambda v: v, combine=combine, identity=0.0, compile=False)
    for name, query in _kinds(n).items():
        progress(name)
        row: dict[str, Any] = {"window": name, "n": n}
        for size in (1, 100):
            operator = query.agg(n=wr.count(), total=wr.sum("v")).open()
            operator.push(rows(0, 2 * n))
            given = (rows(2 * n + k * size, size) for k in range(10_000))
            took(operator, given, 200)
            each = took(operator, given, settings.pick(1_000, 200))
            row |= {f"{size} median us": float(np.median(each)), f"{size} max us": float(each.max())}
        operator = query.agg(n=wr.count(), total=counting("v")).open()
        operator.push(rows(0, 2 * n))
        combined = 0
        for k in range(100):
            operator.push(rows(2 * n + k, 1))
        found.append(row | {"combines per row": combined / 100})
    return found


def day(settings: Settings) -> list[dict[str, Any]]:
    """Sliding 24 h / 1 min of 100 keys, over a day and more of event time: microseconds per push."""
    found = []
    for rows, pushes in ((1, 20_000), (100, 10_000), (10_000, 1_000)):
        pushes = pushes // settings.pick(1, 5)
        progress(f"{pushes:,} pushes of {rows:,} rows")
        query = wr.query(time="ts", by="k", watermark="5s").window(wr.Sliding("24h", slide="1m"))
        operator = query.agg(total=wr.sum("v"), top=wr.max("v")).open()
        given = tables(rows, 100, 30 * 3600 / pushes)
        took(operator, given, 20)
        each = took(operator, given, pushes)
        found.append({"rows a push": rows, "slices": operator.metrics.slices} | quantiles(each))
    return found


def freeze() -> None:
    """What is loaded for some pushes is not looked at any more when garbage is collected."""
    took(opened(3), tables(100, 100, 30.0), 20)
    gc.collect()
    gc.freeze()


def quantiles(each: np.ndarray[Any, Any]) -> dict[str, float]:
    names = {"p50 us": 0.5, "p99 us": 0.99, "p99.9 us": 0.999, "max us": 1.0}
    found = {name: float(np.quantile(each, q)) for name, q in names.items()}
    return found | {"max / p50": found["max us"] / found["p50 us"]}


def growth(settings: Settings) -> list[dict[str, Any]]:
    """Pushes that make a slice of most rows and fire nothing, while state grows to a million slices."""
    found, total = [], settings.pick(1_700_000, 200_000)
    cases = [("30d", 10, rows) for rows in (1, 100, 1_000, 10_000)] + [("24h", 100_000, 1_000)]
    for longest, keys, rows in cases:
        progress(f"state grows by {rows:,} rows of {keys:,} keys")
        query = wr.query(time="ts", by="k", watermark="1000d").window(wr.Sliding(longest, slide="1s"))
        operator = query.agg(total=wr.sum("v")).open()
        pushes, per_second = min(total // rows, settings.pick(10_000, 2_000)), min(keys, 1_000)
        before = (total - rows * pushes) // 10_000
        took(operator, tables(10_000, keys, 10_000 / per_second), before)
        given = tables(rows, keys, rows / per_second, seed=8, after=before * 10_000 / per_second)
        took(operator, given, 5)
        each = took(operator, given, pushes)
        found.append({"rows a push": rows, "keys": keys, "slices": operator.metrics.slices} | quantiles(each))
    return found


def events(settings: Settings) -> list[dict[str, Any]]:
    """Microseconds per event of insert(), buffered: 100 keys, three windows."""
    found = []
    for buffered in (1, 100, 1_000):
        progress(f"{buffered:,} events per flush")
        operator, given = opened(3), tables(1_000, 100, 10.0)
        count = settings.pick(20, 4) * max(buffered, 100)
        rows = [row for _ in range(2 + count // 500) for row in next(given).to_pylist()]
        _insert(operator, rows[:count], buffered)
        begun = process_time()
        _insert(operator, rows[count : 2 * count], buffered)
        found.append({"events per flush": buffered, "us per event": (process_time() - begun) / count * 1e6})
    return found


def _insert(operator: Any, rows: list[dict[str, Any]], buffered: int) -> None:
    for k, row in enumerate(rows):
        operator.insert(row["ts"], row["k"], v=row["v"])
        if k % buffered == buffered - 1:
            operator.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="How long one push into windrow's operator takes.")
    parser.add_argument("--quick", action="store_true", help="fewer pushes")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be given again")
    parser.add_argument("--frozen", action="store_true", help="gc.freeze() after some pushes")
    options = parser.parse_args()
    settings = Settings(quick=options.quick)
    if options.frozen:
        freeze()
    print(", ".join(f"{name} {what}" for name, what in machine().items()))
    for name in options.only or SECTIONS:
        section = globals()[name]
        found = section(settings)
        heading(name, *(section.__doc__ or "").splitlines()[:1])
        numbers = {k: ".1f" for row in found for k, v in row.items() if isinstance(v, float)}
        table(found, **(numbers | {k: ",d" for row in found for k, v in row.items() if isinstance(v, int)}))


if __name__ == "__main__":
    main()
