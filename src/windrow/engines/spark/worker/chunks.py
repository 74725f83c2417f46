"""Batches as they come from Spark, gathered into chunks: many small batches cost more than one large one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

__all__ = ["CHUNK_ROWS", "chunked", "conformed", "conformed_table"]

#: enough rows that the fixed cost of a chunk does not matter, few enough to stay in the processor's cache
CHUNK_ROWS = 1 << 16


def chunked(batches: Iterable[Any], rows: int = CHUNK_ROWS, nbytes: int = 0) -> Iterator[pa.Table]:
    """Tables of at least ``rows`` rows and ``nbytes`` bytes, but the last; nothing is copied."""
    gathered: list[Any] = []
    count = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        gathered.append(batch)
        count += batch.num_rows
        size += batch.nbytes if nbytes else 0
        if count >= rows and size >= nbytes:
            yield pa.Table.from_batches(gathered)
            gathered, count, size = [], 0, 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def conformed(column: Any, kind: Any) -> Any:
    """A result column with the type that was promised; decimals are rounded to its digits, and tuples, which
    Arrow takes for lists where Python makes them, become structs as native code has them."""
    import pyarrow.compute as pc

    if column.type == kind:
        return column
    if pa.types.is_list(column.type) and pa.types.is_struct(kind):
        return pa.array([value and tuple(value) for value in column.to_pylist()], kind)
    if pa.types.is_struct(column.type) and pa.types.is_struct(kind):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        members = [conformed(each, field.type) for each, field in zip(whole.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=pc.is_null(whole))
    if pa.types.is_decimal(column.type) and pa.types.is_decimal(kind) and column.type.scale > kind.scale:
        column = pc.round(column, ndigits=kind.scale)
    return column.cast(kind)


def conformed_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table of results with the types that were promised."""
    columns = [conformed(table.column(field.name), field.type) for field in schema]
    return pa.table(columns, schema=schema)
