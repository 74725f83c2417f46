"""Rejected rows with why: those of a table, and those that an endless input leaves out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.partials.raising import raising_rows
from windrow.result_names import REJECTED_ROWS
from windrow.rows.selection import filter_rows, take_rows
from windrow.spec import Spec

__all__ = ["rejected_table", "with_reasons"]


def with_reasons(
    rows: pa.Table, reason: str, by: Sequence[str] | None = None, errors: Sequence[str] | None = None
) -> pa.Table:
    """Rows as they came, with why they were rejected: by which aggregate, and what it raised.

    >>> with_reasons(pa.table({"t": [None]}), "no_time").to_pylist()
    [{'t': None, 'rejected_reason': 'no_time', 'rejected_by': None, 'rejected_error': None}]
    """
    count = rows.num_rows
    nothing: list[str | None] = [None] * count
    values = ([reason] * count, by or nothing, errors or nothing)
    for name, column in zip(REJECTED_ROWS, values, strict=True):
        rows = rows.append_column(name, pa.array(column, pa.string()))
    return rows


def rejected_table(query: Spec, table: pa.Table) -> pa.Table:
    """The rows of a finite table that no window sees: those without a time, then those over which an
    aggregate raises, where the query rejects these."""
    missing = np.asarray(table.column(query.time).is_null())
    timed = filter_rows(table, ~missing) if missing.any() else table
    found = [with_reasons(filter_rows(table, missing), "no_time")]
    raising = raising_rows(query.aggregates, timed) if query.on_error == "reject" else None
    if raising is not None:
        found.append(
            with_reasons(take_rows(timed, raising.rows), "raised", raising.aggregates, raising.errors)
        )
    return pa.concat_tables(found)
