"""A micro-batch that is repeated, and the tables that can say whether they have it already.

Delta is told the number of the micro-batch, and leaves out one that it has. Iceberg keeps what it is told
with each snapshot: there the first micro-batch of a run is looked for, the only one that may be a repetition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.job import Job, Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["WrittenOnce"]

_MARK = "windrow.micro-batch"


class WrittenOnce:
    """Of one sink, in one run."""

    def __init__(self, job: Job, sink: Sink) -> None:
        self._stream, self._sink = f"{job.name} {sink.table}", sink
        self._may_repeat = True

    def options(self, number: int) -> dict[str, str]:
        """What a write of this micro-batch is given."""
        if self._sink.format == "delta":
            return {"txnAppId": self._stream, "txnVersion": str(number)}
        if self._sink.format == "iceberg":
            return {f"snapshot-property.{_MARK}": self._mark(number)}
        return {}

    def is_there(self, spark: SparkSession, number: int) -> bool:
        """Whether this micro-batch need not be written."""
        may_repeat, self._may_repeat = self._may_repeat, False
        if self._sink.format != "iceberg" or not may_repeat:
            return False
        from pyspark.sql import functions

        snapshots = spark.read.format("iceberg").load(_snapshots_of(self._sink))
        mark = functions.col("summary").getItem(_MARK)
        return not snapshots.where(mark == self._mark(number)).isEmpty()

    def _mark(self, number: int) -> str:
        return f"{self._stream} {number}"


def _snapshots_of(sink: Sink) -> str:
    """The table of a table's snapshots: of one in a catalog by its name, of others by their path."""
    options = {option.name: option.value for option in sink.options}
    place = sink.path or options.get("path", "")
    return f"{place}#snapshots" if "/" in place else f"{place}.snapshots"
