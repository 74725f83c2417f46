"""Windows from the slices of many tasks: what runs behind the shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from windrow.engines.spark.worker.chunks import CHUNK_ROWS, chunked, conformed_table
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.windows.assembly import Assembly
from windrow.engines.spark.worker.windows.slice_tables import SliceTable
from windrow.rows.times import TimeAxis

__all__ = ["assemble_batches"]


def assemble_batches(
    payload: bytes,
    source: pa.Schema,
    schema: pa.Schema,
    batches: Iterable[Any],
    rows: int = CHUNK_ROWS,
    alone: bool = False,
) -> Iterator[Any]:
    """What mapInArrow runs on sorted slices. ``source`` is the schema of the rows that were folded,
    ``schema`` that of the results. With ``alone`` each slice is all there is of its windows, in any order."""
    query = unpacked(payload)
    tables = SliceTable(query, source)
    assembly = Assembly(query, TimeAxis(source.field(query.time).type))
    for table in chunked(batches, rows):
        slices = tables.slices(table, alone)
        for found in assembly.each_alone(slices) if alone else assembly.push(slices):
            yield from conformed_table(found, schema).to_batches()
    for found in assembly.finish():
        yield from conformed_table(found, schema).to_batches()
