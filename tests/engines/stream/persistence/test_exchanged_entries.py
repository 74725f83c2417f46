"""Entries of operators in a store that were exchanged, or put back as they once were: an error, never other
numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.small_chunks import small_chunks
from windrow.state import CorruptState, MemoryStore, UnsupportedVersion

EVENTS = wr.query(time="t", by="k", watermark=5)
AGGREGATES = {"n": wr.count(), "total": wr.sum("v"), "text": wr.concat("s")}
QUERIES: dict[str, Any] = {
    "tumbling": EVENTS.window(wr.Tumbling(16)).agg(**AGGREGATES),
    "sliding and sessions": EVENTS.window(long=wr.Sliding(64, slide=16), visit=wr.Session(3)).agg(
        **AGGREGATES
    ),
    "rows": EVENTS.window(wr.Rows(30)).agg(**AGGREGATES),
    "rolling": EVENTS.rolling(60).agg(**AGGREGATES),
}
NAMES = ["first", "other"]


def rows_of(seed: int, rows: int = 160) -> list[pa.Table]:
    rng = np.random.default_rng(seed)
    times = np.arange(rows) // 2 + rng.integers(0, 4, rows)
    words = [chr(97 + at) for at in rng.integers(0, 26, rows)]
    values = rng.integers(0, 100, rows)
    table = pa.table({"t": times, "k": rng.integers(0, 3, rows), "v": values, "s": words})
    return [table.slice(at, 40) for at in range(0, rows, 40)]


TABLES = {name: rows_of(seed) for seed, name in enumerate(NAMES)}


def filled(query: Any) -> list[dict[bytes, bytes]]:
    """What a store with two operators of one query holds after each of their steps but the last."""
    store, copies = MemoryStore(), []
    opened = {name: query.open(store=store, name=name) for name in NAMES}
    for number in range(len(TABLES["first"]) - 1):
        for name, operator in opened.items():
            operator.push(TABLES[name][number])
        copies.append(dict(store.values))
    return copies


def cleaned(query: Any, values: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The same without what the next to open the operators deletes."""
    store = MemoryStore()
    store.values = dict(values)
    for name in NAMES:
        query.open(store=store, name=name)
    return store.values


def continued(query: Any, values: dict[bytes, bytes]) -> list[Any]:
    """What comes out of both operators from here on; with no cache, so that entries are read."""
    store, found = MemoryStore(), []
    store.values = dict(values)
    for name in NAMES:
        operator = query.open(store=store, name=name, cache_bytes=0)
        found += [operator.push(TABLES[name][-1]).to_pylist(), operator.finish().to_pylist()]
    return found


def noticed(query: Any, changes: Iterator[dict[bytes, bytes]], expected: list[Any], error: Any) -> int:
    """How many of the changed stores are refused; the others must give what they should."""
    count = 0
    for values in changes:
        try:
            found = continued(query, values)
        except error:
            count += 1
        else:
            assert found == expected
    return count


@pytest.mark.parametrize("name", QUERIES)
def test_exchanged_entries_are_corrupt_state(name: str) -> None:
    query = QUERIES[name]
    with small_chunks(24, 48):
        now = filled(query)[-1]
        pairs = list(combinations(sorted(now), 2))
        changes = (now | {a: now[b], b: now[a]} for a, b in pairs)
        found = noticed(query, changes, continued(query, now), CorruptState)
    assert found > len(pairs) // 3  # of the others, nothing that was exchanged is read again


@pytest.mark.parametrize("name", QUERIES)
def test_older_versions_of_an_entry_are_corrupt_state(name: str) -> None:
    query = QUERIES[name]
    with small_chunks(24, 48):
        *copies, now = filled(query)
        older = {(k, copy[k]) for copy in copies for k in copy if k in now and copy[k] != now[k]}
        assert len(older) > 6
        changes = (now | {key: value} for key, value in sorted(older))
        found = noticed(query, changes, continued(query, now), CorruptState)
    assert found == len(older)


def test_exchanged_entries_of_another_life_of_the_operator_are_corrupt_state() -> None:
    """The same steps in the same store, after the operator was finished: names and generations repeat."""
    query = QUERIES["sliding and sessions"]
    tables = {"one": rows_of(1), "two": rows_of(2)}
    lives = []
    for life in tables.values():
        store = MemoryStore()
        operator = query.open(store=store, name="first")
        for table in life[:3]:
            operator.push(table)
        lives.append((cleaned(query, store.values), life[3]))
    (before, _), (now, following) = lives
    shared = [key for key in now if key in before and not key.endswith(b"o")]
    assert len(shared) > 2
    for key in shared:
        store = MemoryStore()
        store.values = now | {key: before[key]}
        with pytest.raises(CorruptState):  # noqa: PT012
            operator = query.open(store=store, name="first", cache_bytes=0)
            operator.push(following)
            operator.finish()


def test_entries_of_an_older_format_are_refused_by_name() -> None:
    query = QUERIES["tumbling"]
    now = cleaned(query, filled(query)[-1])
    for key in [key for key in now if now[key].startswith(b"WRST")]:
        old = now[key][:4] + b"\x03" + now[key][5:]
        with pytest.raises(UnsupportedVersion, match="state of format 3"):
            continued(query, now | {key: old})
