"""A batch of rows, and their processing order: by key, then by time, then by ``order``, then as they came.

Keys become numbers in order of first appearance; what counts as one key is said in
:mod:`windrow.rows.key_values`. In processing order the rows of a key lie together (a *run*) and its
times do not fall, so that every window is a range of neighbouring rows.

Rows are sorted when something first asks for their order, and not before: what folds rows as they come
never pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints, Mask
from windrow.errors import RejectedRows, of_key, warn_caller
from windrow.rows.columns import NOWHERE, plain_array, require_columns
from windrow.rows.key_values import canonical_array
from windrow.rows.keys import encoded_keys
from windrow.rows.pieces import extremes, key_counts, put_in_pieces, take_array, take_in_pieces
from windrow.rows.sorting import are_sorted, counting_sort, stable_order
from windrow.rows.times import Moments, TimeAxis, read_times
from windrow.spec import Spec
from windrow.values import lazy, made_at_once

__all__ = ["Frame", "build_frame"]


@made_at_once
@dataclass(frozen=True)
class Frame:
    """The rows of a table that have a time. Positions are places in processing order."""

    table: pa.Table
    by: tuple[str, ...]
    axis: TimeAxis
    #: rows of the table that have a time, whose times and keys follow; None: all
    rows: Ints | None
    unordered_times: Ints
    unordered_keys: Any
    #: for each key, the row of the table where it first appears
    key_rows: Ints
    rejected: int
    #: how these rows are sorted; None: they are in order
    sorting: Sorting | None = None
    #: names a row of the table in messages; None: by its number
    row_name: Callable[[int], str] | None = None
    #: where columns lie in the table, as far as that is known
    places: Mapping[str, int] = field(default_factory=dict[str, int])
    _memory: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def only(self, kept: Any) -> Frame:
        """The rows of this frame, in processing order, for which the mask holds."""
        places = np.flatnonzero(kept)
        return replace(
            self,
            rows=places if self.permutation is None else self.permutation[places],
            sorting=None,
            unordered_times=self.times[places],
            unordered_keys=self.keys[places],
            _memory={},
        )

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` gives, made once for this frame."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def describe(self, position: int) -> str:
        """Where a row comes from, for messages: its number in the table, or its name, and its key."""
        row = position if self.permutation is None else int(self.permutation[position])
        name = f"row {row}" if self.row_name is None else self.row_name(row)
        return name + of_key([self.table.column(each)[row].as_py() for each in self.by])

    def warn_of_rejected(self, time: str) -> None:
        """Say how many rows of the table have no time in this column."""
        missing = self.table.column(time).null_count if self.rejected else 0
        if missing:
            warn_caller(
                f"{missing} of {self.table.num_rows} rows have no time in {time!r} and were left out",
                RejectedRows,
            )

    def __len__(self) -> int:
        return len(self.unordered_times)

    @lazy
    def span(self) -> tuple[int, int]:
        """The earliest and the latest time."""
        moments = None if self.sorting is None else self.sorting.moments
        return extremes(self.unordered_times) if moments is None else (moments.low, moments.high)

    @lazy
    def is_in_order(self) -> bool:
        """Whether rows lie in processing order as they came, as far as can be told without sorting them."""
        return self.sorting is None or bool(self.remembered("is in order", self.sorting.is_done))

    @lazy
    def order(self) -> Ints | None:
        """The processing order of the rows that have a time; None: they are in it."""
        return None if self.is_in_order else self.remembered("order", self._order)

    def _order(self) -> Ints | None:
        assert self.sorting is not None
        return self.sorting.order()

    @lazy
    def permutation(self) -> Ints | None:
        """The row of the table for each position; None: they are the same."""
        if self.order is None:
            return self.rows
        return self.order if self.rows is None else self.rows[self.order]

    @lazy
    def times(self) -> Ints:
        times = self.unordered_times
        return times if self.order is None else take_in_pieces(times, self.order)

    @lazy
    def keys(self) -> Any:
        keys = self.unordered_keys
        return keys if self.order is None else take_in_pieces(keys, self.order)

    @lazy
    def run_starts(self) -> Ints:
        """Where the rows of each key start, and the end."""
        if len(self.key_rows) <= 1:
            return np.array([0, len(self)], np.int64) if len(self.key_rows) else np.zeros(1, np.int64)
        starts = np.zeros(len(self.key_rows) + 1, np.int64)
        np.cumsum(key_counts(self.unordered_keys, len(self.key_rows)), out=starts[1:])
        return starts

    def raw(self, name: str) -> Any:
        """A column as it lies in the table."""
        found = self._memory.get(name)
        if found is None:
            found = self._memory[name] = plain_array(self.table.column(self.places.get(name, name)))
        return found

    def column(self, name: str) -> Any:
        """A column in processing order."""
        return self.raw(name) if self.permutation is None else take_array(self.raw(name), self.permutation)

    def scattered(self, column: Any) -> Any:
        """Results of the frame's rows at the places of their rows in the table; null for rejected rows."""
        if self.permutation is None:
            return column
        # from 1 on, so that 0 is left for rejected rows
        places = put_in_pieces(np.arange(1, len(self) + 1), self.permutation, self.table.num_rows) - 1
        return take_array(column, places, places < 0 if self.rejected else None)

    def spread(self, counts: Ints) -> Ints:
        """Numbers of the frame's rows at the places of their rows in the table; 0 for rejected rows."""
        if self.permutation is None or len(counts) != len(self):
            return counts
        return put_in_pieces(counts, self.permutation, self.table.num_rows)

    def without_rejected(self, column: Any) -> Any:
        """A column of the table with null for rejected rows."""
        if not self.rejected:
            return column
        assert self.permutation is not None
        rejected = np.ones(self.table.num_rows, np.bool_)
        rejected[self.permutation] = False
        return pc.if_else(pa.array(rejected), pa.scalar(None, column.type), column)

    def key_columns(self, query: Spec, keys: Ints) -> list[pa.Array]:
        """The key columns for these key numbers."""
        if len(keys) < len(self.key_rows):
            rows = pa.array(self.key_rows[keys])
            return [canonical_array(self.raw(name).take(rows)) for name in query.by]
        rows, numbers = pa.array(self.key_rows), pa.array(keys)
        return [canonical_array(self.raw(name).take(rows)).take(numbers) for name in query.by]

    def key_table(self) -> pa.Table:
        """The keys, in the order of their numbers."""
        rows = pa.array(self.key_rows)
        return pa.table({name: canonical_array(self.raw(name).take(rows)) for name in self.by})


