"""Operators whose process, or whose server, is killed with kill -9 at random moments, again and again.

    python operator_kills.py rocksdb|redis|server FOLDER KILLS

Run by test_operator_kills.py in a process of its own. Children take steps with four operators on one store
(time windows with corrections and sessions; rolling by time; rolling by rows; an as-of query, whose
results are those of labels) and report each step that has returned, with a digest of its results and counts.
``server``: one child goes on while the Redis server is killed and started again.

What is held against an operator that never stopped, and ends this with an error if it is broken:

- a child finds whole steps, and none missing that was reported before it;
- at most one step more than was reported: the one under way at the kill, whose results nobody has seen;
- each step ever reported has the results and counts of that step.

It forks, so that a child costs little; a store is opened in children only.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow as wr
from support.chaos_counts import Tally, counted
from support.redis_server import RedisServer
from windrow.state import RedisStore, RocksDBStore, Store

NAMES = {
    "rocksdb": "Operators on RocksDB, process killed",
    "redis": "Operators on Redis, process killed",
    "server": "Operators on Redis, server killed and started again",
}
ROWS = 20
#: steps of the last child after the last kill
_AFTER = 30
#: seconds for which an operation waits for a server that is away: none of the machine's doing
_PATIENCE = 600
_HELD = ("slices", "keys", "rows_held", "state_bytes")


def rows(step: int) -> pa.Table:
    """Rows out of order; some are late enough for a correction, some too late for anything."""
    chance = random.Random(step)
    behind = [chance.choice([0, 0, 0, 0, 3, 12, 30]) for _ in range(ROWS)]
    return pa.table(
        {
            "t": [step * 10 + chance.randrange(10) - back for back in behind],
            "k": [chance.choice(["a", "b", "c", None]) for _ in range(ROWS)],
            "v": [chance.choice([None, *range(20)]) for _ in range(ROWS)],
        }
    )


def opened(store: Store | None, sync: bool) -> dict[str, Any]:
    """The operators, in a store or without one."""
    events = wr.query(time="t", by="k", watermark=5)
    every = {"n": wr.count(), "total": wr.sum("v"), "last": wr.last("v")}
    corrected = wr.query(time="t", by="k", watermark=5, allowed_lateness=10)
    windows = corrected.window(ten=wr.Tumbling(10), long=wr.Sliding(60, slide=5), visit=wr.Session(2))
    queries = {
        "windows": windows,
        "rolling": events.rolling(60),
        "rows": events.rolling(rows=15, store=store),
        "asof": events.asof(30, 60),
    }
    where = {} if store is None else {"store": store, "sync": sync}
    return {name: query.agg(**every).open(name=name, **where) for name, query in queries.items()}


def digest(operator: Any, results: pa.Table) -> str:
    """Results of a step, and all that was counted up to it."""
    counts = {name: value for name, value in asdict(operator.metrics).items() if name not in _HELD}
    return hashlib.sha256(repr((results.to_pylist(), counts)).encode()).hexdigest()[:24]


def stepped(operator: Any, step: int) -> pa.Table:
    """The results of a step; those of labels, where these are asked for."""
    results = operator.push(rows(step))
    if operator.query.asof_over is None:
        return results
    now = operator.metrics.watermark
    return operator.at(pa.table({"t": [now, now + 5, now + 20, now], "k": ["a", "b", "c", None]}))


class Uninterrupted:
    """What operators give that never stop, step by step."""

    def __init__(self) -> None:
        self._operators = opened(None, False)
        self._digests: list[dict[str, str]] = []

    def at(self, step: int) -> dict[str, str]:
        while len(self._digests) <= step:
            number, operators = len(self._digests), self._operators.items()
            self._digests.append({name: digest(each, stepped(each, number)) for name, each in operators})
        return self._digests[step]


# -- the child -----------------------------------------------------------------------------------------------


def run(
    open_store: Callable[[], Store],
    sync: bool,
    until: int | None,
    say: Callable[[str], None],
    may_go: Callable[[], object] = bool,
) -> None:
    """Take steps, from where each operator is, until a step, or without end; ``may_go`` is awaited before
    each."""
    store = open_store()
    operators = opened(store, sync)
    taken = {name: each.metrics.rows_in // ROWS for name, each in operators.items()}
    assert all(each.metrics.rows_in % ROWS == 0 for each in operators.values()), "a part of a step is stored"
    say("open " + " ".join(f"{name}={steps}" for name, steps in taken.items()))
    while until is None or min(taken.values()) < until:
        for name in sorted(taken, key=lambda each: taken[each]):
            may_go()
            step, operator = taken[name], operators[name]
            results = stepped(operator, step)
            say(f"step {name} {step} {digest(operator, results)}")
            taken[name] += 1
    store.close()
    say("done")


class Child:
    """A forked process that reports in lines."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        source, target = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                work(lambda line: _write(target, line))
            except BaseException:
                _write(target, "error " + traceback.format_exc().replace("\n", "\\n"))
            os._exit(0)
        os.close(target)
        self._reports = os.fdopen(source, "r")

    def line(self) -> str:
        """The next report; nothing once there are no more."""
        return self._reports.readline()

    def kill(self) -> list[str]:
        """Kill it; what it had reported."""
        os.kill(self.pid, signal.SIGKILL)
        return self.rest()

    def rest(self) -> list[str]:
        found = self._reports.readlines()
        self._reports.close()
        os.waitpid(self.pid, 0)
        return found


