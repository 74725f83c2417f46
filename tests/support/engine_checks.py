"""Aggregates on tables, operators and operators with a store, against the oracle."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import windrow as wr
from support.oracle_checks import check
from windrow.testing import assert_same_results

STARTS = [
    lambda query: query.window(wr.Sliding(10, slide=3)),
    lambda query: query.window(wr.Session(4)),
    lambda query: query.rolling(rows=4),
    lambda query: query.rolling(7),
]


def check_engines(table: pa.Table, tolerance: float = 1e-9, **aggregates: Any) -> None:
    """Compare tables and operators with the oracle over windows that overlap, sessions and rolling results;
    ``table`` has integer times ``t`` in any order."""
    for start in STARTS:
        query = start(wr.query(time="t", watermark=1_000)).agg(**aggregates)
        expected = check(query, table)
        for options in ({}, {"store": wr.state.MemoryStore(), "name": "these"}):
            operator = query.open(**options)
            pieces = [operator.push(table.slice(k, 7)) for k in range(0, table.num_rows, 7)]
            found = pa.concat_tables([*pieces, operator.finish()], promote_options="permissive")
            assert_same_results(found.select(expected.column_names), expected, tolerance=tolerance)
