"""Rolling queries on Spark: one result per input row.

Plan: rows of a key to one partition, sorted by key and time, then one pass over sorted Arrow batches with
state carried from batch to batch (:mod:`windrow.engines.spark.worker.rolling.task`). All columns of the input
come back as they were; the result columns stand behind them. Cost: one shuffle, one sort, one crossing to
Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.frames import (
    arranged,
    arrow_schema,
    column,
    mapped,
    microseconds,
    numbered,
    result_fields,
    ties_matter,
)
from windrow.engines.spark.rolling.reach import Segments
from windrow.engines.spark.rolling.segments import in_segments
from windrow.engines.spark.rolling.skew import splits
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.rolling.frames_task import answer_batches
from windrow.engines.spark.worker.rolling.task import SEGMENT, roll_batches
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["roll"]


def roll(query: Spec, frame: DataFrame) -> DataFrame:
    """The input with a result column per aggregate, lazily."""
    from pyspark.sql.types import StructType

    schema = arrow_schema(frame)
    kinds = [result_type(aggregate, schema) for _, aggregate in query.aggregates]
    payload = packed(query)
    segmented = splits(query, frame)

    keys = [*query.by, SEGMENT] if segmented else [*query.by]

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        if query.frames is not None:
            return answer_batches(payload, keys, kinds, batches)
        return roll_batches(payload, kinds, batches, segmented=segmented)

    ties = ties_matter(query, schema)
    spread = _in_segments(query, numbered(frame) if ties else frame) if segmented else frame
    rows = arranged(query, spread, list(map(column, keys)), ties)
    return mapped(rows, task, StructType([*frame.schema.fields, *result_fields(query, schema)]))


def _in_segments(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows with the segment of their key, and once more for each other segment that sees them."""
    from pyspark.sql import functions

    if query.frames is None:
        return in_segments(query, frame)
    time = functions.expr(microseconds(query.time, arrow_schema(frame, [query.time])))
    return Segments(query, frame, time).of_events(frame, time)
