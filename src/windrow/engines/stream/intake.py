"""What comes into an operator: the table is checked against those before it, and rows without a time are set
aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from windrow.rows.columns import NOWHERE, needed_columns, plain_type, require_columns
from windrow.rows.selection import filter_rows
from windrow.rows.times import warn_of_zones
from windrow.spec import Spec

__all__ = ["Columns", "with_time"]


@dataclass(frozen=True)
class Columns:
    """The columns that an operator reads, with the types that they had when they first had one: a column of
    nulls has none.

    Tables of a stream mostly have one schema: what the last one asked for is remembered, and tables like it
    are neither checked nor cast."""

    schema: pa.Schema
    #: the last table whose columns needed no cast, if there was one
    _like: list[_Fitting] = field(default_factory=list["_Fitting"], compare=False, repr=False)

    #: what was found out of these types, with what it was found out for
    _memory: dict[str, tuple[Any, Any]] = field(
        default_factory=dict[str, tuple[Any, Any]], compare=False, repr=False
    )

    def remembered(self, what: str, of: Any, find: Callable[[Any, pa.Schema], Any]) -> Any:
        """What ``find`` gives for something and these types, made again only for something else."""
        known = self._memory.get(what)
        if known is None or known[0] is not of:
            known = self._memory[what] = (of, find(of, self.schema))
        return known[1]

    def fitted(self, table: pa.Table, by_name: bool) -> tuple[pa.Table, Mapping[str, int]] | None:
        """The table as ``conform`` gives it, and where its columns lie, where one like it was conformed
        before; None: it was not. ``by_name``: columns are asked for by their names alone, so that their order
        is left as it is."""
        for like in self._like:
            if by_name:
                is_like = table.schema.equals(like.schema)
                return (table, like.numbers) if is_like else None
            if table.schema.equals(like.schema, check_metadata=True):
                return (table, like.numbers) if like.places is None else (table.select(like.places), {})
        return None

    @classmethod
    def of(cls, query: Spec, table: pa.Table) -> Columns:
        names = needed_columns(query)
        require_columns(table, names)
        if query.is_rolling:  # rolling gives all columns back
            require_columns(table, table.column_names)
            return cls(table.schema)
        schema = pa.schema([table.schema.field(name) for name in names])
        if query.asof_over is None:
            return cls(schema)
        return cls(pa.schema([(field.name, plain_type(field.type)) for field in schema]))

    def for_query(self, query: Spec) -> Columns:
        """The columns that a query reads which has changed; the types of new ones are not known yet."""
        names = needed_columns(query)
        if query.is_rolling:
            names = list(dict.fromkeys([*self.schema.names, *names]))
        known = {field.name: field for field in self.schema}
        if query.asof_over is not None:
            known = {name: pa.field(name, plain_type(field.type)) for name, field in known.items()}
        return Columns(pa.schema([known.get(name, pa.field(name, pa.null())) for name in names]))

    def with_types_of(self, table: pa.Table) -> Columns:
        """With the types that this table is the first to know."""
        require_columns(table, self.schema.names)
        fields = [table.schema.field(f.name) if pa.types.is_null(f.type) else f for f in self.schema]
        schema = pa.schema(fields)
        return self if schema.equals(self.schema) else Columns(schema)

    def conform_column(self, table: pa.Table, name: str) -> Any:
        """One column of a table in its type."""
        return _cast(table, self.schema.field(name))

    def conform(self, table: pa.Table) -> pa.Table:
        """The table with these columns first, in their types, then the others."""
        require_columns(table, self.schema.names)
        columns = {field.name: _cast(table, field) for field in self.schema}
        others = {name: table.column(name) for name in table.column_names if name not in columns}
        found = pa.table(columns | others)
        places = [table.column_names.index(name) for name in found.column_names]
        if table.select(places).schema.equals(found.schema, check_metadata=True):
            moved = None if places == sorted(places) else places
            numbers = {name: number for number, name in enumerate(table.column_names)}
            self._like[:] = [_Fitting(table.schema, numbers, moved)]
        return found


class _Fitting(NamedTuple):
    """A table whose columns are of the types that an operator reads."""

    schema: pa.Schema
    #: where each of its columns lies: Arrow takes twice as long to find one by name
    numbers: Mapping[str, int]
    #: where its columns go; None: nowhere
    places: list[int] | None


def _cast(table: pa.Table, field: Any) -> Any:
    column = table.column(field.name)
    if column.type == field.type:
        return column
    before, now = (f"column {field.name!r} of {which}" for which in ("the tables before", "this table"))
    warn_of_zones(field.type, before, column.type, now)
    why = "it means something else"
    if _meaning(column.type) in (_meaning(field.type), "nothing"):
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            why = str(error)
    raise TypeError(
        f"column {field.name!r} was of type {field.type} before and is of type {column.type} in this table "
        f"({why}): cast it before it is pushed"
    )


def _meaning(kind: Any) -> str:
    """What values of a type are: text that reads like a number is not one."""
    kind = plain_type(kind)
    is_ = pa.types
    for meaning, checks in {
        "nothing": (is_.is_null,),
        "number": (is_.is_integer, is_.is_floating, is_.is_decimal),
        "text": (is_.is_string, is_.is_large_string),
        "bytes": (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary),
        "moment": (is_.is_timestamp, is_.is_date),
    }.items():
        if any(check(kind) for check in checks):
            return meaning
    return str(kind.id)


def with_time(table: pa.Table, time: str, places: Mapping[str, int] = NOWHERE) -> tuple[pa.Table, Any, Any]:
    """The rows that have a time, their times, and a mask of them (None: all have one)."""
    column = table.column(places.get(time, time))
    if not column.null_count:
        return table, column, None
    valid = pc.is_valid(column)
    return filter_rows(table, valid), column.filter(valid), valid
