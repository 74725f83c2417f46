"""Rows of a partition as they come, sorted by key and time: their times and where keys start."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.errors import of_key
from windrow.rows.columns import plain_array
from windrow.rows.frame import Frame
from windrow.rows.keys import KeyRuns
from windrow.rows.times import TimeAxis, read_times
from windrow.spec import Spec

__all__ = ["RowReader", "SortedRows", "column_of", "named_by_clock", "named_by_time"]


@dataclass(frozen=True)
class SortedRows:
    """Some neighbouring rows."""

    table: pa.Table
    times: Ints
    #: which rows are the first of their key, or the first of it that have a time
    starts: Mask
    #: which rows have no time
    missing: Mask

    def __len__(self) -> int:
        return len(self.times)

    def slice(self, first: int, stop: int) -> SortedRows:
        rows = slice(first, stop)
        table = self.table.slice(first, stop - first)
        return SortedRows(table, self.times[rows], self.starts[rows], self.missing[rows])

    @staticmethod
    def concat(parts: Sequence[SortedRows]) -> SortedRows:
        if len(parts) == 1:
            return parts[0]
        return SortedRows(
            pa.concat_tables([part.table for part in parts]),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.missing for part in parts]),
        )

    def describe(self, query: Spec, row: int) -> str:
        """Where a row comes from, for messages: its time and its key."""
        key = [self.table.column(name)[row].as_py() for name in query.by]
        return _with_time(self.table, query.time, row) + of_key(key)

    def frame(self, query: Spec, axis: TimeAxis) -> Frame:
        """The rows, which are in processing order already, as a frame; each of them has a time."""
        starts = self.starts.copy()
        starts[:1] = True
        return named_by_time(
            Frame(
                table=self.table,
                by=query.by,
                axis=axis,
                rows=None,
                unordered_times=self.times,
                unordered_keys=np.cumsum(starts) - 1,
                key_rows=np.flatnonzero(starts),
                rejected=0,
            ),
            query.time,
        )


class RowReader:
    """Tables of one partition as sorted rows."""

    def __init__(self, query: Spec) -> None:
        self._query = query
        self._runs = KeyRuns(query.by)
        self._last_missing = False

    def read(self, table: pa.Table) -> SortedRows:
        _, times, missing = read_times(table.column(self._query.time), self._query.time)
        lost = np.zeros(len(times), np.bool_) if missing is None else missing
        starts = self._runs.starts(table)
        if len(times) and (missing is not None or self._last_missing):
            starts[0] |= self._last_missing and not lost[0]
            starts[1:] |= lost[:-1] & ~lost[1:]
            self._last_missing = bool(lost[-1])
        return SortedRows(table, times, starts, lost)


def named_by_time(frame: Frame, time: str) -> Frame:
    """The same frame, which names its rows by their time: numbers of rows in a partition say nothing."""
    return replace(frame, row_name=functools.partial(_with_time, frame.table, time))


def named_by_clock(frame: Frame, time: str, axis: TimeAxis) -> Frame:
    """The same where the table has no time column: times are those of the frame, on the events' axis."""

    def name(row: int) -> str:
        return f"the row with {time}={axis.column(frame.unordered_times[row : row + 1])[0].as_py()!s}"

    return replace(frame, row_name=name)


def _with_time(table: pa.Table, time: str, row: int) -> str:
    return f"the row with {time}={table.column(time)[row].as_py()!s}"


def column_of(table: pa.Table, name: str) -> Any:
    """A column as a plain array."""
    return plain_array(table.column(name))
