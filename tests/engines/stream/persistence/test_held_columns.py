"""Rows in stored state are held against the columns that the state says were read: names and types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.signed_entries import every_name, sign
from support.small_chunks import small_chunks
from windrow.engines.stream.persistence.bound_entries import context_of, read_header
from windrow.errors import CorruptState
from windrow.state import MemoryStore
from windrow.state.codec import checksum_of, pack, unpack

EVENTS = wr.query(time="t", by="k", watermark=5, late="return")
QUERIES: dict[str, Any] = {
    "rolling": EVENTS.rolling(20).agg(total=wr.sum("v")),
    "rows": EVENTS.window(wr.Rows(4)).agg(total=wr.sum("v")),
}


def rows(start: int) -> pa.Table:
    count = 12
    return pa.table({"t": range(start, start + count), "k": ["a", "b"] * (count // 2), "v": range(count)})


CHANGES: dict[str, tuple[Any, str]] = {
    "another type": (lambda t: _with(t, "v", pa.array(["x"] * len(t))), "'v' is of type string, not int64"),
    "a narrower type": (lambda t: _with(t, "v", t["v"].cast(pa.int32())), "'v' is of type int32, not int64"),
    "a key of another type": (lambda t: _with(t, "k", pa.array([1] * len(t))), "'k' is of type int64"),
    "a time of another type": (lambda t: _with(t, "t", t["t"].cast(pa.timestamp("us"))), "'t' is of type"),
    "no values": (lambda t: t.drop_columns(["v"]), "without a column 'v'"),
    "no keys": (lambda t: t.drop_columns(["k"]), "without a column 'k'"),
}


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


@pytest.mark.parametrize("part", ["context", "pending"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["rolling", "rows"])
def test_held_rows_of_other_columns_in_a_snapshot_are_refused(name: str, change: str, part: str) -> None:
    query, (lie, message) = QUERIES[name], CHANGES[change]
    operator = query.open()
    operator.push(rows(0))
    operator.push(rows(7))
    stored = unpack("operator", operator.snapshot())
    held = next(iter(stored["state"]["ordered"].values()))[part]
    held["table"] = lie(held["table"])
    with pytest.raises(CorruptState, match=message):
        query.restore(pack("operator", stored))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["rolling", "rows"])
def test_held_rows_of_other_columns_in_a_chunk_are_refused(name: str, change: str) -> None:
    """Chunks are read when they are needed, and refused then."""
    store, (lie, message) = MemoryStore(), CHANGES[change]
    with small_chunks():
        operator = QUERIES[name].open(store=store, name="op")
        operator.push(rows(0))
        operator.push(rows(7))
        place = operator._saved.entries.place
        header = read_header(store.values[place + b"h"], place)
        blocks = {k.removeprefix(place + b"b").decode(): v for k, v in store.values.items()}
        for own in every_name(blocks, place, header):
            if own.removeprefix("c").isdecimal():
                key = place + b"b" + own.encode()
                chunk = unpack("rows", store.values[key], context_of(place, own))
                chunk["table"] = lie(chunk["table"])
                store.values[key] = blocks[own] = pack("rows", chunk, context_of(place, own))
        sign(blocks, place, header, "")
        store.values |= {
            place + b"b" + own.encode(): blocks[own] for own in every_name(blocks, place, header)
        }
        _put_header(store, place, header)
        again = QUERIES[name].open(store=store, name="op")
        with pytest.raises(CorruptState, match=message):
            again.finish()


def test_keys_of_another_type_are_refused() -> None:
    store = MemoryStore()
    query, options = EVENTS.window(wr.Tumbling(40)).agg(total=wr.sum("v")), {"store": store}
    operator = query.open(name="op", **options)
    operator.push(rows(0))
    place = operator._saved.entries.place
    header = read_header(store.values[place + b"h"], place)
    holder = header["state"]
    holder["keys"] = _with(holder["keys"], "k", pa.array(range(len(holder["keys"]))))
    _put_header(store, place, header)
    with pytest.raises(CorruptState, match="keys: column 'k' is of type int64, not string"):
        query.open(name="op", **options)


def _put_header(store: MemoryStore, place: bytes, header: dict[str, Any]) -> None:
    data = store.values[place + b"h"] = pack("header", header, context_of(place, "header"))
    store.values[place + b"g"] = store.values[place + b"g"][:8] + checksum_of(data).to_bytes(4, "big")


def test_columns_that_had_no_type_yet_and_those_that_no_one_reads_are_fine() -> None:
    query = EVENTS.rolling(20).agg(total=wr.sum("v"))
    operator = query.open()
    nulls = pa.table({"t": [1, 2], "k": ["a", "b"], "v": pa.nulls(2), "note": ["x", "y"]})
    more = pa.table({"t": [12, 13], "k": ["a", "b"], "v": [3, 4], "note": ["x", "y"], "other": [1.5, 2.5]})
    operator.push(nulls)
    operator.push(more)
    again = query.restore(operator.snapshot())
    assert again.finish().to_pylist() == operator.finish().to_pylist()


def test_text_with_wider_offsets_than_the_state_says_is_fine() -> None:
    query = QUERIES["rolling"]
    operator = query.open()
    operator.push(rows(0))
    stored = unpack("operator", operator.snapshot())
    for part in ("context", "pending"):
        held = next(iter(stored["state"]["ordered"].values()))[part]
        held["table"] = _with(held["table"], "k", held["table"]["k"].cast(pa.large_string()))
    again = query.restore(pack("operator", stored))
    assert again.finish().to_pylist() == operator.finish().to_pylist()


def test_late_rows_without_their_reasons_are_refused() -> None:
    query = EVENTS.window(wr.Tumbling(10)).agg(n=wr.count())
    operator = query.open()
    operator.push(rows(50))
    operator.push(rows(0))
    stored = unpack("operator", operator.snapshot())
    assert stored["state"]["late"]
    stored["state"]["late"] = [table.drop_columns(["late_reason"]) for table in stored["state"]["late"]]
    with pytest.raises(CorruptState, match="late rows"):
        query.restore(pack("operator", stored))


def test_a_number_of_the_next_chunk_that_is_taken_is_refused() -> None:
    store, query = MemoryStore(), QUERIES["rolling"]
    with small_chunks():
        operator = query.open(store=store, name="op")
        operator.push(rows(0))
        operator.push(rows(7))
        place = operator._saved.entries.place
        header = read_header(store.values[place + b"h"], place)
        header["following"] -= 1
        _put_header(store, place, header)
        with pytest.raises(CorruptState, match="number of the next chunk"):
            query.open(store=store, name="op")


def test_rows_that_were_taken_before_they_were_due_are_refused() -> None:
    query = QUERIES["rolling"]
    operator = query.open()
    operator.push(rows(0))
    stored = unpack("operator", operator.snapshot())
    stored["state"]["watermark"] = -50
    with pytest.raises(CorruptState, match="rows were taken up to 6, and are due up to -50"):
        query.restore(pack("operator", stored))
