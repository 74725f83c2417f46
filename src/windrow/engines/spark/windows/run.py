"""Queries with windows on Spark.

Plan by slices: fold where rows lie, shuffle partials, assemble. Plan by rows: shuffle rows, and each
partition to the local engine (:mod:`windrow.engines.spark.worker.local_task`).
:mod:`windrow.engines.spark.plan` chooses. Rows without a time are in no window and are filtered out first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.engines.spark.frames import (
    arrow_schema,
    column,
    mapped,
    quoted,
    shuffled,
    spark_field,
    task_memory,
    ties_matter,
)
from windrow.engines.spark.plan import plan_of, smallest_gap
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.windows.catalyst import (
    each_slice_is_a_window,
    slice_edges,
    spark_finishes,
    spark_folds,
    spark_results,
    spark_slices,
)
from windrow.engines.spark.worker.local_task import window_batches
from windrow.engines.spark.worker.windows.assemble_task import assemble_batches
from windrow.engines.spark.worker.windows.fold_task import fold_batches
from windrow.engines.spark.worker.windows.slice_tables import SliceTable
from windrow.rows.columns import needed_columns
from windrow.rows.times import TimeAxis
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["result_schema", "windowed"]


def windowed(query: Spec, frame: DataFrame) -> DataFrame:
    """The results of all windows, lazily."""
    names = needed_columns(query)
    source = arrow_schema(frame, names)
    rows = frame.where(f"{quoted(query.time)} IS NOT NULL")
    take = _by_slices if plan_of(query, source).slices else _by_rows
    return take(query, rows, source)


def result_schema(query: Spec, source: pa.Schema) -> pa.Schema:
    """Keys, window name, edges and aggregates, as Arrow has them."""
    edge = TimeAxis(source.field(query.time).type).column(np.empty(0, np.int64)).type
    fields: list[tuple[str, Any]] = [(name, source.field(name).type) for name in query.by]
    fields += [("window", pa.string())] if query.names_windows else []
    fields += [("window_start", edge), ("window_end", edge)]
    fields += [(name, result_type(aggregate, source)) for name, aggregate in query.aggregates]
    return pa.schema(fields)


def _spark_schema(query: Spec, rows: DataFrame, results: pa.Schema) -> StructType:
    """The same as Spark has it; keys keep their fields."""
    from pyspark.sql.types import StructType

    keys = [rows.schema[name] for name in query.by]
    return StructType([*keys, *(spark_field(field.name, field.type) for field in list(results)[len(keys) :])])


def _by_slices(query: Spec, rows: DataFrame, source: pa.Schema) -> DataFrame:
    from pyspark.sql.types import StructField, StructType

    results = result_schema(query, source)
    tables = SliceTable(query, source)
    payload = packed(query)

    def fold(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return fold_batches(payload, 0 if context is None else context.partitionId(), batches)

    folds = spark_folds(query, source)
    alone = folds and each_slice_is_a_window(query)

    def assemble(batches: Iterable[Any]) -> Iterator[Any]:
        return assemble_batches(payload, source, results, batches, alone=alone)

    schema = _spark_schema(query, rows, results)
    keys = [StructField(f"k{k}", rows.schema[name].dataType) for k, name in enumerate(query.by)]
    finishes = folds and spark_finishes(query, source)
    if folds:
        slices = spark_slices(query, rows, tables, source, finishes)
    else:
        partials = [spark_field(field.name, field.type) for field in list(tables.schema)[len(keys) :]]
        slices = mapped(_needed(rows, source), fold, StructType([*keys, *partials]))
    if finishes:
        return spark_results(query, slices, schema, source, slice_edges(query, source))
    if alone:
        return mapped(slices, assemble, schema)
    spread = slices.repartition(*tables.key_names) if keys else slices.coalesce(1)
    cell = "end" if smallest_gap(query) is None else "first"
    in_order = spread.sortWithinPartitions(*tables.key_names, cell, "part")
    return mapped(in_order, assemble, schema)


def _needed(rows: DataFrame, source: pa.Schema) -> DataFrame:
    return rows.selectExpr(*map(quoted, source.names))


def _by_rows(query: Spec, rows: DataFrame, source: pa.Schema) -> DataFrame:
    results, payload = result_schema(query, source), packed(query)
    budget = task_memory(rows.sparkSession)

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        return window_batches(payload, results, batches, budget)

    needed, keys = _needed(rows, source), [column(name) for name in query.by]
    return mapped(
        shuffled(needed, keys, ties_matter(query, source)), task, _spark_schema(query, rows, results)
    )
