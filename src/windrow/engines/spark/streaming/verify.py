"""All of the state in a checkpoint, read and verified: every entry is there, is whole, and belongs to its
header. The stream need not run, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.engines.spark.streaming.checkpoint import entries_of, operators_of, running_session
from windrow.engines.spark.worker.streaming.entry_names import FENCE, HEADER, SILENCE
from windrow.engines.spark.worker.streaming.fenced import header_checksum
from windrow.engines.spark.worker.streaming.step import bucket_place
from windrow.engines.stream.persistence.bound_entries import check_entries
from windrow.errors import CorruptState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Verified", "check_bucket", "check_state"]


@dataclass(frozen=True)
class Verified:
    """What was read and found to be in order."""

    buckets: int
    entries: int
    nbytes: int


def check_state(checkpoint: str, spark: SparkSession | None = None) -> Verified:
    """Read the last state of a stream and raise :class:`CorruptState` unless all of it fits together."""
    spark = running_session(spark)
    found: dict[tuple[int, int], dict[str, bytes]] = {}
    for operator in operators_of(checkpoint, spark):
        for bucket, name, value in entries_of(checkpoint, spark, operator).toLocalIterator():
            found.setdefault((operator, bucket), {})[name] = bytes(value)
    for (_, bucket), entries in found.items():
        check_bucket(bucket, entries)
    sizes = [len(value) for entries in found.values() for value in entries.values()]
    return Verified(len(found), len(sizes), sum(sizes))


def check_bucket(bucket: int, entries: dict[str, bytes]) -> None:
    """Raise unless the entries of a bucket fit together."""
    header, fence = entries.get(HEADER), entries.get(FENCE)
    if header is None:
        raise CorruptState(f"bucket {bucket}: its header is missing from Spark's state")
    if fence is not None and fence != header_checksum(header):
        raise CorruptState(f"bucket {bucket}: its header is not that of its last step")
    others = {name: value for name, value in entries.items() if name not in (HEADER, FENCE, SILENCE)}
    check_entries(header, bucket_place(bucket), others)
