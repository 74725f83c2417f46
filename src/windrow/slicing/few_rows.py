"""Few rows on their way into the stores, in a few native calls.

For some thousand rows it is the calls that cost, and not the rows. What :mod:`windrow.slicing.batch` finds in
some twenty steps, with a frame, a grid and cells between them, takes three here: rows get the numbers of
their keys, one kernel cuts them into slices, and one for each aggregate folds them.

:meth:`FewRows.of` says for which queries and types that will do: windows that time alone decides, and
aggregates of windrow's own that native code folds in any order, over columns of float64 or int64. Tables with
nulls in these columns go the general way, and so do rows that are cut at every moment, since they are late.

Invariant: the slices, their order and their partials are those of the general way, bit for bit.
Cost: O(1) per row; for one in another slice than the row before it O(progressions) or O(log edges).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.compile.columns import Columns
from windrow.compile.native import NativeMonoid
from windrow.monoids.base import Aggregate
from windrow.partials.cells import fold_into_cells
from windrow.partials.columns import NativeColumn
from windrow.partials.fold import may_fold_in_any_order
from windrow.partials.inputs import AS_THEY_ARE, inputs_as_they_are, native_form
from windrow.partials.over_ranges import integers_fit
from windrow.partials.partials import Partials
from windrow.rows.columns import plain_array
from windrow.rows.key_codes import hash_word
from windrow.rows.keys import Keys
from windrow.rows.times import Moments
from windrow.slicing.batch import Batch
from windrow.slicing.slicer import Slicer
from windrow.slicing.slices import HeldSlices

__all__ = ["FEW_ROWS", "FewRows"]

#: so many rows are few
FEW_ROWS = 1 << 12
#: edges are computed from up to so many progressions, or from so many for all rows together; those of more
#: are listed
_FEW_PROGRESSIONS = 8
_FEW_COMPUTED = 1 << 13
#: places of the table of slices at first
_FIRST_SIZE = 1 << 8
_NO_EDGES: Ints = np.empty(0, np.int64)


@dataclass(frozen=True)
class FewRows:
    """How few rows of tables of one schema become slices."""

    slicer: Slicer
    aggregates: tuple[Aggregate, ...]
    #: the native form of each aggregate; None: it reads no column
    forms: tuple[NativeMonoid | None, ...]

    @classmethod
    def of(cls, slicer: Slicer, aggregates: Sequence[Aggregate], schema: pa.Schema) -> FewRows | None:
        """For these types of columns; None: they need the general way."""
        if slicer.plain_progressions is None:
            return None
        forms = []
        for aggregate in aggregates:
            if not _is_simple(aggregate):
                return None
            kinds = [schema.field(name).type for name in aggregate.inputs]
            if any(kind.id not in AS_THEY_ARE for kind in kinds):
                return None
            form = native_form(aggregate.monoid, kinds) if kinds else None
            if kinds and form is None:
                return None
            forms.append(form)
        return cls(slicer, tuple(aggregates), tuple(forms))

    def fold(
        self, keys: Keys, table: pa.Table, places: Mapping[str, int], moments: Moments, late_before: int
    ) -> tuple[Keys, Batch] | None:
        """The keys with those of the rows, and the slices; None: these rows need the general way. ``places``:
        where columns lie in the table, as far as that is known."""
        count = len(moments.times)
        if count > FEW_ROWS or moments.low < late_before:
            return None
        edges = self._edges(moments, count)
        inputs = self._inputs(table, places)
        if inputs is None or edges is None:
            return None
        keys, numbers = keys.with_row_numbers(table, places)
        cells, room = np.empty(count, np.int32), np.empty((5, count), np.int64)
        found = room[:, : _cut(moments.times, numbers, *edges, cells, room)].copy()
        partials = Partials(self.aggregates, found[4], self._columns(inputs, cells, found.shape[1]))
        slices = HeldSlices(found[0], found[1], found[2], found[3], None, partials)
        return keys, Batch(slices, lambda chosen: chosen[cells], late_before)

    def _edges(self, moments: Moments, count: int) -> tuple[Ints, Ints, Ints] | None:
        """Anchors and periods of edges that are computed, and edges in a list; None: there are too many."""
        progressions = self.slicer.plain_progressions
        assert progressions is not None
        few = len(progressions[0])
        if few <= _FEW_PROGRESSIONS or few * count <= _FEW_COMPUTED:
            return *progressions, _NO_EDGES
        edges = self.slicer.edges_between(moments.low, moments.high, count)
        return None if edges is None else (_NO_EDGES, _NO_EDGES, edges)

    def _inputs(self, table: pa.Table, places: Mapping[str, int]) -> list[Columns | None] | None:
        """The columns of each aggregate; None: some have nulls, or sums of integers may not fit."""
        found = list[Columns | None]()
        for aggregate, form in zip(self.aggregates, self.forms, strict=True):
            if form is None:
                found.append(None)
                continue
            arrays = [plain_array(table.column(places.get(name, name))) for name in aggregate.inputs]
            columns = inputs_as_they_are(aggregate.monoid, arrays)
            if columns is None or not integers_fit(form, columns.arrays, table.num_rows):
                return None
            found.append(columns)
        return found

    def _columns(
        self, inputs: Sequence[Columns | None], cells: Any, count: int
    ) -> tuple[NativeColumn | None, ...]:
        """The partials of each aggregate over so many slices."""
        columns = list[NativeColumn | None]()
        for aggregate, form, given in zip(self.aggregates, self.forms, inputs, strict=True):
            if form is None or given is None:
                columns.append(None)
            else:
                members = fold_into_cells(form, given, cells, count)
                columns.append(NativeColumn(aggregate, None, form, members))
        return tuple(columns)


def _is_simple(aggregate: Aggregate) -> bool:
    """Whether native code of windrow's own folds an aggregate over all rows, in any order."""
    monoid = aggregate.monoid
    return monoid.builtin and aggregate.where is None and may_fold_in_any_order(aggregate)


