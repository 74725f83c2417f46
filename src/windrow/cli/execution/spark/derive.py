"""What a job asks of its source beyond reading it, on Spark: Kafka's values as columns, derived columns, rows
left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.derived import computed_columns
from windrow.cli.job import KAFKA_COLUMNS, Job, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["derived", "with_value_columns"]

_PARSED = "__windrow_value"
#: the column of values as they came
KAFKA_VALUE = "kafka_value"


def with_value_columns(frame: DataFrame, source: Source, keeps_value: bool = False) -> DataFrame:
    """The columns in Kafka's values, and Kafka's own beside them. A value that cannot be read gives nulls, so
    that its row has no time and is rejected and counted. ``keeps_value``: the value itself goes along, so
    that rejected rows show it."""
    from pyspark.sql import functions

    assert source.value is not None
    options = {option.name: option.value for option in source.value.options}
    text = functions.col("value").cast("string")
    # Spark Connect does not know the type of a map that is empty
    parsed = functions.from_json(text, source.ddl, options or None).alias(_PARSED)
    own = [functions.col(name.removeprefix("kafka_")).cast(kind).alias(name) for name, kind in KAFKA_COLUMNS]
    names = [name for name, _ in KAFKA_COLUMNS]
    if keeps_value:
        own.append(functions.col("value").cast("string").alias(KAFKA_VALUE))
        names.append(KAFKA_VALUE)
    return frame.select(parsed, *own).select(f"{_PARSED}.*", *names)


def derived(frame: DataFrame, job: Job, source: Source | None = None) -> DataFrame:
    """Columns first, each from those before it, then the rows for which ``where`` is true."""
    from pyspark.sql import functions

    source = job.source if source is None else source
    for name, text in computed_columns(job, source):
        frame = frame.withColumn(name, functions.expr(text))
    return frame if source.where is None else frame.where(source.where)
