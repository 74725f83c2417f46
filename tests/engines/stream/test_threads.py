"""One operator that several threads use: calls come one after the other, and no row is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.stream import operator as operator_module
from windrow.state import MemoryStore

THREADS, PUSHES, ROWS = 8, 12, 5
LIMIT = 300.0

QUERIES: dict[str, Any] = {
    "windows": wr.query(time="t", by="k").window(w=wr.Tumbling(10), s=wr.Session(2)),
    "late rows": wr.query(time="t", by="k", late="return").window(w=wr.Tumbling(10), r=wr.Rows(4)),
    "rolling": wr.query(time="t", by="k").rolling(10),
}


def table_of(thread: int, number: int) -> pa.Table:
    first = number * ROWS
    values = [1 + thread * 1000 + first + at for at in range(ROWS)]
    return pa.table({"t": range(first, first + ROWS), "k": [thread] * ROWS, "v": values})


def run_together(*calls: Callable[[], None]) -> None:
    """Run calls in threads that start together, and raise what one of them raises."""
    barrier, errors = threading.Barrier(len(calls)), []

    def run(call: Callable[[], None]) -> None:
        try:
            barrier.wait(LIMIT)
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def in_order(rows: list[Any]) -> list[str]:
    return sorted(map(repr, rows))


class Overlap:
    """Holds a step back until another one has begun beside it, or none can; counts those that have."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._original: Any = operator_module.pushed
        self._inside, self.most = 0, 0
        self._count = threading.Lock()
        self._second = threading.Event()
        monkeypatch.setattr(operator_module, "pushed", self)

    def __call__(self, *args: Any) -> Any:
        with self._count:
            self._inside += 1
            self.most = max(self.most, self._inside)
            if self._inside > 1:
                self._second.set()
        found = self._original(*args)
        self._second.wait(0.02)  # lets others in, where there is no lock; with one, only time passes
        with self._count:
            self._inside -= 1
        return found


@pytest.mark.parametrize("has_store", [False, True], ids=["memory", "store"])
@pytest.mark.parametrize("name", QUERIES)
def test_rows_that_many_threads_push_are_all_there(
    name: str, has_store: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = QUERIES[name].agg(n=wr.count(), total=wr.sum("v"))
    alone = query.open()
    for thread in range(THREADS):
        for number in range(PUSHES):
            alone.push(table_of(thread, number))
    expected = alone.finish().to_pylist()
    overlap = Overlap(monkeypatch)
    operator = query.open(store=MemoryStore()) if has_store else query.open()

    def push_all(thread: int) -> Callable[[], None]:
        def run() -> None:
            for number in range(PUSHES):
                table = table_of(thread, number)
                operator.push_parts([table]) if thread % 2 else operator.push(table)

        return run

    run_together(*(push_all(thread) for thread in range(THREADS)))
    assert overlap.most == 1
    assert operator.metrics.rows_in == THREADS * PUSHES * ROWS
    assert in_order(operator.finish().to_pylist()) == in_order(expected)


def test_other_calls_wait_for_the_push_that_runs() -> None:
    """A push stands still in the caller's iterator until all others have tried to go past it."""
    query = wr.query(time="t", watermark=0).window(w=wr.Tumbling(10)).agg(n=wr.count())
    operator = query.open()
    begun, done = threading.Event(), []
    calls: dict[str, Callable[[], Any]] = {
        "push": lambda: operator.push(pa.table({"t": [12]})),
        "advance": lambda: operator.advance(11),
        "poll": operator.poll,
        "snapshot": operator.snapshot,
        "metrics": lambda: operator.metrics.rows_in,
        "repr": lambda: repr(operator),
        "add_window": lambda: operator.add_window(other=wr.Tumbling(20)),
    }
    trying = threading.Barrier(len(calls) + 1)

    def parts() -> Iterator[pa.Table]:
        yield pa.table({"t": [1, 2]})
        begun.set()
        trying.wait(LIMIT)
        for _ in range(100):  # asked for again and again: others could run, and do not
            assert done == []
            yield pa.table({"t": [3]})
        assert operator.metrics.rows_in == 0  # the push is not done; this thread may ask

    def push() -> None:
        operator.push_parts(parts())
        done.append("push_parts")

    def other(name: str) -> Callable[[], None]:
        def run() -> None:
            assert begun.wait(LIMIT)
            trying.wait(LIMIT)
            calls[name]()
            done.append(name)

        return run

    run_together(push, *map(other, calls))
    assert set(done) == {"push_parts", *calls}
    assert operator.metrics.rows_in == 103


def test_snapshots_of_an_operator_in_use_are_of_the_state_between_two_pushes() -> None:
    query = wr.query(time="t", by="k").window(w=wr.Tumbling(10), r=wr.Rows(4)).agg(n=wr.count())
    operator, snapshots = query.open(), []

    def push() -> None:
        for number in range(60):
            operator.push(table_of(0, number))

    def snap() -> None:
        for _ in range(20):
            snapshots.append((operator.snapshot(), operator.metrics.rows_in))

    run_together(push, snap, snap)
    for snapshot, _ in snapshots:
        restored = query.restore(snapshot)
        rows = restored.metrics.rows_in
        assert rows % ROWS == 0
        found = restored.finish().to_pylist()
        assert sum(row["n"] for row in found if row["window"] == "w") == rows


def test_late_rows_are_handed_over_once_to_one_of_many_threads() -> None:
    query = wr.query(time="t", watermark=0, late="return").window(wr.Tumbling(10)).agg(n=wr.count())
    operator, taken = query.open(), []
    operator.push(pa.table({"t": [1000]}))

    def push() -> None:
        for at in range(40):
            operator.push(pa.table({"t": [at]}))

    def take() -> None:
        for _ in range(40):
            taken.extend(operator.late_rows()["t"].to_pylist())

    run_together(push, push, take, take)
    assert sorted([*taken, *operator.late_rows()["t"].to_pylist()]) == sorted([*range(40)] * 2)


def test_one_of_many_threads_finishes() -> None:
    operator = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count()).open()
    operator.push(pa.table({"t": [1, 2]}))
    found: list[Any] = []

    def finish() -> None:
        try:
            found.append(operator.finish()["n"].to_pylist())
        except RuntimeError as error:
            found.append(str(error))

    run_together(*[finish] * 6)
    assert found.count([2]) == 1
    assert sum("is finished" in str(one) for one in found) == 5
