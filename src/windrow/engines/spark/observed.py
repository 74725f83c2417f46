"""Rows counted as they are read: a batch query on Spark cannot warn of rows without a time, since nothing has
run when it is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.engines.spark.compat import is_streaming
from windrow.engines.spark.frames import column
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

__all__ = ["counted"]


def counted(query: Spec, frame: DataFrame) -> tuple[DataFrame, Observation]:
    """The frame to run the query on, and the counts of its rows, which Spark fills in as it reads them.

    After the first action, ``counts.get`` has ``rows_in`` and ``rows_rejected``: the rows without a time,
    which are in no window. A stream has these counts in its progress without being asked.

    ::

        calls, counts = wr.spark.counted(query, calls)
        query.run(calls).write.parquet("longest")
        counts.get["rows_rejected"]
    """
    from pyspark.sql import Observation, functions

    if is_streaming(frame):
        raise ValueError("a stream is counted by itself: see observedMetrics['windrow'] in its progress")
    observation = Observation("windrow")
    rows = functions.count(functions.lit(1)).alias("rows_in")
    rejected = functions.count_if(column(query.time).isNull()).alias("rows_rejected")
    return frame.observe(observation, rows, rejected), observation
