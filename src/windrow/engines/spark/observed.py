"""Counts of rows. A batch query on Spark cannot warn of rows without a time, since nothing has run when it is
built: its rows are counted as they are read. A stream has its counts in Spark's progress, each query under a
name of its own, since Spark takes a name once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.compat import is_streaming, observed
from windrow.engines.spark.frames import column
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

__all__ = ["counted", "stream_counts"]

#: what Spark calls the counts of a query
_NAMES = re.compile(r"windrow(?:_[0-9a-f]{8}(?:_\d+)?)?")


def stream_counts(progress: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return what each windrow query of a stream counted in a micro-batch, by its name among Spark's metrics,
    with times of its late rows as ``late_at``. ``progress`` is Spark's, as in ``stream.lastProgress``, which
    is None before the first micro-batch.

    The name follows from the query and from what it runs on: a restart keeps it, and ``results.explain()``
    shows it.

    >>> stream_counts({"observedMetrics": {"windrow_01ab23cd": {"rows_in": 7, "rows_late": 1}}})
    {'windrow_01ab23cd': {'rows_in': 7, 'rows_late': 1}}
    >>> stream_counts(None)
    {}
    """
    progress, found = progress or {}, dict[str, dict[str, Any]]()
    for name in sorted(progress.get("observedMetrics") or {}):
        if _NAMES.fullmatch(name):
            found[name] = observed(progress, name)
    return found


def counted(query: Spec, frame: DataFrame) -> tuple[DataFrame, Observation]:
    """The frame to run the query on, and the counts of its rows, which Spark fills in as it reads them.

    After the first action, ``counts.get`` has ``rows_in`` and ``rows_rejected``: the rows without a time,
    which are in no window. A stream has these counts in its progress without being asked: see
    :func:`stream_counts`.

    ::

        calls, counts = wr.spark.counted(query, calls)
        query.run(calls).write.parquet("longest")
        counts.get["rows_rejected"]
    """
    from pyspark.sql import Observation, functions

    if is_streaming(frame):
        raise ValueError("a stream is counted by itself: see wr.spark.stream_counts(stream.lastProgress)")
    observation = Observation("windrow")
    rows = functions.count(functions.lit(1)).alias("rows_in")
    rejected = functions.count_if(column(query.time).isNull()).alias("rows_rejected")
    return frame.observe(observation, rows, rejected), observation
