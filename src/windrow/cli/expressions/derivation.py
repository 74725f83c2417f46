"""The expressions of a source, together: columns first, in their order, then which rows stay.

A derived column is computed only for the rows for which it is read, as in Spark: a row that ``where`` leaves
out stops no job. Cost: once per row, however many columns and conditions read it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.cli.expressions.compiled import compiled, source_names
from windrow.cli.expressions.conditions import as_truth
from windrow.cli.expressions.errors import ExpressionError, OnlySpark, ValueRefused, only_spark
from windrow.cli.expressions.parse import parse
from windrow.cli.expressions.tree import Between, Call, Case, Column, Node, children, walk
from windrow.cli.expressions.values import Rows, Typed, shared

__all__ = ["MOST_NODES", "Columns", "Derivation", "columns_apart", "columns_before", "used_columns"]

#: names, literals and operators in all expressions of a source
MOST_NODES = 10_000
#: from how many on, once columns stand in each other's place, Spark computes a column apart
_APART = 100

_FAILURES = (ValueRefused, pa.ArrowException, OverflowError, RecursionError)
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
    nodes: int = 0
    #: columns that ``where`` reads
    filtering: list[str] = field(default_factory=list)

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
            found.filtering = [name for name, _ in used_columns(columns, where, ())]
        return found

    @property
    def _columns(self) -> str:
        return f"{self.table}.columns"

    def _compiled(self, table: str, key: str, text: str, is_typed: bool) -> Typed | OnlySpark:
        self.texts[table, key] = text
        try:
            tree = parse(text)
            self.nodes += sum(1 for _ in walk(tree))
            if self.nodes > MOST_NODES:
                raise ExpressionError(
                    f"the expressions of [{self.table}] have more than {MOST_NODES:,} names, literals and "
                    "operators up to here: compute some of the columns before this job"
                )
            if not is_typed:
                return OnlySpark("the columns are not known")
            found = compiled(tree, self.names)
            if table == self.table:
                return as_truth(found, "this", False)
            if pa.types.is_null(found.kind):
                raise ExpressionError("null has no type: write cast(null as int), or another type")
        except (OnlySpark, RecursionError) as error:
            if isinstance(error, RecursionError):
                error = only_spark("a conversion through so many columns", "convert the first of them")
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
            self._compute_for_where(rows)
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

    def _compute_for_where(self, rows: Rows) -> None:
        """Columns that ``where`` reads, one after the other: a long chain of them is then no deep recursion.
        One that fails for a row is computed where it is read, if it is."""
        for name in self.filtering:
            typed = self.names[name]
            with suppress(*_FAILURES):
                if isinstance(typed, Typed):
                    typed.values(rows)

    def _values(self, table: str, key: str, typed: Typed, rows: Rows) -> pa.Array:
        try:
            return typed.values(rows)
        except _FAILURES as error:
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


def columns_before(columns: Columns, where: str | None) -> Columns:
    """The columns that ``where`` reads; all if a name in another would mean another column after these.

    >>> columns_before((("a", "x + 1"), ("b", "1 / x"), ("c", "a * 2")), "c > 0")
    (('a', 'x + 1'), ('c', 'a * 2'))
    """
    found = used_columns(columns, where, ())
    replaced: set[str] = set()
    for name, text in reversed(columns):
        if (name, text) in found:
            replaced.add(name.lower())
        elif replaced & {name.lower(), *_read_by(text, columns)}:
            return columns
    return found


def columns_apart(columns: Columns, where: str | None, table: str = "source") -> set[str]:
    """Columns that Spark must compute before others read them. Where it moves a filter below them, it puts
    each in the place of its name, which doubles the plan with every column that reads another twice. Raises
    ExpressionError(table, key, message) for a single expression whose operands Spark repeats too often.

    >>> chain = tuple((f"c{k + 1}", f"c{k} + c{k}") for k in range(20))
    >>> sorted(columns_apart(chain, "c20 > 0"))
    ['c12', 'c18', 'c6']
    """
    sizes: dict[str, int] = {}
    apart = set()
    for name, text in columns:
        _check_repeated(f"{table}.columns", name, text)
        size = _repeated(text, sizes)
        if size > _APART:
            apart.add(name)
            size = 1
        sizes[name.lower()] = size
    if where is not None:
        _check_repeated(table, "where", where)
    return apart


def _check_repeated(table: str, key: str, text: str) -> None:
    if _repeated(text, {}) > MOST_NODES:
        problem = (
            f"more than {MOST_NODES:,} names, literals and operators, since Spark repeats the operands of "
            "case, between and nullif: make such an operand a column of its own"
        )
        raise ExpressionError(table, key, f"{text[:50]!r}...: {problem}")


def _repeated(text: str, sizes: Mapping[str, int]) -> int:
    """How many nodes an expression has on Spark, with columns of some sizes in the place of their names."""
    try:
        return _spark_nodes(parse(text), sizes)
    except (OnlySpark, ExpressionError):
        words = re.findall(r"`[^`]+`|\w+", text.lower())
        return sum(sizes.get(word.strip("`"), 1) for word in words)


def _spark_nodes(node: Node, sizes: Mapping[str, int]) -> int:
    def count(*nodes: Node) -> int:
        return sum(_spark_nodes(each, sizes) for each in nodes)

    match node:
        case Column(path):
            return sizes.get(path[0].lower(), 1)
        case Case(branches, otherwise, subject) if subject is not None:
            return count(Case(branches, otherwise)) + len(branches) * (1 + count(subject))
        case Between(operand, low, high):
            return 3 + 2 * count(operand) + count(low, high)
        case Call("nullif", (operand, *others)):
            return 2 + 2 * count(operand) + count(*others)
    return 1 + count(*children(node))


def _read_by(text: str, columns: Columns) -> set[str]:
    """Names that an expression reads; all derived ones where only Spark can read it."""
    try:
        return {node.path[0].lower() for node in walk(parse(text)) if isinstance(node, Column)}
    except (OnlySpark, ExpressionError):
        return {name.lower() for name, _ in columns}
