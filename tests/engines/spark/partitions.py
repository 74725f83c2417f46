"""Tables as a partition of Spark would bring them: shuffled, in batches of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import windrow as wr
from windrow.engines.spark.frames import ties_matter
from windrow.engines.spark.worker.local_task import ARRIVAL

#: what a task may hold: everything; a few rows, so that others are on disk; less than a row, so that each key
#: is taken a stretch of time after the other
BUDGETS = st.sampled_from([1 << 30, 600, 1])


def shuffled_table(query: wr.Query, table: pa.Table, seed: int = 5) -> pa.Table:
    """Rows in any order, with numbers where it matters in which they came."""
    if ties_matter(query, table.schema) and ARRIVAL not in table.column_names:
        table = table.append_column(ARRIVAL, pa.array(np.arange(table.num_rows)))
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


def batches(table: pa.Table, sizes: list[int]) -> Iterator[Any]:
    """Batches of these sizes, again and again."""
    at, k = 0, 0
    while at < table.num_rows:
        size = sizes[k % len(sizes)]
        yield from table.slice(at, size).combine_chunks().to_batches()
        at, k = at + size, k + 1
