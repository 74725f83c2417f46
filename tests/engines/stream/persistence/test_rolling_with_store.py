"""``rolling(store=)`` is ``open(store=)``: the same results as without a store, through failures and new
beginnings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from windrow.engines.stream.persistence.saved_operator import delete_operator, operators
from windrow.errors import AggregateError, ChangedQuery
from windrow.state import MemoryStore, RocksDBStore, StateError, Store, WindowTaken, windows
from windrow.testing import assert_same_results
from windrow.testing.strategies import operations, rolling_queries, streams, table_of


class FailingStore(MemoryStore):
    """Fails at the write after so many others, and is well again."""

    fails_after: int | None = None

    def write(self, puts: Iterable[Any], deletes: Iterable[bytes] = (), **options: Any) -> None:
        if self.fails_after == 0:
            self.fails_after = None
            raise StateError("the store failed")
        if self.fails_after is not None:
            self.fails_after -= 1
        super().write(puts, deletes, **options)


def in_store(query: Any, store: Store) -> Any:
    return replace(query, rolling_over=replace(query.rolling_over, store=store))


def same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema.names == expected.schema.names
    for one, other in zip(found.schema, expected.schema, strict=True):
        assert one.type == other.type or pa.types.is_null(other.type)  # results of a policy tell late
    assert_same_results(found, expected)
    order = [name for name in ("ts", "t") if name in expected.column_names]
    assert found.select(order).equals(expected.select(order))


def step(operator: Any, call: tuple[str, Any], clock: str) -> Any:
    name, argument = call
    if name == "push":
        return operator.push(table_of(argument, clock))
    return operator.advance(argument) if name == "advance" else operator.finish()


@st.composite
def streams_of(draw: Any) -> tuple[Any, str, list[Any]]:
    clock = draw(st.sampled_from(["integer", "timestamp"]))
    query = draw(rolling_queries(clock))
    unit = 1 if clock == "integer" else dt.timedelta(seconds=1)
    started = wr.query(
        time="ts",
        watermark=draw(st.sampled_from([None, 4 * unit])),
        allowed_lateness=draw(st.sampled_from([0, 3 * unit])),
        late="return",
    )
    kept = {name: getattr(started, name) for name in ("watermark", "allowed_lateness", "late")}
    return replace(query, **kept), clock, draw(operations(draw(streams(clock, null_times=True))))


@settings(max_examples=examples(12))
@given(streams_of(), st.booleans(), st.integers(0, 6))
def test_any_rolling_on_any_stream(stream: Any, reopened: bool, fails_after: int) -> None:
    query, clock, calls = stream
    store, plain = FailingStore(), query.open()
    stored = in_store(query, store)
    operator = stored.open(name="calls")
    for call in [*calls, ("finish", None)]:
        expected, found = step(plain, call, clock), None
        store.fails_after = fails_after
        with suppress(StateError):
            found = step(operator, call, clock)
        store.fails_after = None
        same(step(operator, call, clock) if found is None else found, expected)
        same_late = operator.late_rows(), plain.late_rows()
        assert repr(same_late[0].to_pylist()) == repr(same_late[1].to_pylist())
        for name in ("rows_in", "rows_aggregated", "rows_late", "rows_rejected", "watermark"):
            assert getattr(operator.metrics, name) == getattr(plain.metrics, name)
        if reopened and call[0] != "finish":
            operator = stored.open(name="calls")  # nobody has closed the one before
    stored.open(name="calls").finish()  # what could not be deleted goes when the name is used again
    assert operators(store) == []


@settings(max_examples=examples(12))
@given(st.sampled_from(["integer", "timestamp"]), st.data())
def test_any_rolling_on_a_table(clock: Any, data: st.DataObject) -> None:
    query = data.draw(rolling_queries(clock))
    rows = data.draw(streams(clock))
    store = MemoryStore()
    table = table_of(rows, clock)
    same(in_store(query, store).run(table), query.run(table))
    assert len(store) == 0


# -- one query -----------------------------------------------------------------------------------------------

MOMENTS = pa.timestamp("ns", "Europe/Berlin")


def rolling(store: Store | None = None, **over: Any) -> Any:
    start = wr.query(time="t", by="k", watermark=20)
    return start.rolling(**(over or {"size": 100}), store=store).agg(
        n=wr.count(),
        total=wr.sum("v"),
        longest=wr.max("v", nulls="propagate"),
        seen=wr.max("moment"),
        at=wr.last("moment"),
        best=wr.arg_max("v", value="moment"),
        names=wr.collect_distinct("name"),
        spread=wr.stddev("x"),
    )


def batches(rows: int = 400, size: int = 100, seed: int = 3) -> list[pa.Table]:
    rng = np.random.default_rng(seed)
    times = np.arange(rows) + rng.integers(0, 15, rows)
    values = rng.integers(0, 50, rows)
    table = pa.table(
        {
            "t": times,
            "k": pa.array(rng.choice(["a", "b", None], rows)),
            "v": pa.array(values, pa.int32(), mask=rng.random(rows) < 0.1),
            "x": np.where(rng.random(rows) < 0.02, np.nan, values.astype(np.float32)),
            "moment": pa.array(times * 1_000_007_000, pa.int64()).cast(MOMENTS),
            "name": pa.array([f"name {v % 5}" for v in values]).dictionary_encode(),
        }
    )
    return [table.slice(at, size) for at in range(0, rows, size)]


@pytest.mark.parametrize("over", [{"size": 100}, {"rows": 7}, {"rows": 1}, {"size": 1}])
def test_types_nulls_and_nan(over: Any) -> None:
    query, stored = rolling(**over), rolling(MemoryStore(), **over)
    tables = batches(200)
    plain, operator = query.open(), stored.open()
    for table in tables:
        same(operator.push(table), plain.push(table))
    same(operator.finish(), plain.finish())
    whole = pa.concat_tables(tables)
    same(stored.run(whole), query.run(whole))


SIMPLE = wr.query(time="t", by="k", watermark=5)


def simple(store: Store | None = None, **over: Any) -> Any:
    return SIMPLE.rolling(**(over or {"size": 50}), store=store).agg(n=wr.count(), total=wr.sum("v"))


def few(at: int, rows: int = 40) -> pa.Table:
    return pa.table({"t": range(at, at + rows), "k": [i % 3 for i in range(rows)], "v": range(rows)})


def test_each_store(store: Store) -> None:
    plain = simple().open()
    for at in range(0, 200, 40):
        same(simple(store).open(name="calls", sync=True).push(few(at)), plain.push(few(at)))
    assert operators(store) == ["calls"]
    same(simple(store).open(name="calls").finish(), plain.finish())
    assert list(store.scan(b"")) == []


def test_operators_and_windows_of_their_own_share_a_store() -> None:
    store = MemoryStore()
    with wr.swag.AMTA.open(store, "calls/rolling/x", wr.sum) as own:
        own.insert(5)
    first, second = simple(store).open(name="calls"), simple(store, rows=2).open(name="calls/rolling")
    first.push(few(0))
    second.push(few(0))
    simple(store).open(name="calls").finish()
    simple(store).open(name="other").push(few(0))
    delete_operator(store, "other")
    same(second.finish(), _finished(simple(rows=2), few(0)))
    assert windows(store) == ["calls/rolling/x"]


def _finished(query: Any, table: pa.Table) -> pa.Table:
    operator = query.open()
    operator.push(table)
    return operator.finish()


def test_of_two_owners_the_later_writes() -> None:
    store = MemoryStore()
    first = simple(store).open(name="calls")
    first.push(few(0))
    second = simple(store).open(name="calls")
    with pytest.raises(WindowTaken, match="operator 'calls' was opened again"):
        first.push(few(40))
    plain = simple().open()
    plain.push(few(0))
    same(second.push(few(40)), plain.push(few(40)))
    with pytest.raises(WindowTaken, match="operator 'calls' was opened again"):
        first.push(few(40))
    same(second.finish(), plain.finish())


class UnsureStore(MemoryStore):
    """Does a write and reports that it failed; then fails to read so many times."""

    fails: int | None = None

    def write(self, puts: Iterable[Any], deletes: Iterable[bytes] = (), **options: Any) -> None:
        puts = list(puts)
        super().write(puts, deletes, **options)
        if self.fails is not None and any(key.startswith(b"q") for key, _ in puts):
            raise StateError("no answer")

    def get_many(self, keys: Any) -> Any:
        if self.fails:
            self.fails -= 1
            raise StateError("no answer")
        return super().get_many(keys)


def test_a_write_that_was_done_though_it_failed() -> None:
    store, plain = UnsureStore(), simple().open()
    operator = simple(store).open(name="calls")
    for at in range(0, 200, 40):
        store.fails = 0
        same(operator.push(few(at)), plain.push(few(at)))
    store.fails = None
    same(operator.finish(), plain.finish())


def test_an_error_in_a_combine_names_the_row_and_changes_nothing() -> None:
    def combine(a: int, b: int) -> int:
        if a + b > 100:
            raise ArithmeticError("too much")
        return a + b

    limited = wr.monoid(name="limited", lift=int, combine=combine, identity=0, compile=False)
    store = MemoryStore()
    query = SIMPLE.rolling(rows=3, store=store).agg(total=limited("v"))
    operator = query.open()
    operator.push(pa.table({"t": [0, 1], "k": ["a", "a"], "v": [10, 20]}))
    with pytest.raises(
        AggregateError, match=r"'limited' raised ArithmeticError at row 3 of key 'a' \(value 90\): too much"
    ):
        operator.push(pa.table({"t": [2, 3, 20], "k": ["a"] * 3, "v": [30, 90, 0]}))
    found = operator.push(pa.table({"t": [2, 3, 20], "k": ["a"] * 3, "v": [30, 40, 0]}))
    assert found["total"].to_pylist() == [10, 30, 60, 90]
    with pytest.raises(AggregateError, match="row 1 of key 'a'"):
        query.run(pa.table({"t": [2, 3], "k": ["a"] * 2, "v": [30, 90]}))
    assert operators(store) == ["operator"]


def test_a_policy_in_a_store_that_raises_is_named_with_its_row() -> None:
    def odd(total: Any, old: Any) -> bool:
        return 1 / (30 - total.total) < 0

    query = SIMPLE.rolling(wr.Policy(odd), store=MemoryStore()).agg(total=wr.sum("v"))
    table = pa.table({"t": [0, 1], "k": ["a", "a"], "v": [10, 20]})
    message = r"Policy\(odd\) raised ZeroDivisionError at row 1 of key 'a': "
    with pytest.raises(AggregateError, match=message):
        query.run(table)
    operator = query.open()
    with pytest.raises(AggregateError, match=message):
        operator.push_parts([table, pa.table({"t": [20], "k": ["a"], "v": [0]})])


def test_what_cannot_be_had() -> None:
    store = MemoryStore()
    query = simple(store)
    operator = query.open(name="calls")
    operator.push(few(0))
    with pytest.raises(ValueError, match=r"restore\(\) makes an operator in memory"):
        query.restore(operator.snapshot())
    same(simple().restore(operator.snapshot()).finish(), _finished(simple(), few(0)))
    with pytest.raises(ValueError, match="different stores"):
        query.open(store=MemoryStore())
    with pytest.raises(TypeError, match="is not a store"):
        SIMPLE.rolling(5, store={})  # type: ignore[arg-type]
    for changed in (
        simple(store, size=51),
        SIMPLE.rolling(50, 60, store=store).agg(n=wr.count(), total=wr.sum("v")),
    ):
        with pytest.raises(ChangedQuery, match="operator 'calls' is in the store already"):
            changed.open(name="calls")
    simple().open(store=store, name="calls").finish()  # it is the same operator
    assert operators(store) == []


def test_rocksdb_on_disk(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = 4000
    table = pa.table(
        {"t": np.arange(rows) + rng.integers(0, 5, rows), "k": rng.integers(0, 3, rows), "v": np.arange(rows)}
    )
    plain = simple(size=1500).open()
    for at in range(0, rows, 1000):
        with RocksDBStore(tmp_path / "state") as store:
            part = table.slice(at, 1000)
            same(simple(store, size=1500).open().push(part), plain.push(part))
    with RocksDBStore(tmp_path / "state") as store:
        same(simple(store, size=1500).open().finish(), plain.finish())
        assert list(store.scan(b"")) == []
