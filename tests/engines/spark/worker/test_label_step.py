"""As-of queries on streams, without Spark: events and labels are packed, buckets stepped, labels come out."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import BUCKETS, DictEntries
from support.small_chunks import small_chunks
from windrow.engines.frames import event_rows
from windrow.engines.frames.waiting_labels import check_ends
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.streaming.label_step import Labels, label_step, pack_labels
from windrow.engines.spark.worker.streaming.pack_task import REJECTED, pack_batches
from windrow.engines.spark.worker.streaming.step import COUNTED, bucket_place
from windrow.engines.stream.persistence.bound_entries import read_header
from windrow.engines.stream.plan import EVENTS as EVENTS_PART
from windrow.errors import ChangedQuery, CorruptState
from windrow.state.codec import checksum_of, pack
from windrow.testing import assert_same_results, no_leak

EVENTS = pa.schema([("ts", pa.int64()), ("user", pa.int32()), ("s", pa.string())])
LABELS = pa.schema([("id", pa.int64()), ("at", pa.int64()), ("who", pa.int64())])
START = wr.query(time="ts", by="user", watermark=4)


class LabelStream:
    """What Spark does with micro-batches of events and labels."""

    def __init__(self, query: Any) -> None:
        self.payload = packed(query)
        self.labels = Labels(bytes(LABELS.serialize()), "at", ("who",), (pa.int64(),))
        self.entries = {bucket: DictEntries(bucket_place(bucket)) for bucket in BUCKETS}
        self.counts = dict.fromkeys(COUNTED, 0)

    def batch(self, events: pa.Table, labels: pa.Table, watermark_ms: int) -> list[Any]:
        packing = pack_batches(
            self.payload, EVENTS, BUCKETS, events.to_batches(), key_types=self.labels.key_types
        )
        rows = [row for batch in packing for row in batch.to_pylist()]
        for batch in pack_labels(self.labels, BUCKETS, labels.to_batches()):
            rows += batch.to_pylist()
        found: list[Any] = []
        for bucket in BUCKETS:
            own = [row for row in rows if row["bucket"] == bucket]
            rejected = {reason: sum(row[reason] or 0 for row in own) for reason in REJECTED}
            blobs = [row["blob"] for row in own if row["blob"] is not None]
            about = (watermark_ms, rejected, len(BUCKETS), "a stream")
            stepped = label_step(self.payload, EVENTS, self.labels, self.entries[bucket], blobs, *about)
            found += stepped.results.to_pylist()
            for name, count in zip(COUNTED, stepped.counts, strict=True):
                self.counts[name] = count if name == "state_bytes" else self.counts[name] + count
        return found


def events_of(step: int, choose: random.Random) -> pa.Table:
    times = [max(step * 2 + choose.randint(-9, 4), 1) for _ in range(6)]
    return pa.table(
        {"ts": times, "user": [choose.choice([1, 2, None]) for _ in times], "s": [f"{step}." for _ in times]},
        EVENTS,
    )


def labels_of(step: int, choose: random.Random) -> pa.Table:
    times = [max(step * 2 + choose.randint(-9, 9), 1) for _ in range(3)]
    whose = [choose.choice([1, 2, None, 9]) for _ in times]
    return pa.table({"id": range(3 * step, 3 * step + 3), "at": times, "who": whose}, LABELS)


@pytest.mark.parametrize(
    "query",
    [
        START.asof(5, 9, lag=1),
        START.asof(5, closed="both"),
        START.asof(rows=[1, 3]),
        START.asof(6, lag=2, direction="forward"),
        START.asof(5, "all"),
    ],
    ids=repr,
)
def test_each_label_comes_out_once_with_what_a_table_gives(
    query: wr.Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of events that are not late; each as soon as nothing it may see can come."""
    monkeypatch.setattr(event_rows, "_FEW", 4)
    query = query.agg(s=wr.concat("s"), n=wr.count())
    choose, stream, mark = random.Random(5), LabelStream(query), 0
    kept, asked, found, late = [], [], [], 0
    keeps_all = "all" in repr(query)
    for step in range(40):
        events, labels = events_of(step, choose), labels_of(step, choose)
        in_time = pa.array([ts >= mark for ts in events["ts"].to_pylist()])
        on_time = pa.array([keeps_all or at >= mark for at in labels["at"].to_pylist()])
        late += len(in_time) + len(on_time) - in_time.true_count - on_time.true_count
        kept.append(events.filter(in_time))
        asked.append(labels.filter(on_time))
        # Spark's watermark is made of the events before this micro-batch
        found += stream.batch(events, labels, mark_of(kept[:-1], mark))
        mark = mark_of(kept[:-1], mark)
    found += stream.batch(EVENTS.empty_table(), LABELS.empty_table(), 10_000)
    every = pa.concat_tables(asked)
    expected = query.run(pa.concat_tables(kept), at=every, at_time="at", at_by="who")
    assert_same_results(found, expected)
    assert stream.counts["rows_late"] == late > 10
    assert stream.counts["windows_fired"] == every.num_rows
    assert stream.counts["rows_in"] == 9 * 40 == stream.counts["rows_aggregated"] + late
    held = [len(entries.blocks) for entries in stream.entries.values()]
    assert max(held) <= 6  # the index, and few blocks


