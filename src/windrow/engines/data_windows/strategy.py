"""How windows of a kind that data decides are found among rows: what each kind answers for itself.

Rows are in a frame: by key, then in order. Over endless input a frame holds the rows that are due now behind
the rows before them that open windows need (the *context*), so that the same strategy serves both.

Invariant: which windows come out, and with which rows, does not depend on how rows were cut into frames, if
of each frame the rows from :meth:`Strategy.needed_from` on are kept as the context of the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.living.rows import Fresh, LivingRows
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.ranges import RowRanges
from windrow.rows.columns import require_columns
from windrow.rows.frame import Frame
from windrow.slicing.window_lists import Ranges
from windrow.spec import Spec
from windrow.windows import Policy, Window

__all__ = ["Decided", "Decision", "Strategy", "behind_marks", "reported", "starts_behind", "value_type"]

W = TypeVar("W", bound=Window)


@dataclass(frozen=True)
class Decided:
    """Windows that were found in a frame."""

    ranges: Ranges
    #: their results, where they were needed to find them, one column for each aggregate
    columns: list[Any] | None = None

    def where(self, chosen: Mask) -> Decided:
        """Some of them, in the same order."""
        if chosen.all():
            return self
        columns = self.columns
        if columns is not None:
            columns = [column.filter(pa.array(chosen)) for column in columns]
        return Decided(self.ranges.take(chosen), columns)

    def results(self, query: Spec, frame: Frame) -> list[Any]:
        """One column for each aggregate of the query."""
        if self.columns is not None:
            return self.columns
        over = RowRanges(self.ranges.fronts, self.ranges.stops, self.ranges.disjoint)
        return aggregate_columns(frame, [a for _, a in query.aggregates], over)


@dataclass(frozen=True)
class Decision:
    """Windows that new rows complete: positions [front, stop) of keys, by key, then in order."""

    keys: Ints
    fronts: Ints
    stops: Ints
    #: for each key of new rows, the position of the first row that later windows need
    needed: Ints


class Strategy(ABC, Generic[W]):
    """The strategy of one window."""

    #: whether windows that are open come out when the input ends
    closes_at_end: ClassVar[bool] = False

    #: what decides how far back the window of each row reaches; None: windows are found in another way
    policy: Policy | None = None

    def __init__(self, window: W) -> None:
        self.window = window

    def check(self, table: pa.Table) -> None:
        """Refuse a table without the columns that the window reads, or with columns of another type."""
        require_columns(table, list(self.window.columns))

    def held(self, *columns: Any) -> Mask | None:
        """Which rows may be in a window at all, by the columns that it reads; None: all."""
        return None

    def completing(self, table: pa.Table) -> Mask | None:
        """Which of the rows that are due, which are in this table, may complete a window of their key: others
        need not be looked at yet. None: all may."""
        return None

    #: whether the last row of each key before tells which new rows complete a window
    looks_at_last: ClassVar[bool] = False

    @property
    def fewest_rows(self) -> int | None:
        """So many rows of a key complete a window, those before included that it still needs, and fewer do
        not; None: their number does not tell."""
        return None

    @abstractmethod
    def find(self, query: Spec, frame: Frame, leading: Ints | None = None) -> Decided:
        """The windows that the rows of a frame decide, by key, then in order; so many ``leading`` rows of
        each key are context (None: there is none)."""

    def remember(self, living: LivingRows, fresh: Fresh) -> None:
        """Keep what is to be known of new rows besides their times."""

    def decide(self, query: Spec, living: LivingRows, fresh: Fresh) -> Decision:
        """Find the windows that new rows complete, where the rows of their keys are kept by position; keep
        what is to be known of new rows."""
        raise NotImplementedError

    def needed_from(self, frame: Frame, found: Ranges) -> Ints:
        """For each key the place of the first row that windows need which are not complete; by default,
        behind those that were found."""
        return starts_behind(frame, found.keys, found.stops)

    def completed(self, frame: Frame, found: Ranges, firsts: Ints, closing: bool) -> Mask | None:
        """Which of the windows that were found come out now: the rows from ``firsts`` of each key on are new,
        and with ``closing`` none come after. None: all, since none is found again."""
        return None


def reported(frame: Frame, keys: Ints, fronts: Ints, stops: Ints, *, disjoint: bool) -> Ranges:
    """Windows over rows [front, stop), with the times of their first and last row as edges."""
    empty = fronts == stops
    starts = frame.times[np.where(empty, stops - 1, fronts)]
    edgeless = empty if empty.any() else None
    return Ranges(keys, starts, frame.times[stops - 1], fronts, stops, disjoint, edgeless)


def starts_behind(frame: Frame, keys: Ints, places: Ints) -> Ints:
    """For each key the last of these places, or where its rows start."""
    found = frame.run_starts[:-1].copy()
    np.maximum.at(found, keys, places)
    return found


def behind_marks(living: LivingRows, fresh: Fresh, marks: Ints) -> tuple[Ints, Ints]:
    """For some of new rows, the position behind the last of them before each, or where the rows of its key
    begin; and for each key the position behind its last one."""
    begins, runs = living.begins(fresh.keys), np.searchsorted(fresh.runs, marks, side="right") - 1
    fronts = begins[runs]
    follows = np.flatnonzero(np.diff(runs, prepend=-1) == 0)
    fronts[follows] = fresh.positions[marks[follows - 1]] + 1
    needed = begins.copy()
    needed[runs] = fresh.positions[marks] + 1  # of several, the last one stays
    return fronts, needed


def value_type(table: pa.Table, column: str) -> Any:
    """The type of a column's values, which a dictionary may hold."""
    require_columns(table, [column])
    kind = table.schema.field(column).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind
