"""The windows of a table: what they are ranges of, and which there are.

frame -> members (rows, or slices that rows are folded into) -> windows found, as ranges of members -> one
column for each aggregate. Every query with windows goes this way, however many windows it has and whether or
not empty ones come out: :func:`members_of` decides between rows and slices, and whether rows are sorted, and
says why.

Invariant: windows come out as the query names them, then by key as keys first appear, then by time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.data_windows import strategy_of
from windrow.engines.data_windows.strategy import Decided
from windrow.partials.aggregate import aggregate_columns
from windrow.partials.fold import may_fold_in_any_order
from windrow.partials.ranges import Over, RowRanges, SliceRanges, Slices
from windrow.rows.frame import Frame
from windrow.slicing import Slicer
from windrow.slicing.batch import cut_as_they_come
from windrow.slicing.finder.sorted_rows import Ranges, session_ranges
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.limits import most_windows
from windrow.spec import Spec
from windrow.windows import Window, decided_by_gaps, decided_by_time

__all__ = ["FoundWindows", "MemberKind", "find_windows", "members_of", "window_groups"]

_AS_THEY_COME = "rows are folded into them as they come, and need not be sorted"


@dataclass(frozen=True)
class MemberKind:
    """What the windows that time decides are ranges of, and why."""

    kind: Literal["rows", "slices"]
    reason: str
    #: rows are folded into slices as they come, unless they are in order, or an aggregate has no native form
    #: for the data: then they are sorted, and a single window has ranges of rows
    in_any_order: bool = False


def members_of(query: Spec) -> MemberKind:
    """Rows or slices, by the query alone.

    >>> import windrow as wr
    >>> q = wr.query(time="ts")
    >>> members_of(q.window(wr.Tumbling("1h")).agg(all=wr.concat("word"))).kind
    'rows'
    >>> members_of(q.window(wr.Tumbling("1h")).agg(all=wr.sum("n"))).in_any_order
    True
    >>> members_of(q.window(hour=wr.Tumbling("1h"), day=wr.Tumbling("1d")).agg(all=wr.concat("word"))).kind
    'slices'
    """
    in_any_order = bool(query.windows) and _sorts_for(query) is None
    if len(query.time_windows) > 1:
        return MemberKind("slices", "rows are folded into them once, for all of these windows", in_any_order)
    if in_any_order:
        return MemberKind("slices", f"{_AS_THEY_COME}; rows that are in order serve as they are", True)
    return MemberKind("rows", "there is no second window of this kind to share slices with")


def _sorts_for(query: Spec) -> Any:
    """What needs the rows in order, by the query alone: a window or an aggregate; None: nothing does."""
    windows = (window for _, window in query.windows if not decided_by_time(window))
    aggregates = (a for _, a in query.aggregates if not may_fold_in_any_order(a))
    return next(windows, None) or next(aggregates, None)


@dataclass(frozen=True)
class FoundWindows:
    """Windows, and what each of them holds of a frame."""

    frame: Frame
    #: that of all, or of each
    names: str | pa.Array
    ranges: Ranges
    over: Over
    #: their results, where they were needed to find them
    columns: list[Any] | None = None

    def results(self, query: Spec) -> list[Any]:
        """One column for each aggregate of the query."""
        if self.columns is not None:
            return self.columns
        return aggregate_columns(self.frame, [a for _, a in query.aggregates], self.over)


def find_windows(query: Spec, frame: Frame) -> Iterator[FoundWindows]:
    """All windows of a query, group by group."""
    members = _Members.of(query, frame)
    for group in window_groups(query):
        name, first = group[0]
        is_timed = decided_by_time(first)
        yield _find_timed(query, members, group) if is_timed else _find_single(query, frame, name, first)


def window_groups(query: Spec) -> Iterator[list[tuple[str, Window]]]:
    """The windows of a query by name: neighbours that time decides together, each other one alone."""
    for is_timed, group in itertools.groupby(query.windows, lambda each: decided_by_time(each[1])):
        windows = list(group)
        yield from [windows] if is_timed else [[each] for each in windows]


@dataclass(frozen=True)
class _Members:
    """Rows or slices by key, then by time; ``runs`` says where those of each key start, and the end."""

    frame: Frame
    slices: Slices | None

    @staticmethod
    def of(query: Spec, frame: Frame) -> _Members:
        aggregates = [aggregate for _, aggregate in query.aggregates]
        slicer = Slicer(query.time_windows)
        slices = None
        if members_of(query).in_any_order:
            slices = cut_as_they_come(frame, slicer, aggregates)
        if slices is None and len(query.time_windows) > 1:
            slices = slicer.slices(frame.times, frame.run_starts)
        return _Members(frame, slices)

    @property
    def times(self) -> Ints:
        return self.frame.times if self.slices is None else self.slices.times

    @property
    def runs(self) -> Ints:
        return self.frame.run_starts if self.slices is None else self.slices.runs

    def over(self, found: Ranges, kinds: int) -> Over:
        """The windows found, which are of so many kinds."""
        if self.slices is None:
            return RowRanges(found.fronts, found.stops, found.disjoint)
        return SliceRanges(self.slices, found.fronts, found.stops, found.disjoint, one_kind=kinds == 1)


def _find_timed(query: Spec, members: _Members, windows: Sequence[tuple[str, Any]]) -> FoundWindows:
    """Windows that time decides, found and aggregated together however many they are."""
    most = most_windows(query.max_windows, len(members.frame))
    asked = TimeWindows([(number, window) for number, (_, window) in enumerate(windows)], most)
    ranges = asked.over(members.times, members.runs, fill=query.empty == "include")
    names: Any = windows[0][0]
    if ranges.windows is not None and query.names_windows:
        names = pa.array([name for name, _ in windows], pa.string()).take(pa.array(ranges.windows))
    return FoundWindows(members.frame, names, ranges, members.over(ranges, len(windows)))


def _find_single(query: Spec, frame: Frame, name: str, window: Window) -> FoundWindows:
    """A window that gaps or data decide: a range of rows."""
    if decided_by_gaps(window):
        return _over_rows(frame, name, Decided(session_ranges(frame.times, frame.run_starts, window)))
    strategy = strategy_of(window)
    strategy.check(frame.table)
    held = strategy.held(*map(frame.column, window.columns))
    if held is not None:
        frame = frame.only(held)
    return _over_rows(frame, name, strategy.find(query, frame))


def _over_rows(frame: Frame, name: str, decided: Decided) -> FoundWindows:
    ranges = decided.ranges
    over = RowRanges(ranges.fronts, ranges.stops, ranges.disjoint)
    return FoundWindows(frame, name, ranges, over, decided.columns)
