"""Tables as a partition of Spark would bring them: sorted, in batches of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr


def sorted_table(query: wr.Query, table: pa.Table) -> pa.Table:
    """By key, then time (null first), then order (null last), then as they came."""
    keys = [_ranks(table.column(name), "at_start") for name in query.by]
    order = [_ranks(table.column(name), "at_end") for name in query.order]
    columns = [*keys, _ranks(table.column(query.time), "at_start"), *order]
    return table.take(pa.array(np.lexsort(columns[::-1]))) if table.num_rows else table


def _ranks(column: Any, nulls: str) -> Any:
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    return np.where(column.is_null().to_numpy(), -1, ranks) if nulls == "at_start" else ranks


def batches(table: pa.Table, sizes: list[int]) -> Iterator[Any]:
    """Batches of these sizes, again and again."""
    at, k = 0, 0
    while at < table.num_rows:
        size = sizes[k % len(sizes)]
        yield from table.slice(at, size).combine_chunks().to_batches()
        at, k = at + size, k + 1
