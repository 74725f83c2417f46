"""What is asked of a Spark DataFrame: its columns by name, its schema in Arrow's words, its rows in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.spark.compat import arrow_type
from windrow.engines.spark.shipping import shipped
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.lifetime import Task
from windrow.engines.spark.worker.rolling.placed_rows import ARRIVAL
from windrow.partials.partials import needs_order
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

__all__ = [
    "arranged",
    "arrow_schema",
    "column",
    "literal",
    "mapped",
    "microseconds",
    "numbered",
    "quoted",
    "result_fields",
    "ties_matter",
]


def column(name: str) -> Column:
    """A column by its exact name, dots and all."""
    from pyspark.sql import functions

    return functions.col(quoted(name))


def quoted(name: str) -> str:
    """A column's exact name in SQL."""
    return f"`{name.replace('`', '``')}`"


def literal(value: str | float | int) -> str:
    """A value in SQL, of type string, double or bigint."""
    if isinstance(value, str):  # the bytes: how text is quoted follows from a setting
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    return f"DOUBLE('{value}')" if isinstance(value, float) else f"BIGINT('{value}')"


def arrow_schema(frame: DataFrame, names: Sequence[str] | None = None) -> pa.Schema:
    """The types that batches of these columns have in a Python worker."""
    zone = str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    wanted = frame.columns if names is None else names
    fields = {field.name: field.dataType for field in frame.schema.fields}
    return pa.schema([(name, arrow_type(fields[name], zone)) for name in wanted])


def result_fields(query: Spec, schema: pa.Schema) -> list[StructField]:
    """The result columns, as Spark has them."""
    return [spark_field(name, result_type(aggregate, schema)) for name, aggregate in query.result_columns]


def spark_field(name: str, kind: Any) -> StructField:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField

    return StructField(name, from_arrow_type(kind, prefer_timestamp_ntz=True), True)


def mapped(frame: DataFrame, task: Task, schema: StructType | str) -> DataFrame:
    """``mapInArrow`` for columns of any name: it takes none with dots or backticks in it."""
    names = frame.columns
    if not any(sign in name for name in names for sign in ".`"):
        return frame.mapInArrow(shipped(task), schema)

    def renamed(batches: Iterable[Any]) -> Iterator[Any]:
        return task(batch.rename_columns(names) for batch in batches)

    return frame.toDF(*(f"c{k}" for k in range(len(names)))).mapInArrow(shipped(renamed), schema)


def ties_matter(query: Spec, schema: pa.Schema) -> bool:
    """Whether results depend on the order of rows of equal time."""
    by_rows = query.rolling_over is not None and query.rolling_over.size is None
    if query.frames is not None:
        by_rows = any(frame.rows is not None for _, frame in query.frames.named)
    decided = any(window.ties_matter for _, window in query.windows)
    picks = any(not a.monoid.commutative and a.inputs for _, a in query.aggregates)
    return by_rows or decided or picks or any(needs_order(a, schema) for _, a in query.aggregates)


def numbered(frame: DataFrame) -> DataFrame:
    """The rows with numbers that tell in which order they came."""
    from pyspark.sql import functions

    return frame.withColumn(ARRIVAL, functions.monotonically_increasing_id())


def arranged(query: Spec, frame: DataFrame, keys: Sequence[Column], ties: bool) -> DataFrame:
    """Rows of a key in one partition, sorted by key, time and order; equal ones as they came."""
    wanted = [name for name in frame.columns if name != ARRIVAL]
    if ties and ARRIVAL not in frame.columns:
        frame = numbered(frame)
    spread = frame.repartition(*keys) if keys else frame.coalesce(1)
    order = [column(name).asc_nulls_last() for name in query.order]
    last = [column(ARRIVAL)] if ties else []
    rows = spread.sortWithinPartitions(*keys, column(query.time), *order, *last)
    return rows.select(*map(column, wanted)) if ties else rows


def microseconds(name: str, schema: pa.Schema) -> str:
    """A time column as windrow counts it, in SQL; a timestamp without a zone as if it were in UTC."""
    kind, moment = schema.field(name).type, quoted(name)
    if pa.types.is_integer(kind):
        return f"BIGINT({moment})"
    if pa.types.is_date(kind):
        return f"(unix_date({moment}) * 86400000000L)"
    if kind.tz is not None:
        return f"unix_micros({moment})"
    seconds = f"hour({moment}) * 3600 + minute({moment}) * 60 + second({moment})"
    whole = f"(unix_date(DATE({moment})) * 86400L + {seconds}) * 1000000L"
    return f"({whole} + BIGINT(date_format({moment}, 'SSSSSS')))"
