"""One step of a bucket: what came is taken, the watermark moves, results leave, the state is saved.

Spark knows nothing here: the entries may be anywhere, so that a step can be tested by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.spark.worker.streaming.buckets import SPREAD
from windrow.engines.spark.worker.streaming.fenced import BucketEntries, FencedEntries
from windrow.engines.spark.worker.streaming.wire import begin, read_folded, read_rows, sends_rows
from windrow.engines.stream.advance import Due, advanced, without_dead_keys
from windrow.engines.stream.history import check_cut
from windrow.engines.stream.late import REASONS, LateRows
from windrow.engines.stream.metrics import Counts
from windrow.engines.stream.persistence.stored_state import Entries, StoredState
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.prefolded import taken_folded
from windrow.engines.stream.rejected import RejectedTables
from windrow.engines.stream.results import ResultTypes, result_table
from windrow.engines.stream.state import State
from windrow.engines.stream.step import take_table
from windrow.engines.stream.watermark import watermark_of
from windrow.result_names import LATE, REJECTED
from windrow.slicing.limits import one_step

__all__ = [
    "COUNTED",
    "LATE_AT",
    "LATE_PAIRS",
    "Stepped",
    "bucket_place",
    "counted_since",
    "kept_by",
    "step",
    "take_blobs",
    "with_rejected",
]

#: late pairs of a row and a window, by reason
LATE_PAIRS = tuple(f"late_pairs_{reason}" for reason in REASONS)
#: the column of times at which rows were late, a few of very many
LATE_AT = "late_at"
#: what a step counts, in the order of the columns that carry it; the last is what the bucket holds after it
COUNTED = (
    "rows_in",
    "rows_aggregated",
    "rows_late",
    "rows_rejected",
    "windows_fired",
    "windows_corrected",
    "windows_retracted",
    *LATE_PAIRS,
    "state_bytes_read",
    "state_bytes_written",
    "state_bytes",
)


#: name of the number of buckets, which follows from the setting
BUCKETS = "number of buckets, that of spark.sql.shuffle.partitions,"
_REMEDY = (
    "Make it as it was; spark.windrow.buckets sets the number of buckets, too, and windrow state rescale "
    "that of the partitions they lie in"
)
_ANEW = (
    ". To fill windows and aggregates that were added, start on another checkpoint that takes over from this "
    'one: takes_over = "THIS CHECKPOINT" in [history] of a job file, or history_until='
    'wr.spark.find_cut("THIS CHECKPOINT", "ANOTHER") in Python'
)
#: version of the key-to-bucket hash, checked against stored state
SPREADING = "windrow's way to spread keys"


@dataclass(frozen=True)
class Stepped:
    """What a step gives: results, late rows, and counts in the order of ``COUNTED``."""

    results: pa.Table
    late: pa.Table | None
    counts: tuple[int, ...]
    #: whether the watermark has moved since the step before; so it has in the first
    has_moved: bool
    rejected: tuple[pa.Table, ...] = ()
    #: times of rows that came too late for some window, a few of very many
    late_times: tuple[int, ...] = ()

    def handed_back(self, left_out: Sequence[bytes] = ()) -> dict[str, Sequence[pa.Table]]:
        """Rows that come back, by the column they come in. ``left_out``: what did not reach the step."""
        late = () if self.late is None else (self.late,)
        return {LATE: late, REJECTED: [*map(read_rows, left_out), *self.rejected]}


@one_step()
def step(
    payload: bytes,
    schema: pa.Schema,
    entries: BucketEntries,
    blobs: Sequence[bytes],
    watermark_ms: int,
    rejected: Mapping[str, int],
    buckets: int,
    query_id: str | None = None,
    since: int = START_OF_TIME,
    past: tuple[Plan, State] | None = None,
) -> Stepped:
    """Rows in blobs are judged by the watermark of the step before, as Spark does; then windows fire up to
    this step's. ``rejected``: rows that were left behind on the way here, by reason. ``buckets``: over how
    many keys are spread, which must never change. ``query_id``: of which stream this is, if that is known.
    ``since``: where history ended that the state begins with. ``past``: what history leads to, in the first
    step of a bucket."""
    fresh, nothing = begin(payload, schema)
    fenced = FencedEntries(entries)
    bucket = kept_by(fenced, buckets, query_id)
    loaded = bucket.load(fresh, fenced.check_header)
    plan, state = loaded or past or (fresh, replace(nothing, history_until=since))
    check_cut(state, since, _ANEW)
    before = state.counts
    plan, state, due = take_blobs(plan, state, blobs)
    state = with_rejected(state, Counter(rejected))
    assert state.axis is not None
    watermark = max(state.watermark, watermark_of(watermark_ms, state.axis.is_integer))
    has_moved = loaded is None or watermark > state.watermark
    state, fired = advanced(plan, state, watermark, due)
    results = result_table(plan, state, due.joined(fired), ResultTypes())
    late = state.late.joined(None) if state.late.tables else None
    handed_back = state.rejected.tables
    state = without_dead_keys(replace(state, late=LateRows(), rejected=RejectedTables()))
    bucket.save(plan, state)
    moved = (bucket.bytes_read, bucket.bytes_written)
    counts = (*counted_since(before, state.counts), *moved, state.nbytes)
    times = tuple(state.late_times.tolist())
    return Stepped(results, late, counts, has_moved, handed_back, times)


def bucket_place(bucket: int) -> bytes:
    """What the entries of a bucket are bound to."""
    return b"bucket %d" % bucket


def kept_by(entries: Entries, buckets: int, query_id: str | None = None) -> StoredState:
    """The state of a bucket among so many, of a stream that may have an id."""
    marks = {BUCKETS: buckets, SPREADING: SPREAD}
    return StoredState(entries, marks=marks, remedy=_REMEDY, owner=query_id)


def take_blobs(plan: Plan, state: State, blobs: Sequence[bytes]) -> tuple[Plan, State, Due]:
    """The state after rows, or slices, at the same watermark, and corrections that are due."""
    if not blobs:
        return plan, state, Due()
    if sends_rows(plan.query):
        table = pa.concat_tables([read_rows(blob) for blob in blobs])
        return take_table(plan, state, table)
    state, due = taken_folded(plan, state, [read_folded(plan, blob) for blob in blobs])
    return plan, state, due


def with_rejected(state: State, rejected: Counter[str]) -> State:
    """Count rows that were left behind on the way here."""
    return replace(state, counts=state.counts.plus(rows_in=rejected.total(), rejected=rejected))


def counted_since(before: Counts, after: Counts) -> tuple[int, ...]:
    """What a step counted, in the order of ``COUNTED``, without what it read, wrote and holds."""
    pairs = {f"late_pairs_{reason}": reason for reason in REASONS}
    return tuple(
        after.late_pairs.get(pairs[name], 0) - before.late_pairs.get(pairs[name], 0)
        if name in pairs
        else getattr(after, name) - getattr(before, name)
        for name in COUNTED[:-3]
    )
