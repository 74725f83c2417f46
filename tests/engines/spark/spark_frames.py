"""The kind of session that tests share, its settings for as long as a test lasts, and DataFrames whose rows
lie as a test wants them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

#: "remote" for Spark Connect, or "master"
KIND = os.environ.get("WINDROW_SESSION", "master")


@contextmanager
def settings_of(spark: Any, settings: dict[str, str]) -> Iterator[None]:
    """The session with these settings, and afterwards as it was."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def frame_of(spark: Any, table: pa.Table) -> Any:
    """A DataFrame of a table, also before PySpark 4.0, which took none."""
    return in_partitions(spark, [table]) if is_before_4(spark) else spark.createDataFrame(table)


def table_of(frame: Any) -> pa.Table:
    """The rows of a DataFrame, also before PySpark 4.0, which had no ``toArrow``."""
    if not is_before_4(frame.sparkSession):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    return pa.Table.from_batches(frame._collect_as_arrow(), to_arrow_schema(frame.schema))


def is_before_4(spark: Any) -> bool:
    return spark.version.startswith("3.")


def in_partitions(spark: Any, parts: list[pa.Table]) -> Any:
    """A DataFrame with the rows of each table in a partition of its own, in this order."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(parts[0].schema, prefer_timestamp_ntz=False)
    stored = [_stored(part) for part in parts]

    def rows(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from pa.ipc.open_stream(stored[number]).read_all().to_batches()

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(rows, schema)


def _stored(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
