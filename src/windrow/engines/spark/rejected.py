"""Rows of a batch query on Spark over which an aggregate raises: left out, or asked for.

A stream finds them in its steps. A batch query looks through its rows first, in one pass of their own: plans
by slices and in order then see none of them. Rolling gives every row back: there such a row goes through as
one without a time or a value, whose results are null, and gets both back at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.spark.compat import is_streaming
from windrow.engines.spark.frames import arrow_schema, column, mapped
from windrow.engines.spark.shipping import packed
from windrow.engines.spark.worker.rejected_task import (
    HIDDEN,
    good_batches,
    hidden_columns,
    rejected_batches,
    timeless_batches,
)
from windrow.engines.spark.worker_python import prepare_workers
from windrow.names import check_columns
from windrow.result_names import REJECTED_ROWS
from windrow.rows.columns import needed_columns
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["has_own_aggregates", "rejected_rows", "rolled_without_raising", "without_raising"]


def has_own_aggregates(query: Spec) -> bool:
    """Whether any row can raise, and is then left out."""
    return query.on_error == "reject" and any(not a.monoid.builtin for _, a in query.aggregates)


def rejected_rows(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows of a DataFrame that windows do not see, with why, lazily."""
    from pyspark.sql.types import StringType, StructField, StructType

    if is_streaming(frame):
        raise ValueError(
            "a stream hands rejected rows back itself, in the column 'rejected': run the query with "
            "wr.query(on_error='reject') and take them apart with wr.spark.split_rejected"
        )
    check_columns(needed_columns(query), frame.columns, "the DataFrame")
    prepare_workers(frame.sparkSession, False)
    payload, schema = packed(query), bytes(arrow_schema(frame).serialize())

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        return rejected_batches(payload, pa.ipc.read_schema(pa.py_buffer(schema)), batches)

    why = [StructField(name, StringType()) for name in REJECTED_ROWS]
    return mapped(frame, task, StructType([*frame.schema.fields, *why]))


def without_raising(query: Spec, frame: DataFrame) -> DataFrame:
    """The rows that windows take, with the columns that they need."""
    payload = packed(query)
    needed = frame.select(*map(column, needed_columns(query)))
    return mapped(needed, lambda batches: good_batches(payload, batches), needed.schema)


def rolled_without_raising(
    query: Spec, frame: DataFrame, roll: Callable[[Spec, DataFrame], DataFrame]
) -> DataFrame:
    """What ``roll`` makes of the rows, with null results for those over which an aggregate raises."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructField, StructType

    payload, names = packed(query), hidden_columns(query)
    fields = [
        StructField(field.name, field.dataType, field.nullable or field.name in names)
        for field in frame.schema.fields
    ]
    hidden = StructType([StructField(name, frame.schema[name].dataType) for name in names])
    schema = StructType([*fields, StructField(HIDDEN, hidden)])
    marked = mapped(frame, lambda batches: timeless_batches(payload, batches), schema)
    rolled = roll(replace(query, on_error="raise"), marked)
    gave_up = column(HIDDEN).isNotNull()

    def shown(name: str) -> Column:
        if name not in names:
            return column(name)
        return functions.when(gave_up, column(HIDDEN).getField(name)).otherwise(column(name)).alias(name)

    return rolled.select(*(shown(name) for name in rolled.columns if name != HIDDEN))
