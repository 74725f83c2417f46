"""Results of an operator as tables of one schema, whatever came out first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.kept_rows.ordered_rows import REVISION
from windrow.engines.stream.advance import Due
from windrow.engines.stream.output import piece_table
from windrow.engines.stream.plan import Plan
from windrow.engines.stream.state import State
from windrow.partials.result_types import result_type
from windrow.partials.results import as_type
from windrow.result_names import extra_columns
from windrow.rows.columns import plain_type
from windrow.rows.times import concat_results

__all__ = ["ResultTypes", "result_table"]

_NO_EDGES: Ints = np.empty(0, np.int64)
_EXTRA_TYPES = {"revision": pa.int64(), "retracted": pa.bool_(), "is_final": pa.bool_()}


class ResultTypes(dict[str, Any]):
    """The columns of results in order, with their types as they are found out; and the table that has none of
    their rows, which most pushes give, made once."""

    def __init__(self) -> None:
        super().__init__()
        self._empty: pa.Table | None = None

    def __setitem__(self, name: str, kind: Any) -> None:
        self._empty = None
        super().__setitem__(name, kind)

    def clear(self) -> None:
        self._empty = None
        super().clear()

    def empty_table(self) -> pa.Table:
        if self._empty is None:
            self._empty = pa.schema(list(self.items())).empty_table()
        return self._empty


def result_table(plan: Plan, state: State, due: Due, known: ResultTypes) -> pa.Table:
    """What is due as one table. ``known``: types of columns as they are found out, kept by the caller."""
    if state.columns is None:
        return _nothing(plan)
    assert state.axis is not None
    tables = [
        piece_table(plan.query, plan.name_column, state.keys, state.axis, piece)
        for piece in due.pieces
        if len(piece)
    ]
    tables += [_with_extras(plan, table, is_final) for table, is_final in due.tables]
    if not known or (plan.query.windows and list(known) != plan.result_names):
        _settle(plan, state, known)
    if not tables:
        return known.empty_table()
    return _typed(concat_results(tables), known)


def _settle(plan: Plan, state: State, known: ResultTypes) -> None:
    """The columns in order, with the types that are known of them; windows that were added or removed may
    have changed which there are."""
    before = dict(known)
    known.clear()
    for name, kind in _types(plan, state).items():
        known[name] = before.get(name, kind) if pa.types.is_null(kind) else kind


def _types(plan: Plan, state: State) -> dict[str, Any]:
    """The type of each column of results; null: only results show it."""
    assert state.columns is not None
    assert state.axis is not None
    query, schema = plan.query, state.columns.schema
    if query.is_rolling:
        found = {field.name: field.type for field in schema}
    else:
        found = {name: plain_type(schema.field(name).type) for name in query.by}
        found |= {"window": pa.string()} if query.names_windows else {}
        edges = state.axis.edges(_NO_EDGES, _NO_EDGES)
        found |= {name: column.type for name, column in edges.items()}
    found |= {name: result_type(aggregate, schema) for name, aggregate in query.result_columns}
    return found | {name: _EXTRA_TYPES[name] for name in extra_columns(query)}


def _nothing(plan: Plan) -> pa.Table:
    """Before the first table: the columns, of no type yet."""
    return pa.schema([(name, _EXTRA_TYPES.get(name, pa.null())) for name in plan.result_names]).empty_table()


def _with_extras(plan: Plan, table: pa.Table, is_final: bool) -> pa.Table:
    """Results of windows that data decide, or of rolling, with the columns that others have."""
    rows = table.num_rows
    for name in extra_columns(plan.query):
        if name == REVISION and REVISION in table.column_names:
            continue
        values = {"revision": 0, "retracted": False, "is_final": is_final}
        table = table.append_column(name, pa.array(np.full(rows, values[name]), _EXTRA_TYPES[name]))
    return table


def _typed(table: pa.Table, known: ResultTypes) -> pa.Table:
    """Columns in the types they had before, or become known now; a column of nulls has no type of its own."""
    for place, field in enumerate(table.schema):
        wanted = known.get(field.name, pa.null())
        if pa.types.is_null(wanted):
            known[field.name] = field.type
        elif field.type != wanted:
            table = table.set_column(place, field.name, _cast(table.column(place), wanted))
    return table


def _cast(column: Any, wanted: Any) -> Any:
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(column.type):
        return column  # microseconds, for an edge that the unit of the time column cannot hold
    return as_type(column, wanted)
