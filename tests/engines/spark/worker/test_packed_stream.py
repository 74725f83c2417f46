"""The tasks of Spark streaming against the operator: the same batches, judged by the same watermarks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from support.budget import examples
from support.packed_stream import PackedStream, without_delay
from support.small_chunks import small_chunks
from windrow.engines.spark.worker.streaming.step import LATE_PAIRS
from windrow.testing import assert_same_results
from windrow.testing.strategies import pushes, stream_queries, streams, table_of


def check(query: Any, batches: list[Any], watermarks: list[int]) -> None:
    operator = without_delay(query).open()
    stream = PackedStream(query, table_of([]).schema)
    late: list[Any] = []
    for rows, watermark in zip(batches, watermarks, strict=True):
        found = stream.batch(table_of(rows), watermark)
        expected = operator.push(table_of(rows)).to_pylist() if rows else []
        expected += operator.advance(watermark).to_pylist() if watermark > 0 else []
        late += operator.late_rows().to_pylist() if query.late == "return" else []
        if query.output == "update":  # an operator speculates before the watermark moves, Spark after
            found, expected = final(found), final(expected)
        assert_same_results(found, expected)
    assert_same_results(stream.late, late)
    for name in ("rows_in", "rows_aggregated", "rows_late", "rows_rejected", "windows_fired"):
        assert stream.counts[name] == getattr(operator.metrics, name)
    pairs = {name.removeprefix("late_pairs_"): stream.counts[name] for name in LATE_PAIRS}
    assert {reason: count for reason, count in pairs.items() if count} == operator.metrics.late_pairs


def final(results: list[Any]) -> list[Any]:
    kept = [row for row in results if row["is_final"] and not row.get("retracted")]
    return [{name: value for name, value in row.items() if name != "revision"} for row in kept]


def check_any_stream(data: st.DataObject) -> None:
    query = data.draw(stream_queries(policies=False))
    rows = data.draw(streams(null_times=True, min_size=4, span=25))
    batches = data.draw(pushes(rows))
    steps = data.draw(st.lists(st.integers(0, 20), min_size=len(batches), max_size=len(batches)))
    # Spark has no watermark before the batch after the first row with a time
    came = [any(row["ts"] is not None for batch in batches[:k] for row in batch) for k in range(len(steps))]
    moments = [sum(steps[: k + 1]) - 20 if came[k] else 0 for k in range(len(steps))]
    check(query, batches, moments)


@settings(max_examples=examples(120))
@given(st.data())
def test_any_query_in_micro_batches(data: st.DataObject) -> None:
    check_any_stream(data)


@settings(max_examples=examples(120))
@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_any_query_with_chunks_of_few_rows(data: st.DataObject, fewest: int, most: int) -> None:
    with small_chunks(fewest, most):
        check_any_stream(data)


@pytest.mark.parametrize("late", ["count", "emit"])
def test_state_is_in_pieces_and_goes_away(late: Any) -> None:
    query = (
        wr.query(time="ts", by="key", watermark=5, late=late)
        .window(wr.Sliding(64, slide=1))
        .agg(n=wr.count())
    )
    stream = PackedStream(query, table_of([]).schema)
    row = dict.fromkeys(table_of([]).column_names)
    many = table_of([row | {"key": str(key)} for key in range(1_500)])

    def at(time: int) -> pa.Table:
        return many.set_column(many.column_names.index("ts"), many.field("ts"), pa.array([time] * len(many)))

    held = [0]
    for start in range(1, 200, 10):
        stream.batch(pa.concat_tables(map(at, range(start, start + 10))), max(start - 5, 0))
        held.append(stream.counts["state_bytes"] - sum(held))
    assert held[3] > 1.5 * held[1] > 0  # until windows are full
    assert max(held[8:]) < 1.1 * min(held[8:])  # then old slices leave as new ones come
    for entries in stream.entries.values():
        assert len(entries.blocks) > 8
    written = stream.counts["state_bytes_written"]
    stream.batch(at(201), 196)
    assert stream.counts["state_bytes_written"] - written < sum(
        len(data) for entries in stream.entries.values() for data in entries.blocks.values()
    )
    before = stream.counts["state_bytes"]
    stream.batch(table_of([]), 1000)
    assert stream.counts["state_bytes"] == before  # windrow counts what it holds: nothing
    assert not any(entries.blocks for entries in stream.entries.values())
