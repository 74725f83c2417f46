"""Run by test_crashes.py in a process of its own: a window that is filled and slid by children which are
killed, each going on where the store says that the one before it was.

Usage: crash_loop.py STORE PLACE KILLS DURABILITY. It forks, so that a child costs milliseconds; a store is
opened in children only. Prints a line of figures; any broken promise ends it with an error.
"""

from __future__ import annotations

import importlib
import os
import random
import signal
import sys
import time
import traceback
from typing import Any

from windrow.monoids.own import monoid
from windrow.state import RedisStore, RocksDBStore, Store
from windrow.swag.amta import AMTA

PRIME = 2**61 - 1

#: rows, first and last number, and a hash that depends on order: enough to know a window from any other
SPAN = monoid(
    name="span",
    lift=lambda number: (1, number, number, number * 1_000_003 % PRIME, 31),
    combine=lambda a, b: (
        b
        if a[0] == 0
        else a
        if b[0] == 0
        else (a[0] + b[0], a[1], b[2], (a[3] * b[4] + b[3]) % PRIME, a[4] * b[4] % PRIME)
    ),
    identity=(0, 0, 0, 0, 1),
    compile=False,
)


def evicted_after(number: int) -> int:
    """How many go after the insert of a number: now and then many, then none, then about one; never all."""
    phase = number % 701
    if number < 600 or 0 < phase <= 400:
        return 0
    return 400 if phase == 0 else (2, 0, 1, 1, 1)[phase % 5]


def first_after(number: int) -> int:
    """The first number in the window once a number is in and what goes with it is out."""
    first = size = 0
    for inserted in range(number + 1):
        size += 1
        gone = min(evicted_after(inserted), size)
        first, size = first + gone, size - gone
    return first


def expected(first: int, last: int) -> tuple[int, ...]:
    total: tuple[int, ...] = SPAN.identity
    for number in range(first, last + 1):
        total = SPAN.combine(total, SPAN.lift(number))
    return total


def open_store(kind: str, place: str) -> Store:
    return RedisStore(place, namespace="crash", wait=600) if kind == "redis" else RocksDBStore(place)


def recovered(window: Any, confirmed: int) -> int:
    """The number that the window is at: never before the confirmed one, and exactly a window that was."""
    partial = window.query_partial()
    if not len(window):
        assert confirmed == -1, f"empty, and {confirmed} was confirmed"
        return -1
    last = partial[2]
    assert last >= confirmed, f"back at {last}, and {confirmed} was confirmed"
    before = first_after(last - 1) if last else 0
    after = first_after(last)
    assert partial[1] in (before, after), f"begins with {partial[1]}, not {before} or {after}, at {last}"
    assert partial == expected(partial[1], last), "the window holds something else"
    assert len(window) == partial[0]
    window.evict_many(after - partial[1])
    return int(last)


def run(kind: str, place: str, durability: Any, log: int, confirmed: int, until: int) -> None:
    store = open_store(kind, place)
    window = AMTA.open(store, "w", SPAN, buffer=24, cache=32, block=8, durability=durability)
    number = recovered(window, confirmed)
    os.write(log, b"r%d\n" % number)
    while number < until:
        number += 1
        window.insert(number)
        window.evict_many(min(evicted_after(number), len(window)))
        if durability == "each":
            os.write(log, b"c%d\n" % number)
        elif number % 37 == 0:
            window.flush(sync=False)
            os.write(log, b"c%d\n" % number)
    window.close()
    assert window.query_partial() == expected(first_after(number), number)
    store.close()
    os.write(log, b"d%d\n" % number)


def in_child(
    kind: str,
    place: str,
    durability: Any,
    confirmed: int,
    until: int,
    killed_after: tuple[int, float] | None = None,
) -> list[str]:
    """Fork; kill once the child has its window, has confirmed so many times, and some seconds have passed;
    what it reported."""
    source, log = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run(kind, place, durability, log, confirmed, until)
        except BaseException:
            os.write(log, ("e" + traceback.format_exc().replace("\n", "\\n") + "\n").encode())
        os._exit(0)
    os.close(log)
    with os.fdopen(source, "rb") as reports:
        seen = [reports.readline()]
        if killed_after is not None:
            seen += [reports.readline() for _ in range(killed_after[0])]
            time.sleep(killed_after[1])
            os.kill(child, signal.SIGKILL)
        seen += reports.readlines()
    os.waitpid(child, 0)
    lines = [line.decode().rstrip("\n") for line in seen if line.endswith(b"\n")]
    for line in lines:
        if line.startswith("e"):
            raise SystemExit(line[1:].replace("\\n", "\n"))
    return lines


def main(kind: str, place: str, kills: int, durability: str) -> None:
    importlib.import_module("redis" if kind == "redis" else "rocksdict")  # once, and not in each child
    chance = random.Random(kills)
    confirmed, ahead = -1, 0
    for _ in range(kills):
        seconds = chance.choice([0.0, 0.002, 0.01]) * (0.5 + chance.random())
        moment = chance.choice([0, 1, 5, 20]), seconds
        lines = in_child(kind, place, durability, confirmed, 10**9, moment)
        ahead += any(line[0] == "r" and int(line[1:]) > confirmed for line in lines)
        confirmed = max([confirmed, *(int(line[1:]) for line in lines if line[0] == "c")])
    last = in_child(kind, place, durability, confirmed, confirmed + 2_000)
    assert last[-1].startswith("d"), last[-1]
    print(f"{kills} kills, {confirmed} confirmed, {ahead} times more had been stored than confirmed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
