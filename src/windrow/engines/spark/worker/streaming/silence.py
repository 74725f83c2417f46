"""Silence: for how long no rows have come, told by heartbeats that reach every bucket.

A heartbeat is a row of a source that ticks once a second; Spark repeats a micro-batch with the heartbeats
that it had, so that what follows from them is exactly once as all else. Rows of any bucket bring a clock to
every bucket: all buckets know when rows came, and their watermarks go on together. Spark's own stays.
Invariant: what a bucket remembers is the last heartbeat by which rows had come; it is written with these rows
alone, so that silence costs a read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow.compute as pc

from windrow.engines.spark.worker.streaming.entry_names import SILENCE
from windrow.engines.spark.worker.streaming.pack_task import packed_rows
from windrow.state.codec import pack, unpack

__all__ = ["BEAT", "beat_of", "pack_beats", "silent_ms"]

#: what the blob of a heartbeat begins with
BEAT = b"beat:"
_KIND = "silence"


class _Entries(Protocol):
    place: bytes

    def found(self, name: str) -> bytes | None: ...

    def set_block(self, name: str, data: bytes) -> None: ...


def pack_beats(buckets: Sequence[int], batches: Iterable[Any]) -> Iterator[Any]:
    """What mapInArrow runs: the latest of some heartbeats, for each bucket."""
    for batch in batches:
        latest = pc.max(batch.column(0)).as_py()
        if latest is not None:
            blob = BEAT + round(latest.timestamp() * 1000).to_bytes(8, "big")
            yield packed_rows((bucket, blob) for bucket in buckets)


def beat_of(blob: bytes) -> int | None:
    """The milliseconds of a heartbeat; None: it is another blob.

    >>> beat_of(BEAT + (7).to_bytes(8, "big")), beat_of(b"rows")
    (7, None)
    """
    return int.from_bytes(blob[len(BEAT) :], "big") if blob.startswith(BEAT) else None


def silent_ms(entries: _Entries, beats: Sequence[int], have_come: bool, idle_ms: int) -> int:
    """By how much the watermark of a bucket goes on: for how long no rows have come, if that is ``idle_ms``
    or longer. ``have_come``: whether the micro-batch has rows, of whatever bucket."""
    place = entries.place + b"\0" + SILENCE.encode()
    data = entries.found(SILENCE)
    since = None if data is None else int(unpack(_KIND, data, place))
    latest = max([*beats, *([] if since is None else [since])], default=None)
    if latest is None:
        return 0
    if have_come or since is None:
        begun = latest if have_come else min(beats)
        if begun != since:
            entries.set_block(SILENCE, pack(_KIND, begun, place))
        since = begun
    waited = latest - since
    return waited if waited >= idle_ms and not have_come else 0
