"""Late rows: which a batch had, why, and the rows themselves for ``late="emit"``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.arrays import Ints
from windrow.rows.times import TimeAxis
from windrow.state.checks import require

__all__ = ["REASONS", "LateRows", "joined_tables"]


#: why a row is late, by what took none of it: windows that time decides, sessions, rows in order
REASONS = ("window_fired", "session_closed", "order_passed")


@dataclass(frozen=True)
class LateRows:
    """Late rows that nobody has asked for yet."""

    tables: tuple[pa.Table, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(int(table.nbytes) for table in self.tables)

    def check_invariants(self) -> None:
        """Of late rows that come from outside."""
        for table in self.tables:
            require(isinstance(table, pa.Table), "late rows: not a table")
            known = {"late_by", "late_reason"} <= set(table.column_names)
            require(known, "late rows without how late they are, or why")
            types = (pa.int64(), pa.duration("us"))
            require(table.column("late_by").type in types, "late rows: how late they are is not a number")
            require(table.column("late_reason").type == pa.string(), "late rows: why they are is not text")

    def with_rows(self, rows: pa.Table, axis: TimeAxis, late_by: Ints, reasons: Sequence[str]) -> LateRows:
        """With rows as they came, how late they were, and why."""
        marked = rows.append_column("late_by", pa.array(late_by, pa.int64()).cast(_lateness(axis)))
        return LateRows((*self.tables, marked.append_column("late_reason", pa.array(reasons, pa.string()))))

    def joined(self, schema: pa.Schema | None, axis: TimeAxis | None = None) -> pa.Table:
        """All of them in one table."""
        if self.tables:
            return joined_tables(self.tables)
        fields = [] if schema is None else list(schema)
        added = [("late_by", _lateness(axis)), ("late_reason", pa.string())]
        return pa.schema([*fields, *added]).empty_table()


def _lateness(axis: TimeAxis | None) -> Any:
    return pa.int64() if axis is None or axis.is_integer else pa.duration("us")


def joined_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of all. Columns that the operator does not read may have changed their types: they are then
    given as text."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowTypeError:
        kinds: dict[str, set[Any]] = {}
        for table in tables:
            for field in table.schema:
                kinds.setdefault(field.name, set()).add(field.type)
        return pa.concat_tables([_as_text(table, kinds) for table in tables], promote_options="permissive")


def _as_text(table: pa.Table, kinds: dict[str, set[Any]]) -> pa.Table:
    for place, name in enumerate(table.column_names):
        if len(kinds[name]) > 1:
            shown = [None if value is None else str(value) for value in table.column(place).to_pylist()]
            table = table.set_column(place, name, pa.array(shown, pa.string()))
    return table
