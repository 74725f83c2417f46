"""Columns of a table: which a query reads, and in which form they are computed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from windrow.names import check_columns
from windrow.spec import Spec

__all__ = ["NOWHERE", "check_flags", "needed_columns", "plain_array", "plain_type", "require_columns"]

#: where columns lie in a table of which nothing is known
NOWHERE: Mapping[str, int] = {}


def needed_columns(query: Spec) -> list[str]:
    """The columns that a query reads, each once."""
    named = [column for _, window in query.windows for column in window.columns]
    inputs = [column for _, aggregate in query.aggregates for column in aggregate.reads]
    return list(dict.fromkeys([*query.by, query.time, *named, *inputs, *query.order]))


def require_columns(table: pa.Table, names: list[str]) -> None:
    check_columns(names, table.column_names)


def check_flags(query: Spec, schema: pa.Schema) -> None:
    """Refuse columns of ``where`` that are not boolean; one of type null is true in no row.

    >>> import windrow as wr
    >>> query = wr.query(time="t").window(wr.Tumbling(10)).agg(n=wr.count(where="paid"))
    >>> check_flags(query, pa.schema({"t": pa.int64(), "paid": pa.int64()}))
    Traceback (most recent call last):
    TypeError: where='paid': column 'paid' is of type int64: give a boolean column
    """
    for name in dict.fromkeys(a.where for _, a in query.aggregates if a.where is not None):
        kind = plain_type(schema.field(name).type)
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise TypeError(f"where={name!r}: column {name!r} is of type {kind}: give a boolean column")


def plain_type(kind: Any) -> Any:
    """The type that :func:`plain_array` makes of a type."""
    return plain_array(pa.chunked_array([], kind)).type


#: by the numbers of types, which are looked up sooner than types
_CONVERTED = {kind.id for kind in (pa.dictionary(pa.int8(), pa.int8()), pa.string_view(), pa.binary_view())}


def _converted(column: Any) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(kind) else column


def plain_array(column: Any) -> Any:
    """A column as one array of a type that Arrow's functions work on: dictionaries decoded, views copied."""
    if column.num_chunks == 1:
        only = column.chunk(0)  # which tells its type sooner than the column
        if only.type.id not in _CONVERTED:
            return only
    if column.type.id in _CONVERTED:
        column = _converted(column)
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
