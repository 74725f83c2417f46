"""Rolling queries on Spark: one result per input row.

Plan: rows of a key to one partition, and each partition to the local engine
(:mod:`windrow.engines.spark.worker.local_task`), which sorts it many times faster than Spark does. All
columns of the input come back as they were; the result columns stand behind them. Cost: one shuffle, one
crossing to Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.frames import (
    arrow_schema,
    column,
    mapped,
    microseconds,
    numbered,
    result_fields,
    shuffled,
    task_memory,
    ties_matter,
)
from windrow.engines.spark.rolling.reach import Segments
from windrow.engines.spark.rolling.segments import in_segments
from windrow.engines.spark.rolling.skew import splits
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.local_task import SEGMENT, roll_batches
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["roll"]


def roll(query: Spec, frame: DataFrame) -> DataFrame:
    """The input with a result column per aggregate, lazily."""
    from pyspark.sql.types import StructType

    schema, payload = arrow_schema(frame), packed(query)
    kinds = [result_type(aggregate, schema) for _, aggregate in query.result_columns]
    budget, ties, segmented = (
        task_memory(frame.sparkSession),
        ties_matter(query, schema),
        splits(query, frame),
    )

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        return roll_batches(payload, kinds, batches, budget)

    spread = _in_segments(query, numbered(frame) if ties else frame) if segmented else frame
    keys = [*query.by, SEGMENT] if segmented else [*query.by]
    rows = shuffled(spread, list(map(column, keys)), ties)
    return mapped(rows, task, StructType([*frame.schema.fields, *result_fields(query, schema)]))


def _in_segments(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows with the segment of their key, and once more for each other segment that sees them."""
    from pyspark.sql import functions

    if query.frames is None:
        return in_segments(query, frame)
    time = functions.expr(microseconds(query.time, arrow_schema(frame, [query.time])))
    return Segments(query, frame, time).of_events(frame, time)
