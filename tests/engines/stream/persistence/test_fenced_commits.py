"""A store that is put back to an older state under an operator, or that another writes: the operator notices
with its next commit, writes nothing, and what is stored can be opened."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.chaos_counts import counted, how_many
from windrow.state import MemoryStore, StateError, Store, WindowTaken

TRIALS = how_many("WINDROW_CHAOS_PUT_BACK", 4)
EVENTS = wr.query(time="t", by="k", watermark=5)
AGGREGATES = {"n": wr.count(), "total": wr.sum("v")}
QUERIES: dict[str, Any] = {
    "windows": EVENTS.window(long=wr.Sliding(64, slide=4), visit=wr.Session(3)).agg(**AGGREGATES),
    "rolling": EVENTS.rolling(60).agg(**AGGREGATES),
}


def tables(rows: int = 240, size: int = 20) -> list[pa.Table]:
    rng = np.random.default_rng(3)
    times = np.arange(rows) // 2 + rng.integers(0, 4, rows)
    table = pa.table({"t": times, "k": rng.integers(0, 3, rows), "v": rng.integers(0, 100, rows)})
    return [table.slice(at, size) for at in range(0, rows, size)]


TABLES = tables()


def held(store: Store) -> dict[bytes, bytes]:
    keys = list(store.scan(b""))
    values = store.get_many(keys)
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}


def put_back(store: Store, copy: dict[bytes, bytes]) -> None:
    store.write(copy.items(), [key for key in store.scan(b"") if key not in copy])


def pushed(operator: Any, number: int) -> list[Any]:
    found: list[Any] = operator.push(TABLES[number]).to_pylist()
    return found


def continued(operator: Any, number: int) -> list[Any]:
    """All results from a step on."""
    found = [pushed(operator, at) for at in range(number, len(TABLES))]
    return [*found, operator.finish().to_pylist()]


def check_put_back(query: Any, store: Store, name: str, moment: random.Random) -> None:
    """After some steps the store is put back to what it was some steps before."""
    then = moment.randrange(0, len(TABLES) - 2)
    now = moment.randrange(then + 1, len(TABLES) - 1)
    operator = query.open(store=store, name=name)
    plain, copy = query.open(), held(store)
    for number in range(now):
        if number == then:
            copy = held(store)
        assert pushed(operator, number) == pushed(plain, number)
    put_back(store, copy)
    for call in (lambda: operator.push(TABLES[now]), lambda: operator.advance(500), operator.finish):
        with pytest.raises(WindowTaken, match=r"put back to .* open it anew"):
            call()
    assert held(store) == copy  # nothing was written
    plain = query.open()
    for number in range(then):
        pushed(plain, number)
    again = query.open(store=store, name=name)
    assert again.metrics.rows_in == plain.metrics.rows_in
    assert continued(again, then) == continued(plain, then)


@pytest.mark.parametrize("name", QUERIES)
def test_a_store_put_back_under_a_live_operator_is_noticed(name: str, store: Store) -> None:
    moment = random.Random(7)
    with counted("Store put back to an older state under a live operator") as tally:
        for trial in range(TRIALS):
            with tally.attempt():
                check_put_back(QUERIES[name], store, f"calls {trial}", moment)


def test_two_writers_of_one_step(store: Store) -> None:
    """Both have the token of the owner, as after a store was copied with a writer: the first one wins."""
    query = QUERIES["windows"]
    first, second = (query.open(store=store, name="calls") for _ in range(2))
    first._saved.entries.fence._token = second._saved.entries.fence._token
    pushed(first, 0)
    second._saved.entries.header()  # sees the step of the first
    pushed(second, 1)
    before = held(store)
    with pytest.raises(WindowTaken, match=r"holds step 2 of operator 'calls', which has stored step 1"):
        pushed(first, 1)
    assert held(store) == before


def test_a_header_put_back_by_itself_under_a_live_operator_does_no_harm() -> None:
    """The next step writes it anew; until then the operator cannot be opened."""
    store, query = MemoryStore(), QUERIES["windows"]
    operator, plain = query.open(store=store, name="calls"), query.open()
    pushed(operator, 0)
    pushed(plain, 0)
    header = {key: value for key, value in store.values.items() if key.endswith(b"callsh")}
    assert pushed(operator, 1) == pushed(plain, 1)
    store.write(header.items())
    with pytest.raises(StateError, match="is not that of its last step"):
        query.open(store=store, name="calls")
    assert continued(operator, 2) == continued(plain, 2)


class Repeating(MemoryStore):
    """Does every write twice, as when the answer to the first was lost."""

    def write(self, puts: Any, deletes: Any = (), **options: Any) -> None:
        puts, deletes = list(puts), list(deletes)
        super().write(puts, deletes, **options)
        super().write(puts, deletes, **options)


@pytest.mark.parametrize("name", QUERIES)
def test_a_write_that_is_repeated_passes_its_own_fence(name: str) -> None:
    query = QUERIES[name]
    store = Repeating()
    assert continued(query.open(store=store), 0) == continued(query.open(), 0)
    assert len(store) == 0
