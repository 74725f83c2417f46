"""What Spark alone takes to begin a stream with history: the same plan over the same rows, with as many blobs
and entries of as many bytes, and nothing computed.

Rows reach the Python tasks and are dropped there; blobs of random bytes go through the shuffle to the first
micro-batch, and entries of random bytes into the state.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from windrow.engines.spark.streaming import processor, run
from windrow.engines.spark.worker.streaming.step import COUNTED, Stepped

__all__ = ["Sizes", "nothing_computed"]


@dataclass(frozen=True)
class Sizes:
    """What there is of blobs and entries, in all."""

    rows: int
    blobs: int
    blob_bytes: int
    entries: int
    entry_bytes: int


class _Past:
    """History that leads to nothing."""

    def add(self, blob: bytes) -> None:
        """Take a blob, and let go of it."""

    def settled(self) -> _Past:
        return self


class _Entries(processor.BucketProcessor):
    """Entries of one size for each bucket that has history."""

    entries: int
    entry_bytes: int

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802
        histories: dict[int, Any] = self._histories
        if key[0] not in histories:
            histories[key[0]] = _Past()
            self._handle.registerTimer(max(timerValues.getCurrentWatermarkInMs(), 0))
        histories[key[0]].add(initialState.blob)

    def _stepped_with(self, entries: Any, blobs: Any, about: Any, past: Any) -> Stepped:
        import os

        if past is not None:
            data = os.urandom(self.entry_bytes)
            for number in range(self.entries):
                entries.set_block(str(number), data)
        return Stepped(pa.table({}), None, (0,) * len(COUNTED), True)


def nothing_computed(query: Any, source: Any, sizes: Sizes, **history: Any) -> Any:
    """The stream of a query that begins with history, as it is if nothing is computed."""
    from pyspark import cloudpickle

    # workers do not find this module
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

    class Entries(_Entries):
        entries, entry_bytes = sizes.entries, sizes.entry_bytes // sizes.entries

    def blobs(query: Any, rows: Any, past: Any, buckets: list[int], until: int) -> Any:
        Entries.entries = sizes.entries // len(buckets)
        size, every = sizes.blob_bytes // sizes.blobs, sizes.rows * len(buckets) // sizes.blobs
        return _random_blobs(past.select(*rows.columns), buckets, size, every)

    with ExitStack() as patches:
        patches.enter_context(patch.object(processor, "BucketProcessor", Entries))
        patches.enter_context(patch.object(run, "history_blobs", blobs))
        return query.run(source, **history)


def _random_blobs(past: Any, buckets: list[int], size: int, every: int) -> Any:
    """A blob for each bucket after so many rows."""

    def dropped(batches: Iterable[Any]) -> Iterator[Any]:
        import os

        data, rows = os.urandom(size), 0
        for batch in batches:
            rows += batch.num_rows
            while rows >= every:
                rows -= every
                yield pa.RecordBatch.from_pydict(
                    {"bucket": pa.array(buckets, pa.int32()), "blob": [data] * len(buckets)}
                )

    found = past.mapInArrow(dropped, "bucket int, blob binary")
    return found.selectExpr("bucket", "CAST(NULL AS LONG) AS clock", "blob")
