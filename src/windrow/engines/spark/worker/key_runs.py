"""Where keys change in rows that are sorted by key.

Null is a key like others, NaN is one key, and 0.0 and -0.0 are one: as in Spark's own grouping. Cost: one
comparison a row and key column, in Arrow's code; lists are compared in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Mask
from windrow.rows.frame import plain_array
from windrow.rows.key_values import canonical_value

__all__ = ["KeyRuns", "changes"]


class KeyRuns:
    """Finds the rows that start a new key, from table to table of one partition."""

    def __init__(self, by: Sequence[str]) -> None:
        self._by = by
        self._last: list[Any] | None = None

    def starts(self, table: pa.Table) -> Mask:
        """True for each row whose key is not that of the row before it, in this table or the last one."""
        found = np.zeros(table.num_rows, np.bool_)
        if not table.num_rows:
            return found
        columns = [plain_array(table.column(name)) for name in self._by]
        for k, column in enumerate(columns):
            found[1:] |= changes(column)
            if self._last is not None:
                found[0] |= changes(pa.concat_arrays([self._last[k], column.slice(0, 1)]))[0]
        if self._last is None:
            found[0] = True
        self._last = [_copied(column.slice(len(column) - 1)) for column in columns]
        return found


def _copied(array: Any) -> Any:
    """The array alone, without the buffers it is a slice of."""
    return array.take(pa.array([0])) if len(array) else array


def changes(array: Any) -> Any:
    """For each row but the first, whether it differs from the one before.

    >>> changes(pa.array([1, 1, None, None, 2])).tolist()
    [False, True, False, True]
    """
    if len(array) < 2:
        return np.zeros(0, np.bool_)
    if pa.types.is_struct(array.type):
        return _struct_changes(array)
    if pa.types.is_nested(array.type):
        return _object_changes(array)
    before, after = array.slice(0, len(array) - 1), array.slice(1)
    differ = pc.not_equal(before, after)
    if pa.types.is_floating(array.type):
        differ = pc.and_(differ, pc.invert(pc.and_(pc.is_nan(before), pc.is_nan(after))))
    if array.null_count:
        differ = pc.if_else(pc.is_valid(differ), differ, pc.not_equal(pc.is_null(before), pc.is_null(after)))
    return differ.to_numpy(zero_copy_only=False)


def _struct_changes(array: Any) -> Any:
    found = changes(pc.is_valid(array))
    for field in array.flatten():
        found = found | changes(field)
    return found


def _object_changes(array: Any) -> Any:
    values = [repr(canonical_value(value)) for value in array.to_pylist()]
    return np.array([a != b for a, b in itertools.pairwise(values)], np.bool_)
