"""What a step gives, as Spark takes it: results, and rows that are handed back, as a list for each column;
Spark puts them together again, row by row.

Spark makes Arrow of what a stateful function gives, value by value. It copies a NumPy array as a whole,
so that a list of ten thousand numbers costs what a few values cost, and no Python is needed behind the step;
a list of ten thousand structs would be taken apart, struct by struct. What NumPy has no array for (decimals,
dates, lists, structs) is: each value goes as the one member of a struct, in which Arrow takes any; numbers of
which some are null go one by one.
Invariant: a list has exactly the type that is asked for; Arrow takes no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.engines.spark.worker.chunks import conformed

__all__ = ["VALUE", "goes_as_it_is", "list_columns"]

#: rows of a list: Spark holds a list whole, beside the rows that it makes of it
MOST_ROWS = 1 << 14
#: the member of structs that hold a value each
VALUE = "value"


def goes_as_it_is(kind: Any) -> bool:
    """Whether values of a type go in a list of themselves, or each in a struct.

    >>> goes_as_it_is(pa.int64()), goes_as_it_is(pa.list_(pa.int64()))
    (True, False)
    """
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_timestamp)
    texts = (pa.types.is_duration, pa.types.is_string, pa.types.is_binary)
    return any(test(kind) for test in (*tests, *texts))


def list_columns(
    fields: Sequence[Any], results: pa.Table, back: Mapping[str, Sequence[pa.Table]], most: int = MOST_ROWS
) -> Iterator[list[Any]]:
    """A value for each of the columns ``fields``, which holds the column of some rows: those of results, and
    of rows that are handed back, whose tables ``back`` has by the name of the column they come in.

    >>> fields = [pa.field("key", pa.string()), pa.field("n", pa.int64())]
    >>> [
    ...     [each.tolist() for each in row]
    ...     for row in list_columns(fields, pa.table({"key": ["a"], "n": [1]}), {})
    ... ]
    [[['a'], [1]]]
    """
    if results.num_rows:  # what has no rows may not have its types yet
        yield from _cut(_result_columns(fields, results), most)
    for name, tables in back.items():
        for table in tables:
            if table.num_rows:
                yield from _cut(_struct_columns(fields, name, table), most)


def _result_columns(fields: Sequence[Any], table: pa.Table) -> list[Any]:
    names = set(table.column_names)
    return [
        _flat(conformed(table.column(field.name), field.type))
        if field.name in names
        else pa.nulls(table.num_rows, field.type)
        for field in fields
    ]


def _struct_columns(fields: Sequence[Any], name: str, table: pa.Table) -> list[Any]:
    (kind,) = (field.type for field in fields if field.name == name)
    members = [_flat(conformed(table.column(member.name), member.type)) for member in kind]
    rows = pa.StructArray.from_arrays(members, fields=list(kind))
    return [rows if field.name == name else pa.nulls(table.num_rows, field.type) for field in fields]


def _cut(columns: list[Any], most: int) -> Iterator[list[Any]]:
    for start in range(0, len(columns[0]), most):
        yield [_values(column.slice(start, most)) for column in columns]


def _values(column: Any) -> Any:
    """The values of a column, in the form that costs Spark's worker least."""
    kind = column.type
    if not goes_as_it_is(kind):
        return pa.StructArray.from_arrays([column], fields=[pa.field(VALUE, kind)])
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_temporal(kind):
        moments = column.to_numpy(zero_copy_only=False)
        # the least of all integers, which NumPy takes for none
        return moments if np.count_nonzero(np.isnat(moments)) == column.null_count else column
    return column if column.null_count else column.to_numpy(zero_copy_only=False)


def _flat(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
