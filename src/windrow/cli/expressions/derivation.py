"""The expressions of a source, together: columns first, in their order, then which rows stay.

A derived column is computed only for the rows for which it is read, as in Spark: a row that ``where`` leaves
out stops no job. Cost: once per row, however many columns and conditions read it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.cli.expressions.compiled import compiled, source_names
from windrow.cli.expressions.conditions import as_truth
from windrow.cli.expressions.errors import ExpressionError, OnlySpark, ValueRefused
from windrow.cli.expressions.parse import parse
from windrow.cli.expressions.tree import Column, walk
from windrow.cli.expressions.values import Rows, Typed, shared

__all__ = ["Derivation", "used_columns"]

Columns = tuple[tuple[str, str], ...]


@dataclass
class Derivation:
    """Compiled for a schema. ``refused``: what only Spark can evaluate, by table and key; such columns are
    left out, and such a ``where`` leaves out nothing."""

    names: dict[str, Typed | OnlySpark]
    derived: list[str] = field(default_factory=list)
    where: Typed | None = None
    refused: list[tuple[str, str, OnlySpark]] = field(default_factory=list)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    #: where they stand in the job file
    table: str = "source"

    @classmethod
    def of(
        cls, columns: Columns, where: str | None, schema: pa.Schema | None, table: str = "source"
    ) -> Derivation:
        """Raises ExpressionError(table, key, message). Without a schema, only the syntax is looked at."""
        found = cls({} if schema is None else dict(source_names(schema)), table=table)
        for name, text in columns:
            found._derive(name, found._compiled(found._columns, name, text, schema is not None))
        if where is not None:
            truth = found._compiled(table, "where", where, schema is not None)
            found.where = truth if isinstance(truth, Typed) else None
        return found

    @property
    def _columns(self) -> str:
        return f"{self.table}.columns"

    def _compiled(self, table: str, key: str, text: str, is_typed: bool) -> Typed | OnlySpark:
        self.texts[table, key] = text
        try:
            tree = parse(text)
            if not is_typed:
                return OnlySpark("the columns are not known")
            found = compiled(tree, self.names)
            if table == self.table:
                return as_truth(found, "this", False)
            if pa.types.is_null(found.kind):
                raise ExpressionError("null has no type: write cast(null as int), or another type")
        except OnlySpark as error:
            self.refused.append((table, key, error))
            return error
        except ExpressionError as error:
            raise ExpressionError(table, key, f"{text!r}: {error}") from error
        return shared(found)

    def _derive(self, name: str, found: Typed | OnlySpark) -> None:
        """A new column, or one in the place of another of the same name."""
        self.derived = [*self.derived, name]
        same = [old for old in self.names if old.lower() == name.lower()]
        if len(same) > 1:
            problem = f"this may be {' or '.join(map(repr, same))}: Spark takes them for the same"
            raise ExpressionError(self._columns, name, problem)
        if same:
            self.names = {name if old in same else old: typed for old, typed in self.names.items()}
        self.names[name] = found

    def applied(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that stay, with the columns of the source and the derived ones."""
        rows = Rows(batch)
        if self.where is not None:
            truth = self._values(self.table, "where", self.where, rows)
            rows = rows.some(np.flatnonzero(truth.fill_null(False)))
        columns, names = [], []
        for name, typed in self.names.items():
            if name in self.derived:
                if isinstance(typed, Typed):
                    names.append(name)
                    columns.append(self._values(self._columns, name, typed, rows))
            else:
                names.append(name)
                columns.append(rows.column(name))
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _values(self, table: str, key: str, typed: Typed, rows: Rows) -> pa.Array:
        try:
            return typed.values(rows)
        except (ValueRefused, pa.ArrowException, OverflowError) as error:
            raise ValueRefused(f"[{table}] {key} = {self.texts[table, key]!r}: {error}") from error


def used_columns(columns: Columns, where: str | None, wanted: Collection[str] | None) -> Columns:
    """The derived columns that are wanted (None: all), or that others of them or ``where`` read.

    >>> used_columns((("a", "x + 1"), ("b", "a * 2"), ("c", "x")), "x > 0", ["b"])
    (('a', 'x + 1'), ('b', 'a * 2'))
    """
    if wanted is None:
        return columns
    read = {name.lower() for name in wanted} | _read_by(where or "true", columns)
    found = []
    for name, text in reversed(columns):
        if name.lower() in read:
            found.append((name, text))
            read |= _read_by(text, columns)
    return tuple(reversed(found))


def _read_by(text: str, columns: Columns) -> set[str]:
    """Names that an expression reads; all derived ones where only Spark can read it."""
    try:
        return {node.path[0].lower() for node in walk(parse(text)) if isinstance(node, Column)}
    except (OnlySpark, ExpressionError):
        return {name.lower() for name, _ in columns}
