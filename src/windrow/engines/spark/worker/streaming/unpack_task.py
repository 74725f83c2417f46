"""After the stateful step: blobs of results become columns again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from windrow.engines.spark.worker.chunks import conformed
from windrow.engines.spark.worker.streaming.wire import read_rows
from windrow.result_names import LATE

__all__ = ["unpack_batches"]


def unpack_batches(schema: pa.Schema, batches: Iterable[Any]) -> Iterator[Any]:
    """What mapInArrow runs; ``schema`` is that of the results."""
    for batch in batches:
        kinds, blobs = batch.column("kind"), batch.column("blob")
        for kind, blob in zip(kinds.to_pylist(), blobs, strict=True):
            if blob.is_valid:
                table = read_rows(blob.as_buffer().to_pybytes())
                yield from _as_late(schema, table) if kind == "late" else _as_results(schema, table)


def _as_results(schema: pa.Schema, table: pa.Table) -> list[Any]:
    names = set(table.column_names)
    columns = [
        conformed(table.column(field.name), field.type)
        if field.name in names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema).to_batches()


def _as_late(schema: pa.Schema, table: pa.Table) -> list[Any]:
    kind = schema.field(LATE).type
    members = [conformed(table.column(f.name).combine_chunks(), f.type) for f in kind]
    late = pa.StructArray.from_arrays([_flat(m) for m in members], fields=list(kind))
    columns = [late if f.name == LATE else pa.nulls(table.num_rows, f.type) for f in schema]
    return pa.table(columns, schema=schema).to_batches()


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
