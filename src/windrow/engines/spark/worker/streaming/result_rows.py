"""What a step gives, as Spark takes it: results, and rows that are handed back, as lists of structs that
Spark unfolds.

Spark makes Arrow of what a stateful function gives, value by value. A value that is Arrow's already it copies
as a whole: a list of ten thousand rows costs what one value costs, and no Python is needed behind the step.
Invariant: a list has exactly the type that is asked for; Arrow takes no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from windrow.engines.spark.worker.chunks import conformed

__all__ = ["lists_of_rows"]

#: rows of a list: Spark holds a list whole, beside the rows that it makes of it
MOST_ROWS = 1 << 14


def lists_of_rows(
    kind: Any, results: pa.Table, back: Mapping[str, Sequence[pa.Table]], most: int = MOST_ROWS
) -> list[Any]:
    """Lists of the type ``kind``, whose structs have the columns of results, and those of rows that are
    handed back: ``back`` has their tables by the name of the column.

    >>> kind = pa.list_(pa.struct({"key": pa.string(), "n": pa.int64()}))
    >>> [each.as_py() for each in lists_of_rows(kind, pa.table({"key": ["a"], "n": [1]}), {})]
    [[{'key': 'a', 'n': 1}]]
    """
    fields = list(kind.value_type)
    found: list[Any] = []
    if results.num_rows:  # what has no rows may not have its types yet
        found += _lists(kind, _result_columns(fields, results), most)
    for name, tables in back.items():
        for table in tables:
            if table.num_rows:
                found += _lists(kind, _struct_columns(fields, name, table), most)
    return found


def _result_columns(fields: list[Any], table: pa.Table) -> list[Any]:
    names = set(table.column_names)
    return [
        _flat(conformed(table.column(field.name), field.type))
        if field.name in names
        else pa.nulls(table.num_rows, field.type)
        for field in fields
    ]


def _struct_columns(fields: list[Any], name: str, table: pa.Table) -> list[Any]:
    (kind,) = (field.type for field in fields if field.name == name)
    members = [_flat(conformed(table.column(member.name), member.type)) for member in kind]
    rows = pa.StructArray.from_arrays(members, fields=list(kind))
    return [rows if field.name == name else pa.nulls(table.num_rows, field.type) for field in fields]


def _lists(kind: Any, columns: list[Any], most: int) -> Iterator[Any]:
    rows = pa.StructArray.from_arrays(columns, fields=list(kind.value_type))
    for start in range(0, len(rows), most):
        some = rows.slice(start, most)
        yield pa.ListArray.from_arrays(pa.array([0, len(some)], pa.int32()), some, type=kind)[0]


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
