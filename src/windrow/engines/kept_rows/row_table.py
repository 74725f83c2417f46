"""Rows that an operator holds: a table, and beside it the time and the arrival number of each row.

What is held beside the table is in no column of it, so that no name can clash with a user's. Values are
never changed in place: a caller who has rows keeps them as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.kept_rows.columns import HeldColumns
from windrow.rows.selection import take_rows
from windrow.rows.times import read_times
from windrow.state.checks import check_column, check_numbers, check_sorted, require

__all__ = ["Held", "joined"]


@dataclass(frozen=True, slots=True)
class Held:
    """Rows with a time. Times are as windows see them: microseconds, or plain integers."""

    table: pa.Table
    times: Ints
    arrivals: Ints
    #: how often the result of each row came out before
    revisions: Ints

    @classmethod
    def of(cls, table: pa.Table, time: str, arrivals: Any, times: Ints | None = None) -> Held:
        if times is None:
            _, times, missing = read_times(table.column(time), time)
            assert missing is None, "rows without a time are not held"
        return cls(table, times, np.asarray(arrivals, np.int64), np.zeros(len(times), np.int64))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def nbytes(self) -> int:
        beside = self.times.nbytes + self.arrivals.nbytes + self.revisions.nbytes
        return int(self.table.nbytes) + beside

    def take(self, places: Ints) -> Held:
        """The rows at these places, copied."""
        table = take_rows(self.table, places)
        return Held(table, self.times[places], self.arrivals[places], self.revisions[places])

    def where(self, kept: Any) -> Held:
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def slice(self, begin: int, end: int) -> Held:
        """Neighbouring rows, not copied."""
        some = slice(begin, end)
        table = self.table.slice(begin, end - begin)
        return Held(table, self.times[some], self.arrivals[some], self.revisions[some])

    def select(self, columns: Sequence[str]) -> Held:
        return replace(self, table=self.table.select(list(columns)))

    def by_time(self) -> Held:
        """The rows in order of time."""
        if (self.times[1:] >= self.times[:-1]).all():
            return self
        return self.take(np.argsort(self.times, kind="stable"))

    def state(self) -> dict[str, Any]:
        """The rows as plain values, for a snapshot."""
        revisions = self.revisions if self.revisions.any() else None
        return {"table": self.table, "arrivals": self.arrivals, "revisions": revisions}

    @classmethod
    def restored(cls, state: dict[str, Any], time: str, columns: HeldColumns) -> Held:
        """The rows of a state, if they have the columns that they must."""
        table = columns.completed(state["table"])
        require(table.column(time).null_count == 0, "held rows without a time")
        held = cls.of(table, time, state["arrivals"])
        if state["revisions"] is not None:
            held = replace(held, revisions=state["revisions"])
        check_column("arrivals of held rows", state["arrivals"], len(held))
        check_column("revisions of held rows", held.revisions, len(held))
        check_numbers("arrivals of held rows", held.arrivals, 0, 2**62)
        check_numbers("revisions of held rows", held.revisions, 0, 2**62)
        return held

    def check_invariants(self) -> None:
        """Of rows that come from outside, where they must be in order of time."""
        check_sorted("held rows", self.times)


def joined(parts: Sequence[Held]) -> Held:
    """The rows of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    table = pa.concat_tables([part.table for part in parts], promote_options="permissive")
    return Held(
        table.combine_chunks(),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.arrivals for part in parts]),
        np.concatenate([part.revisions for part in parts]),
    )
