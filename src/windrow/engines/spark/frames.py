"""What is asked of a Spark DataFrame: its columns by name, its schema in Arrow's words, its rows in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.spark.compat import arrow_type, setting
from windrow.engines.spark.shipping import shipped
from windrow.engines.spark.types import result_type
from windrow.engines.spark.worker.lifetime import Task
from windrow.engines.spark.worker.local_task import ARRIVAL
from windrow.partials.partials import needs_order
from windrow.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

__all__ = [
    "arrow_schema",
    "column",
    "literal",
    "mapped",
    "microseconds",
    "numbered",
    "quoted",
    "result_fields",
    "shuffled",
    "task_memory",
    "ties_matter",
]

#: how many bytes of rows a task holds in memory
TASK_MEMORY = "spark.windrow.taskMemory"
_TASK_MEMORY = 512 << 20
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


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


def shuffled(frame: DataFrame, keys: Sequence[Column], ties: bool) -> DataFrame:
    """Rows of a key in one partition, in no order; ``ties``: with numbers that tell in which they came."""
    if ties and ARRIVAL not in frame.columns:
        frame = numbered(frame)
    return frame.repartition(*keys) if keys else frame.coalesce(1)


def task_memory(session: SparkSession) -> int:
    """How many bytes of rows a task holds before it puts them on disk.

    By default a quarter of what Spark gives a worker, where that is set (``spark.executor.pyspark.memory``,
    which the cores of an executor share): Arrow and results need as much again, and more."""
    given = setting(session, TASK_MEMORY)
    if given is not None:
        return _bytes_of(given)
    python = setting(session, "spark.executor.pyspark.memory")
    if python is None:
        return _TASK_MEMORY
    cores = int(setting(session, "spark.executor.cores") or 1)
    return max(_bytes_of(f"{python}m" if python.isdigit() else python) // (4 * cores), 1)


def _bytes_of(given: str) -> int:
    """Bytes as Spark writes them: 256m, 1g; plain numbers are bytes.

    >>> _bytes_of("64m"), _bytes_of("1000")
    (67108864, 1000)
    """
    number, unit = given.rstrip("kmgtbKMGTB"), given.lower().lstrip("0123456789").rstrip("b")
    if not number.isdigit() or int(number) < 1 or unit not in ("", *_UNITS):
        raise ValueError(f"{TASK_MEMORY}={given!r}: give a number of bytes, as in 512m or 1g")
    return int(number) * _UNITS.get(unit, 1)


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
