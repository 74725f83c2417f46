"""Rows of tables by place or mask, also where columns are views, for which Arrow has neither."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["filter_rows", "take_rows"]

#: types that Arrow has no take for, and types that hold the same
_COPIED_AS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def take_rows(table: pa.Table, places: Any) -> pa.Table:
    """The rows at these places.

    >>> table = pa.table({"who": pa.array(["ann", "bob"], pa.string_view())})
    >>> take_rows(table, [1])["who"].to_pylist()
    ['bob']
    """
    places = pa.array(places)
    if not any(kind in _COPIED_AS for kind in table.schema.types):
        return table.take(places)
    schema = table.schema
    for i, kind in enumerate(schema.types):
        if kind in _COPIED_AS:
            table = table.set_column(i, schema.field(i).name, table.column(i).cast(_COPIED_AS[kind]))
    return table.take(places).cast(schema)


def filter_rows(table: pa.Table, kept: Any) -> pa.Table:
    """The rows for which the mask, an array of booleans without nulls, holds."""
    if any(kind in _COPIED_AS for kind in table.schema.types):
        return take_rows(table, np.flatnonzero(np.asarray(kept)))
    return table.filter(kept if isinstance(kept, (pa.Array, pa.ChunkedArray)) else pa.array(kept))
