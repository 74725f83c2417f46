"""Slices with their partials, in columns: what goes from the tasks that fold rows to those that assemble
windows, and how it looks as a table.

A slice lies between two window edges: it has the times of its first and last row, the first edge after it
(``ends``), and the number of the chunk of rows that it comes from (``parts``, in order of arrival). Slices of
a key with the same end may be fused, unless a gap of sessions lies between.

A sum of integers may need more than 64 bits: it is stored as two numbers, ``high`` * 2**32 + ``low``,
whatever each of them is. A sum that fits 64 bits has ``high`` = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.native import NativeMonoid
from windrow.engines.spark.plan import kept_type, native_form
from windrow.engines.spark.worker.windows.kept_values import kept_column, kept_fields, stored_values
from windrow.monoids.base import Aggregate
from windrow.partials.added_aggregates import Unseen, counted_rows
from windrow.partials.columns import Column, NativeColumn, PickColumn, PlainColumn
from windrow.partials.inputs import is_extreme_moment
from windrow.partials.partials import Partials
from windrow.partials.picked import picked_input
from windrow.partials.value_aggregates.column import KeptColumn
from windrow.rows.columns import plain_type
from windrow.rows.keys import KeyRuns
from windrow.slicing.slices import HeldSlices, KeyedSlices
from windrow.spec import Spec

__all__ = ["SliceTable", "sums_integers"]

_EDGES = ("first", "last", "end", "part", "rows")


class SliceTable:
    """Slices of a query as Arrow tables and back. The columns are named by place, so that no name clashes."""

    def __init__(self, query: Spec, schema: pa.Schema) -> None:
        self._query = query
        self._aggregates = [aggregate for _, aggregate in query.aggregates]
        self._forms = [native_form(a, schema) if a.inputs else None for a in self._aggregates]
        self._kept = [kept_type(a, schema) for a in self._aggregates]
        self._kinds = [[plain_type(schema.field(c).type) for c in a.inputs] for a in self._aggregates]
        keys = [pa.field(f"k{k}", schema.field(name).type) for k, name in enumerate(query.by)]
        edges = [pa.field(name, pa.int64()) for name in _EDGES]
        self.key_names = [field.name for field in keys]
        #: of the tables
        self.schema = pa.schema([*keys, *edges, *self._partial_fields(), *self._absent_fields()])

    def _partial_fields(self) -> list[Any]:
        fields = []
        for k, (aggregate, form) in enumerate(zip(self._aggregates, self._forms, strict=True)):
            if self._kept[k] is not None:
                fields += kept_fields(f"a{k}", self._kept[k])
            if form is None:
                continue
            picked = picked_input(aggregate.monoid)
            members = _kept_members(form, picked)
            if picked is not None:
                fields.append(pa.field(f"a{k}_value", self._kinds[k][picked]))
            if sums_integers(form):
                fields.append(pa.field(f"a{k}_high", pa.int64()))
            fields += [pa.field(f"a{k}_{m}", _SIGNED[kind]) for m, kind in enumerate(members)]
            fields.append(pa.field(f"a{k}_skipped", pa.int64()))
        return fields

    def _absent_fields(self) -> list[Any]:
        """How many rows are absent, for aggregates that distinguish them from nulls."""
        return [
            pa.field(f"a{k}_absent", pa.int64())
            for k, a in enumerate(self._aggregates)
            if a.distinguishes_absent
        ]

    def table(self, keys: Sequence[Any], slices: HeldSlices, part: int) -> pa.Table:
        """Slices as a table, with the values of their keys."""
        edges = [slices.firsts, slices.lasts, slices.ends, np.full(len(slices), part), slices.partials.rows]
        columns = [*keys, *map(pa.array, edges)]
        for column, form in zip(slices.partials.columns, self._forms, strict=True):
            if isinstance(column, KeptColumn):
                columns += stored_values(column)
            elif column is not None:
                assert form is not None
                columns += _stored(column, form, len(slices))
        columns += self._stored_absent(slices.partials)
        return pa.table(columns, schema=self.schema)

    def slices(self, table: pa.Table, alone: bool = False) -> KeyedSlices:
        """A table as slices. Neighbours of the same key have one number, unless each slice is ``alone``."""
        first, last, end, _, rows = (_integers(table.column(name)) for name in _EDGES)
        columns = [self._column(k, table) for k in range(len(self._aggregates))]
        partials = Partials(tuple(self._aggregates), rows, tuple(columns), absent=self._absent(table))
        keys = table.select(self.key_names).rename_columns(list(self._query.by))
        starts = np.ones(len(first), np.bool_)
        if not alone:
            starts = KeyRuns(self._query.by).starts(keys) if self._query.by else np.arange(len(first)) == 0
            keys = keys.filter(pa.array(starts)) if self._query.by else keys
        return KeyedSlices(keys, HeldSlices(np.cumsum(starts) - 1, first, last, end, None, partials))

    def _stored_absent(self, partials: Partials) -> list[Any]:
        absent = partials.absent or (None,) * len(self._aggregates)
        pairs = zip(self._aggregates, absent, strict=True)
        nothing = np.zeros(len(partials), np.int64)
        return [pa.array(nothing if c is None else c) for a, c in pairs if a.distinguishes_absent]

    def _absent(self, table: pa.Table) -> Unseen:
        aggregates = enumerate(self._aggregates)
        return counted_rows(
            _integers(table.column(f"a{k}_absent")) if a.distinguishes_absent else None for k, a in aggregates
        )

    def _column(self, k: int, table: pa.Table) -> Column | None:
        form, aggregate = self._forms[k], self._aggregates[k]
        if self._kept[k] is not None:
            return kept_column(aggregate, f"a{k}", self._kept[k], table)
        if form is None:
            return None
        picked = picked_input(aggregate.monoid)
        kinds = (
            form.layout.partial if picked is None else (*form.layout.partial[:-2], form.layout.partial[-1])
        )
        members = tuple(_typed(table.column(f"a{k}_{m}"), kind) for m, kind in enumerate(kinds))
        skips = _integers(table.column(f"a{k}_skipped"))
        skipped = skips if skips.any() else None
        if picked is not None:
            values = table.column(f"a{k}_value").combine_chunks()
            return PickColumn(aggregate, skipped, form, members, values)
        if sums_integers(form):
            return _summed(aggregate, skipped, form, members, _integers(table.column(f"a{k}_high")))
        kind = self._kinds[k][0]
        moments = kind if is_extreme_moment(aggregate.monoid, kind) else None
        return NativeColumn(aggregate, skipped, form, members, moments)


def _kept_members(form: NativeMonoid, picked: int | None) -> tuple[str, ...]:
    """The types of what goes along of a partial: of a pick all but the reference, which is made anew."""
    members = form.layout.partial
    return members if picked is None else (*members[:-2], members[-1])


#: how the members of native partials are stored: Spark has no unsigned numbers, so these go bit by bit
_SIGNED = {"i8": pa.int64(), "u8": pa.int64(), "f8": pa.float64(), "?": pa.bool_()}


def sums_integers(form: NativeMonoid) -> bool:
    """Whether the first member of the partials is a sum of integers, which may need more than 64 bits."""
    return form.monoid.adds_integers and form.layout.partial[0] == "i8"


def _summed(
    aggregate: Aggregate, skipped: Ints | None, form: NativeMonoid, members: Any, high: Ints
) -> Column:
    """Sums from two numbers each: native if 64 bits suffice for all, otherwise Python's integers."""
    low, *others = members
    if not high.any():
        return NativeColumn(aggregate, skipped, form, members)
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    if ((high >= -(2**31)) & (high < 2**31)).all():
        return NativeColumn(aggregate, skipped, form, ((high << 32) | low, *others))
    sums = [(h << 32) + lower for h, lower in zip(high.tolist(), low.tolist(), strict=True)]
    tuples = zip(sums, *(member.tolist() for member in others), strict=True)
    return PlainColumn(aggregate, skipped, list(tuples) if form.layout.is_tuple else sums)


