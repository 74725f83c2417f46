"""For how long no rows have come, as heartbeats tell a bucket."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from windrow.engines.spark.worker.streaming.silence import beat_of, pack_beats, silent_ms
from windrow.errors import CorruptState

IDLE = 3_000


@dataclass
class Kept:
    """The entries of a bucket, and how often they were written."""

    place: bytes = b"bucket 1"
    entries: dict[str, bytes] = field(default_factory=dict)
    written: int = 0

    def found(self, name: str) -> bytes | None:
        return self.entries.get(name)

    def set_block(self, name: str, data: bytes) -> None:
        self.entries[name] = data
        self.written += 1


def test_silence_begins_with_the_last_heartbeat_by_which_rows_had_come() -> None:
    kept = Kept()
    assert silent_ms(kept, [1_000, 2_000], True, IDLE) == 0
    assert silent_ms(kept, [3_000], False, IDLE) == 0
    assert silent_ms(kept, [5_000], False, IDLE) == 3_000
    assert silent_ms(kept, [9_500, 8_500], False, IDLE) == 7_500
    assert kept.written == 1  # silence writes nothing
    assert silent_ms(kept, [10_000], True, IDLE) == 0
    assert silent_ms(kept, [12_999], False, IDLE) == 0
    assert silent_ms(kept, [13_000], False, IDLE) == 3_000


def test_rows_without_a_heartbeat_end_silence_at_the_last_one_that_is_known() -> None:
    kept = Kept()
    assert silent_ms(kept, [], True, IDLE) == 0
    assert silent_ms(kept, [4_000], False, IDLE) == 0  # counted from here on
    assert silent_ms(kept, [], True, IDLE) == 0
    assert silent_ms(kept, [7_000], False, IDLE) == 3_000


def test_a_micro_batch_that_is_repeated_finds_the_same_silence() -> None:
    kept = Kept()
    silent_ms(kept, [1_000], True, IDLE)
    before = dict(kept.entries)
    for beats, have_come in (([6_000], False), ([7_000], True)):
        first = silent_ms(kept, beats, have_come, IDLE)
        kept.entries = dict(before)  # Spark has rolled it back
        assert silent_ms(kept, beats, have_come, IDLE) == first


def test_what_is_remembered_is_bound_to_its_bucket() -> None:
    kept = Kept()
    silent_ms(kept, [1_000], True, IDLE)
    with pytest.raises(CorruptState):
        silent_ms(Kept(b"bucket 2", kept.entries), [2_000], False, IDLE)


def test_every_bucket_hears_the_latest_of_some_heartbeats() -> None:
    moments = [dt.datetime.fromtimestamp(second, dt.UTC) for second in (5, 7, 6)]
    batches = [pa.record_batch([pa.array(each, pa.timestamp("us", "UTC"))], ["at"]) for each in (moments, [])]
    (packed,) = pack_beats([3, 5], batches)
    assert [(row["bucket"], beat_of(row["blob"])) for row in packed.to_pylist()] == [(3, 7_000), (5, 7_000)]
