"""Windows on key-value stores: AMTA in memory, on RocksDB and on Redis, beside DABA ([MTA] figures 6 to 9).

    python bench/stores.py [--quick] [--only slide|bulk|memory|trips|aggregates]

Redis is measured if redis-server is on the PATH: on loopback, started and stopped here. Stores are in a
temporary folder (TMPDIR says where). Windows are fed from Python, one value at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import Settings, heading, power, progress, table, verdict

import windrow as wr
from windrow.state import MemoryStore, RedisStore, RocksDBStore, Store
from windrow.swag.amta import AMTA

SECTIONS = ("slide", "bulk", "memory", "trips", "aggregates")
LIMIT_MB = 512


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[str | None]:
    """The address of a server that lives as long as the block, or None."""
    program = shutil.which("redis-server")
    if program is None:
        progress("redis-server is not there: its rows are left out")
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


class Places:
    """Makes windows, each in a store of its own."""

    def __init__(self, folder: Path, redis: str | None) -> None:
        self._folder = folder
        self._redis = redis
        self._count = 0

    def kinds(self) -> dict[str, Callable[[Any], Any]]:
        """How to make a window for an aggregate, by name."""
        found: dict[str, Callable[[Any], Any]] = {
            "DABA": wr.swag.DABA,
            "AMTA": AMTA,
            "AMTA on a memory store": lambda monoid: self.opened(MemoryStore(), monoid),
            "AMTA on RocksDB": lambda monoid: self.opened(self.rocksdb(), monoid),
        }
        if self._redis:
            found["AMTA on Redis"] = lambda monoid: self.opened(RedisStore(self._redis), monoid)
        return found

    def rocksdb(self) -> Store:
        self._count += 1
        return RocksDBStore(self._folder / f"{self._count}")

    def opened(self, store: Store, monoid: Any) -> Any:
        self._count += 1
        return AMTA.open(store, f"window {self._count}", monoid)


def ended(window: Any) -> None:
    """Close a window and its store, so that the next one has the machine."""
    if hasattr(window, "close"):
        window.close()
        window.store.store.close()
    gc.collect()


def fill(window: Any, count: int) -> float:
    begun = time.perf_counter()
    insert = window.insert
    for number in range(count):
        insert(float(number & 1023))
    return time.perf_counter() - begun


def slide(window: Any, rounds: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds a round, the shortest of five parts: what the machine did meanwhile is left out."""
    best = float("inf")
    for _ in range(5):
        begun = clock()
        for number in range(rounds // 5):
            window.evict()
            window.insert(float(number & 1023))
            window.query()
        best = min(best, clock() - begun)
    return best / (rounds // 5)


# -- sections ------------------------------------------------------------------------------------------------


def measure_slide(settings: Settings, places: Places) -> None:
    heading("slide: evict, insert and query in a window of n values, max; ns", "goal: RocksDB within 5x AMTA")
    rounds = settings.pick(1_000_000, 100_000)
    rows = []
    for n in settings.pick([1 << 20, 1 << 23], [1 << 16, 1 << 18]):
        base = 0.0
        for name, make in places.kinds().items():
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


def measure_bulk(settings: Settings, places: Places) -> None:
    n = settings.pick(1 << 23, 1 << 18)
    goal_at = settings.pick(1 << 20, 1 << 16)
    heading(
        f"bulk: evict b of {power(n)} values by a policy, and query; count; µs, the median of three",
        f"goal: every AMTA at least 100 times as fast as DABA at b = {power(goal_at)}",
    )
    sizes = [
        size for size in (1, 1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22) if size <= n // 2
    ]
    rows: list[dict[str, Any]] = []
    for name, make in places.kinds().items():
        progress(f"bulk: {name}")
        window = make(wr.count)
        fill(window, n)
        row: dict[str, Any] = {"window": name}
        for size in sizes:
            times = [_bulk(window, n, size) for _ in range(3 if size < 1 << 20 else 1)]
            row[power(size)] = sorted(times)[len(times) // 2] * 1e6
        rows.append(row)
        ended(window)
        del window
    slow = rows[0][power(goal_at)]
    for row in rows:
        row["x DABA"] = slow / row[power(goal_at)]
        row[""] = verdict(row["x DABA"] >= 100) if row["window"] != "DABA" else None
    table(rows, **{power(size): ",.0f" for size in sizes}, **{"x DABA": ",.0f"})


def _bulk(window: Any, n: int, size: int) -> float:
    window.query()
    begun = time.perf_counter()
    if isinstance(window, AMTA):
        assert window.evict_while(lambda total, old: total - old >= n - size) == size
    else:
        window.evict_many(size)
    assert window.query() == n - size
    seconds = time.perf_counter() - begun
    fill(window, size)
    return seconds


def measure_memory(settings: Settings, places: Places) -> None:
    n = settings.pick(1 << 25, 1 << 20)
    heading(f"memory: {power(n)} values on RocksDB in a process whose data is limited to {LIMIT_MB} MB")
    progress(f"memory, n = {power(n)}")
    with tempfile.TemporaryDirectory(prefix="windrow-stores-") as folder:
        command = [sys.executable, __file__, "--memory-child", folder, str(n)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"   MISS: {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}")
            return
        resident, seconds = done.stdout.split()
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    row = {"n": power(n), "largest resident MB": float(resident), "disk MB": size / 1e6, "s": float(seconds)}
    table(
        [row | {"": verdict(float(resident) <= LIMIT_MB)}],
        **{"largest resident MB": ".0f", "disk MB": ",.0f", "s": ".0f"},
    )


def memory_child(folder: str, n: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_MB << 20, LIMIT_MB << 20))
    begun = time.perf_counter()
    store = RocksDBStore(Path(folder) / "db", memory=32 << 20)
    window = AMTA.open(store, "w", wr.sum)
    for number in range(n):
        window.insert(number & 1023)
    slide(window, 100_000)
    window.evict_many(n // 2)
    assert len(window) == n - n // 2
    window.query()
    window.close()
    store.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(peak, time.perf_counter() - begun)


def measure_trips(settings: Settings, places: Places) -> None:
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
        before, missed = window.metrics.round_trips, window.metrics.misses
        slide(window, 5 * (n // 5))
        row["slide"] = (window.metrics.round_trips - before) / n * 1000
        row["of which waited for"] = (window.metrics.misses - missed) / n * 1000
        before = window.metrics.misses
        window.evict_many(n // 3)
        window.query()
        row["one bulk eviction"] = window.metrics.misses - before
        rows.append(row)
        ended(window)
    table(
        rows,
        buffer="d",
        cache="d",
        insert=".2f",
        slide=".2f",
        **{"of which waited for": ".3f", "one bulk eviction": "d"},
    )


def measure_aggregates(settings: Settings, places: Places) -> None:
    n = 1 << 15
    heading(
        f"aggregates: k counts over a window of {power(n)} values on RocksDB; ns of processor time a slide"
    )
    rounds = settings.pick(100_000, 20_000)
    rows = []
    single = 0.0
    for k in settings.pick((1, 2, 5, 10, 20, 50), (1, 10, 50)):
        progress(f"aggregates: k = {k}")
        monoid = wr.together(**{f"count{number}": wr.count for number in range(k)})
        window = places.opened(places.rocksdb(), monoid)
        fill(window, n)
        window.query()
        each = slide(window, rounds, time.process_time) * 1e9
        single = single or each
        rows.append({"k": k, "shared": each, "apart": single * k, "x": single * k / each})
        ended(window)
    table(rows, k="d", shared=",.0f", apart=",.0f", x=".1f")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller windows, about a minute")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section; may be given again")
    parser.add_argument("--memory-child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_child:
        memory_child(options.memory_child[0], int(options.memory_child[1]))
        return
    settings = Settings(quick=options.quick)
    with tempfile.TemporaryDirectory(prefix="windrow-stores-") as folder:
        (Path(folder) / "redis").mkdir()
        with redis_server(Path(folder) / "redis") as redis:
            places = Places(Path(folder), redis)
            for name in options.only or SECTIONS:
                globals()[f"measure_{name}"](settings, places)


if __name__ == "__main__":
    main()
