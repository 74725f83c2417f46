"""Rows over which an aggregate raises, found batch by batch where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.engines.spark.worker.chunks import chunked
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.partials.raising import raising_rows
from windrow.partials.rejected import rejected_table, with_reasons
from windrow.rows.selection import filter_rows
from windrow.spec import Spec

__all__ = ["HIDDEN", "good_batches", "hidden_columns", "rejected_batches", "timeless_batches"]

#: the column of what rows give up
HIDDEN = "__windrow_hidden"


def good_batches(payload: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """The rows over which nothing raises."""
    query = unpacked(payload)
    for table in chunked(batches):
        found = raising_rows(query.aggregates, table)
        yield from (table if found is None else filter_rows(table, found.others(len(table)))).to_batches()


def hidden_columns(query: Spec) -> list[str]:
    """The columns that a row gives up so that it is in no window and nothing raises over it."""
    own = [column for _, a in query.aggregates if not a.monoid.builtin for column in a.inputs]
    return list(dict.fromkeys([query.time, *own]))


def timeless_batches(payload: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """All rows; those over which an aggregate raises have what they give up in a column of its own."""
    query = unpacked(payload)
    names = hidden_columns(query)
    for table in chunked(batches):
        found = raising_rows(query.aggregates, table)
        good = np.ones(len(table), np.bool_) if found is None else found.others(len(table))
        columns = [table.column(name).combine_chunks() for name in names]
        hidden = pa.StructArray.from_arrays(columns, names, mask=pa.array(good))
        for name, column in zip(names, columns, strict=True):
            place, kept = table.column_names.index(name), pa.array(good)
            table = table.set_column(place, name, pc.if_else(kept, column, pa.scalar(None, column.type)))
        yield from table.append_column(HIDDEN, hidden).to_batches()


def rejected_batches(payload: bytes, schema: pa.Schema, batches: Iterable[Any]) -> Iterator[Any]:
    """The rows without a time, and those over which an aggregate raises, with why."""
    query = unpacked(payload)
    yield from with_reasons(schema.empty_table(), "").to_batches()
    for table in chunked(batches):
        yield from rejected_table(query, table).to_batches()
