"""Run by test_disks.py in a process of its own: a store on a disk that is full again and again.

Usage: full_disk.py WORK FOLDER ROUNDS. "Full" is a limit on the size of files, which a process may set and
lift by itself. What fails is repeated once there is room; at every step the results must be those of the same
work never disturbed. Prints how often there was no room; any broken promise ends it with an error.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

import windrow as wr
from windrow.state import MemoryStore, RocksDBStore, StoreFull

T = TypeVar("T")


class Disk:
    """A folder with a store in it, and the room that there is for its files."""

    def __init__(self, folder: str, rounds: int) -> None:
        self.folder, self.rounds, self.chance = folder, rounds, random.Random(rounds)
        self.failures = 0
        self.store = self.open()

    def open(self) -> RocksDBStore:
        return RocksDBStore(self.folder, memory=1 << 18)

    def fill(self) -> None:
        """No room from now on, or none for more than some bytes."""
        written = max(_size(path) for path in Path(self.folder).glob("*.log"))
        self.limit(self.chance.choice([0, written, written + 100, written + 1_000]))

    def limit(self, size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def empty(self) -> None:
        self.limit(resource.getrlimit(resource.RLIMIT_FSIZE)[1])

    def note(self, message: str) -> None:
        assert message.startswith(f"no room for the store in {self.folder}: "), message
        assert message.endswith("; make room, then repeat"), message
        self.failures += 1

    def repeat(self, work: Callable[[], T]) -> T:
        """Do it; if there is no room, try again without room, or not, and then with room."""
        while True:
            try:
                return work()
            except StoreFull as error:
                self.note(str(error))
                if self.chance.random() < 0.5:
                    self.empty()
                else:
                    self.limit(0)


def _size(path: Path) -> int:
    """RocksDB deletes files in the background."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def use_store(disk: Disk) -> None:
    """Puts and deletes, and now and then a store that is closed while there is no room."""
    model: dict[bytes, bytes] = {}
    for number in range(disk.rounds * 10):
        if number % 10 == 3:
            disk.fill()
        puts = {b"%d" % (number * 7 % 50 + at): os.urandom(disk.chance.randrange(3000)) for at in range(3)}
        gone = b"%d" % (number % 50 + 60)
        after = {key: value for key, value in (model | puts).items() if key != gone}

        def write(puts: dict[bytes, bytes] = puts, gone: bytes = gone) -> None:
            disk.store.write(puts.items(), [gone], sync=True)

        try:
            write()
        except StoreFull as error:
            disk.note(str(error))
            if number % 3 == 0:
                disk.store.close()
            disk.empty()
            if number % 3 == 0:
                disk.store = disk.open()
            assert content(disk.store) in (model, after), "half of a write"
            write()
        model = after
        assert content(disk.store) == model
    disk.empty()


def use_threads(disk: Disk) -> None:
    """Threads that read while the database is opened again: they see all that was written, or no room."""
    keys = [b"%d" % number for number in range(2_000)]
    disk.store.write([(key, key) for key in keys], sync=True)
    done = threading.Event()

    def read() -> int:
        count = 0
        while not done.is_set():
            with contextlib.suppress(StoreFull):
                assert disk.store.get_many(keys[:200]) == keys[:200]
                assert list(disk.store.scan(b"1")) == sorted(key for key in keys if key.startswith(b"1"))
                count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for number in range(disk.rounds * 10):
                if number % 10 == 3:
                    disk.limit(0)
                disk.repeat(lambda number=number: disk.store.write([(b"x", b"%d" % number)], sync=True))  # type: ignore[misc]
        finally:
            disk.empty()
            done.set()
    assert all(reader.result() for reader in readers)


def content(store: RocksDBStore) -> dict[bytes, Any]:
    keys = list(store.scan(b""))
    return dict(zip(keys, store.get_many(keys), strict=True))


def use_window(disk: Disk) -> None:
    """A window that is filled and slid."""
    window = wr.swag.AMTA.open(disk.store, "w", wr.sum, buffer=24, cache=32, block=8)
    model: deque[int] = deque()
    for number in range(disk.rounds * 300):
        if number % 300 == 100:
            disk.fill()
        disk.repeat(lambda number=number: window.insert(number))  # type: ignore[misc]
        model.append(number)
        if number > 500:
            count = number % 3
            disk.repeat(lambda count=count: window.evict_many(count))  # type: ignore[misc]
            for _ in range(count):
                model.popleft()
        if number % 50 == 0:
            disk.repeat(window.flush)
            assert window.query() == sum(model)
    disk.repeat(window.close)
    disk.empty()
    disk.store.close()
    disk.store = disk.open()
    assert wr.swag.AMTA.open(disk.store, "w", wr.sum).query() == sum(model)


def use_operator(disk: Disk) -> None:
    query = wr.query(time="t", by="who", watermark=20).window(slide=wr.Sliding(40, 10), visit=wr.Session(3))
    query = query.agg(n=wr.count(), most=wr.max("x"), last=wr.last("x"))
    run(disk, query.open(store=disk.store, name="q", sync=True, cache_bytes=0), query.open())


def use_rolling(disk: Disk) -> None:
    def opened(store: Any) -> Any:
        query = wr.query(time="t", by="who", watermark=20).rolling(rows=30, store=store)
        return query.agg(n=wr.count(), most=wr.max("x"), last=wr.last("x")).open(name="r")

    run(disk, opened(disk.store), opened(MemoryStore()))


def run(disk: Disk, operator: Any, undisturbed: Any) -> None:
    for number in range(disk.rounds * 4):
        if number % 4 == 2:
            disk.fill()
        times = [number * 10 + disk.chance.randrange(-10, 10) for _ in range(40)]
        who = [disk.chance.choice("abc") for _ in times]
        rows = pa.table({"t": times, "who": who, "x": [disk.chance.random() for _ in times]})
        found = disk.repeat(lambda rows=rows: operator.push(rows))  # type: ignore[misc]
        assert as_rows(found) == as_rows(undisturbed.push(rows)), f"push {number}"
    assert as_rows(disk.repeat(operator.finish)) == as_rows(undisturbed.finish())
    assert operator.metrics.rows_in == undisturbed.metrics.rows_in
    disk.empty()


def as_rows(results: Any) -> Any:
    """A table, or one for each window, as plain values."""
    if isinstance(results, dict):
        return {name: table.to_pylist() for name, table in results.items()}
    return results.to_pylist()


def main(work: str, folder: str, rounds: int) -> None:
    works = {
        "store": use_store,
        "threads": use_threads,
        "window": use_window,
        "operator": use_operator,
        "rolling": use_rolling,
    }
    disk = Disk(folder, rounds)
    works[work](disk)
    disk.store.close()
    print(f"{disk.failures} times without room")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
