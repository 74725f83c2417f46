"""What a checkpoint is held against a query with: the header of a bucket alone, for every kind of window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from support.packed_stream import BUCKETS, PackedStream
from support.small_chunks import small_chunks
from windrow.engines.spark.streaming.checkpoint import _Header
from windrow.engines.spark.worker.streaming.step import kept_by
from windrow.engines.spark.worker.streaming.wire import on_spark
from windrow.engines.stream.plan import Plan
from windrow.errors import ChangedQuery

EVENTS = wr.query(time="ts", by="key", watermark=5)
QUERIES: dict[str, Any] = {
    "tumbling": EVENTS.window(day=wr.Tumbling(20)),
    "sliding and sessions": EVENTS.window(day=wr.Sliding(40, slide=10), visit=wr.Session(7)),
    "rows": EVENTS.window(day=wr.Rows(5, slide=2)),
    "delta": EVENTS.window(day=wr.Delta("v", size=9)),
    "punctuation": EVENTS.window(day=wr.Punctuation("done")),
    "threshold": EVENTS.window(day=wr.Threshold("done")),
    "policy": EVENTS.window(day=wr.Policy(lambda total, old: total.s - old.s > 30)),
    "rolling": EVENTS.rolling(30),
    "rolling by rows": EVENTS.rolling(rows=12),
    "rolling in advance": wr.query(time="ts", by="key", watermark=5, output="update").rolling(30),
    "corrections and late rows": wr.query(
        time="ts", by="key", watermark=5, allowed_lateness=10, late="return"
    ).window(day=wr.Tumbling(20)),
    "without keys": wr.query(time="ts", watermark=5).window(day=wr.Tumbling(20)),
}


def rows(number: int) -> pa.Table:
    times = [number * 20 + k for k in range(20)]
    return pa.table(
        {
            "ts": times,
            "key": ["abc"[t % 3] for t in times],
            "v": [float(t) for t in times],
            "done": [t % 7 == 0 for t in times],
        }
    )


def headers_after(query: Any, batches: int = 6) -> list[_Header]:
    stream = PackedStream(query, rows(0).schema)
    for number in range(batches):
        stream.batch(rows(number), number * 20 - 5)
    return [_Header(e.place, e.head) for e in stream.entries.values() if e.head is not None]


def check(query: Any, header: _Header, buckets: int = len(BUCKETS)) -> None:
    kept_by(header, buckets).check(Plan.of(on_spark(query)))


@pytest.mark.parametrize("name", QUERIES)
def test_the_same_query_is_accepted_from_headers_alone_and_another_is_not(name: str) -> None:
    query = QUERIES[name].agg(s=wr.sum("v"), first=wr.concat("key"))
    with small_chunks():
        headers = headers_after(query)
        assert headers
        for header in headers:
            check(query, header)
            check(QUERIES[name].agg(s=wr.sum("v"), first=wr.concat("key"), n=wr.count()), header)
            check(QUERIES[name].agg(s=wr.sum("v")), header)
            for other in (QUERIES[name].agg(s=wr.max("v")), replace(query, min_count=2)):
                with pytest.raises(ChangedQuery):
                    check(other, header)


def test_a_window_that_is_added_is_accepted_from_headers_alone() -> None:
    query = QUERIES["sliding and sessions"]
    more = EVENTS.window(**dict(query.windows), hour=wr.Tumbling(5), few=wr.Rows(3))
    for header in headers_after(query.agg(s=wr.sum("v"))):
        check(more.agg(s=wr.sum("v")), header)


def test_other_keys_are_said_before_the_number_of_buckets() -> None:
    (header, *_) = headers_after(QUERIES["tumbling"].agg(s=wr.sum("v")))
    with pytest.raises(ChangedQuery, match="by was"):
        check(QUERIES["without keys"].agg(s=wr.sum("v")), header, 1)
    with pytest.raises(ChangedQuery, match=r"spark.sql.shuffle.partitions, was 2, is 3"):
        check(QUERIES["tumbling"].agg(s=wr.sum("v")), header, 3)
