"""Operators whose state is in a store: the same results as without one, whatever happens between steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.small_chunks import small_chunks
from windrow.engines.stream.persistence.saved_operator import delete_operator, operators
from windrow.errors import ChangedQuery
from windrow.state import MemoryStore, RocksDBStore, StateError, Store, WindowTaken
from windrow.testing.strategies import operations, rolling_frame_queries, stream_queries, streams, table_of


class FailingStore(MemoryStore):
    """Fails when it is told to: before a write is done, or after it, so that nobody knows that it was."""

    fails: str | None = None

    def write(self, puts: Iterable[Any], deletes: Iterable[bytes] = (), **options: Any) -> None:
        fails, self.fails = self.fails, None
        if fails != "before":
            super().write(puts, deletes, **options)
        if fails:
            raise StateError(f"failed {fails} the write")


def step(operator: Any, call: tuple[str, Any], clock: str = "integer") -> Any:
    name, argument = call
    if name == "push":
        return operator.push(table_of(argument, clock))
    return operator.advance(argument) if name == "advance" else operator.finish()


def same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema == expected.schema
    assert repr(found.to_pylist()) == repr(expected.to_pylist())  # repr: nan equals nan


def counted(operator: Any, *more: str) -> dict[str, Any]:
    """The metrics without those that tell how the state is held, and without times of the last push, which
    are not stored."""
    found = asdict(operator.metrics)
    left_out = ("slices", "keys", "state_bytes", "late_times", *more)
    return {name: found[name] for name in found if name not in left_out}


@st.composite
def streams_of(draw: Any, of: Any = lambda clock: None) -> tuple[Any, str, list[Any]]:
    clock = draw(st.sampled_from(["integer", "timestamp"]))
    query = draw(stream_queries(clock, of=of(clock)))
    return query, clock, draw(operations(draw(streams(clock, null_times=True))))


@settings(max_examples=examples(15))
@given(streams_of(), st.sampled_from([0, 300, 64 << 20]), st.sampled_from([None, "before", "after"]))
def test_any_query_reopened_after_every_step(stream: Any, cache_bytes: int, fails: str | None) -> None:
    check_reopened(stream, cache_bytes, fails)


@settings(max_examples=examples(15))
@given(streams_of(rolling_frame_queries), st.sampled_from([0, 300]), st.sampled_from([None, "after"]))
def test_rolling_frames_in_chunks_reopened_after_every_step(stream: Any, cache: int, fails: Any) -> None:
    with small_chunks(2, 4):
        check_reopened(stream, cache, fails, "rows_held")  # groups let go of rows chunk by chunk


def check_reopened(stream: Any, cache_bytes: int, fails: str | None, *but: str) -> None:
    query, clock, calls = stream
    store, plain = FailingStore(), query.open()
    operator = query.open(store=store, cache_bytes=cache_bytes)
    for call in [*calls, ("finish", None)]:
        store.fails, found = fails, None
        with suppress(StateError):
            found = step(operator, call, clock)
        store.fails = None
        same(step(operator, call, clock) if found is None else found, step(plain, call, clock))
        same(operator.late_rows(), plain.late_rows())
        assert counted(operator, *but) == counted(plain, *but)
        if call[0] != "finish":
            operator = query.open(store=store, cache_bytes=cache_bytes)  # nobody has closed the one before
    assert len(store) == 0


# -- a query with slices in many blocks ----------------------------------------------------------------------

QUERY = (
    wr.query(time="t", by="k", watermark=5)
    .window(long=wr.Sliding(64, slide=2), visit=wr.Session(3))
    .agg(n=wr.count(), total=wr.sum("v"), latest=wr.last("v"))
)


def batches(rows: int = 600, size: int = 50, seed: int = 7, keys: int = 5) -> list[pa.Table]:
    rng = np.random.default_rng(seed)
    times = np.arange(rows) // 2 + rng.integers(0, 4, rows)
    values = pa.array(rng.integers(0, 100, rows), mask=rng.random(rows) < 0.1)
    table = pa.table({"t": times, "k": rng.integers(0, keys, rows), "v": values})
    return [table.slice(at, size) for at in range(0, rows, size)]


def results(operator: Any, tables: Sequence[pa.Table]) -> list[pa.Table]:
    return [*(operator.push(table) for table in tables), operator.finish()]


def test_each_store(store: Store) -> None:
    plain, found = QUERY.open(), []
    for table in batches():
        found.append(QUERY.open(store=store, name="calls", cache_bytes=1000, sync=True).push(table))
    assert operators(store) == ["calls"]
    found.append(QUERY.open(store=store, name="calls").finish())
    for one, other in zip(found, results(plain, batches()), strict=True):
        same(one, other)
    assert operators(store) == []
    assert list(store.scan(b"")) == []


def test_names_do_not_clash(store: Store) -> None:
    """Neither with each other nor with windows of the same store."""
    names = ["a", "ab", "abh", "\x00", "w"]
    window = wr.swag.AMTA.open(store, "a", wr.sum)
    window.insert(1)
    window.close()
    opened = {name: QUERY.open(store=store, name=name) for name in names}
    for size, operator in enumerate(opened.values(), 1):
        operator.push(batches()[0].slice(0, size))
    assert sorted(operators(store)) == sorted(names)
    delete_operator(store, "ab")
    assert sorted(operators(store)) == sorted(set(names) - {"ab"})
    for size, name in enumerate(names, 1):
        rows = QUERY.open(store=store, name=name).metrics.rows_in
        assert rows == (0 if name == "ab" else size)
    assert wr.swag.AMTA.open(store, "a", wr.sum).query() == 1


def test_few_bytes_stay_loaded() -> None:
    store = MemoryStore()
    few = QUERY.open(store=store, name="few", cache_bytes=2000)
    many = QUERY.open(store=store, name="many")
    for table in batches(keys=50):
        same(few.push(table), many.push(table))
        assert few._saved.loaded.nbytes <= 2000
        blocks = few._state.time.store.blocks.values()
        assert not any(block.is_loaded for block in blocks)
        assert few.metrics == many.metrics
    assert few.metrics.state_bytes > 10_000
    assert many._saved.loaded.nbytes > 2000
    assert few.snapshot() == many.snapshot()


def test_a_step_reads_and_writes_what_it_touches() -> None:
    query = wr.query(time="t", watermark=0).window(wr.Sliding(3200, slide=10)).agg(total=wr.sum("v"))
    store = CountingStore()
    operator = query.open(store=store, cache_bytes=0)
    for at in range(0, 3200, 100):
        operator.push(pa.table({"t": range(at, at + 100), "v": range(100)}))
    blocks = len(list(store.scan(b"")))
    store.read, store.written = 0, 0
    operator.push(pa.table({"t": [3200], "v": [1]}))
    assert blocks > 30
    assert store.written <= 6
    query.open(store=store)  # reads the header alone
    assert store.read <= blocks + 4


class CountingStore(MemoryStore):
    read = 0
    written = 0

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.read += len(keys)
        return super().get_many(keys)

    def write(self, puts: Iterable[Any], deletes: Iterable[bytes] = (), **options: Any) -> None:
        puts = list(puts)
        self.written += len(puts)
        super().write(puts, deletes, **options)


def test_blocks_written_ahead_of_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.engines.stream.persistence.saved_operator._MOST_AT_ONCE", 500)
    store, plain = FailingStore(), QUERY.open()
    for table in batches():
        operator = QUERY.open(store=store)
        store.fails = "before"
        with pytest.raises(StateError):
            operator.push(table)
        same(operator.push(table), plain.push(table))
    same(QUERY.open(store=store).finish(), plain.finish())


def test_keys_that_come_and_go() -> None:
    query = wr.query(time="t", by="k", watermark=0).window(wr.Sliding(200, slide=10)).agg(n=wr.count())
    store, plain = MemoryStore(), query.open()
    for at in range(0, 4000, 250):
        table = pa.table({"t": range(at, at + 250), "k": [f"key {at + i}" for i in range(250)]})
        same(query.open(store=store, cache_bytes=3000).push(table), plain.push(table))
    assert plain.metrics.keys < 2000


# -- changes -------------------------------------------------------------------------------------------------


def test_a_changed_query_is_refused_and_changes_nothing() -> None:
    store = MemoryStore()
    operator = QUERY.open(store=store, name="calls")
    operator.push(batches()[0])
    other = wr.query(time="t", by="k", min_count=6).window(wr.Sliding(64, slide=2)).agg(n=wr.count())
    with pytest.raises(ChangedQuery, match=r"operator 'calls' .* min_count was 0, is 6.* another name="):
        other.open(store=store, name="calls")
    operator.push(batches()[1])  # it is still the owner
    assert operator.metrics.rows_in == 100


def test_windows_and_aggregates_may_be_added() -> None:
    """An aggregate that was added is in no block that was stored before; all blocks are written anew."""
    store, tables = MemoryStore(), batches()
    wider = (
        wr.query(time="t", by="k", watermark=5)
        .window(long=wr.Sliding(64, slide=2), visit=wr.Session(3), short=wr.Tumbling(4))
        .agg(n=wr.count(), total=wr.sum("v"), latest=wr.last("v"), top=wr.max("v"))
    )
    plain = QUERY.open()
    for table in tables[:4]:
        plain.push(table)
        QUERY.open(store=store).push(table)
    plain = wider.restore(plain.snapshot())
    for table in tables[4:]:
        same(wider.open(store=store).push(table), plain.push(table))
    operator = wider.open(store=store)
    for one in (operator, plain):
        one.remove_window("visit")
        one.add_window(visit=wr.Session(4))
    changed = wr.query(time="t", by="k", watermark=5).window(
        long=wr.Sliding(64, slide=2), short=wr.Tumbling(4), visit=wr.Session(4)
    )
    reopened = changed.agg(**dict(wider.aggregates)).open(store=store)
    same(reopened.finish(), plain.finish())


def test_of_two_owners_the_later_writes() -> None:
    store = MemoryStore()
    first = QUERY.open(store=store, name="calls", cache_bytes=0)
    first.push(batches()[0])
    second = QUERY.open(store=store, name="calls")
    with pytest.raises(WindowTaken, match=r"operator 'calls' was opened again .*: open it anew"):
        first.push(batches()[1])
    for table in batches()[1:4]:
        second.push(table)
    for call in (lambda: first.push(batches()[1]), lambda: first.advance(300), first.finish):
        with pytest.raises(WindowTaken):
            call()
    assert QUERY.open(store=store, name="calls").metrics.rows_in == 200


def test_a_missing_block_is_named() -> None:
    store = MemoryStore()
    operator = QUERY.open(store=store, name="calls", cache_bytes=0)
    operator.push(batches()[0])
    blocks = [key for key in store.scan(b"q") if b"callsb" in key]
    store.write([], blocks)
    with pytest.raises(StateError, match=r"block .* of operator 'calls' is missing"):
        operator.finish()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": {}}, "is not a store"),
        ({"name": ""}, "1 to 65,535 bytes"),
        ({"cache_bytes": -1}, "cache_bytes=-1"),
    ],
)
def test_options(options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        QUERY.open(**({"store": MemoryStore()} | options))


def test_rocksdb_on_disk(tmp_path: Path) -> None:
    tables = batches(rows=6000, size=500)
    plain, found = QUERY.open(), []
    for start in range(0, len(tables), 3):
        with RocksDBStore(tmp_path / "state") as store:
            operator = QUERY.open(store=store, cache_bytes=10_000)
            found += [operator.push(table) for table in tables[start : start + 3]]
    with RocksDBStore(tmp_path / "state") as store:
        found.append(QUERY.open(store=store).finish())
        assert list(store.scan(b"")) == []
    for one, other in zip(found, results(plain, tables), strict=True):
        same(one, other)
