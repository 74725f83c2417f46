"""What a micro-batch costs where rows are held: rolling, and windows that data decide, without Spark.

Run: ``python bench/held.py`` (``--keys``, ``--only steps`` or ``policies``). ``steps``: so many keys, then
twice as many, have rows; micro-batches of ten rows of ten keys, from the third on, and of a row for each key,
before the small ones and again behind them, the former beside the same rows held as one log, in which no key
can be read by itself. ``policies``: one key with a window of more and more rows. Bytes and entries are those
of Spark's state, milliseconds those of the processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import heading, machine, progress, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import windrow as wr
from support.held_queries import SCHEMA, START, keep, queries
from support.packed_stream import DictEntries
from support.small_chunks import without_groups
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.step import COUNTED, step
from windrow.engines.spark.worker.streaming.wire import write_rows

#: micro-batches of all keys, then of few: their rows join the groups once among so many
FULL, SMALL = 9, 110
#: micro-batches of all keys behind small ones that are not measured: they bring rows back to where they were
AGAIN = 11
LENGTHS = (1 << 13, 1 << 15, 1 << 17)


QUERIES = queries(size=10**9, rows=1_000, kept=20)


class Entries(DictEntries):
    """Counts the entries that are read."""

    reads = 0

    def block(self, name: str) -> bytes:
        self.reads += 1
        return super().block(name)


class Stream:
    """Steps of one bucket."""

    def __init__(self, query: Any) -> None:
        self._payload, self.entries, self._now = (
            packed(query.agg(n=wr.count(), total=wr.sum("v"))),
            Entries(),
            1,
        )

    def step(self, keys: Any) -> Any:
        """Milliseconds, kB read, kB written, entries read, for one row of each key."""
        times, flags = np.arange(self._now, self._now + len(keys)), np.zeros(len(keys), np.bool_)
        blob = write_rows(pa.table([times, keys, times % 11, flags, ~flags], schema=SCHEMA))
        self.entries.reads, begun = 0, time.process_time()
        counts = step(self._payload, SCHEMA, self.entries, [blob], self._now, {}, 1).counts
        took = (time.process_time() - begun) * 1e3
        self._now += len(keys)
        found = dict(zip(COUNTED, counts, strict=True))
        moved = found["state_bytes_read"] / 1e3, found["state_bytes_written"] / 1e3
        return np.array([took, *moved, self.entries.reads])


def stepped(query: Any, keys: int, small: int = SMALL) -> tuple[Any, Any, Any]:
    """Full micro-batches, small ones, and full ones again, on average."""
    stream, chance = Stream(query), np.random.default_rng(keys)
    for _ in range(4):
        stream.step(np.arange(keys))
    full = [stream.step(np.arange(keys)) for _ in range(FULL)]
    if not small:
        return np.mean(full, axis=0), None, None
    few = [stream.step(chance.choice(keys, 10, replace=False)) for _ in range(small + 2)]
    again = [stream.step(np.arange(keys)) for _ in range(AGAIN + FULL)]
    return np.mean(full, axis=0), np.mean(few[2:], axis=0), np.mean(again[AGAIN:], axis=0)


def steps(keys: int) -> None:
    heading(
        "steps", f"{keys:,} and {2 * keys:,} keys of {FULL + 4} rows; ten rows of ten keys, or one of each"
    )
    lines = []
    for name, query in QUERIES.items():
        stepped(query, keys // 10, 2)  # kernels are loaded
        for count in (keys, 2 * keys):
            progress(f"{name}, {count:,} keys")
            full, few, again = stepped(query, count)
            with without_groups():
                alone, _, _ = stepped(query, count, 0)
            line = {"window": name, "keys": count, "read kB": few[1], "written kB": few[2], "ms": few[0]}
            every = {"all keys: ms": full[0], "again: ms": again[0], "as one log: ms": alone[0]}
            lines.append(line | every)
    formats = dict.fromkeys(("read kB", "written kB", "ms", *every), ".0f")
    table(lines, keys=",", **formats)


def policies() -> None:
    heading("policies", "one key of two; a row is added to a window of so many")
    lines = []
    for length in LENGTHS:
        progress(f"a window of {length:,} rows")
        stream = Stream(START.window(keep(10**9)))
        for _ in range(length // 4_096):
            stream.step(np.repeat([1, 2], [4_095, 1]))
        for _ in range(3):
            stream.step(np.array([1]))
        took, read, _, entries = stream.step(np.array([1]))
        lines.append(
            {"rows of the window": length, "read kB": read, "entries read": int(entries), "ms": took}
        )
    table(lines, **{"rows of the window": ",", "read kB": ".0f", "ms": ".0f"})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=5_000)
    parser.add_argument("--only", choices=["steps", "policies"])
    given = parser.parse_args()
    for name, value in machine().items():
        print(f"{name}: {value}")
    if given.only != "policies":
        steps(given.keys)
    if given.only != "steps":
        policies()


if __name__ == "__main__":
    main()
