"""Where a stream on a new checkpoint takes over from one on an old checkpoint.

Spark takes an initial state only into an empty checkpoint: windows and aggregates that were added are filled
from history on another one. The old stream has let out all that ended by its watermark; that is the cut. The
new state knows its cut, so that a restart asks the new checkpoint, and the old one may be gone by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.arrays import START_OF_TIME
from windrow.engines.spark.streaming.checkpoint import headers_of, running_session, time_axis
from windrow.engines.stream.watermark_values import shown_moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["find_cut", "watermark_of_state"]


def find_cut(old: str, new: str, spark: SparkSession | None = None) -> Any:
    """The ``history_until`` with which a stream on the checkpoint ``new`` takes over from the one on ``old``,
    which is stopped for good: the watermark of the old stream, or, once the new one has begun, where it did.

    ``query.run(stream, history=archive, history_until=wr.spark.find_cut("point", "point-2"))`` can so be
    started again and again. History must have all rows before the cut, and the source gives those from it on
    once more."""
    if old.rstrip("/") == new.rstrip("/"):
        raise ValueError(
            f"{old!r} cannot take over from itself, as Spark takes an initial state only into an empty "
            f"checkpoint: name another one for the new stream"
        )
    spark = running_session(spark)
    began = _earliest(new, spark, "history_until")
    if began is not None:
        return began
    cut = watermark_of_state(old, spark)
    if cut is None:
        raise ValueError(
            f"the stream at {old!r} has no watermark yet, so there is nothing to take over from: start the "
            f"new one without it"
        )
    return cut


def watermark_of_state(checkpoint: str, spark: SparkSession | None = None) -> Any:
    """The watermark of a stream that is stopped, as the type of its time column has it; None: there is none
    yet. All windows that end at it or before have been emitted, and no others."""
    return _earliest(checkpoint, running_session(spark), "watermark")


def _earliest(checkpoint: str, spark: SparkSession, name: str) -> Any:
    """The earliest of a moment over all buckets, as the time column has it; None: there is none."""
    headers = list(headers_of(checkpoint, spark))
    moment = min((stored["state"].get(name, START_OF_TIME) for stored in headers), default=START_OF_TIME)
    return None if moment == START_OF_TIME else shown_moment(moment, time_axis(headers[0]))