def test_no_label_of_a_stream_sees_its_future() -> None:
    """Events and labels come in steps; the watermark follows, as no_leak adds events behind all others."""
    query = START.asof(5, 9, lag=1).agg(s=wr.concat("s"), n=wr.count())
    choose = random.Random(9)
    events = pa.concat_tables([events_of(step, choose) for step in range(8)])
    labels = pa.concat_tables([labels_of(step, choose) for step in range(3, 6)])

    def run(known: pa.Table, asked: pa.Table) -> pa.Table:
        stream = LabelStream(query)
        found = [row for start in range(0, len(known) or 1, 9) for row in stream.batch(
            known.slice(start, 9).cast(EVENTS), asked.slice(start, 9), 0
        )]  # fmt: skip
        assert not found
        found = stream.batch(EVENTS.empty_table(), LABELS.empty_table(), 10_000)
        return pa.Table.from_pylist(sorted(found, key=lambda row: row["id"]))

    no_leak(query, events, labels, at_time="at", at_by="who", run=run)


def mark_of(kept: list[pa.Table], before: int) -> int:
    times = [ts for table in kept for ts in table["ts"].to_pylist()]
    return max([before, *(ts - 4 for ts in times)])


def test_a_label_waits_for_what_it_may_see_and_no_longer() -> None:
    stream = LabelStream(START.asof(5).agg(n=wr.count()))
    event = pa.table({"ts": [9], "user": [1], "s": ["x"]}, EVENTS)
    label = pa.table({"id": [0, 1], "at": [10, None], "who": [1, 1]}, LABELS)
    nothing = EVENTS.empty_table(), LABELS.empty_table()
    assert stream.batch(event, label, 0) == [{"id": 1, "at": None, "who": 1, "n": None}]
    held = [dict(entries.blocks) for entries in stream.entries.values()]
    assert stream.batch(*nothing, 9) == []
    assert [entries.blocks for entries in stream.entries.values()] == held  # headers alone are written
    assert stream.batch(*nothing, 10) == [{"id": 0, "at": 10, "who": 1, "n": 1}]
    assert stream.batch(*nothing, 99) == []


def test_state_is_bounded() -> None:
    stream, sizes = LabelStream(START.asof(5).agg(n=wr.count())), []
    for step in range(0, 6_000, 100):
        times = list(range(step + 1, step + 101))
        events = pa.table({"ts": times, "user": [1] * 100, "s": ["x"] * 100}, EVENTS)
        stream.batch(events, LABELS.empty_table(), max(step - 10, 0))
        sizes.append(stream.counts["state_bytes"])
    assert max(sizes[30:]) <= max(sizes[:30])


def test_entries_of_another_step_are_an_error() -> None:
    stream, choose = LabelStream(START.asof(50).agg(n=wr.count())), random.Random(1)
    with small_chunks(2, 8):
        for step in range(9):
            stream.batch(events_of(step, choose), labels_of(step, choose), 0)
        for entries in stream.entries.values():
            names = [name for name in entries.blocks if not name.endswith("p")]
            assert len(names) > 2
            entries.blocks |= {
                name: entries.blocks[other] for name, other in zip(names, [*names[1:], names[0]], strict=True)
            }
        with pytest.raises(CorruptState):
            stream.batch(EVENTS.empty_table(), LABELS.empty_table(), 10_000)


