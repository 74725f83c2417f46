"""Windows that data decide, and rolling by policy, on streams: a micro-batch reads and writes the rows of its
own keys, however many others are held."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import DictEntries, PackedStream
from support.signed_entries import every_name, sign
from support.small_chunks import small_chunks, without_groups
from windrow.engines.frames import rolling_part
from windrow.engines.kept_rows.groups import group_numbers
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.step import COUNTED, step
from windrow.engines.spark.worker.streaming.wire import write_rows
from windrow.engines.stream.persistence.bound_entries import check_entries, read_header
from windrow.engines.stream.plan import Plan
from windrow.errors import CorruptState
from windrow.state.codec import pack, unpack
from windrow.testing import assert_same_results

FLAGS = [("ends", pa.bool_()), ("goes_on", pa.bool_())]
SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("v", pa.int64()), ("s", pa.string()), *FLAGS])
START = wr.query(time="t", by="k", watermark=0)


def keep(count: int) -> wr.Policy:
    return wr.Policy(lambda total, old: total.n - old.n >= count)


QUERIES: dict[str, Any] = {
    "rolling by time": START.rolling(1_500),
    "rolling by rows": START.rolling(rows=5),
    "rolling by time, two sizes": START.rolling(300, 1_500),
    "rolling by time, moved back": START.rolling(1_500, closed="both", shift=-300),
    "rolling by time, ahead": START.rolling(1_500, closed="both", shift=300),
    "rolling by rows, two counts": START.rolling(rows=[2, 5], closed="left"),
    "rolling by rows, ahead": START.rolling(rows=5, shift=2),
    "Rows": START.window(wr.Rows(6)),
    "Rows that overlap": START.window(wr.Rows(6, slide=2)),
    "Delta": START.window(wr.Delta("t", size=2_000, slide=1_000)),
    "Punctuation": START.window(wr.Punctuation("ends")),
    "Threshold": START.window(wr.Threshold("goes_on")),
    "Policy": START.window(keep(5)),
    "rolling by policy": START.rolling(keep(5)),
}


def rows_of(times: Any, keys: Any, ends: Any) -> pa.Table:
    count = len(times)
    text = [chr(97 + time % 26) for time in np.asarray(times).tolist()]
    ends = np.broadcast_to(ends, count)
    columns = [np.asarray(times), np.asarray(keys), np.asarray(times) % 11, text, ends, ~ends]
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)


# -- results -------------------------------------------------------------------------------------------------


def mixed_rows(count: int, seed: int = 0) -> pa.Table:
    """Many keys of few rows, and a few of many; windows that end here and there."""
    rng = np.random.default_rng(seed)
    keys = np.where(rng.random(count) < 0.3, rng.integers(0, 3, count), rng.integers(3, 90, count))
    return rows_of(np.sort(rng.integers(1, 4 * count, count)), keys, rng.random(count) < 0.1)


def streamed(query: Any, rows: pa.Table, batch: int = 97) -> tuple[list[Any], PackedStream]:
    stream, found = PackedStream(query, SCHEMA), []
    times = rows["t"].to_numpy()
    for start in range(0, len(rows), batch):
        found += stream.batch(rows.slice(start, batch), int(times[start]))
    return found + stream.batch(rows.slice(0, 0), int(times[-1]) + 1), stream


def groups_of(stream: PackedStream) -> list[int]:
    """How many groups the rows of each bucket are in."""
    found = []
    for entries in stream.entries.values():
        assert entries.head is not None
        ordered = read_header(entries.head, entries.place)["state"]["ordered"].values()
        found += [rows["groups"]["count"] if "groups" in rows else 1 for rows in ordered]
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_results_over_groups_are_those_of_one_log(name: str) -> None:
    query, rows = QUERIES[name].agg(n=wr.count(), text=wr.concat("s"), last=wr.last("v")), mixed_rows(900)
    with small_chunks(16, 64):
        found, stream = streamed(query, rows)
        for entries in stream.entries.values():
            check_entries(entries.head or b"", entries.place, entries.blocks)
        with without_groups():
            expected, others = streamed(query, rows)
    assert_same_results(found, expected)
    assert min(groups_of(stream)) > 5
    assert groups_of(others) == [1, 1]


@pytest.mark.parametrize("name", QUERIES)
def test_results_do_not_depend_on_when_rows_are_put_into_groups(name: str) -> None:
    query, rows = QUERIES[name].agg(n=wr.count(), text=wr.concat("s")), mixed_rows(700, seed=4)
    times, rng = rows["t"].to_numpy(), np.random.default_rng(4)
    found: list[list[Any]] = [[], []]
    with small_chunks(8, 16):
        plain, grouped = (Plan.of(query).ordered_part("", window_of(query)) for _ in range(2))
        for start in range(0, 700, 35):
            for part, results in zip((plain, grouped), found, strict=True):
                part.push(rows.slice(start, 35), np.arange(start, start + 35))
                table = part.due(int(times[start]))
                results += [] if table is None else table.to_pylist()
            grouped = grouped.chunked() if rng.random() < 0.5 else grouped
        if "rolling by" not in name or "policy" in name:  # others let go of whole chunks
            assert grouped.log.needed_rows == plain.log.needed_rows
        for part, results in zip((plain, grouped), found, strict=True):
            table = part.due(10**9, closing=True)
            results += [] if table is None else table.to_pylist()
    assert_same_results(found[1], found[0])
    assert found[0]


def window_of(query: Any) -> Any:
    return query.rolling_over or query.windows[0][1]


@pytest.mark.parametrize("name", QUERIES)
def test_state_from_before_there_were_groups_is_read_and_put_into_groups(name: str) -> None:
    query, rows = QUERIES[name].agg(n=wr.count(), text=wr.concat("s")), mixed_rows(800, seed=1)
    times = rows["t"].to_numpy()
    with small_chunks(16, 64):
        expected, _ = streamed(query, rows, 100)
        with without_groups():
            stream, found = PackedStream(query, SCHEMA), []
            for start in range(0, 400, 100):
                found += stream.batch(rows.slice(start, 100), int(times[start]))
        assert groups_of(stream) == [1, 1]
        for start in range(400, 800, 100):
            found += stream.batch(rows.slice(start, 100), int(times[start]))
        found += stream.batch(rows.slice(0, 0), int(times[-1]) + 1)
    assert_same_results(found, expected)
    assert min(groups_of(stream)) > 5


def test_results_in_advance_read_the_groups_of_their_keys() -> None:
    query = replace(START.rolling(keep(5)), watermark=wr.query(time="t", watermark=300).watermark)
    query = replace(query, output="update").agg(n=wr.count(), text=wr.concat("s"))
    rows = mixed_rows(1_000, seed=2)
    with small_chunks(16, 64):
        found, stream = streamed(query, rows)
        with without_groups():
            expected, _ = streamed(query, rows)
    assert_same_results(found, expected)
    assert any(not row["is_final"] for row in found)
    assert min(groups_of(stream)) > 5


@pytest.mark.parametrize("rolling_over", [START.rolling(6_000), START.rolling(rows=5)])
def test_rows_of_rolling_go_back_into_one_log_when_steps_become_large(rolling_over: Any) -> None:
    query, rows = rolling_over.agg(n=wr.count(), text=wr.concat("s"), last=wr.last("v")), mixed_rows(3_000)
    times, edges = rows["t"].to_numpy(), [*range(0, 900, 20), *range(900, 3_000, 150)]

    def run() -> tuple[list[Any], list[list[int]], PackedStream]:
        stream, found, groups = PackedStream(query, SCHEMA), [], []
        for start, end in itertools.pairwise([*edges, 3_000]):
            found += stream.batch(rows.slice(start, end - start), int(times[start]))
            groups.append(groups_of(stream))
        return found, groups, stream

    with (
        small_chunks(16, 64),
        patch.object(rolling_part, "LONG", 16),
        patch.object(rolling_part, "SHORT", 15),
    ):
        found, groups, stream = run()
        with without_groups():
            expected, _, _ = run()
    assert_same_results(found, expected)
    assert min(groups[edges.index(900)]) > 5
    assert groups[-1] == [1, 1]
    for entries in stream.entries.values():
        header = read_header(entries.head or b"", entries.place)
        assert sorted(entries.blocks) == sorted(every_name(entries.blocks, entries.place, header))


def test_rows_of_groups_leave_when_no_window_holds_them() -> None:
    query, rows = QUERIES["rolling by time"].agg(n=wr.count()), mixed_rows(900, seed=6)
    with small_chunks(16, 64):
        _, stream = streamed(query, rows)
        assert min(groups_of(stream)) > 5
        last = int(rows["t"].to_numpy()[-1])
        stream.batch(SCHEMA.empty_table(), last + 700)
        some = sum(len(entries.blocks) for entries in stream.entries.values())
        stream.batch(SCHEMA.empty_table(), last + 1_501)
    assert some > 0
    assert [entries.blocks for entries in stream.entries.values()] == [{}, {}]


@pytest.mark.parametrize("name", ["rolling by rows", "Rows", "rolling by policy"])
def test_an_aggregate_that_is_added_sees_what_is_held_in_groups(name: str) -> None:
    before = QUERIES[name].agg(n=wr.count(), most=wr.max("v"))
    after = QUERIES[name].agg(n=wr.count(), total=wr.sum("v"), text=wr.concat("s"))
    rows = mixed_rows(1_200, seed=3)
    times = rows["t"].to_numpy()

    def results() -> list[Any]:
        stream, found = PackedStream(before, SCHEMA), []
        for start in range(0, 1_200, 100):
            stream.query = before if start < 600 else after
            given = stream.batch(rows.slice(start, 100), int(times[start]))
            found += given if start >= 600 else []
        return found

    with small_chunks(16, 64):
        found = results()
        with without_groups():
            expected = results()
    assert_same_results(found, expected)


def all_groups_read(stream: PackedStream) -> None:
    """Windows of all keys are complete, after the rows before."""
    keys = np.repeat(np.arange(90), 6)
    stream.batch(rows_of(np.arange(5_000, 5_000 + len(keys)), keys, True), 4_000)
    stream.batch(SCHEMA.empty_table(), 10_000)


def test_groups_that_do_not_fit_their_chunks_are_corrupt_state() -> None:
    with small_chunks(16, 64):
        _, stream = streamed(QUERIES["Rows"].agg(n=wr.count()), mixed_rows(600))
        entries = next(iter(stream.entries.values()))
        assert entries.head is not None
        header = read_header(entries.head, entries.place)
        groups = header["state"]["ordered"][0]["groups"]
        root = groups["root"]
        assert groups["level"] == 1
        forgeries = [
            {"count": 1},
            {"count": "7"},
            {"level": 0},
            {"level": 2},
            {"level": 99},
            {"root": root | {"sums": root["sums"][1:]}},
            {"root": root | {"pages": root["pages"] + 10**9}},
            {"root": root | {"places": root["places"] + 64}},
            {"root": root | {"rows": -root["rows"]}},
        ]
        for forged in forgeries:
            header["state"]["ordered"][0]["groups"] = groups | forged
            entries.head = pack("header", header, entries.place + b"\0header")
            entries.guard = None
            with pytest.raises(CorruptState):
                all_groups_read(copy.deepcopy(stream))


@pytest.mark.parametrize("what", ["rows", "bytes", "earliest"])
def test_totals_that_are_not_those_of_a_page_are_corrupt_state(what: str) -> None:
    with small_chunks(16, 64):
        _, stream = streamed(QUERIES["Rows"].agg(n=wr.count()), mixed_rows(600))
        for entries in stream.entries.values():
            assert entries.head is not None
            header = read_header(entries.head, entries.place)
            header["state"]["ordered"][0]["groups"]["root"][what] += 1
            entries.head = pack("header", header, entries.place + b"\0header")
            entries.guard = None
        with pytest.raises(CorruptState, match="the page above says"):
            all_groups_read(stream)


@pytest.mark.parametrize("name", ["rolling by time", "Policy"])
def test_partials_of_more_rows_than_their_chunks_have_are_corrupt_state(name: str) -> None:
    query = {"rolling by time": START.rolling(10**6), "Policy": START.window(keep(10**6))}[name]
    stream, times = PackedStream(query.agg(n=wr.count(), total=wr.sum("v")), SCHEMA), np.arange(1, 400)
    with small_chunks(8, 16):
        for some in np.split(times, range(40, 400, 40)):
            stream.batch(rows_of(some, np.where(some % 20, 1, some), False), int(some[0]))
        for entries in stream.entries.values():
            header = read_header(entries.head or b"", entries.place)
            for own in every_name(entries.blocks, entries.place, header):
                if "w" in own:
                    context = entries.place + b"\0" + own.encode()
                    forged = unpack("rows", entries.blocks[own], context)
                    forged["partials"]["rows"] = forged["partials"]["rows"] + 1
                    entries.blocks[own] = pack("rows", forged, context)
            sign(entries.blocks, entries.place, header, "")
            entries.head = pack("header", header, entries.place + b"\0header")
            entries.guard = None
        with pytest.raises(CorruptState, match="partials of"):  # of the last rows
            stream.batch(SCHEMA.empty_table(), 600)


@pytest.mark.parametrize("count", [2, 3, 7, 64, 100])
def test_a_group_that_is_split_is_split_in_two(count: int) -> None:
    keys = pa.table({"k": np.arange(5_000)})
    before, after = group_numbers(("k",), keys, count), group_numbers(("k",), keys, count + 1)
    moved = before != after
    assert set(after[moved].tolist()) == {count}
    assert len(set(before[moved].tolist())) == 1
    sizes = np.bincount(after, minlength=count + 1)
    assert sizes.min() > 0.2 * 5_000 / count


# -- what a step costs ---------------------------------------------------------------------------------------


@dataclass
class CountingEntries(DictEntries):
    """Counts the entries that are read and written, without the header."""

    reads: int = 0
    writes: int = 0

    def block(self, name: str) -> bytes:
        self.reads += 1
        return super().block(name)

    def set_block(self, name: str, data: bytes) -> None:
        self.writes += 1
        super().set_block(name, data)


def step_cost(query: Any, keys: int, rows_a_key: int = 4) -> Any:
    """Entries and bytes read and written by steps of 20 rows of ten keys, of most of them, where so many keys
    have rows. In each of them windows end."""
    payload, entries, now = packed(query.agg(n=wr.count(), total=wr.sum("v"))), CountingEntries(), 1

    def stepped(chosen: Any, ends: bool) -> Any:
        nonlocal now
        table = rows_of(np.arange(now, now + len(chosen)), chosen, ends)
        now += len(chosen)
        entries.reads = entries.writes = 0
        counts = step(payload, SCHEMA, entries, [write_rows(table)], now - len(chosen), {}, 1).counts
        found = dict(zip(COUNTED, counts, strict=True))
        given = found["windows_fired"], found["state_bytes_read"], found["state_bytes_written"]
        return entries.reads, entries.writes, *given

    for _ in range(rows_a_key):
        stepped(np.arange(keys), ends=False)
    some = [
        stepped(np.repeat(np.arange(number, keys, keys // 10)[:10], 2), ends=True) for number in range(1, 9)
    ]
    return np.median(some[1:], axis=0)


#: rows that wait for others of their keys, ever so long, are read together
@pytest.mark.parametrize("name", sorted(QUERIES.keys() - {"rolling by rows, ahead"}))
def test_ten_times_as_many_keys_cost_a_step_nothing(name: str) -> None:
    with small_chunks(64, 1_024):
        few, many = step_cost(QUERIES[name], 400), step_cost(QUERIES[name], 4_000)
    assert few[2] > 0 or name == "Delta" or "rolling by" in name
    # of each key a page and a group, pages above these, and rows of no group yet
    assert many[0] <= 30 + 2 * ("ahead" in name)
    # rows that wait and rows of no group yet; where rows are over, the pages that say so
    lets_go_of_chunks = "rolling by" in name and "policy" not in name and "ahead" not in name
    assert many[1] <= (1 if lets_go_of_chunks else 20)
    assert many[3] < 1.5 * few[3] + 10_000
    assert many[4] < 1.5 * few[4] + 10_000


@pytest.mark.parametrize("keys", [400, 4_000])
def test_two_sizes_cost_a_step_half_as_much_again_as_one_at_most(keys: int) -> None:
    with small_chunks(64, 1_024):
        one, two = step_cost(START.rolling(1_500), keys), step_cost(START.rolling(300, 1_500), keys)
    assert one[2] == two[2] > 0
    assert (two <= 1.5 * one).all()
