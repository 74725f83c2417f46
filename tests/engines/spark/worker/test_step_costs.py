"""What a micro-batch of few rows reads and writes does not depend on what is held: rolling, and windows that
data decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.held_queries import SCHEMA, START, queries
from support.packed_stream import DictEntries, PackedStream
from support.small_chunks import small_chunks
from windrow.engines.kept_rows.chunk import FEWEST_ROWS
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.step import COUNTED, step
from windrow.engines.spark.worker.streaming.wire import write_rows

#: rows of a step, of as many keys
ROWS = 10
#: what a row takes, at most, with what is known of its chunk
ROW_BYTES = 40


QUERIES = queries(size=10**9, rows=7, kept=5)


@dataclass
class CountingEntries(DictEntries):
    """Counts the bytes that are read and written, without the header, and the entries that are read."""

    bytes_read: int = 0
    bytes_written: int = 0
    reads: int = 0

    def block(self, name: str) -> bytes:
        found = super().block(name)
        self.bytes_read += len(found)
        self.reads += 1
        return found

    def set_block(self, name: str, data: bytes) -> None:
        self.bytes_written += len(data)
        super().set_block(name, data)


class Stream:
    """Steps of one bucket."""

    def __init__(self, query: Any) -> None:
        self._payload, self.entries = packed(query.agg(n=wr.count(), total=wr.sum("v"))), CountingEntries()
        self._now = 1

    def step(self, keys: Any, ends: Any = False) -> tuple[int, int, int]:
        """Bytes read and written beside the header, and windows that came out; one row for each key."""
        times, entries = np.arange(self._now, self._now + len(keys)), self.entries
        flags = np.broadcast_to(ends, len(keys))
        table = pa.table([times, keys, times % 11, flags, ~flags], schema=SCHEMA)
        entries.bytes_read = entries.bytes_written = entries.reads = 0
        found = step(self._payload, SCHEMA, entries, [write_rows(table)], self._now, {}, 1)
        self._now += len(keys)
        fired = dict(zip(COUNTED, found.counts, strict=True))["windows_fired"]
        return entries.bytes_read, entries.bytes_written, fired


def small_steps(query: Any, held: int, count: int = 24, ends: bool = True) -> tuple[Any, int]:
    """What steps of few rows read, write and give, where so many keys have four rows each; and the length of
    the header."""
    stream, chance = Stream(query), np.random.default_rng(held)
    for _ in range(4):
        stream.step(np.arange(held))
    for _ in range(2):  # rows that came lately join their groups
        stream.step(chance.choice(held, ROWS, replace=False))
    steps = [stream.step(chance.choice(held, ROWS, replace=False), ends) for _ in range(count)]
    return np.array(steps), len(stream.entries.head or b"")


@pytest.mark.parametrize("name", QUERIES)
def test_twice_as_many_keys_cost_a_small_step_nothing(name: str) -> None:
    (few, few_header), (many, many_header) = (small_steps(QUERIES[name], held) for held in (3_000, 6_000))
    for place, what in enumerate(("read", "written")):
        before, after = np.median(few[:, place]), np.median(many[:, place])
        assert after <= 1.15 * before + 2_000, f"bytes {what}: {before}, and {after} with twice as many keys"
    assert many_header <= few_header + 1_000


@pytest.mark.parametrize("name", QUERIES)
def test_a_small_step_writes_in_proportion_to_its_rows(name: str) -> None:
    found, header = small_steps(QUERIES[name], 5_000)
    # beside the header, which has the rows that wait and those that came lately
    assert np.median(found[:, 1]) <= 2_000 * ROWS
    assert header <= FEWEST_ROWS * ROW_BYTES


@pytest.mark.parametrize("name", ["Punctuation", "Threshold"])
def test_only_the_groups_of_keys_whose_windows_end_are_read(name: str) -> None:
    stream, chance = Stream(QUERIES[name]), np.random.default_rng(1)
    for _ in range(4):
        stream.step(np.arange(5_000))
    for _ in range(2):
        stream.step(chance.choice(5_000, ROWS, replace=False))
    keys = chance.choice(5_000, ROWS, replace=False)
    assert [stream.step(keys)[0] for _ in range(3)] == [0, 0, 0]
    stream.step(keys, np.arange(ROWS) == 4)
    read, _, fired = stream.step(keys)  # the watermark has passed the rows of the step before
    assert fired == 1
    assert 0 < read <= FEWEST_ROWS * ROW_BYTES


@pytest.mark.parametrize("name", ["Policy", "rolling by policy"])
def test_policies_read_the_oldest_chunk_and_partials_of_ever_longer_stretches(name: str) -> None:
    found = []
    for chunks in (8, 64):
        stream = Stream(queries(10**9, 7, 10**6)[name])
        for _ in range(chunks):
            stream.step(np.repeat([1, 2], 1_024))
        for _ in range(3):
            stream.step(np.array([1]))
        read, _, _ = stream.step(np.array([1]))
        found.append((stream.entries.reads, read))
    (few, _), (many, read) = found
    # eight times as long: three entries more for each time that it is four times as long
    assert many <= few + 9
    assert read <= (1_500 + ROWS) * ROW_BYTES + many * 1_000


def test_a_policy_that_lets_go_of_much_at_once_reads_what_it_lets_go_of() -> None:
    last = wr.Policy(lambda total, old: total.last - old.last > 1_000)
    query = START.window(last).agg(n=wr.count(), last=wr.max("t"))
    stream, now, found = PackedStream(query, SCHEMA), 1, []
    with small_chunks(16, 32):
        for times in [
            np.arange(1, 901),
            np.arange(950, 960),
            np.arange(1_700, 1_703),
            np.arange(9_000, 9_002),
        ]:
            flags = np.zeros(len(times), np.bool_)
            columns = [times, np.repeat([1, 2], [len(times) - 1, 1]), times % 11, flags, ~flags]
            found += stream.batch(pa.table(columns, schema=SCHEMA), now)
            now = int(times[-1]) + 1
        found += stream.batch(SCHEMA.empty_table(), now)
    assert [row["n"] for row in found if row["k"] == 1 and row["window_end"] >= 1_700] == [210, 210, 1]
