"""What comes into an operator: the table is checked against the first one, and rows without a time are set
aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.engines.frame import require_columns
from windrow.spec import Spec
from windrow.windows import Delta, Punctuation

__all__ = ["Columns", "needed_columns"]

Ints = npt.NDArray[np.int64]


def needed_columns(query: Spec) -> list[str]:
    """The columns that a query reads."""
    read = [column for _, aggregate in query.aggregates for column in aggregate.columns]
    read += [w.column for _, w in query.windows if isinstance(w, (Delta, Punctuation))]
    return list(dict.fromkeys([query.time, *query.by, *query.order, *read]))


@dataclass(frozen=True)
class Columns:
    """The columns that an operator reads, with the types that they had in the first table."""

    schema: pa.Schema

    @classmethod
    def of(cls, query: Spec, table: pa.Table) -> Columns:
        names = needed_columns(query)
        require_columns(table, names)
        if query.rolling_over is not None:  # rolling gives all columns back
            return cls(table.schema)
        return cls(pa.schema([table.schema.field(name) for name in names]))

    def conform(self, table: pa.Table) -> pa.Table:
        """The table with these columns first, in their types, then the others."""
        require_columns(table, self.schema.names)
        columns = {field.name: _cast(table, field) for field in self.schema}
        others = {name: table.column(name) for name in table.column_names if name not in columns}
        return pa.table(columns | others)


def _cast(table: pa.Table, field: Any) -> Any:
    column = table.column(field.name)
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise TypeError(
            f"column {field.name!r} was of type {field.type} in the first table and is of type {column.type} "
            f"in this one ({error}): cast it before it is pushed"
        ) from error


def with_time(table: pa.Table, time: str) -> tuple[pa.Table, int]:
    """The rows that have a time, and how many have none."""
    column = table.column(time)
    if not column.null_count:
        return table, 0
    return table.filter(pc.is_valid(column)), int(column.null_count)