def test_events_and_labels_that_were_kept_beside_the_state_are_taken_into_it() -> None:
    """As they were before they were part of it: events in blocks, and an index that has the labels, too."""
    query = START.asof(5, 9, lag=1).agg(s=wr.concat("s"), n=wr.count())
    one, two = LabelStream(query), LabelStream(query)
    choose = random.Random(3)
    for step in range(6):
        events, labels = events_of(step, choose), labels_of(step, choose)
        for stream in (one, two):
            stream.batch(events, labels, max(2 * step - 6, 0))
    for entries in two.entries.values():
        keep_beside(entries)
    events, labels = events_of(7, choose), labels_of(7, choose)
    assert_same_results(two.batch(events, labels, 10), one.batch(events, labels, 10))
    nothing = EVENTS.empty_table(), LABELS.empty_table()
    found = two.batch(*nothing, 10_000)
    assert_same_results(found, one.batch(*nothing, 10_000))
    assert found
    assert not any(name.startswith("c ") for entries in two.entries.values() for name in entries.blocks)


def test_events_kept_beside_the_state_that_were_put_back_are_an_error() -> None:
    choose = random.Random(3)
    for damage in ({"sums": [7]}, {"step": 1}):
        stream = LabelStream(START.asof(50).agg(s=wr.concat("s")))
        for step in range(3):
            stream.batch(events_of(step, choose), labels_of(step, choose), 0)
        for entries in stream.entries.values():
            keep_beside(entries, **damage)
        with pytest.raises(CorruptState, match=r"not the one that the index lists|of different steps"):
            stream.batch(EVENTS.empty_table(), LABELS.empty_table(), 9)


def keep_beside(entries: DictEntries, **damage: Any) -> None:
    """Put the events and labels of a bucket where they were before they were part of its state."""

    def put(name: str, kind: str, value: Any) -> int:
        entries.blocks[name] = pack(kind, value, entries.place + b"\0" + name.encode())
        return checksum_of(entries.blocks[name])

    header = read_header(entries.head or b"", entries.place)
    part = header["state"]["ordered"].pop(EVENTS_PART)
    tables = [part["context"]["table"].select(["user", "ts", "s"])] if part["context"] is not None else []
    index = {
        "numbers": list(range(len(tables))),
        "sums": [put(f"c events {number}", "events", table) for number, table in enumerate(tables)],
        "labels": LABELS.empty_table() if part["pending"] is None else part["pending"]["table"],
        "step": header["state"]["counts"]["rows_in"],
    }
    put("c index", "index of events", index | damage)
    entries.head = pack("header", header, entries.place + b"\0header")
    entries.guard = None


@pytest.mark.parametrize("keys", [200, 2_000])
def test_labels_read_the_groups_of_their_keys(keys: int) -> None:
    """However many others are held."""
    stream, reads = LabelStream(START.asof(10**6).agg(n=wr.count())), []
    with small_chunks(64, 1_024):
        for begin in range(1, 6 * keys, keys):
            users = np.arange(keys) % keys
            times = np.full(keys, begin)
            events = pa.table({"ts": times, "user": users, "s": ["x"] * keys}, EVENTS)
            stream.batch(events, LABELS.empty_table(), begin - 1)
        for step in range(6):
            labels = pa.table(
                {"id": range(5), "at": [6 * keys + step] * 5, "who": range(step, step + 5)}, LABELS
            )
            before = dict(stream.counts)
            found = stream.batch(EVENTS.empty_table(), labels, 6 * keys + step + 1)
            assert [row["n"] for row in found] == [6] * 5
            reads.append(stream.counts["state_bytes_read"] - before["state_bytes_read"])
    # of each key a page and a group, pages above these, and headers
    assert max(reads) < 20_000


def test_labels_of_other_columns_are_refused() -> None:
    stream, choose = LabelStream(START.asof(5).agg(n=wr.count())), random.Random(1)
    stream.batch(events_of(1, choose), labels_of(1, choose), 0)
    less = pa.schema([field for field in LABELS if field.name != "id"])
    stream.labels = replace(stream.labels, schema=bytes(less.serialize()))
    with pytest.raises(ChangedQuery, match=r"had the columns id int64, .*, and have at int64"):
        stream.batch(EVENTS.empty_table(), less.empty_table(), 0)


def test_windows_without_an_end_are_refused() -> None:
    for query in (START.asof("all", direction="forward"), START.asof(rows=2, direction="forward")):
        with pytest.raises(ValueError, match=r"have no end on a stream.* give a size"):
            check_ends(query.agg(n=wr.count()))
