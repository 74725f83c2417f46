"""One step of a bucket of an as-of query: events are kept, labels wait, and those that are due leave with
what they see.

Events and labels come as blobs, those of labels with a mark before them. Both are judged by the watermark of
the step before; then the watermark moves, and labels leave whose windows it has passed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from windrow.engines.frames.waiting_labels import due_labels, earliest_label, late_labels
from windrow.engines.serving.answers import answered_from
from windrow.engines.serving.held_events import HeldEvents, plain_table
from windrow.engines.serving.step import judged_at, plain_schema
from windrow.engines.spark.worker.chunks import chunked
from windrow.engines.spark.worker.streaming.fenced import BucketEntries, FencedEntries
from windrow.engines.spark.worker.streaming.label_state import LabelState
from windrow.engines.spark.worker.streaming.pack_task import packed_rows, rows_by_bucket
from windrow.engines.spark.worker.streaming.step import Stepped, counted_since, kept_by, with_rejected
from windrow.engines.spark.worker.streaming.wire import begin, read_rows
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.push import read_rows as read_events
from windrow.engines.stream.state import Counts, State
from windrow.engines.stream.watermark import watermark_of
from windrow.errors import RejectedRows
from windrow.rows.selection import filter_rows

__all__ = ["LATE_LABEL", "Labels", "label_step", "pack_labels"]

#: what the blobs of labels begin with; those of events are Arrow's streams, which do not
_MARK = b"L"
#: why rows are late
LATE_EVENT, LATE_LABEL = "order_passed", "late_label"


@dataclass(frozen=True)
class Labels:
    """What labels are made of, for tasks: their schema, as bytes, and their columns of times and keys."""

    schema: bytes
    time: str
    by: tuple[str, ...]
    #: the types in which keys of labels and of events are spread over buckets
    key_types: tuple[Any, ...]

    @property
    def columns(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(self.schema))


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
    fenced = FencedEntries(entries)
    bucket, beside = kept_by(fenced, buckets, query_id), LabelState(entries)
    loaded = bucket.load(fresh, fenced.check_header)
    plan, state = loaded or (fresh, nothing)
    waiting = labels.columns.empty_table()
    if loaded is not None:
        waiting = beside.labels(labels.columns, state.counts.rows_in)
    before = state.counts
    asked = [read_rows(blob[len(_MARK) :]) for blob in blobs if blob.startswith(_MARK)]
    state, waiting = _with_labels(plan, state, labels, waiting, asked)
    state = with_rejected(state, Counter(rejected))
    assert state.axis is not None
    watermark = max(state.watermark, watermark_of(watermark_ms, state.axis.is_integer))
    has_moved = loaded is None or watermark > state.watermark
    due = due_labels(plan.query, waiting, labels.time, judged_at(plan, replace(state, watermark=watermark)))
    came = [blob for blob in blobs if not blob.startswith(_MARK)]
    log, results = None, pa.table({})
    if came or due.any():
        # labels that look ahead still wait when the watermark has passed them
        since = min(judged_at(plan, state), earliest_label(waiting, labels.time))
        state, log = _with_events(plan, state, beside.events(plan.query, plain_schema(state)), since, came)
        if due.any():
            results = _answered(plan, state, log, labels, filter_rows(waiting, due))
            waiting = filter_rows(waiting, ~due).combine_chunks()
    counts = replace(state.counts, windows_fired=state.counts.windows_fired + results.num_rows)
    state = replace(state, watermark=watermark, counts=counts)
    bucket.save(plan, state)
    beside.save(log, waiting, counts.rows_in)
    read, written = (getattr(bucket, n) + getattr(beside, n) for n in ("bytes_read", "bytes_written"))
    held = beside.held_bytes + int(waiting.nbytes)
    counted, times = (*counted_since(before, counts), read, written, held), tuple(state.late_times.tolist())
    return Stepped(results, None, counted, has_moved, late_times=times)


def _with_events(
    plan: Plan, state: State, log: HeldEvents, since: int, blobs: Sequence[bytes]
) -> tuple[State, HeldEvents]:
    """With events; those before the watermark are late, since labels may have left without them. What labels
    from ``since`` on can see is kept."""
    if not blobs:
        return state, log
    _, state, rows = read_events(plan, state, pa.concat_tables([read_rows(blob) for blob in blobs]))
    in_time = rows.times >= judged_at(plan, state)
    state = state.with_late_times(rows.times[~in_time])
    rows = rows.where(in_time)
    if len(rows):
        table = plain_table(rows.table, plain_schema(state).names)
        log = log.with_rows(table, rows.times, since)
    counts = _with_taken(state.counts, len(rows), {LATE_EVENT: int((~in_time).sum())})
    earliest, largest = min(state.earliest, rows.moments.low), max(state.largest, rows.moments.high)
    return replace(state, counts=counts, earliest=earliest, largest=largest), log


def _with_labels(
    plan: Plan, state: State, labels: Labels, waiting: pa.Table, asked: Sequence[pa.Table]
) -> tuple[State, pa.Table]:
    """With labels that wait; those that are late are counted."""
    if not asked:
        return state, waiting
    came = pa.concat_tables(asked).cast(labels.columns)
    is_late = late_labels(plan.query, came, labels.time, judged_at(plan, state))
    counts = replace(state.counts, rows_in=state.counts.rows_in + came.num_rows)
    taken = came.num_rows - int(is_late.sum())
    counts = _with_taken(counts, taken, {LATE_LABEL: came.num_rows - taken})
    kept = filter_rows(came, ~is_late) if is_late.any() else came
    return replace(state, counts=counts), pa.concat_tables([waiting, kept])


def _with_taken(counts: Counts, taken: int, late: Mapping[str, int]) -> Counts:
    found = dict(Counter(counts.late) + Counter(late))
    return replace(counts, rows_aggregated=counts.rows_aggregated + taken, late=found)


def _answered(plan: Plan, state: State, log: HeldEvents, labels: Labels, due: pa.Table) -> pa.Table:
    """Labels with what they see."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedRows)  # nobody reads what a worker says
        return answered_from(plan, state, log, due, labels.time, labels.by)
