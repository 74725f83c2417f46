"""Events of as-of queries in a store: what a look-up reads, what a failed write leaves, what is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.serving import event_records, stored_events
from windrow.engines.stream.persistence.saved_operator import delete_operator
from windrow.errors import ChangedQuery, UnstorableValue
from windrow.state import CorruptState, MemoryStore, StateError, Store, StoreUnavailable, WindowTaken

QUERY = wr.query(time="t", by="k").asof(20, "all").agg(total=wr.sum("v"), s=wr.concat("s"))
ASKED = pa.table({"t": [30, 7, 50, 41], "k": [0, 1, 2, 99]})


def events(first: int, last: int) -> pa.Table:
    """Three keys in turn; times go on, but not in order."""
    places = np.arange(first, last)
    times = places // 3 + (places * 7) % 5
    return pa.table({"t": times, "k": places % 3, "v": places, "s": [f"{place}." for place in places]})


def held(store: Store) -> dict[bytes, bytes]:
    keys = list(store.scan(b""))
    values = store.get_many(keys)
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few events."""
    monkeypatch.setattr(event_records, "_MOST_ROWS", 3)


# -- on every store ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_rows")
def test_an_operator_goes_on_from_its_store_and_leaves_nothing_behind(store: Store) -> None:
    for begin in range(0, 90, 10):
        op = QUERY.open(store=store, name="calls")
        op.push(events(begin, begin + 10))
        assert op.at(ASKED).equals(QUERY.run(events(0, begin + 10), at=ASKED))
    assert (op.metrics.rows_held, op.metrics.keys, op.metrics.rows_in) == (90, 3, 90)
    other = QUERY.open(store=store, name="others")
    other.push(events(0, 10))
    with pytest.raises(WindowTaken, match="opened again"):
        QUERY.open(store=store, name="calls") and op.push(events(0, 1))
    QUERY.open(store=store, name="calls").finish()
    assert other.at(ASKED).equals(QUERY.run(events(0, 10), at=ASKED))
    delete_operator(store, "others")
    assert not held(store)


def test_an_operator_of_rows_without_a_time_alone_is_opened_again() -> None:
    store = MemoryStore()
    QUERY.open(store=store).push(events(0, 2).set_column(0, "t", pa.nulls(2, pa.int64())))
    op = QUERY.open(store=store)
    assert op.at(ASKED)["total_all"].to_pylist() == [None] * 4
    op.push(events(0, 30))
    assert op.at(ASKED).equals(QUERY.run(events(0, 30), at=ASKED))


def test_columns_that_cannot_be_stored_are_refused_before_anything_is() -> None:
    query = wr.query(time="t").asof(9).agg(s=wr.last("s"))
    words = pa.StructArray.from_arrays([pa.array(["x"]).dictionary_encode()], ["word"])
    store = MemoryStore()
    op = query.open(store=store)
    before = held(store)
    with pytest.raises(UnstorableValue, match="column 's' has a dictionary in a list or struct"):
        op.push(pa.table({"t": [1], "s": words}))
    assert held(store) == before
    op.push(pa.table({"t": [1], "s": pa.array([{"word": ["x"]}])}))
    assert query.open(store=store).at(pa.table({"t": [2]}))["s"].to_pylist() == [{"word": ["x"]}]


# -- what is read --------------------------------------------------------------------------------------------


class Counting(MemoryStore):
    """Notes how many keys each read asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[int] = []

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.reads.append(len(keys))
        return super().get_many(keys)


@pytest.mark.usefixtures("few_rows")
def test_a_look_up_reads_the_keys_that_are_asked_and_the_blocks_that_they_see() -> None:
    store, query = Counting(), wr.query(time="t", by="k").asof(10).agg(n=wr.count())
    op = query.open(store=store, cache_bytes=0)
    for begin in range(150, 250, 2):
        op.push(pa.table({"t": [begin, begin], "k": [0, 1]}))
    op.push(pa.table({"t": np.zeros(500, np.int64), "k": np.arange(500) + 2}))
    store.reads.clear()
    assert op.at(pa.table({"t": [200], "k": [0]}))["n"].to_pylist() == [5]
    # two keys of the fence and the record; then blocks of four, which hold times from 190 to 200
    assert store.reads == [3, 2]
    store.reads.clear()
    op.at(pa.table({"t": [200, 200, 210], "k": [70, 9_999, 70]}))
    assert store.reads == [4]


def test_records_that_are_in_memory_are_not_read() -> None:
    store = Counting()
    op = QUERY.open(store=store)
    op.push(events(0, 30))
    op.at(ASKED)
    store.reads.clear()
    op.at(ASKED)
    assert store.reads == []


@pytest.mark.usefixtures("few_rows")
def test_of_the_last_rows_those_blocks_are_read_that_hold_them() -> None:
    store, query = Counting(), wr.query(time="t", by="k").asof(rows=3).agg(n=wr.sum("t"))
    op = query.open(store=store, cache_bytes=0)
    for begin in range(150, 250):
        op.push(pa.table({"t": [begin], "k": [0]}))
    store.reads.clear()
    assert op.at(pa.table({"t": [200], "k": [0]}))["n"].to_pylist() == [199 + 198 + 197]
    assert store.reads == [3, 2]


# -- writes that fail ----------------------------------------------------------------------------------------


class Failing(MemoryStore):
    """Fails when it is told to: before a write, after it, or for good."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: str | None = None
        self.is_away = False

    def write(self, puts: Iterable[Any], deletes: Iterable[bytes] = (), **options: Any) -> None:
        if self.fails != "before":
            super().write(puts, deletes, **options)
        if self.fails is not None:
            self.is_away = self.fails == "for good"
            raise StoreUnavailable("no answer")

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if self.is_away:
            raise StoreUnavailable("no answer")
        return super().get_many(keys)


