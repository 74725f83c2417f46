"""Entries of a stream's buckets that were exchanged, or put back as they once were: an error, never other
numbers."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import BUCKETS, PackedStream
from support.small_chunks import small_chunks
from windrow.errors import CorruptState

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
EVENTS = wr.query(time="t", by="k", watermark=0)
QUERIES: dict[str, Any] = {
    "sliding": EVENTS.window(wr.Sliding(64, slide=4)).agg(n=wr.count(), total=wr.sum("v")),
    "eager": EVENTS.window(wr.Sliding(64, slide=4)).agg(median=wr.median("v")),
    "sessions": EVENTS.window(wr.Session(3)).agg(n=wr.count(), total=wr.sum("v")),
    "rows": EVENTS.window(wr.Rows(30)).agg(n=wr.count(), total=wr.sum("v")),
    "rolling": EVENTS.rolling(60).agg(n=wr.count(), total=wr.sum("v")),
    "policy": EVENTS.rolling(wr.Policy(lambda new, old: new.n - old.n >= 9)).agg(n=wr.count()),
}
HEADER, FENCE = "header", "fence"


def batch_of(number: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng([seed, number])
    times = np.sort(number * 20 + rng.integers(0, 20, 40))
    keys = [f"key {k}" for k in rng.integers(0, 12, 40)]
    return pa.table({"t": times, "k": keys, "v": rng.integers(0, 100, 40)}, schema=SCHEMA)


def begun(query: Any, seed: int = 0, query_id: str | None = None) -> list[PackedStream]:
    """A stream after each of its first micro-batches."""
    stream, copies = PackedStream(query, SCHEMA, query_id), []
    for number in range(1, 7):
        stream.batch(batch_of(number, seed), number * 20 - 20)
        copies.append(copy.deepcopy(stream))
    return copies


def entries_of(stream: PackedStream) -> dict[tuple[int, str], bytes]:
    found = {}
    for bucket, entries in stream.entries.items():
        assert entries.head is not None
        assert entries.guard is not None
        found |= {(bucket, HEADER): entries.head, (bucket, FENCE): entries.guard}
        found |= {(bucket, name): data for name, data in entries.blocks.items()}
    return found


def continued(stream: PackedStream, changes: dict[tuple[int, str], bytes]) -> Any:
    """What comes out when entries are changed: results, and what the stream has counted."""
    stream = copy.deepcopy(stream)
    for (bucket, name), data in changes.items():
        if name == HEADER:
            stream.entries[bucket].head = data
        elif name == FENCE:
            stream.entries[bucket].guard = data
        else:
            stream.entries[bucket].blocks[name] = data
    results = [*stream.batch(batch_of(7), 120), *stream.batch(batch_of(8), 140)]
    results += stream.batch(SCHEMA.empty_table(), 10_000)
    bytes_moved = ("state_bytes_read", "state_bytes_written")
    return results, {name: count for name, count in stream.counts.items() if name not in bytes_moved}


def noticed(stream: PackedStream, changes: list[dict[tuple[int, str], bytes]]) -> int:
    """How many changes are refused; the others must give what they should."""
    count, expected = 0, continued(stream, {})
    for change in changes:
        try:
            found = continued(stream, change)
        except CorruptState:
            count += 1
        else:
            assert found == expected
    return count


@pytest.mark.parametrize("name", QUERIES)
def test_exchanged_entries_are_corrupt_state(name: str) -> None:
    with small_chunks(24, 48):
        stream = begun(QUERIES[name])[-1]
        entries = entries_of(stream)
        pairs = list(combinations(sorted(entries), 2))
        refused = noticed(stream, [{a: entries[b], b: entries[a]} for a, b in pairs])
    assert refused > len(pairs) // 3  # of the others, nothing that was exchanged is read again


@pytest.mark.parametrize("name", QUERIES)
def test_older_versions_of_a_block_are_corrupt_state(name: str) -> None:
    with small_chunks(24, 48):
        *copies, stream = begun(QUERIES[name])
        now = entries_of(stream)
        older = {(at, data) for past in copies for at, data in entries_of(past).items() if at[1] != HEADER}
        changed = [(at, data) for at, data in sorted(older) if at in now and now[at] != data]
        assert noticed(stream, [{at: data} for at, data in changed]) == len(changed)
        assert changed or name in ("sessions", "rows", "rolling", "policy")  # rows are written once


@pytest.mark.parametrize("name", QUERIES)
def test_an_older_header_that_was_put_back_by_itself_is_corrupt_state(name: str) -> None:
    """Also where all of the state is in the header, as for sessions."""
    *copies, stream = begun(QUERIES[name])
    for past in copies:
        for bucket in BUCKETS:
            with pytest.raises(CorruptState, match="is not that of its last step"):
                continued(stream, {(bucket, HEADER): entries_of(past)[bucket, HEADER]})


@pytest.mark.parametrize("name", QUERIES)
def test_a_header_that_is_missing_is_corrupt_state_and_not_a_new_beginning(name: str) -> None:
    stream = begun(QUERIES[name])[-1]
    stream.entries[BUCKETS[0]].head = None
    with pytest.raises(CorruptState, match="header of a bucket is missing"):
        stream.batch(batch_of(7), 120)


@pytest.mark.parametrize("name", QUERIES)
def test_buckets_of_another_checkpoint_of_the_same_query_are_corrupt_state(name: str) -> None:
    stream = begun(QUERIES[name], query_id="one")[-1]
    other = begun(QUERIES[name], seed=1, query_id="two")[-1]
    for bucket in BUCKETS:
        mixed = copy.deepcopy(stream)
        mixed.entries[bucket] = copy.deepcopy(other.entries[bucket])
        with pytest.raises(CorruptState, match="of another stream, 'two', and this is 'one'"):
            mixed.batch(batch_of(7), 120)


@pytest.mark.parametrize("name", QUERIES)
def test_state_from_before_there_were_ids_and_fences_is_read_and_gets_them(name: str) -> None:
    stream, known = begun(QUERIES[name])[-1], begun(QUERIES[name], query_id="one")[-1]
    for entries in stream.entries.values():
        entries.guard = None
    stream.query_id = "one"
    assert continued(stream, {}) == continued(known, {})
    stream.batch(batch_of(7), 120)
    known.batch(batch_of(7), 120)
    assert entries_of(stream) == entries_of(known)
    stream.query_id = "two"
    with pytest.raises(CorruptState, match="of another stream"):
        stream.batch(batch_of(8), 140)


def test_a_stream_whose_id_is_not_known_keeps_the_one_that_its_state_has() -> None:
    stream = begun(QUERIES["sessions"], query_id="one")[-1]
    stream.query_id = None
    stream.batch(batch_of(7), 120)
    stream.query_id = "two"
    with pytest.raises(CorruptState, match="of another stream"):
        stream.batch(batch_of(8), 140)


def test_exchanged_entries_of_two_streams_of_one_query_are_corrupt_state() -> None:
    stream, other = begun(QUERIES["sliding"])[-1], begun(QUERIES["sliding"], seed=1)[-1]
    entries, others = entries_of(stream), entries_of(other)
    for at in sorted(set(entries) & set(others)):
        with pytest.raises(CorruptState):
            continued(stream, {at: others[at]})
