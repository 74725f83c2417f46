"""Labels of an as-of query on their way to a step: packed by bucket, read again, judged, and held until they
are due.

Labels come as blobs, as events do, with a mark before them. Both are judged by the watermark of the step
before; then the watermark moves, and labels leave whose windows it has passed
(:mod:`windrow.engines.frames.event_rows`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.engines.frames.event_rows import EventRows, LabelColumns
from windrow.engines.frames.waiting_labels import late_labels
from windrow.engines.spark.worker.chunks import chunked
from windrow.engines.spark.worker.streaming.fenced import BucketEntries, FencedEntries
from windrow.engines.spark.worker.streaming.pack_task import packed_rows, rows_by_bucket
from windrow.engines.spark.worker.streaming.step import Stepped, counted_since, kept_by, with_rejected
from windrow.engines.spark.worker.streaming.wire import begin, read_rows
from windrow.engines.stream.advance import advanced
from windrow.engines.stream.late import count_labels
from windrow.engines.stream.plan import EVENTS, Plan
from windrow.engines.stream.state import State
from windrow.engines.stream.step import take_table
from windrow.engines.stream.watermark import watermark_of
from windrow.errors import RejectedRows
from windrow.rows.selection import filter_rows
from windrow.rows.times import read_times
from windrow.state.checks import making_sense, require
from windrow.state.codec import checksum_of, unpack

__all__ = ["Labels", "label_step", "pack_labels"]

#: what the blobs of labels begin with; those of events are Arrow's streams, which do not
_MARK = b"L"


@dataclass(frozen=True)
class Labels:
    """What labels are made of, for tasks: their schema, as bytes, and their columns of times and keys."""

    schema: bytes
    time: str
    by: tuple[str, ...]
    #: the types in which keys of labels and of events are spread over buckets
    key_types: tuple[Any, ...]

    @property
    def columns(self) -> LabelColumns:
        return LabelColumns(pa.ipc.read_schema(pa.py_buffer(self.schema)), self.time, self.by)


def pack_labels(labels: Labels, buckets: list[int], batches: Iterable[Any]) -> Iterator[Any]:
    """What mapInArrow runs: labels as one blob per bucket. They move no clock."""
    for table in chunked(batches):
        found = rows_by_bucket(table, labels.by, labels.key_types, len(buckets))
        yield packed_rows([(buckets[place], _MARK + blob) for place, blob in found])


def label_step(
    payload: bytes,
    schema: pa.Schema,
    labels: Labels,
    entries: BucketEntries,
    blobs: Sequence[bytes],
    watermark_ms: int,
    rejected: Mapping[str, int],
    buckets: int,
    query_id: str | None = None,
) -> Stepped:
    """As :func:`windrow.engines.spark.worker.streaming.step.step`, for an as-of query."""
    fresh, nothing = begin(payload, schema)
    plan = replace(fresh, make_events=partial(EventRows, labels=labels.columns))
    fenced = FencedEntries(entries)
    bucket = kept_by(fenced, buckets, query_id)
    loaded = bucket.load(plan, fenced.check_header)
    plan, state = loaded or (plan, plan.with_parts(nothing))
    if loaded is not None and _events(state).is_new:
        _take_kept_beside(_events(state), entries, labels, state.counts.rows_in)
    before = state.counts
    came = [read_rows(blob[len(_MARK) :]) for blob in blobs if blob.startswith(_MARK)]
    state, untimed = _with_labels(plan, state, labels, came)
    state = with_rejected(state, Counter(rejected))
    events = [read_rows(blob) for blob in blobs if not blob.startswith(_MARK)]
    if events:
        plan, state, _ = take_table(plan, state, pa.concat_tables(events))
    assert state.axis is not None
    watermark = max(state.watermark, watermark_of(watermark_ms, state.axis.is_integer))
    has_moved = loaded is None or watermark > state.watermark
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedRows)  # nobody reads what a worker says
        # those without a time wait for nothing
        results = [_events(state).answer(untimed, labels.time, labels.by)] if untimed.num_rows else []
        state, due = advanced(plan, state, watermark)
    results += [table for table, _ in due.tables]
    state = replace(state, counts=state.counts.plus(windows_fired=untimed.num_rows))
    bucket.save(plan, state)
    moved = (bucket.bytes_read, bucket.bytes_written)
    counted, times = (*counted_since(before, state.counts), *moved, state.nbytes), state.late_times.tolist()
    found = pa.concat_tables(results) if results else pa.table({})
    return Stepped(found, None, counted, has_moved, late_times=tuple(times))


def _take_kept_beside(part: EventRows, entries: BucketEntries, labels: Labels, step: int) -> None:
    """Events and labels were kept beside the state once: in entries of their own, which go. The index says of
    which step it is, and has the checksums of the others."""

    def read(name: str, kind: str, checksum: int | None = None) -> Any:
        data = entries.block(name)
        require(checksum in (None, checksum_of(data)), f"{name} is not the one that the index lists")
        return unpack(kind, data, b"%b\0%b" % (entries.place, name.encode()))

    with making_sense("the events of a bucket"):
        index = read("c index", "index of events")
        require(index["step"] == step, "the index of events and the header are of different steps")
        names = [f"c events {number}" for number in index["numbers"]]
        tables = [read(name, "events", sum_) for name, sum_ in zip(names, index["sums"], strict=True)]
    labels.columns.check_like(index["labels"].schema)
    for table in tables:
        part.push(table, np.arange(table.num_rows))
    if index["labels"].num_rows:
        part.ask(index["labels"], np.arange(index["labels"].num_rows))
    for name in ("c index", *names):
        entries.delete_block(name)


def _events(state: State) -> EventRows:
    part = state.ordered[EVENTS]
    assert isinstance(part, EventRows)
    return part


def _with_labels(
    plan: Plan, state: State, labels: Labels, came: Sequence[pa.Table]
) -> tuple[State, pa.Table]:
    """With labels that wait, those that are late counted; and those that have no time."""
    asked = pa.concat_tables([labels.columns.schema.empty_table(), *came]).cast(labels.columns.schema)
    if not asked.num_rows:
        return state, asked
    is_late = late_labels(plan.query, asked, labels.time, state.late_before(plan.allowed))
    first, state = state.counts.rows_in, count_labels(state, is_late)
    kept = filter_rows(asked, ~is_late) if is_late.any() else asked
    _, _, missing = read_times(kept.column(labels.time), labels.time)
    untimed = kept.slice(0, 0) if missing is None else filter_rows(kept, missing)
    timed = kept if missing is None else filter_rows(kept, ~missing)
    part = _events(state).copied()
    if timed.num_rows:
        part.ask(timed, np.arange(first, first + timed.num_rows))
    return replace(state, ordered={EVENTS: part}), untimed