def _write(target: int, line: str) -> None:
    os.write(target, f"{line}\n".encode())  # at once: shorter than what a pipe takes whole


# -- the one that kills --------------------------------------------------------------------------------------


class Judge:
    """Holds what children report against operators that never stop."""

    def __init__(self) -> None:
        self.returned = dict.fromkeys(opened(None, False), 0)
        self.steps = 0
        self.used_up = 0
        self._right = Uninterrupted()

    def take(self, line: str) -> None:
        if not line.endswith("\n"):  # cut off by the kill
            return
        kind, *words = line.split()
        if kind == "error":
            raise AssertionError(line.removeprefix("error ").replace("\\n", "\n"))
        if kind == "open":
            self._opened(dict(word.split("=") for word in words))
        elif kind == "step":
            self._stepped(words[0], int(words[1]), words[2])

    def _opened(self, found: dict[str, str]) -> None:
        for name, steps in found.items():
            returned = self.returned[name]
            assert int(steps) >= returned, f"{name} is at step {steps}, and {returned} steps had returned"
            assert int(steps) <= returned + 1, f"{name} is at step {steps}, and only {returned} had returned"
            self.used_up += int(steps) - returned
            self.returned[name] = int(steps)

    def _stepped(self, name: str, step: int, found: str) -> None:
        assert step == self.returned[name], f"{name} takes step {step}, and {self.returned[name]} is next"
        assert found == self._right.at(step)[name], f"{name}: step {step} has other results or counts"
        self.returned[name] = step + 1
        self.steps += 1

    def last(self) -> int:
        return max(self.returned.values())


def kill_processes(open_store: Callable[[], Store], kills: int, judge: Judge, tally: Tally) -> None:
    chance = random.Random(kills)
    for number in range(kills):
        with tally.attempt():
            child = Child(partial(run, open_store, number % 2 == 0, None))
            seen = [child.line() for _ in range(chance.choice([0, 1, 1, 2, 5, 14]))]
            time.sleep(chance.choice([0.0, 0.002, 0.01, 0.03]) * chance.random())
            for line in [*seen, *child.kill()]:
                judge.take(line)
            if chance.random() < 0.7:  # else the next child finds what is left, and may be killed over it
                check(open_store, judge, 0)
    check(open_store, judge, judge.last() + _AFTER)


def check(open_store: Callable[[], Store], judge: Judge, until: int) -> None:
    """A child that opens what is there, takes steps until one, and ends by itself."""
    lines = Child(partial(run, open_store, True, until)).rest()
    for line in lines:
        judge.take(line)
    assert lines[-1] == "done\n", lines[-1]


def kill_server(
    server: RedisServer, open_store: Callable[[], Store], kills: int, judge: Judge, tally: Tally
) -> None:
    """The process takes as many steps as it is let: some around the kill, and some that begin after it."""
    chance = random.Random(kills)
    waiting, granting = os.pipe()
    child = Child(partial(run, open_store, False, None, may_go=lambda: os.read(waiting, 1)))
    try:
        judge.take(child.line())
        for _ in range(kills):
            with tally.attempt():
                around = chance.randrange(1, 12)
                os.write(granting, bytes(around))
                time.sleep(chance.choice([0.0, 0.01, 0.05]) * chance.random())
                server.kill()
                time.sleep(chance.choice([0.0, 0.0, 0.05]))
                server.start()
                os.write(granting, bytes(len(judge.returned)))
                for _ in range(around + len(judge.returned)):
                    line = child.line()
                    assert line, "the process has ended"
                    judge.take(line)
    finally:
        child.kill()
    check(open_store, judge, judge.last() + _AFTER)


def main(kind: str, folder: Path, kills: int) -> None:
    importlib.import_module("rocksdict" if kind == "rocksdb" else "redis")  # once, and not in each child
    judge, server = Judge(), None
    with counted(NAMES[kind]) as tally:
        if kind == "rocksdb":
            kill_processes(lambda: RocksDBStore(folder), kills, judge, tally)
        else:
            server = RedisServer(folder)
            address = server.url
            try:
                if kind == "redis":
                    kill_processes(lambda: RedisStore(address, wait=_PATIENCE), kills, judge, tally)
                else:
                    kill_server(server, lambda: RedisStore(address, wait=_PATIENCE), kills, judge, tally)
            finally:
                server.kill()
    print(f"{tally.tried} tried, {tally.held} held, {judge.steps} steps, {judge.used_up} were stored unseen")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
