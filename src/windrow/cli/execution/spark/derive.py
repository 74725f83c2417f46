"""What a job asks of its source beyond reading it, on Spark: Kafka's values as columns, derived columns, rows
left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.cli.derived import computed_apart, computed_columns
from windrow.cli.expressions.derivation import Columns, columns_before
from windrow.cli.job import KAFKA_COLUMNS, Job, Source
from windrow.engines.spark.frames import column

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import Column, DataFrame

__all__ = ["derived", "with_value_columns"]

_PARSED = "__windrow_value"
#: the column of values as they came
KAFKA_VALUE = "kafka_value"


def with_value_columns(frame: DataFrame, source: Source, keeps_value: bool = False) -> DataFrame:
    """The columns in Kafka's values, and Kafka's own beside them. A value that cannot be read gives nulls, so
    that its row has no time and is rejected and counted. ``keeps_value``: the value itself goes along, so
    that rejected rows show it."""
    from pyspark.sql import functions

    parsed = _parsed(source).alias(_PARSED)
    own = [functions.col(name.removeprefix("kafka_")).cast(kind).alias(name) for name, kind in KAFKA_COLUMNS]
    names = [name for name, _ in KAFKA_COLUMNS]
    if keeps_value:
        own.append(_shown_value(source).alias(KAFKA_VALUE))
        names.append(KAFKA_VALUE)
    return frame.select(parsed, *own).select(*_fields(source), *names)


def _parsed(source: Source) -> Column:
    """A value as a struct, which is null, or has nulls, where the value cannot be read."""
    from pyspark.sql import functions

    assert source.value is not None
    options = {option.name: option.value for option in source.value.options}
    if source.value.schema is None:
        # Spark Connect does not know the type of a map that is empty
        return functions.from_json(functions.col("value").cast("string"), source.ddl, options or None)
    from pyspark.sql.avro.functions import from_avro

    return from_avro("value", source.value.schema, {"mode": "PERMISSIVE"} | options)


def _fields(source: Source) -> list[Any]:
    """The columns of a struct; those of Avro in the types that the job gives them."""
    from pyspark.sql import functions

    assert source.value is not None
    if source.value.schema is None:
        return [f"{_PARSED}.*"]
    fields = ((functions.col(_PARSED).getField(name), name, kind) for name, kind in source.schema)
    return [getattr(field, "try_cast", field.cast)(kind).alias(name) for field, name, kind in fields]


def _shown_value(source: Source) -> Column:
    """A value as it came, as text; bytes that are none in base 64."""
    from pyspark.sql import functions

    assert source.value is not None
    value = functions.col("value")
    return value.cast("string") if source.value.schema is None else functions.base64(value)


def derived(frame: DataFrame, job: Job, source: Source | None = None) -> DataFrame:
    """Columns first, each from those before it, then the rows for which ``where`` is true.

    Spark moves the filter below the columns, and puts them into it. Where that would make the plan too large,
    columns are computed apart: before the filter those that it reads, after it the others, so that these do
    not fail for rows that are left out."""
    source = job.source if source is None else source
    columns, apart = computed_columns(job, source), computed_apart(job, source)
    first = columns_before(columns, source.where) if apart else columns
    rest = tuple(each for each in columns if each not in first)
    found = _with_columns(frame, first, apart)
    if source.where is not None:
        found = found.where(source.where)
    if not rest:
        return found
    new = {name.lower(): name for name, _ in columns}
    names = [new.pop(name.lower(), name) for name in frame.columns]
    return _with_columns(found, rest, apart).select(*map(column, [*names, *new.values()]))


def _with_columns(frame: DataFrame, columns: Columns, apart: Collection[str]) -> DataFrame:
    from pyspark.sql import functions

    for name, text in columns:
        value = functions.expr(text)
        if name in apart:
            # always true; Spark moves no filter below a value that depends on the partition
            value = functions.when(functions.spark_partition_id() >= 0, value)
        frame = frame.withColumn(name, value)
    return frame
