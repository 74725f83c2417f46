"""Checks of engines against the oracle, and small tables for them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.testing import assert_same_results, evaluate

#: integer times with disorder, duplicates and gaps
MANY = [13, 2, 2, 7, 31, 8, 2, 55]


def check(query: wr.Query, table: Any) -> Any:
    """Run a query and compare with the oracle: rows, columns and their order."""
    found, expected = query.run(table), evaluate(query, table)
    assert_same_results(found, expected)
    if expected:
        assert list(found.columns if not isinstance(found, pa.Table) else found.column_names) == list(
            expected[0]
        )
    return found


def table(times: Any, **columns: Any) -> pa.Table:
    """A table of these times, with a value and a letter for each row unless others are given."""
    size = len(times)
    values = {"n": pa.array(range(size), pa.int64()), "s": pa.array(["abcdefgh"[i % 8] for i in range(size)])}
    return pa.table({"ts": times, **values, **columns})
