"""Windows on key-value stores: what a slide costs beside AMTA and DABA in memory, and how often a store is
asked; and how long a label of an as-of query waits for its answer.

    python bench/stores.py [--quick] [--only slide|trips|lookups] [--keys 1000000]

Redis is measured if redis-server is on the PATH: on loopback, started and stopped here. Stores are in a
temporary folder (TMPDIR says where). Windows are fed from Python, one value at a time. Bulk evictions, memory
and several aggregates are experiments of [MTA]: ``windrow bench mta``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from common import Settings, heading, power, progress, table, verdict
from sections.lookups import measure_lookups

import windrow as wr
from windrow.state import MemoryStore
from windrow.swag.amta import AMTA
from windrow_experiments.mta.stores import Places, ended, places
from windrow_experiments.mta.windows import stored

SECTIONS = ("slide", "trips", "lookups")


def kinds(where: Places) -> dict[str, Callable[[Any], Any]]:
    """How to make a window for an aggregate, by name."""
    found: dict[str, Callable[[Any], Any]] = {
        "DABA": wr.swag.DABA,
        "AMTA": AMTA,
        "AMTA on a memory store": lambda monoid: AMTA.open(MemoryStore(), "w", monoid),
    }
    return found | {f"AMTA on {kind}": stored(where, AMTA, kind) for kind in where.kinds()}


def fill(window: Any, count: int) -> float:
    begun = time.perf_counter()
    insert = window.insert
    for number in range(count):
        insert(float(number & 1023))
    return time.perf_counter() - begun


def slide(window: Any, rounds: int) -> float:
    """Seconds a round, the shortest of five parts: what the machine did meanwhile is left out."""
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        for number in range(rounds // 5):
            window.evict()
            window.insert(float(number & 1023))
            window.query()
        best = min(best, time.perf_counter() - begun)
    return best / (rounds // 5)


def measure_slide(settings: Settings, where: Places) -> None:
    heading("slide: evict, insert and query in a window of n values, max; ns", "goal: RocksDB within 5x AMTA")
    rounds = settings.pick(1_000_000, 100_000)
    rows = []
    for n in settings.pick([1 << 20, 1 << 23], [1 << 16, 1 << 18]):
        base = 0.0
        for name, make in kinds(where).items():
            progress(f"slide, n = {power(n)}: {name}")
            window = make(wr.max)
            filling = fill(window, n) / n * 1e9
            window.query()
            each = slide(window, rounds) * 1e9
            base = each if name == "AMTA" else base
            goal = verdict(each <= 5 * base) if "RocksDB" in name else None
            ratio = each / base if base else None
            rows.append(
                {"n": power(n), "window": name, "fill": filling, "slide": each, "x AMTA": ratio, "": goal}
            )
            ended(window)
            del window
    table(rows, fill=",.0f", slide=",.0f", **{"x AMTA": ".2f"})


def measure_trips(settings: Settings, where: Places) -> None:
    n = settings.pick(1 << 18, 1 << 15)
    heading(f"trips: calls to the store for 1,000 operations, window of {power(n)} values")
    rows = []
    for buffer, cache in ((64, 64), (512, 512), (4096, 4096)):
        window = AMTA.open(MemoryStore(), "w", wr.sum, buffer=buffer, cache=cache)
        fill(window, n)
        row: dict[str, Any] = {
            "buffer": buffer,
            "cache": cache,
            "insert": window.metrics.round_trips / n * 1000,
        }
        window.query()
        before, read = window.metrics.round_trips, window.metrics.reads
        slide(window, 5 * (n // 5))
        row["slide"] = (window.metrics.round_trips - before) / n * 1000
        row["of which reads"] = (window.metrics.reads - read) / n * 1000
        before = window.metrics.reads
        window.evict_many(n // 3)
        window.query()
        row["one bulk eviction"] = window.metrics.reads - before
        rows.append(row)
        ended(window)
    table(
        rows,
        buffer="d",
        cache="d",
        insert=".2f",
        slide=".2f",
        **{"of which reads": ".3f", "one bulk eviction": "d"},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller windows, half a minute")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be given again")
    parser.add_argument("--keys", type=int, help="of lookups; 1,000,000, with --quick 10,000")
    options = parser.parse_args()
    settings = Settings(quick=options.quick)
    sections = {
        "slide": lambda where: measure_slide(settings, where),
        "trips": lambda where: measure_trips(settings, where),
        "lookups": lambda where: measure_lookups(settings, where, options.keys),
    }
    with places() as where:
        for name in options.only or SECTIONS:
            sections[name](where)
        for what in where.missing:
            progress(f"left out: {what}")


if __name__ == "__main__":
    main()
