"""``make soak``: an operator under a steady load for an hour: memory, state and open files stay flat.

    python tests/soak.py [--seconds 3600] [--rows 20000] [--store FOLDER]

Rows of many keys come in pushes, out of order and some late; windows fire and leave. After a warm-up of a
third of the time, the largest memory, state and number of open files of the last third may not be above those
of the middle third by more than a tenth. Counts must add up. Ends with a line, and with 1 if something grows.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import windrow as wr

#: by how much the last third may be above the middle one
_SLACK = 1.1
#: bytes of memory that are never growth: what allocators keep for themselves
_NOISE = 32 << 20


@dataclass(frozen=True)
class Sample:
    """What was in use at one moment."""

    at: float
    memory: int
    state: int
    files: int


@dataclass(frozen=True)
class Soaked:
    """How a run went: rows, samples over time, and the counts at the end."""

    rows: int
    samples: list[Sample]
    metrics: Any

    def growth(self) -> list[str]:
        """What grows, in words."""
        third = len(self.samples) // 3
        middle, last = self.samples[third : 2 * third], self.samples[2 * third :]
        found = []
        for name, noise in (("memory", _NOISE), ("state", 1 << 16), ("files", 4)):
            before, after = (max(getattr(sample, name) for sample in part) for part in (middle, last))
            if after > before * _SLACK + noise:
                found.append(f"{name} grew from {before:,} to {after:,}")
        metrics = self.metrics
        if metrics.rows_in != metrics.rows_aggregated + metrics.rows_late + metrics.rows_rejected:
            found.append("the counts do not add up")
        return found


def soak(seconds: float, rows: int, keys: int = 500, store: Any = None) -> Soaked:
    """Push rows as fast as they are taken for so many seconds; each push is a minute of event time."""
    query = wr.query(time="ts", by="key", watermark="2m", late="emit", on_error="reject")
    query = query.window(hour=wr.Sliding("1h", slide="5m"), visit=wr.Session("3m"))
    operator = query.agg(n=wr.count(), top=wr.max("v"), total=wr.sum("v")).open(store=store)
    rng, began = np.random.default_rng(1), time.monotonic()
    samples: list[Sample] = []
    pushes = 0
    while time.monotonic() - began < seconds or len(samples) < 30:
        operator.push(_rows(rng, pushes, rows, keys))
        operator.late_rows()
        operator.rejected_rows()
        pushes += 1
        if time.monotonic() - began > len(samples) * seconds / 60:
            samples.append(_sample(time.monotonic() - began, operator.metrics.state_bytes))
    return Soaked(pushes * rows, samples, operator.metrics)


def _rows(rng: Any, push: int, rows: int, keys: int) -> pa.Table:
    """A minute of event time; one row in a hundred is hours late, and one in a thousand has no time."""
    behind = np.where(rng.random(rows) < 0.01, 4 * 3_600_000_000, rng.integers(0, 90_000_000, rows))
    times = push * 60_000_000 + rng.integers(0, 60_000_000, rows) - behind + 10**15
    moments = pa.array(times, mask=rng.random(rows) < 0.001).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": moments, "key": rng.integers(0, keys, rows), "v": rng.integers(0, 1000, rows)})


def _sample(at: float, state: int) -> Sample:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(at, pages * os.sysconf("SC_PAGE_SIZE"), state, len(os.listdir("/proc/self/fd")))


def main() -> int:
    parser = argparse.ArgumentParser(description="A steady load: memory, state and open files stay flat.")
    parser.add_argument("--seconds", type=float, default=3_600, help="how long (default: 3600)")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a push (default: 20000)")
    parser.add_argument("--store", metavar="FOLDER", help="keep the state there, in RocksDB")
    options = parser.parse_args()
    store = None
    if options.store is not None:
        from windrow.state import RocksDBStore

        store = RocksDBStore(options.store)
    found = soak(options.seconds, options.rows, store=store)
    last, rate = found.samples[-1], found.rows / found.samples[-1].at
    print(
        f"{found.rows:,} rows at {rate:,.0f} a second: memory {last.memory >> 20} MiB, state "
        f"{last.state >> 10:,} KiB, {last.files} open files; late {found.metrics.rows_late:,}, rejected "
        f"{found.metrics.rows_rejected:,}"
    )
    for grown in found.growth():
        print(grown, file=sys.stderr)
    return 1 if found.growth() else 0


if __name__ == "__main__":
    sys.exit(main())
