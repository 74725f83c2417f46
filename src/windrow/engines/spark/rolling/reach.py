"""Hot keys, cut in time, where frames reach back and ahead by fixed times: for which segments of its key a
row is needed.

A row at time t is seen by points between t - ahead and t + back, so it goes to the segments of all of these:
its own and, near a cut, a neighbour. Points go to their own segment alone. Segments are no shorter than the
reach of frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.engines.spark.frames import column
from windrow.engines.spark.rolling.segments import hot_keys, named, place, with_hot
from windrow.engines.spark.worker.local_task import CONTEXT, SEGMENT
from windrow.spec import Rolling, Spec
from windrow.windows.relative import fixed_reach
from windrow.windows.timeline.durations import Duration

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Segments"]


class Segments:
    """The segments of hot keys, as a look at events finds them."""

    def __init__(self, query: Spec, events: DataFrame, time: Column) -> None:
        assert query.frames is not None
        reach = fixed_reach(frame for _, frame in query.frames.named)
        assert reach is not None, "frames without a fixed reach are not cut"
        self._back, self._ahead = reach
        # what rolling over as long a time would be cut into
        size = Duration(max(1, self._back + self._ahead), "integer")
        self._query = replace(query, rolling_over=Rolling(size=size), asof_over=None)
        self._hot = hot_keys(self._query, events, time)

    def of_events(self, events: DataFrame, time: Column) -> DataFrame:
        """The rows once for each segment that needs them; CONTEXT says which of them are not of their own."""
        from pyspark.sql import functions

        own = self._place(time)
        first, last = (self._place(each) for each in (time - self._ahead, time + self._back))
        segments = functions.explode(functions.sequence(first, last))
        known = with_hot(self._query, events, self._hot)
        rows = known.select(*map(column, events.columns), own.alias("__windrow_own"), segments.alias(SEGMENT))
        return rows.withColumn(CONTEXT, column(SEGMENT) != named("own")).drop("__windrow_own")

    def of_points(self, points: DataFrame, time: Column) -> DataFrame:
        """The rows with their segment."""
        known = with_hot(self._query, points, self._hot)
        return known.select(*map(column, points.columns), self._place(time).alias(SEGMENT))

    def _place(self, time: Column) -> Column:
        return place(time, named("low"), named("width"), named("last"))
