"""All that an operator knows, as one value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.engines.kept_rows.ordered_rows import OrderedRows
from windrow.engines.stream.intake import Columns
from windrow.engines.stream.late import NO_TIMES, LateRows
from windrow.engines.stream.metrics import Counts
from windrow.engines.stream.rejected import RejectedTables
from windrow.rows.keys import Keys
from windrow.rows.times import TimeAxis
from windrow.slicing.session_manager import SessionPart
from windrow.slicing.time_manager import TimePart
from windrow.state.checks import require

__all__ = ["State"]


@dataclass(frozen=True)
class State:
    """An operator's state; nothing in it is changed in place."""

    keys: Keys
    time: TimePart | None
    sessions: tuple[SessionPart, ...]
    #: windows that data decide, or rolling, by number of the window
    ordered: dict[int, OrderedRows]
    #: the first table's columns; None: no table has come yet
    columns: Columns | None = None
    axis: TimeAxis | None = None
    watermark: int = START_OF_TIME
    #: the earliest and the largest time seen
    earliest: int = END_OF_TIME
    largest: int = START_OF_TIME
    #: whether the watermark was given as an integer, while no table has shown what times are
    advanced_by_integer: bool | None = None
    #: how much of int64 the sizes of the values of one key can fill at most, which integer results must fit
    reach: float = 0.0
    #: rows before this time were taken from history: where they come again, they are left out
    history_until: int = START_OF_TIME
    #: rows before this time correct nothing: what they would correct was forgotten under the
    #: allowed_lateness of before
    forgotten_until: int = START_OF_TIME
    late: LateRows = field(default_factory=LateRows)
    #: times of rows of the last push that came too late for some window, a few of very many; in no snapshot
    late_times: Ints = field(default_factory=lambda: NO_TIMES)
    rejected: RejectedTables = field(default_factory=RejectedTables)
    counts: Counts = field(default_factory=Counts)
    #: events that wait, in a state that is on its way to a snapshot or from one
    events: tuple[pa.Table, ...] = ()

    def check_invariants(self) -> None:
        """Of a state that comes from outside; its parts are checked by themselves."""
        require(type(self.reach) in (int, float) and self.reach >= 0, f"reach: {self.reach!r:.60}")
        require(self.advanced_by_integer in (None, True, False), "advanced_by_integer: not true or false")
        self.late.check_invariants()
        self.rejected.check_invariants()
        require(all(isinstance(table, pa.Table) for table in self.events), "events that wait: not tables")
        self.counts.check_invariants()

    def late_before(self, allowed: int) -> int:
        """Rows before this are too late to correct anything, where so much lateness is allowed."""
        if self.watermark == START_OF_TIME:
            return START_OF_TIME
        return max(self.watermark - allowed, min(self.forgotten_until, self.watermark))

    @property
    def slices(self) -> int:
        held = 0 if self.time is None else len(self.time.store)
        return held + sum(len(part.store) for part in self.sessions)

    @property
    def has_slices(self) -> bool:
        """Whether there are any; reads none of them."""
        timed = self.time is not None and bool(self.time.store.blocks)
        return timed or any(len(part.store) for part in self.sessions)

    @property
    def rows_held(self) -> int:
        return sum(rows.rows for rows in self.ordered.values())

    @property
    def nbytes(self) -> int:
        found = self.keys.nbytes + self.late.nbytes + self.rejected.nbytes
        found += sum(rows.nbytes for rows in self.ordered.values())
        parts: list[Any] = [*self.sessions] if self.time is None else [self.time, *self.sessions]
        found += sum(part.store.nbytes + part.ledger.nbytes for part in parts)
        return found + (0 if self.time is None else self.time.filling.nbytes)

    def key_numbers(self) -> Iterator[Ints]:
        """Everything that refers to keys."""
        if self.time is not None:
            yield from self.time.keys()
        for part in self.sessions:
            yield from part.keys()
