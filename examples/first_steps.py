"""First steps, without Spark: the longest call of the last 24 hours, how many were that long and who made it,
every minute, over a table of phone calls in memory; then the mean per call, then the same maximum through
each algorithm.

Run it with ``python examples/first_steps.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr

CALLS = 400_000
REGIONS = ["north", "east", "south", "west"]


def generate(seed: int = 2015) -> pa.Table:
    """Calls of two days, busier at noon, each logged up to ten minutes after it ended."""
    rng = np.random.default_rng(seed)
    seconds = np.sort((rng.beta(2.5, 2.5, CALLS) + rng.integers(0, 2, CALLS)) * 86_400)
    lengths = np.round(rng.lognormal(4.5, 1.1, CALLS)).astype(np.int64)
    logged = np.argsort(seconds + rng.uniform(0, 600, CALLS), kind="stable")
    start = np.datetime64("2024-05-01", "us")
    return pa.table(
        {
            "ts": (start + (seconds * 1e6).astype("m8[us]"))[logged],
            "region": np.array(REGIONS)[rng.choice(4, CALLS, p=[0.4, 0.3, 0.2, 0.1])][logged],
            "caller": np.char.add("c", rng.integers(0, 20_000, CALLS).astype(str))[logged],
            "len": lengths[logged],
        }
    )


def timed(title: str, work: Callable[[], Any]) -> Any:
    print(f"{title} ...", end=" ", flush=True)
    before = time.perf_counter()
    result = work()
    print(f"{time.perf_counter() - before:.2f} s")
    return result


def show(table: pa.Table, rows: int = 6) -> None:
    names = table.column_names
    cells = [[str(v)[:19] for v in row.values()] for row in table.slice(0, rows).to_pylist()]
    widths = [max(len(n), *(len(c[k]) for c in cells)) for k, n in enumerate(names)]
    for line in [names, *cells]:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


def main() -> None:
    calls = timed(f"generating {CALLS:,} calls, out of order", generate)
    query = (
        wr.query(time="ts", by="region")
        .window(day=wr.Sliding("24h", slide="1m"), visit=wr.Session(gap="5m"))
        .agg(
            longest=wr.max("len"),
            ties=wr.max_count("len"),
            who=wr.max_by("caller", "len"),
            mean=wr.mean("len"),
            calls=wr.count(),
        )
    )
    print("\nthe plan\n")
    print("\n".join("  " + line for line in query.explain().splitlines()))
    print()
    timed("first run (the first ever compiles its kernels)", lambda: query.run(calls))
    result = timed("second run", lambda: query.run(calls))
    print(f"\n{result.num_rows:,} windows; noon of the second day:\n")
    noon = np.datetime64("2024-05-02T12:00", "us")
    ends = result["window_end"].to_numpy()
    show(result.filter(pa.array(ends == noon)))

    print("\nper call: the mean length of the 1,000 calls before it in its region\n")
    per_call = timed(
        "rolling",
        lambda: wr.events(calls, time="ts", by="region").rolling(rows=1_000).agg(mean=wr.mean("len")),
    )
    show(per_call, 3)

    print(
        "\nthe maximum of the last 10,000 lengths, by each algorithm, ns per call (kernels compiled before)\n"
    )
    lengths = calls["len"].to_numpy().astype(float)
    for algorithm in (wr.swag.TwoStacksLite, wr.swag.DABALite, wr.swag.DABA, wr.swag.FlatFAT):
        algorithm(wr.max).roll(lengths[:100], 10_000)
        before = time.perf_counter()
        algorithm(wr.max).roll(lengths, 10_000)
        spent = (time.perf_counter() - before) / CALLS * 1e9
        print(f"  {algorithm.__name__:14} {spent:7.1f}   {algorithm.cost}")


if __name__ == "__main__":
    main()
