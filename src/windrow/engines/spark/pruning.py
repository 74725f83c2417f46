"""Events that no label can see, left out before the shuffle: those of keys without labels, and those before
or behind what all labels reach.

A first look at the labels gives their earliest and latest time and a filter of their keys, one bit for the
hash of each (a Bloom filter with one hash): a scalar subquery, which Spark runs as part of the query. Some
events of other keys pass, and none that a label sees is lost.

The labels are read twice for it. So it is done where that is cheap and gives the same rows both times: they
are read from files or memory, with nothing but filters and expressions on the way. It takes about as long as
a shuffle of a million events, so that the events have to be of some size: ``spark.windrow.prune.minBytes``.
All this is known from Spark's plan: nothing runs to find it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.arrays import END_OF_TIME
from windrow.engines.spark.frames import column
from windrow.engines.spark.rolling.skew import is_large, is_read_cheaply
from windrow.engines.spark.worker.local_task import CLOCK
from windrow.spec import Spec
from windrow.windows.relative import TimeFrame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["LARGE", "seen_events"]

#: from how many bytes of events on, as Spark estimates them, a look at the labels is worth it
LARGE = "spark.windrow.prune.minBytes"
_BYTES = 64 << 20
#: words of 64 bits in the filter of keys: 128 KiB, in which 100,000 keys set a tenth of the bits
_WORDS = 1 << 14


def seen_events(query: Spec, events: DataFrame, points: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The events without those that no point sees, where that is worth a second look at the points."""
    if not hasattr(points, "scalar") or not is_read_cheaply(points) or not is_large(events, LARGE, _BYTES):
        return events
    known = _look(points, keys).scalar()
    first, last = _ends(query)
    low, high = known.getField("low"), known.getField("high")
    wanted = [low.isNotNull()]  # there is a label
    if first is not None:
        wanted.append(column(CLOCK) >= low + first)
    if last is not None:
        wanted.append(column(CLOCK) <= high + last)
    if keys:
        bit = _bit(keys)
        word = known.getField("words")[_word(bit)]
        wanted.append(word.bitwiseAND(_mask(bit)) != 0)
    for condition in wanted:
        events = events.where(condition)
    return events


def _look(points: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One row: the earliest and the latest time, and the words of the filter."""
    from pyspark.sql import functions

    bit = _bit(keys)
    parts = points.where(column(CLOCK).isNotNull()).select(
        _word(bit).alias("at"), _mask(bit).alias("bits"), column(CLOCK).alias("clock")
    )
    none = functions.lit(None).cast("long")
    every = points.sparkSession.range(0, _WORDS, 1, 1).select(
        functions.col("id").alias("at"), functions.lit(0).cast("long").alias("bits"), none.alias("clock")
    )
    words = (
        (parts.union(every) if keys else parts)
        .groupBy("at")
        .agg(
            functions.bit_or("bits").alias("bits"),
            functions.min("clock").alias("low"),
            functions.max("clock").alias("high"),
        )
    )
    pairs = functions.sort_array(functions.collect_list(functions.struct("at", "bits")))
    return words.agg(
        functions.struct(
            functions.min("low").alias("low"),
            functions.max("high").alias("high"),
            pairs.getField("bits").alias("words"),
        ).alias("known")
    )


def _bit(keys: Sequence[str]) -> Column:
    """The number of a key's bit."""
    from pyspark.sql import functions

    if not keys:
        return functions.lit(0).cast("long")
    return functions.pmod(functions.xxhash64(*map(column, keys)), functions.lit(_WORDS * 64).cast("long"))


def _word(bit: Column) -> Column:
    from pyspark.sql import functions

    return functions.shiftright(bit, 6).cast("long")


def _mask(bit: Column) -> Column:
    from pyspark.sql import functions

    return functions.call_function(
        "shiftleft", functions.lit(1).cast("long"), bit.bitwiseAND(functions.lit(63).cast("long")).cast("int")
    )


def _ends(query: Spec) -> tuple[int | None, int | None]:
    """How far from the earliest label the first event may lie, and from the latest one the last; None:
    anywhere."""
    assert query.frames is not None
    first: int | None = 0
    last: int | None = 0
    for _, frame in query.frames.named:
        assert isinstance(frame, TimeFrame), "labels are not rows to count from"
        lower, upper = frame.lower, frame.upper
        first = None if first is None or lower is None or lower.is_calendar else min(first, lower.at(0))
        last = None if last is None or upper is None or upper.is_calendar else max(last, upper.at(0))
    limit = END_OF_TIME // 4
    return (
        None if first is None or abs(first) > limit else first,
        None if last is None or abs(last) > limit else last,
    )