def _plainly_stored(column: PlainColumn, form: NativeMonoid) -> list[Any]:
    """Sums of integers that 64 bits may not hold, and what is beside them."""
    partials = column.objects if form.layout.is_tuple else [(value,) for value in column.objects]
    sums = [partial[0] for partial in partials]
    others = [pa.array([p[m] for p in partials], pa.int64()) for m in range(1, len(form.layout.partial))]
    high = pa.array([value >> 32 for value in sums], pa.int64())
    return [high, pa.array([value & 0xFFFFFFFF for value in sums], pa.int64()), *others]


def _stored(column: Any, form: NativeMonoid, count: int) -> list[Any]:
    skipped = pa.array(np.zeros(count, np.int64) if column.skipped is None else column.skipped)
    if isinstance(column, PlainColumn):
        assert sums_integers(form)
        return [*_plainly_stored(column, form), skipped]
    assert isinstance(column, (NativeColumn, PickColumn))
    values = [column.values] if isinstance(column, PickColumn) else []
    members = [pa.array(m.view(np.int64) if m.dtype.kind == "u" else m) for m in column.members]
    high = [pa.array(np.zeros(count, np.int64))] if sums_integers(form) else []
    return [*values, *high, *members, skipped]


def _integers(column: Any) -> Ints:
    return np.asarray(column.to_numpy(), np.int64)


def _typed(column: Any, kind: str) -> Any:
    array = np.ascontiguousarray(column.to_numpy())
    return array.view(np.uint64) if kind == "u8" else array.astype(kind, copy=False)