def build_frame(
    query: Spec,
    table: pa.Table,
    moments: Moments | None = None,
    row_name: Callable[[int], str] | None = None,
    numbered: tuple[Any, Ints] | None = None,
    rejected: Mask | None = None,
    places: Mapping[str, int] = NOWHERE,
) -> Frame:
    """The rows of a table that have a time; ``moments``: the times of all of them, where they are read
    already. ``numbered``: the numbers of their keys and a row of each key, where they are known.
    ``rejected``: rows of the table that are left out, too (None: none). ``places``: where columns lie in the
    table, as far as that is known."""
    rows = None
    if moments is None:
        require_columns(table, [query.time, *query.by, *query.order])
        axis, times, missing = read_times(table.column(query.time), query.time)
        if rejected is not None:
            missing = rejected if missing is None else missing | rejected
        rows = None if missing is None else np.flatnonzero(~missing)
        times = times if rows is None else times[rows]
    else:
        axis, times = moments.axis, moments.times
    keys, key_rows = encoded_keys(query.by, table, rows) if numbered is None else numbered
    is_sorted = moments is not None and not (moments.falls or query.order or len(key_rows) > 1)
    return Frame(
        table=table,
        by=query.by,
        axis=axis,
        rows=rows,
        unordered_times=times,
        unordered_keys=keys,
        key_rows=key_rows,
        rejected=0 if rows is None else table.num_rows - len(rows),
        sorting=None if is_sorted else Sorting(query, table, axis, rows, keys, len(key_rows), moments),
        row_name=row_name,
        places=places,
    )


@made_at_once
@dataclass(frozen=True)
class Sorting:
    """What the rows of a table are sorted by."""

    query: Spec
    table: pa.Table
    axis: TimeAxis
    rows: Ints | None
    keys: Any
    key_count: int
    #: the times; None: they are to be read from the table
    moments: Moments | None = None

    @lazy
    def ticks(self) -> Ints:
        """Times in the unit of their column, which may be finer than that of windows."""
        if self.moments is not None:
            return self.moments.ticks
        ticks = self.axis.ticks(self.table.column(self.query.time))
        return ticks if self.rows is None else ticks[self.rows]

    def is_done(self) -> bool:
        """Whether the rows are in order already; columns of ``order`` are not looked at."""
        if len(self.keys) < 2 or self.query.order:
            return len(self.keys) < 2
        return bool(are_sorted(self.keys, self.ticks)) if self.key_count > 1 else not self.falls

    @lazy
    def falls(self) -> bool:
        """Whether some row is earlier than the one before it, of whatever key."""
        return not are_sorted(self.keys[:0], self.ticks) if self.moments is None else self.moments.falls

    def order(self) -> Ints:
        """The permutation into processing order, of rows that are not in it."""
        order: Ints | None = None
        if self.query.order:
            columns = [self.table.column(name) for name in reversed(self.query.order)]
            ranks = [_ranks(c if self.rows is None else c.take(pa.array(self.rows))) for c in columns]
            order = np.lexsort([*ranks, self.ticks])
        elif self.falls:
            order = stable_order(self.ticks)
        if self.key_count > 1 or order is None:
            order = counting_sort(self.keys, self.key_count, order)
        return order


def _ranks(column: Any) -> Ints:
    """Numbers that sort as the column does, nulls last, equal values equal."""
    return pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
