"""Which columns held rows must have, where they come from stored state: those that the state says were read.

A column of rows that came before it had a value may be of type null. Columns that only aggregates read which
were added later may be missing from older rows, and are nulls there. Rows that are given back with rolling
results may have columns that no one reads, of any type.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.rows.columns import plain_type
from windrow.spec import Spec
from windrow.state.checks import require

__all__ = ["HeldColumns", "check_key_types", "check_types"]


def check_types(what: str, table: pa.Table, types: Mapping[str, Any]) -> None:
    """Columns have these types, as far as they are known; or none.

    >>> check_types("held rows", pa.table({"v": ["x"]}), {"v": pa.int64()})
    Traceback (most recent call last):
    windrow.errors.CorruptState: held rows: column 'v' is of type string, not int64
    """
    for column in table.schema:
        kind = types.get(column.name, column.type)
        known = not (pa.types.is_null(kind) or pa.types.is_null(column.type))
        require(
            not known or _form(column.type) == _form(kind),
            f"{what}: column {column.name!r} is of type {column.type}, not {kind}",
        )


def _form(kind: Any) -> Any:
    """The type, whatever the width of its offsets: Spark has a setting for that."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) else kind


def check_key_types(by: Sequence[str], keys: pa.Table | None, types: Mapping[str, Any]) -> None:
    """Keys are of the types that their columns have, as far as they are known."""
    if keys is not None:
        check_types("keys", keys, {name: plain_type(types[name]) for name in by if name in types})


@dataclass(frozen=True)
class HeldColumns:
    """The columns of some rows; see the module."""

    names: Sequence[str]
    types: Mapping[str, Any] = field(default_factory=dict[str, Any])
    #: those that may be missing
    added: Collection[str] = ()
    #: those that may be there and are left out
    unread: Collection[str] = ()
    #: whether there may be others
    has_others: bool = False

    @classmethod
    def of(
        cls, query: Spec, schema: pa.Schema, added: Collection[str], unread: Collection[str] = ()
    ) -> HeldColumns:
        """Those of a query whose state knows columns with these types; ``added`` are aggregates that came
        later than some rows, ``unread`` columns that may have been read by what was removed."""
        known = {c for name, a in query.aggregates if name not in added for c in a.reads}
        known |= {query.time, *query.by, *query.order}
        later = {c for name, a in query.aggregates if name in added for c in a.reads} - known
        types = {column.name: column.type for column in schema if column.name not in later}
        return cls((), types, later, unread)

    def completed(self, table: pa.Table) -> pa.Table:
        """Rows that were stored, with nulls in columns that they did not have; others are refused."""
        for name in self.names:
            if name not in table.column_names:
                require(not self.types or name in self.added, f"held rows without a column {name!r}")
                table = table.append_column(name, pa.nulls(table.num_rows))
        if not self.has_others:
            unread = set(self.unread).difference(self.names)
            table = table.drop_columns([name for name in table.column_names if name in unread])
        others = [name for name in table.column_names if name not in self.names]
        require(self.has_others or not others, f"held rows with columns that no one reads: {others}")
        check_types("held rows", table, self.types)
        return table
