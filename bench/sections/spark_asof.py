"""As-of windows on Spark: features of labels, against a range join and a group.

A tenth as many labels as events, both of the same 14 days in no order, 100 and 2,000 events per key.
For each label the sum and the count of the events of its key in the 7 days before it. The join is Spark's
own: equal keys, a range of times, then a group by label. It makes a row for each pair of a label and an
event of its key: as many as labels times events per key where keys are even, and far more where they are
not, so keys are also drawn as names and words are distributed, the k-th with a share of 1/k. With 2,000
events per key and with uneven keys both sides get at most a million events, since the join would not finish
with more. Besides, windrow alone: three sizes against one, and a key that has a tenth of all events against
even keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import windrow as wr

__all__ = ["asof_lines"]

DAY_US = 86_400_000_000
START_US = 1_700_000_000_000_000 // DAY_US * DAY_US
DAYS = 14
#: events at most where the join makes thousands of pairs per label
MOST_EXPLODED = 1_000_000
Frame = Callable[[], Any]


def asof_lines(
    spark: Any, seconds: Callable[..., list[float]], line: Callable[..., dict[str, Any]], rows: int, keep: Any
) -> Iterator[dict[str, Any]]:
    """``seconds`` times frames in turn; ``keep`` writes a frame to disk and reads it back."""
    yield from _lines(spark, seconds, line, rows, max(rows // 100, 1), keep)
    fewer = min(rows, MOST_EXPLODED)
    yield from _lines(spark, seconds, line, fewer, max(fewer // 2_000, 1), keep)
    yield from _uneven_lines(spark, seconds, line, fewer, max(fewer // 100, 1), keep)


def _lines(
    spark: Any, seconds: Callable[..., list[float]], line: Any, rows: int, keys: int, keep: Any
) -> Iterator[dict[str, Any]]:
    labels = keep(_points(spark, rows // 10, keys, 0.0, 3, "at", "who").withColumnRenamed("v", "row"))
    events = keep(_points(spark, rows, keys, 0.0, 1, "ts", "user"))
    hot = keep(_points(spark, rows, keys, 0.1, 2, "ts", "user"))
    one, three = _features(events, labels, "7d"), _features(events, labels, "1d", "3d", "7d")
    seconds(one, three, repeats=1)  # loads kernels
    mine, several, skewed = seconds(one, three, _features(hot, labels, "7d"))
    (joined,) = seconds(_joined(events, labels), repeats=1)
    yield line("as-of 7 days, against a range join", keys, rows, mine, joined)
    yield line("as-of 1, 3 and 7 days: one size takes", keys, rows, several, mine)
    yield line("as-of, a key with a tenth of all: even keys take", keys, rows, skewed, mine)


def _uneven_lines(
    spark: Any, seconds: Callable[..., list[float]], line: Any, rows: int, keys: int, keep: Any
) -> Iterator[dict[str, Any]]:
    labels = keep(_points(spark, rows // 10, keys, None, 3, "at", "who").withColumnRenamed("v", "row"))
    events = keep(_points(spark, rows, keys, None, 1, "ts", "user"))
    ours = _features(events, labels, "7d")
    seconds(ours, repeats=1)
    (mine,) = seconds(ours)
    (joined,) = seconds(_joined(events, labels), repeats=1)
    yield line("as-of 7 days, uneven keys, against a range join", keys, rows, mine, joined)


def _points(spark: Any, rows: int, keys: int, hot: float | None, seed: int, time: str, key: str) -> Any:
    """Rows with a key, a time and a number; ``hot``: the share that one key has, None: all are uneven."""
    from pyspark.sql import functions

    moment = functions.lit(START_US) + (functions.rand(seed) * DAYS * DAY_US).cast("long")
    drawn = functions.rand(seed + 10)
    if hot is None:
        whose = functions.exp(drawn * math.log(keys)).cast("long")
    else:
        whose = functions.when(functions.rand(seed + 20) < hot, 0).otherwise((drawn * keys).cast("long"))
    columns = [
        whose.alias(key),
        functions.timestamp_micros(moment).alias(time),
        functions.col("id").alias("v"),
    ]
    return spark.range(0, rows, 1, 4).select(*columns)


def _features(events: Any, labels: Any, *sizes: str) -> Frame:
    query = wr.query(time="ts", by="user").asof(*sizes).agg(total=wr.sum("v"), n=wr.count())
    return lambda: query.run(events, at=labels, at_time="at", at_by="who")


def _joined(events: Any, labels: Any) -> Frame:
    from pyspark.sql import functions

    def frame() -> Any:
        inside = (
            (events.user == labels.who)
            & (events.ts < labels.at)
            & (events.ts >= labels.at - functions.expr("INTERVAL 7 DAYS"))
        )
        pairs = labels.join(events, inside, "left")
        return pairs.groupBy("row", "at", "who").agg(functions.sum("v"), functions.count("v"))

    return frame
