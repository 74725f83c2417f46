"""Rows that are handed back: tables that nobody has asked for yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.state.checks import require

__all__ = ["WaitingTables", "joined_tables"]


@dataclass(frozen=True)
class WaitingTables:
    """Tables in the order in which their rows came; what else such rows have, each sort says."""

    tables: tuple[pa.Table, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(int(table.nbytes) for table in self.tables)

    def checked_tables(self, sort: str) -> Iterator[pa.Table]:
        """The tables, of rows that come from outside."""
        for table in self.tables:
            require(isinstance(table, pa.Table), f"{sort} rows: not a table")
            yield table

    def joined_or(self, empty: pa.Schema) -> pa.Table:
        """All of them in one table; without any, an empty one."""
        return joined_tables(self.tables) if self.tables else empty.empty_table()


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
