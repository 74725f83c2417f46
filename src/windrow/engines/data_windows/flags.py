"""Columns of flags, by which windows are decided: null is false."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Mask
from windrow.engines.data_windows.strategy import value_type
from windrow.rows.columns import plain_array

__all__ = ["check_flags", "flags_of", "table_flags"]


def check_flags(table: pa.Table, column: str, kind: str) -> None:
    """Refuse a column of anything but flags; ``kind``: that of the window, for the message."""
    found = value_type(table, column)
    if not pa.types.is_boolean(found):
        raise TypeError(f"column {column!r} is of type {found}: {kind} needs a boolean column")


def flags_of(column: Any) -> Mask:
    """A plain array of flags, null as false."""
    found: Mask = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found


def table_flags(table: pa.Table, column: str) -> Mask:
    return flags_of(plain_array(table.column(column)))
