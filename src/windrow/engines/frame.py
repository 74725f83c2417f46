"""A batch of rows in processing order: by key, then by time, then by ``order``, then as they came.

Keys become numbers in order of first appearance. In a frame the rows of a key lie together (a *run*) and its
times do not fall, so that every window is a range of neighbouring rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.engines.times import TimeAxis, read_times
from windrow.spec import Spec

__all__ = ["Frame", "build_frame", "require_columns"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Frame:
    """The rows of a table that have a time, in processing order."""

    table: pa.Table
    axis: TimeAxis
    #: row of the table for each row of the frame; None: they are the same
    permutation: Ints | None
    times: Ints
    keys: Ints
    #: for each key, the row of the table where it first appears
    key_rows: Ints
    rejected: int

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def run_starts(self) -> Ints:
        """Where the rows of each key start, and the end."""
        counts = np.bincount(self.keys, minlength=len(self.key_rows))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def column(self, name: str) -> pa.Array:
        """A column in processing order."""
        column = self.table.column(name)
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
        return array if self.permutation is None else array.take(pa.array(self.permutation))

    def key_columns(self, query: Spec, keys: Ints) -> list[pa.Array]:
        """The key columns for these key numbers."""
        rows = pa.array(self.key_rows[keys])
        return [self.table.column(name).take(rows).combine_chunks() for name in query.by]


def require_columns(table: pa.Table, names: list[str]) -> None:
    for name in names:
        if name not in table.column_names:
            raise KeyError(
                f"there is no column {name!r}; the table has {', '.join(map(repr, table.column_names))}"
            )


def build_frame(query: Spec, table: pa.Table) -> Frame:
    require_columns(table, [query.time, *query.by, *query.order])
    axis, times, missing = read_times(table.column(query.time), query.time)
    rows = None if missing is None else np.flatnonzero(~missing)
    if rows is not None:
        times = times[rows]
    keys, key_rows = _encoded_keys(query, table, rows)
    order = _order(query, table, rows, axis.ticks(table.column(query.time)) if rows is None else times, keys)
    if order is not None:
        times, keys = times[order], keys[order]
    permutation = order if rows is None else (rows if order is None else rows[order])
    return Frame(
        table=table,
        axis=axis,
        permutation=permutation,
        times=times,
        keys=keys,
        key_rows=key_rows,
        rejected=0 if rows is None else table.num_rows - len(rows),
    )


def _encoded_keys(query: Spec, table: pa.Table, rows: Ints | None) -> tuple[Ints, Ints]:
    """Key numbers of the rows, and the first row of each key."""
    count = table.num_rows if rows is None else len(rows)
    if not query.by:
        return np.zeros(count, np.int64), np.zeros(min(count, 1), np.int64) if rows is None else rows[:1]
    codes = _column_codes(table.column(query.by[0]), rows)
    for name in query.by[1:]:
        more = _column_codes(table.column(name), rows)
        codes = _dense(codes * (int(more.max(initial=0)) + 1) + more)
    firsts = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    firsts[codes[::-1]] = np.arange(count)[::-1]  # the last write, that of the first row, stays
    return codes, firsts if rows is None else rows[firsts]


def _column_codes(column: Any, rows: Ints | None) -> Ints:
    if rows is not None:
        column = column.take(pa.array(rows))
    if pa.types.is_nested(column.type):
        known: dict[str, int] = {}
        return np.array([known.setdefault(repr(v), len(known)) for v in column.to_pylist()], np.int64)
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    if isinstance(encoded, pa.ChunkedArray):
        encoded = (
            encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.dictionary(pa.int32(), column.type))
        )
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _dense(codes: Ints) -> Ints:
    return pc.dictionary_encode(pa.array(codes)).indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _order(query: Spec, table: pa.Table, rows: Ints | None, ticks: Ints, keys: Ints) -> Ints | None:
    """The permutation into processing order, or None if the rows are in it already."""
    falls = ticks[1:] < ticks[:-1]
    order: Ints | None = None
    if query.order:
        columns = [table.column(name) for name in reversed(query.order)]
        ranks = [_ranks(c if rows is None else c.take(pa.array(rows))) for c in columns]
        order = np.lexsort([*ranks, ticks])
    elif falls.any():
        order = np.argsort(ticks, kind="stable")
    if len(keys) and keys.max(initial=0) > 0:
        arranged = keys if order is None else keys[order]
        if (arranged[1:] < arranged[:-1]).any():
            by_key = np.argsort(arranged.astype(np.min_scalar_type(int(arranged.max()))), kind="stable")
            order = by_key if order is None else order[by_key]
    return order


def _ranks(column: Any) -> Ints:
    """Numbers that sort as the column does, nulls last, equal values equal."""
    return (
        pc.rank(column, sort_keys="ascending", null_placement="at_end", tiebreaker="dense")
        .to_numpy()
        .astype(np.int64)
    )
