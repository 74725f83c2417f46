"""As-of queries on Spark: labels and events, both DataFrames, as one.

Plan: of the events the columns that aggregates read, of the labels all; both in one DataFrame, rows of a key
to one partition, and each partition to the local engine (:mod:`windrow.engines.spark.worker.local_task`).
Labels come back with their columns as they were. Cost: one shuffle of each table, one crossing to Python.
Events that no label can see are left out before the shuffle where that is known
(:mod:`windrow.engines.spark.pruning`), and hot keys are cut in time as for rolling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.compat import is_streaming
from windrow.engines.spark.detect import is_spark_frame
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
from windrow.engines.spark.pruning import seen_events
from windrow.engines.spark.rolling.reach import Segments
from windrow.engines.spark.rolling.skew import splits
from windrow.engines.spark.run import check
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.local_task import (
    CLOCK,
    CONTEXT,
    LABEL,
    SEGMENT,
    AskedLabels,
    answer_batches,
)
from windrow.engines.spark.worker_python import prepare_workers
from windrow.names import check_columns
from windrow.result_names import check_label_names
from windrow.rows.columns import needed_columns
from windrow.rows.points import check_axes, check_key_types
from windrow.rows.times import TimeAxis
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["run_asof"]


def run_asof(query: Spec, events: Any, labels: Any, at_time: str, at_by: tuple[str, ...]) -> DataFrame:
    """The labels with a result column per aggregate and size, lazily."""
    from pyspark.sql.types import StructType

    _check(query, events, labels, at_time, at_by)
    prepare_workers(events.sparkSession, is_streaming(events))
    if is_streaming(events):
        from windrow.engines.spark.streaming.labels import run_labels

        return run_labels(query, events, labels, at_time, at_by)
    schema = arrow_schema(events, needed_columns(query))
    kinds = [result_type(aggregate, schema) for _, aggregate in query.result_columns]
    payload, asking = packed(query), AskedLabels(labels.columns, schema.field(query.time).type)
    rows, keys = _rows(query, events, labels, at_time, at_by)
    budget = task_memory(events.sparkSession)

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        return answer_batches(payload, keys, kinds, batches, asking, budget)

    fields = StructType([*labels.schema.fields, *result_fields(query, schema)])
    return mapped(shuffled(rows, list(map(column, keys)), ties=False), task, fields)


def _check(query: Spec, events: Any, labels: Any, at_time: str, at_by: tuple[str, ...]) -> None:
    if not is_spark_frame(events) or not is_spark_frame(labels):
        what, other = ("labels", "events") if is_spark_frame(events) else ("events", "labels")
        raise TypeError(
            f"the {other} are a Spark DataFrame and the {what} are not: make one of them with "
            f"spark.createDataFrame({what}), or give both as tables of one process"
        )
    if is_streaming(events) != is_streaming(labels):
        what, other = ("events", "labels") if is_streaming(events) else ("labels", "events")
        raise TypeError(
            f"the {what} are a stream and the {other} are not: give both as streams, or both as DataFrames "
            f"without streams, such as those of foreachBatch"
        )
    check(query, events)
    check_columns([at_time, *at_by], labels.columns, "the DataFrame of labels")
    check_label_names(query, labels.columns)
    known = arrow_schema(events, [query.time, *query.by])
    asked = arrow_schema(labels, [at_time, *at_by])
    check_axes(TimeAxis(known.field(query.time).type), query.time, TimeAxis(asked.field(0).type), at_time)
    for by, at in zip(query.by, at_by, strict=True):
        check_key_types(known.field(by).type, by, asked.field(at).type, at)


def _rows(
    query: Spec, events: DataFrame, labels: DataFrame, at_time: str, at_by: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """Events and labels in one DataFrame, and the columns that are its keys."""
    from pyspark.sql import functions

    names = list(dict.fromkeys([*(c for _, a in query.aggregates for c in a.reads), *query.order]))
    own = [f"__windrow_key{k}" for k in range(len(query.by))]
    shared = [_shared_type(events, by, labels, at) for by, at in zip(query.by, at_by, strict=True)]
    clock = functions.expr(microseconds(query.time, arrow_schema(events, [query.time])))
    asked = functions.expr(microseconds(at_time, arrow_schema(labels, [at_time])))
    known = events.select(
        *map(column, names),
        *(column(by).cast(kind).alias(key) for by, kind, key in zip(query.by, shared, own, strict=True)),
        clock.alias(CLOCK),
    ).where(column(CLOCK).isNotNull())
    points = labels.select(
        *(column(at).cast(kind).alias(key) for at, kind, key in zip(at_by, shared, own, strict=True)),
        asked.alias(CLOCK),
        functions.lit(True).alias(LABEL),
        *(column(name).alias(f"{LABEL}{k}") for k, name in enumerate(labels.columns)),
    )
    known = seen_events(query, known, points, own)
    if ties_matter(query, arrow_schema(events, needed_columns(query))):
        known = numbered(known)
    keys = list(own)
    if splits(query, events):
        segments = Segments(replace(query, by=tuple(own)), known, column(CLOCK))
        known = segments.of_events(known, column(CLOCK)).drop(CONTEXT)
        points = segments.of_points(points, column(CLOCK))
        keys.append(SEGMENT)
    return known.unionByName(points, allowMissingColumns=True), keys


def _shared_type(events: DataFrame, by: str, labels: DataFrame, at: str) -> Any:
    """The type of a key for both tables: Spark's own choice of one that holds the values of both."""
    from pyspark.sql import functions

    left, right = events.schema[by].dataType, labels.schema[at].dataType
    if left == right:
        return left
    null = events.sparkSession.range(0).select(
        functions.coalesce(functions.lit(None).cast(left), functions.lit(None).cast(right)).alias("key")
    )
    return null.schema["key"].dataType
