"""Queries with windows on Spark.

Plan by slices: fold where rows lie, shuffle partials, assemble. Plan in order: shuffle rows, sort, one pass.
:mod:`windrow.engines.spark.plan` chooses. Rows without a time are in no window and are filtered out first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.engines.spark.frames import (
    arranged,
    arrow_schema,
    column,
    mapped,
    quoted,
    spark_field,
    ties_matter,
)
from windrow.engines.spark.plan import plan_of, smallest_gap
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.types import result_type
from windrow.engines.spark.windows.catalyst import (
    each_slice_is_a_window,
    spark_finishes,
    spark_folds,
    spark_results,
    spark_slices,
)
from windrow.engines.spark.worker.windows.assemble_task import assemble_batches
from windrow.engines.spark.worker.windows.fold_task import fold_batches
from windrow.engines.spark.worker.windows.ordered_task import order_batches
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
    take = _by_slices if plan_of(query, source).slices else _in_order
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
        return spark_results(query, slices, schema, source)
    if alone:
        return mapped(slices, assemble, schema)
    spread = slices.repartition(*tables.key_names) if keys else slices.coalesce(1)
    cell = "end" if smallest_gap(query) is None else "first"
    in_order = spread.sortWithinPartitions(*tables.key_names, cell, "part")
    return mapped(in_order, assemble, schema)


def _needed(rows: DataFrame, source: pa.Schema) -> DataFrame:
    return rows.selectExpr(*map(quoted, source.names))


def _in_order(query: Spec, rows: DataFrame, source: pa.Schema) -> DataFrame:
    results = result_schema(query, source)
    payload = packed(query)

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        return order_batches(payload, results, batches)

    needed = _needed(rows, source)
    in_order = arranged(query, needed, [column(name) for name in query.by], ties_matter(query, source))
    return mapped(in_order, task, _spark_schema(query, rows, results))
