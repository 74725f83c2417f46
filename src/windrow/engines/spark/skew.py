"""Hot keys: the rows of one key split in time, so that all cores work on it.

A rolling window by time looks back no further than its size. The time line of a hot key is cut into segments
of equal length, none shorter than the window; each segment is a key of its own, and the rows within one
window before it come along as *context*: they are aggregated and not given back. So every result sees the
rows it would see without cuts. Cost: the context rows, about a quarter of the hot key's at most, and one look
at keys and times of a sample, inside the same plan.

``spark.windrow.skew`` says what is done: ``split`` looks for hot keys, ``off`` never splits, and ``auto``,
the default, splits where it is known without looking: a query without a key has all its rows in one. Keys are
hot that hold more than half of what one core would have if rows were even.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.engines.spark.frames import column, microseconds
from windrow.engines.spark.rolling_task import CONTEXT, SEGMENT
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["SETTING", "in_segments", "splits", "why_not_split"]

SETTING = "spark.windrow.skew"

_CHOICES = ("auto", "split", "off")
#: the share of rows that is looked at to find hot keys
_SAMPLED = 0.02
#: segments a core: the more, the more evenly they spread
_SEGMENTS = 3
#: windows a segment is at least long
_WINDOWS = 4


def setting(frame: DataFrame) -> str:
    chosen = str(frame.sparkSession.conf.get(SETTING, "auto"))
    if chosen not in _CHOICES:
        raise ValueError(f"{SETTING}={chosen!r}: use one of {', '.join(_CHOICES)}")
    return chosen


def why_not_split(query: Spec, frame: DataFrame) -> str:
    """Why the rows of a key stay together; empty: hot keys are split."""
    over = query.rolling_over
    if over is None or over.size is None:
        return "how far back a window reaches is not known from times alone"
    chosen = setting(frame)
    if chosen == "off":
        return f"{SETTING} is off"
    if chosen == "auto" and query.by:
        return f"keys are taken to be even; set {SETTING} to split if some hold many of the rows"
    return ""


def splits(query: Spec, frame: DataFrame) -> bool:
    return not why_not_split(query, frame)


def in_segments(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows with the segment of their key, and context rows once more with the segment they are for."""
    from pyspark.sql import functions

    over = query.rolling_over
    assert over is not None
    assert over.size is not None
    size = over.size.units
    time = microseconds(frame, query.time)
    hot = _hot_keys(query, frame, time, size)
    known = frame.join(functions.broadcast(hot), _same_key(query), "left") if query.by else frame.join(hot)
    low, width, last = (functions.col(f"__windrow_{name}") for name in ("low", "width", "last"))
    place = functions.floor((time - low) / width)
    own = functions.coalesce(
        functions.least(functions.greatest(place, functions.lit(0)), last), functions.lit(0)
    )
    reaches = (own < last) & (time > low + (own + 1) * width - size)
    both = functions.array(functions.lit(False), functions.lit(True))
    copies = functions.explode(functions.when(reaches, both).otherwise(functions.array(functions.lit(False))))
    rows = known.select(*map(column, frame.columns), own.alias(SEGMENT), copies.alias(CONTEXT))
    return rows.withColumn(SEGMENT, column(SEGMENT) + column(CONTEXT).cast("long"))


def _hot_keys(query: Spec, frame: DataFrame, time: Column, size: int) -> DataFrame:
    """For each hot key: where its first segment starts, how long segments are, and the number of the last."""
    from pyspark.sql import Window, functions

    cores = frame.sparkSession.sparkContext.defaultParallelism
    looked_at = frame.where(time.isNotNull()).sample(_SAMPLED, 7) if query.by else frame
    keys = [column(name).alias(f"__windrow_k{k}") for k, name in enumerate(query.by)]
    totals = looked_at.groupBy(*keys).agg(
        functions.count("*").alias("__windrow_rows"),
        functions.min(time).alias("__windrow_low"),
        functions.max(time).alias("__windrow_high"),
    )
    if query.by:
        share = functions.col("__windrow_rows") / functions.sum("__windrow_rows").over(Window.partitionBy())
        shares = totals.withColumn("__windrow_share", share)
        totals = shares.where(functions.col("__windrow_share") > 0.5 / cores)
    span = functions.col("__windrow_high") - functions.col("__windrow_low") + 1
    count = functions.least(functions.lit(_SEGMENTS * cores), functions.floor(span / (_WINDOWS * size)))
    count = functions.greatest(count, functions.lit(1)).cast("long")
    width = functions.ceil(span / count).cast("long")
    named = [functions.col(f"__windrow_k{k}") for k in range(len(query.by))]
    edges = [
        functions.col("__windrow_low"),
        functions.greatest(width, functions.lit(size)).alias("__windrow_width"),
    ]
    return totals.select(*named, *edges, (count - 1).alias("__windrow_last"))


def _same_key(query: Spec) -> Column:
    from functools import reduce

    pairs = [column(name).eqNullSafe(column(f"__windrow_k{k}")) for k, name in enumerate(query.by)]
    return reduce(lambda a, b: a & b, pairs)
