"""DataFrames whose rows lie as a test wants them, and settings of a session that last as long as a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa


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


def in_partitions(spark: Any, parts: list[pa.Table]) -> Any:
    """A DataFrame with the rows of each table in a partition of its own, in this order."""
    schema = spark.createDataFrame(parts[0].slice(0, 0)).schema
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
