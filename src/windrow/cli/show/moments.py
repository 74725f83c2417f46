"""Arrow values as Python values, where Python has them.

Arrow's times reach 290,000 years to both sides of 1970, Python's the years 1 to 9999. A time beyond is text,
as Arrow writes it, so that it can be shown and written, if not computed with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

__all__ = ["plain_rows", "plain_value", "plain_values"]


def plain_value(scalar: Any) -> Any:
    """
    >>> plain_value(pa.scalar(2**49, pa.timestamp("us"))), plain_value(pa.scalar(2**59, pa.timestamp("us")))
    (datetime.datetime(1987, 11, 3, 14, 59, 13, 421312), '20237-04-25 10:45:03.423488')
    """
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_temporal(scalar.type):
            return str(scalar.cast(pa.string()).as_py())
        return re.sub(r"\s+", " ", pa.array([scalar], scalar.type).to_string())


def plain_values(column: Any) -> list[Any]:
    """The values of a column."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return [plain_value(scalar) for scalar in column]


def plain_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table."""
    columns = [plain_values(column) for column in table.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(table.column_names, values, strict=True))