@pytest.mark.usefixtures("few_rows")
def test_a_write_that_fails_has_changed_nothing_and_can_be_repeated() -> None:
    store = Failing()
    op = QUERY.open(store=store)
    op.push(events(0, 40))
    before = held(store)
    store.fails = "before"
    with pytest.raises(StoreUnavailable):
        op.push(events(40, 60))
    assert held(store) == before
    assert op.metrics.rows_held == 40
    assert op.at(ASKED).equals(QUERY.run(events(0, 40), at=ASKED))
    store.fails = None
    op.push(events(40, 60))
    assert op.at(ASKED).equals(QUERY.run(events(0, 60), at=ASKED))


def test_a_write_that_is_done_though_it_was_said_to_fail_counts() -> None:
    store = Failing()
    op = QUERY.open(store=store)
    store.fails = "after"
    op.push(events(0, 40))
    store.fails = None
    assert op.at(ASKED).equals(QUERY.run(events(0, 40), at=ASKED))


def test_a_write_of_which_nothing_is_known_is_found_out_before_anything_is_answered() -> None:
    store = Failing()
    op = QUERY.open(store=store)
    op.push(events(0, 40))
    store.fails = "for good"
    with pytest.raises(StoreUnavailable):
        op.push(events(40, 60))
    store.fails, store.is_away = None, False
    for call in (lambda: op.at(ASKED), lambda: op.push(events(60, 70))):
        with pytest.raises(StateError, match="Open the operator again"):
            call()
    again = QUERY.open(store=store)
    assert again.metrics.rows_in == 60
    assert again.at(ASKED).equals(QUERY.run(events(0, 60), at=ASKED))


def test_what_another_has_stored_is_not_answered_from() -> None:
    store = MemoryStore()
    op = QUERY.open(store=store, cache_bytes=0)
    op.push(events(0, 40))
    QUERY.open(store=store).push(events(40, 60))
    with pytest.raises(WindowTaken, match="opened again"):
        op.at(ASKED)


# -- what is wrong in the store ------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize(
    ("letter", "change", "message"),
    [
        (b"e", "exchange", "changed or moved"),
        (b"f", "exchange", "changed or moved"),
        (b"e", "cut", "cut short"),
        (b"f", "delete", "is missing from the store"),
    ],
)
def test_entries_that_were_changed_are_errors(letter: bytes, change: str, message: str) -> None:
    store = MemoryStore()
    QUERY.open(store=store).push(events(0, 60))
    op = QUERY.open(store=store)
    first, *_, last = store.scan(b"q\x00\x08operator" + letter)
    if change == "exchange":
        store.values[first], store.values[last] = store.values[last], store.values[first]
    elif change == "cut":
        store.values[first] = store.values[first][:40]
    else:
        del store.values[last]
    with pytest.raises(CorruptState, match=message):
        op.at(ASKED)


def test_a_block_that_was_put_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_records, "_MOST_ROWS", 3)
    first, second = MemoryStore(), MemoryStore()
    QUERY.open(store=first).push(events(0, 60))
    QUERY.open(store=second).push(events(0, 60).set_column(2, "v", pa.array(range(100, 160))))
    for place in first.scan(b"q\x00\x08operatorf"):
        first.values[place] = second.values[place]
    with pytest.raises(CorruptState, match="is not the one that its record lists"):
        QUERY.open(store=first).at(ASKED)


# -- what is dropped -----------------------------------------------------------------------------------------


def test_keys_that_come_no_more_leave_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_events, "_SWEPT", 7)
    monkeypatch.setattr(event_records, "_MOST_ROWS", 3)
    store, query = MemoryStore(), wr.query(time="t", by="k", watermark=5).asof(20).agg(n=wr.count())
    op = query.open(store=store)
    op.push(pa.table({"t": [1] * 60, "k": [k % 20 for k in range(60)]}))
    for time in range(1, 200):
        op.push(pa.table({"t": [time], "k": [1_000 + time % 2]}))
    assert op.metrics.keys == 2
    assert op.metrics.rows_held < 60
    assert len(list(store.scan(b"q\x00\x08operatore"))) == 2
    now = pa.table({"t": [200, 200], "k": [1_000, 3]})
    assert op.at(now)["n"].to_pylist() == [10, 0]


# -- queries that change -------------------------------------------------------------------------------------


def test_aggregates_of_columns_that_are_kept_can_be_added() -> None:
    store, start = MemoryStore(), wr.query(time="t", by="k").asof(20, "all")
    QUERY.open(store=store).push(events(0, 60))
    every = {"total": wr.sum("v"), "s": wr.concat("s")}
    more = start.agg(top=wr.max("v"), **every).open(store=store)
    assert more.at(ASKED)["top_all"].equals(
        start.agg(top=wr.max("v")).run(events(0, 60), at=ASKED)["top_all"]
    )
    with pytest.raises(ChangedQuery, match="reads 'w', which the events that are kept do not have"):
        start.agg(x=wr.max("w"), **every).open(store=store)
    assert more.push(events(60, 61)).num_rows == 0  # one that is refused takes nothing from it
    with pytest.raises(ChangedQuery, match="asof was 20, 'all', is 21"):
        wr.query(time="t", by="k").asof(21).agg(**every).open(store=store)
    with pytest.raises(ValueError, match="events are in the store and in no snapshot"):
        more.snapshot()
