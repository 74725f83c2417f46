"""The state that history leads to in one bucket: what the first step of the stream goes on from.

What comes is what ``pack_task`` makes of history: slices or rows in blobs, and clocks, in any order. They are
taken without a watermark, so that none is late; at the end the watermark moves once, to the cut or to where
the clocks lead, and what it passed is gone without results. Every bucket gets all clocks, so that all arrive
at the same watermark.

Where empty windows are given, a row of each key that history has behind its cut comes, too, in blobs that
begin with ``LATER``: they say which empty windows before the cut are those of the batch.

Cost: memory for the state of the bucket before the watermark has moved. Blobs are taken a few at a time: they
are of neighbouring rows for the most part, and are then sorted, and put into their blocks, by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow.arrays import START_OF_TIME
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.streaming.step import take_blobs
from windrow.engines.spark.worker.streaming.wire import begin
from windrow.engines.stream.history import settled, with_given
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.prefolded import state_without_times
from windrow.engines.stream.state import State
from windrow.engines.stream.watermark import delay_ms, watermark_of

__all__ = ["LATER", "History"]

#: before blobs of rows behind the cut
LATER = b"later:"

#: so many bytes of blobs are taken at once
_MOST_BYTES = 4 << 20


class History:
    """History of one bucket, blob by blob. ``until``: where it ends."""

    def __init__(self, payload: bytes, schema: pa.Schema, until: int) -> None:
        self._payload, self._schema, self._until = payload, schema, until
        self._plan, self._state = begin(payload, schema)
        self._latest = START_OF_TIME
        self._blobs: list[bytes] = []
        self._later: list[bytes] = []
        self._nbytes = 0

    def add(self, clock: int | None, blob: bytes | None) -> None:
        """A clock, in microseconds, or a blob."""
        if clock is not None:
            self._latest = max(self._latest, clock)
        if blob is None:
            return
        if bytes(blob[: len(LATER)]) == LATER:
            self._later.append(bytes(blob[len(LATER) :]))
            return
        self._blobs.append(bytes(blob))
        self._nbytes += len(blob)
        if self._nbytes >= _MOST_BYTES:
            self._take()

    def settled(self) -> tuple[Plan, State]:
        """The plan and the state once all of it has come."""
        self._take()
        reached = max(self._watermark(), self._until)
        state = with_given(settled(self._plan, self._state, reached, self._until), self._later_keys())
        return self._plan, state_without_times(self._plan, state)

    def _take(self) -> None:
        self._plan, self._state, _ = take_blobs(self._plan, self._state, self._blobs)
        self._blobs, self._nbytes = [], 0

    def _later_keys(self) -> Iterator[pa.Table]:
        """The keys of rows behind the cut."""
        if self._later:
            _, found, _ = take_blobs(*begin(self._payload, self._schema), self._later)
            yield pa.table({"row": [0]}) if found.keys.values is None else found.keys.values

    def _watermark(self) -> int:
        """Where Spark's watermark would be after the latest clock."""
        delay = unpacked(self._payload).watermark
        assert delay is not None
        assert self._state.axis is not None
        if self._latest == START_OF_TIME:
            return START_OF_TIME
        return watermark_of(self._latest // 1000 - delay_ms(delay), self._state.axis.is_integer)
