"""Two writers of one operator, each on a store of its own where that can be: the later one takes over at a
random moment while the earlier one is in the middle of its steps. Few times here; ``make chaos`` does many.

Every step comes out once, from one of the two: what the earlier one has returned is there for the later one,
and what it has not is not.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import windrow as wr
from support.chaos_counts import counted, how_many
from support.operator_kills import ROWS, rows
from windrow.state import MemoryStore, RedisStore, RocksDBStore, Store, WindowTaken

TAKEOVERS = how_many("WINDROW_CHAOS_TAKEOVERS", 4)
EVENTS = wr.query(time="t", by="k", watermark=5, allowed_lateness=10)
EVERY = {"n": wr.count(), "total": wr.sum("v"), "last": wr.last("v")}
Open = Callable[[Store | None, str], Any]
QUERIES: dict[str, Open] = {
    "windows": lambda store, name: (
        EVENTS.window(ten=wr.Tumbling(10), long=wr.Sliding(60, slide=5), visit=wr.Session(2))
        .agg(**EVERY)
        .open(store=store, name=name)
    ),
    "rolling": lambda store, name: EVENTS.rolling(60).agg(**EVERY).open(store=store, name=name),
    "stored rolling": lambda store, name: EVENTS.rolling(rows=15, store=store).agg(**EVERY).open(name=name),
}


class Writer(threading.Thread):
    """Takes steps until it is told that another may write; what each of them gave."""

    def __init__(self, operator: Any) -> None:
        super().__init__(daemon=True)
        self.operator = operator
        self.first = operator.metrics.rows_in // ROWS
        self.results: list[Any] = []
        self.error: BaseException | None = None
        self.enough = threading.Event()
        #: another has opened the operator: no step may be taken that begins after this
        self.overtaken = threading.Event()
        self._wanted = 0

    def begin(self, steps: int) -> None:
        """Start; ``enough`` is set once so many steps have returned."""
        self._wanted = steps
        self.start()

    def run(self) -> None:
        try:
            while True:
                is_overtaken = self.overtaken.is_set()
                self.results.append(self.operator.push(rows(self.following)).to_pylist())
                assert not is_overtaken, "it took a step although another had opened the operator"
                if len(self.results) >= self._wanted:
                    self.enough.set()
        except BaseException as error:
            self.error = error
        finally:
            self.enough.set()

    @property
    def following(self) -> int:
        return self.first + len(self.results)


class Uninterrupted:
    def __init__(self, operator: Any) -> None:
        self._operator, self._results = operator, list[Any]()

    def at(self, step: int) -> Any:
        while len(self._results) <= step:
            self._results.append(self._operator.push(rows(len(self._results))).to_pylist())
        return self._results[step]


def take_over(opened: Callable[[], Any], earlier: Writer, chance: random.Random) -> Writer:
    """Another opens the operator while the earlier one is writing; the earlier one must notice."""
    earlier.begin(chance.randrange(1, 8))
    earlier.enough.wait()
    later = Writer(opened())
    earlier.overtaken.set()
    earlier.join()
    assert isinstance(earlier.error, WindowTaken), repr(earlier.error)
    with pytest.raises(WindowTaken):
        earlier.operator.push(rows(earlier.following))
    assert later.first == earlier.following, "a step is missing, or came from nobody"
    return later


def check(writer: Writer, right: Uninterrupted) -> None:
    for number, found in enumerate(writer.results):
        assert found == right.at(writer.first + number)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("kind", ["memory", "rocksdb", "redis"])
def test_every_step_comes_from_one_of_two_writers(
    name: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    shared: Store = RocksDBStore(tmp_path / "db") if kind == "rocksdb" else MemoryStore()
    stores: list[Store] = [shared]

    def opened() -> Any:
        if kind == "redis":  # a connection of its own, as another process has it
            url = request.getfixturevalue("redis_server").url
            stores.append(RedisStore(url, namespace=request.node.name, wait=600))
        return QUERIES[name](stores[-1], "calls")

    right, chance = Uninterrupted(QUERIES[name](None, "calls")), random.Random(name)
    with counted("Two writers of one operator") as tally:
        writer = Writer(opened())
        for _ in range(TAKEOVERS):
            with tally.attempt():
                later = take_over(opened, writer, chance)
                check(writer, right)
                writer = later
    for store in stores:
        store.close()
