"""Frames over one partition: rows sorted by key and time in, the points with what they see out.

A *point* is a row that asks: a label of an as-of query, or each row of a rolling one. Rows are held until all
rows that they may see have come, and until no later point can see them; each time as many rows have come as
are held, the points that are ready are answered over all of them by what answers a table
(:class:`~windrow.slicing.finder.relative.SeenRows`, :func:`~windrow.partials.aggregate.aggregate_sizes`).
So every aggregate runs here as it runs on a table, in any number of sizes.

Invariant: rows that are to come are of a later key, or of the last key and not before the last time.
Cost: O(1) amortised per row and size. Memory: O(rows that one point may see); for the size "all" these are
the rows of a key.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.spark.worker.chunks import CHUNK_ROWS, chunked, conformed
from windrow.engines.spark.worker.query_bytes import unpacked
from windrow.engines.spark.worker.rolling.placed_rows import PLACE, in_order
from windrow.engines.spark.worker.rolling.task import CONTEXT, SEGMENT
from windrow.engines.spark.worker.sorted_rows import named_by_clock, named_by_time
from windrow.partials.aggregate import aggregate_sizes
from windrow.partials.ranges import RowRanges
from windrow.rows.frame import Frame
from windrow.rows.keys import KeyRuns
from windrow.rows.times import TimeAxis, read_times
from windrow.slicing.finder.moved_times import moved_times
from windrow.slicing.finder.relative import SeenRows
from windrow.spec import Spec
from windrow.windows.relative import CALENDAR_SLACK, RelativeFrame, RowFrame

__all__ = ["CLOCK", "LABEL", "FrameTask", "LabelColumns", "answer_batches"]

#: the times of events and labels, as windows count them
CLOCK = "__windrow_clock"
#: true for labels, null for events; and what the names of labels' columns begin with, which events lack
LABEL = "__windrow_label"


def answer_batches(
    payload: bytes,
    keys: Sequence[str],
    kinds: Sequence[Any],
    batches: Iterable[Any],
    rows: int = CHUNK_ROWS,
    labels: LabelColumns | None = None,
) -> Iterator[Any]:
    """What mapInArrow runs: batches of a partition, sorted by these key columns and time, or by their places,
    in; points with result columns of these types out. ``labels``: where labels ask, and not rows."""
    task: FrameTask | None = None
    for table in _sorted(chunked(batches, rows), keys):
        task = task or FrameTask(unpacked(payload), keys, kinds, table.schema, labels)
        yield from task.push(table)
    if task is not None:
        yield from task.finish()


def _sorted(tables: Iterator[pa.Table], keys: Sequence[str]) -> Iterator[pa.Table]:
    """The rows by key and time, which they may be already."""
    first = next(tables, None)
    if first is None:
        return iter(())
    tables = itertools.chain([first], tables)
    return in_order(tables, keys, CLOCK) if PLACE in first.column_names else tables


@dataclass(frozen=True)
class LabelColumns:
    """What is known of labels, and of events besides."""

    #: the names of labels' columns, which travel by numbers: events may have the same names
    names: list[str]
    #: the type of the events' times, to name an event by
    time_type: Any

    @property
    def columns(self) -> list[str]:
        return [f"{LABEL}{k}" for k in range(len(self.names))]


class FrameTask:
    """One partition on its way through."""

    def __init__(
        self,
        query: Spec,
        keys: Sequence[str],
        kinds: Sequence[Any],
        schema: pa.Schema,
        labels: LabelColumns | None = None,
    ) -> None:
        assert query.frames is not None
        self._labels = labels
        self._query, self._keys, self._kinds = query, tuple(keys), kinds
        self._frames = [frame for _, frame in query.frames.named]
        own = (SEGMENT, CONTEXT) if labels is None else (SEGMENT, CLOCK, LABEL, *labels.columns)
        self._columns = [name for name in schema.names if name not in own]
        #: what is held, and which of these rows are points that wait
        self._held = schema.empty_table()
        self._waits: Mask = np.zeros(0, np.bool_)
        self._come: list[pa.Table] = []

    def push(self, table: pa.Table) -> list[Any]:
        """Rows that come next; batches of points that are answered."""
        self._come.append(table)
        if self.held_rows < 2 * self._held.num_rows:
            return []
        rows, ranges = self._take()
        ready = self._ready(rows, ranges)
        kept, waits = self._kept(rows, ranges, ready), np.zeros(len(rows.times), np.bool_)
        waits[rows.points[ready:]] = True
        self._held, self._waits = rows.table.filter(pa.array(kept)), waits[kept]
        return self._answered(rows, ranges, ready).to_batches()

    def finish(self) -> list[Any]:
        """All rows have come; batches of the points that waited."""
        rows, ranges = self._take()
        return self._answered(rows, ranges, len(rows.points)).to_batches()

    @property
    def held_rows(self) -> int:
        return self._held.num_rows + sum(table.num_rows for table in self._come)

    def _take(self) -> tuple[_Rows, list[tuple[Ints, Ints]]]:
        """The rows held and those that have come, and what the points among them see."""
        rows = self._read(pa.concat_tables([self._held, *self._come]))
        self._come = []
        return rows, [rows.ranges(frame) for frame in self._frames]

    # -- rows ------------------------------------------------------------------------------------------------

    def _read(self, table: pa.Table) -> _Rows:
        is_asof = self._labels is not None
        axis, times, missing = read_times(table.column(CLOCK if is_asof else self._query.time), "time")
        lost = np.zeros(len(times), np.bool_) if missing is None else missing
        keys = np.cumsum(KeyRuns(self._keys).starts(table)) - 1 if self._keys else np.zeros(len(times), int)
        asks = np.ones(len(times), np.bool_)
        if is_asof:
            asks = table.column(LABEL).is_valid().to_numpy()
        elif CONTEXT in table.column_names:
            asks = ~table.column(CONTEXT).to_numpy()
        is_event = ~lost & ~asks if is_asof else ~lost
        asks[: len(self._waits)] &= self._waits  # the others have their answers
        return _Rows(
            table=table,
            axis=axis,
            times=times,
            keys=keys,
            events=np.flatnonzero(is_event),
            points=np.flatnonzero(asks & ~lost),
            timeless=np.flatnonzero(asks & lost),
            points_are_events=not is_asof,
        )

    # -- which points are ready, and what the others will see ------------------------------------------------

    def _ready(self, rows: _Rows, ranges: Sequence[tuple[Ints, Ints]]) -> int:
        """How many points, from the first on, see all that they will ever see."""
        points, last = rows.points, int(rows.keys[-1])
        waits = np.zeros(len(points), np.bool_)
        tail = slice(int(np.searchsorted(rows.keys[points], last)), len(points))
        for frame, (fronts, stops) in zip(self._frames, ranges, strict=True):
            waits[tail] |= self._may_grow(rows, frame, points[tail], fronts[tail], stops[tail])
        return int(np.argmax(waits)) if waits.any() else len(points)

    def _may_grow(
        self, rows: _Rows, frame: RelativeFrame, points: Ints, fronts: Ints, stops: Ints
    ) -> Mask | bool:
        """Which points of the last key may see rows that are still to come."""
        if isinstance(frame, RowFrame):
            return np.searchsorted(rows.events, points) + frame.stop > len(rows.events)
        if frame.upper is None:
            return True if frame.rows is None else stops - fronts < frame.rows
        ends = rows.times[points]
        for offset in frame.upper.offsets:
            ends = moved_times(ends, offset, frame.upper.timezone)
        now = int(rows.times[-1])
        return ends >= now if frame.upper.is_closed else ends > now

    def _kept(self, rows: _Rows, ranges: Sequence[tuple[Ints, Ints]], ready: int) -> Mask:
        """Which rows are still needed: points that wait, and what these and later points may see."""
        waiting = rows.points[ready:]
        first = min([len(rows.events), *(int(f[ready:].min()) for f, _ in ranges if len(f) > ready)])
        first = min([first, *(self._next_front(rows, frame) for frame in self._frames)])
        if rows.points_are_events and len(waiting):  # rows are counted from a row
            first = min(first, int(np.searchsorted(rows.events, waiting[0])))
        kept = np.zeros(len(rows.times), np.bool_)
        kept[rows.events[first:]] = True
        kept[waiting] = True
        return kept

    def _next_front(self, rows: _Rows, frame: RelativeFrame) -> int:
        """The first event that a point may see which is still to come."""
        last = int(rows.keys[-1])
        begin = int(np.searchsorted(rows.keys[rows.events], last))
        if isinstance(frame, RowFrame):
            return max(begin, len(rows.events) + min(frame.front, 0))
        bounds = [bound for bound in (frame.lower, frame.upper) if bound is not None]
        slack = CALENDAR_SLACK if any(bound.is_calendar for bound in bounds) else 0
        fronts, _ = rows.seen(np.array([last]), rows.times[-1:] - slack).ranges(frame)
        return int(fronts[0])

    # -- results ---------------------------------------------------------------------------------------------

    def _answered(self, rows: _Rows, ranges: Sequence[tuple[Ints, Ints]], ready: int) -> pa.Table:
        """The points that are ready with their results, and those without a time with null."""
        points = rows.points[:ready]
        frame = self._named(rows.frame(self._keys, self._columns))
        asked = np.concatenate([rows.timeless, points])
        places = np.concatenate([np.full(len(rows.timeless), -1), np.arange(len(points))])
        order = np.argsort(asked, kind="stable")
        chosen, places = pa.array(asked[order]), pa.array(places[order], mask=places[order] < 0)
        out = self._own_columns(rows.table, chosen)
        sizes = [RowRanges(fronts[:ready], stops[:ready]) for fronts, stops in ranges]
        kinds = [kind for kind in self._kinds for _ in sizes]
        columns = [pa.nulls(len(chosen), kind) for kind in kinds]
        if len(points):
            aggregates = [aggregate for _, aggregate in self._query.aggregates]
            found = aggregate_sizes(frame, aggregates, sizes)
            columns = [column.take(places) for column in found]
        for name, column, kind in zip(self._query.result_names, columns, kinds, strict=True):
            out = out.append_column(name, conformed(column, kind))
        return out

    def _named(self, frame: Frame) -> Frame:
        """The frame, which names its rows by their time."""
        if self._labels is None:
            return named_by_time(frame, self._query.time)
        return named_by_clock(frame, self._query.time, TimeAxis(self._labels.time_type))

    def _own_columns(self, table: pa.Table, chosen: Any) -> pa.Table:
        if self._labels is None:
            return table.select(self._columns).take(chosen)
        return table.select(self._labels.columns).take(chosen).rename_columns(self._labels.names)


@dataclass(frozen=True)
class _Rows:
    """Neighbouring rows of a partition, and which of them are events and points."""

    table: pa.Table
    axis: TimeAxis
    times: Ints
    #: numbers of keys, as they come
    keys: Ints
    events: Ints
    points: Ints
    #: those that ask and have no time
    timeless: Ints
    points_are_events: bool

    def ranges(self, frame: RelativeFrame) -> tuple[Ints, Ints]:
        """What each point sees of the events."""
        if not self.points_are_events:
            return self.seen(self.keys[self.points], self.times[self.points]).ranges(frame)
        fronts, stops = SeenRows(self.times[self.events], self.runs).ranges(frame)
        places = np.searchsorted(self.events, self.points)
        return fronts[places], stops[places]

    def seen(self, keys: Ints, times: Ints) -> SeenRows:
        return SeenRows(self.times[self.events], self.runs, keys, times)

    @property
    def runs(self) -> Ints:
        count = int(self.keys[-1]) + 1 if len(self.keys) else 0
        return np.searchsorted(self.keys[self.events], np.arange(count + 1))

    def frame(self, by: tuple[str, ...], columns: Sequence[str]) -> Frame:
        """The events, which are in processing order."""
        count = int(self.keys[-1]) + 1 if len(self.keys) else 0
        # a table without columns would have no rows
        table = self.table.select([*dict.fromkeys([*columns, *by])] or self.table.column_names[:1])
        return Frame(
            table=table if len(self.events) == len(self.times) else table.take(pa.array(self.events)),
            by=tuple(name for name in by if name != SEGMENT),
            axis=self.axis,
            rows=None,
            unordered_times=self.times[self.events],
            unordered_keys=self.keys[self.events],
            key_rows=np.zeros(count, np.int64),
            rejected=0,
        )