# -- slices --------------------------------------------------------------------------------------------------


@kernel
def _cut(times: Ints, keys: Any, anchors: Ints, periods: Ints, edges: Ints, cells: Any, columns: Any) -> int:
    """How many slices of keys hold these rows. Written: the slice of each row; and for each slice, by key and
    end, its key, its first and its last time, its end, and how many rows it holds."""
    table, count = np.full(_FIRST_SIZE, -1, np.int32), 0
    begin, end, last = np.int64(END_OF_TIME), np.int64(START_OF_TIME), np.int64(-1)
    cell, rises = np.int64(-1), True
    for i in range(len(times)):
        time, key = times[i], np.int64(keys[i])
        if not begin <= time < end:
            begin, end = _edges_around(time, anchors, periods, edges)
            last = np.int64(-1)
        if key != last:
            if 2 * count >= len(table):
                table = _larger_table(columns, count, 4 * len(table))
            last, place = key, _place(table, columns, key, end)
            cell = np.int64(table[place])
            if cell < 0:
                cell = np.int64(count)
                table[place] = count
                rises &= count == 0 or _is_before(columns, count - 1, key, end)
                columns[0, cell], columns[1, cell], columns[2, cell], columns[3, cell] = key, time, time, end
                columns[4, cell] = 0
                count += 1
        cells[i] = cell
        columns[1, cell] = min(columns[1, cell], time)
        columns[2, cell] = max(columns[2, cell], time)
        columns[4, cell] += 1
    if not rises:
        _sort(columns, count, cells)
    return count


@kernel
def _edges_around(time: int, anchors: Ints, periods: Ints, edges: Ints) -> Any:
    """The last edge up to a time, and the first one after it."""
    begin, end = np.int64(START_OF_TIME), np.int64(END_OF_TIME)
    for p in range(len(anchors)):
        edge = time - (time - anchors[p]) % periods[p]
        begin, end = max(begin, edge), min(end, edge + periods[p])
    if len(edges) > 0:
        after = np.searchsorted(edges, time, side="right")
        begin = edges[after - 1] if after > 0 else begin
        end = edges[after] if after < len(edges) else end
    return begin, end


@kernel
def _is_before(columns: Any, cell: int, key: int, end: int) -> bool:
    """Whether a slice comes before that of a key which has this end."""
    return columns[0, cell] < key or (columns[0, cell] == key and columns[3, cell] < end)


@kernel
def _place(table: Any, columns: Any, key: int, end: int) -> Any:
    """Where the slice of a key is in the table, or would be."""
    last = np.uint64(len(table) - 1)
    place = hash_word(np.uint64(end) + np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) & last
    while table[place] >= 0 and (columns[0, table[place]] != key or columns[3, table[place]] != end):
        place = (place + np.uint64(1)) & last
    return place


@kernel
def _larger_table(columns: Any, count: int, size: int) -> Any:
    table = np.full(size, -1, np.int32)
    for cell in range(count):
        table[_place(table, columns, columns[0, cell], columns[3, cell])] = cell
    return table


@kernel
def _sort(columns: Any, count: int, cells: Any) -> None:
    """Slices by key and end, where they are; the rows' slices are renumbered."""
    order = _order(columns, count)
    found, ranks = columns[:, :count].copy(), np.empty(count, np.int32)
    for rank in range(count):
        ranks[order[rank]] = rank
        for k in range(len(found)):
            columns[k, rank] = found[k, order[rank]]
    for i in range(len(cells)):
        cells[i] = ranks[cells[i]]


@kernel
def _order(columns: Any, count: int) -> Ints:
    """The order of slices by key and end: neighbours are merged, then pairs of neighbours, and so on."""
    order, other, width = np.arange(count), np.empty(count, np.int64), 1
    while width < count:
        for front in range(0, count, 2 * width):
            middle, stop = min(front + width, count), min(front + 2 * width, count)
            a, b = front, middle
            for place in range(front, stop):
                takes_a = b >= stop
                if a < middle and not takes_a:
                    takes_a = _is_before(columns, order[a], columns[0, order[b]], columns[3, order[b]])
                if takes_a:
                    other[place] = order[a]
                    a += 1
                else:
                    other[place] = order[b]
                    b += 1
        order, other, width = other, order, 2 * width
    return order
