"""Spark: sessions that are set well, what is in a checkpoint, late and rejected rows apart, rows counted,
results with an event time for Spark's own operators.

``query.run(df)`` and ``wr.events(df, ...)`` take Spark DataFrames and streams by themselves; this is what one
needs around them. Nothing here imports pyspark before it is called.

>>> import windrow as wr
>>> sorted(wr.spark.SETTINGS)[0]
'spark.sql.execution.arrow.maxBytesPerBatch'
"""

from __future__ import annotations

from windrow.engines.spark.observed import counted, stream_counts
from windrow.engines.spark.session import SETTINGS, DefaultPartitions, session
from windrow.engines.spark.streaming.checkpoint import check_checkpoint
from windrow.engines.spark.streaming.copies import fork, rescale
from windrow.engines.spark.streaming.event_time import with_window_time
from windrow.engines.spark.streaming.inspect import inspect_state
from windrow.engines.spark.streaming.late import sink_all, sink_both, split_late, split_rejected
from windrow.engines.spark.streaming.takeover import find_cut, watermark_of_state
from windrow.engines.spark.streaming.verify import Verified, check_state

__all__ = [
    "SETTINGS",
    "DefaultPartitions",
    "Verified",
    "check_checkpoint",
    "check_state",
    "counted",
    "find_cut",
    "fork",
    "inspect_state",
    "rescale",
    "session",
    "sink_all",
    "sink_both",
    "split_late",
    "split_rejected",
    "stream_counts",
    "watermark_of_state",
    "with_window_time",
]
