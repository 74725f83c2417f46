"""Events of an as-of query, which labels look up; and, on streams, the labels that wait for them.

Events are looked up as soon as they have come, in whatever order: chunks are in the order in which they came,
and rows in order of time in each alone. In memory a chunk is joined with those before it that are not much
longer, so that there are few; where events are stored they are in groups of keys, as the rows of rolling are
(:mod:`windrow.engines.kept_rows.grouped_rows`). In a chunk those of a key are found by an index
(:mod:`windrow.engines.frames.key_index`).

Events that no label can see are dropped chunk by chunk, and when chunks are joined
(:mod:`windrow.engines.frames.retention`), so that no more than about twice what is needed is held.

Labels of a stream wait until nothing can come that they may see; a label without a time waits for nothing.

Cost: a label reads the chunks of its key's group that hold some of the time that it sees, and events that
came lately; of chunks, those rows alone are copied that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.engines.frames.asof import with_seen_of
from windrow.engines.frames.key_index import KeyIndex, codes_of
from windrow.engines.frames.lookup_range import LookupRange
from windrow.engines.frames.retention import Retention
from windrow.engines.frames.waiting_labels import are_due, due_before
from windrow.engines.kept_rows.chunk import MOST_ROWS, Chunk, cut, fewest_rows
from windrow.engines.kept_rows.columns import HeldColumns
from windrow.engines.kept_rows.expiry import Trim
from windrow.engines.kept_rows.grouped_rows import GroupedRows
from windrow.engines.kept_rows.groups import KeyGroups, places_of
from windrow.engines.kept_rows.log import RowLog
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.errors import ChangedQuery
from windrow.rows.columns import needed_columns
from windrow.rows.keys import shared_keys
from windrow.rows.selection import filter_rows
from windrow.rows.times import read_times
from windrow.spec import Spec

__all__ = ["EventRows", "LabelColumns", "in_types"]

_NO_CODES: Ints = np.empty(0, np.int64)
#: fewer rows than this are not worth looking through for those that are not needed
_FEW = 1024


@dataclass(frozen=True)
class LabelColumns:
    """The columns of labels that wait, their times and keys among them."""

    schema: pa.Schema
    time: str
    by: tuple[str, ...]

    def check_like(self, before: pa.Schema) -> None:
        """Refuse labels of other columns than were held."""
        if not before.equals(self.schema):
            was, now = (", ".join(f"{f.name} {f.type}" for f in schema) for schema in (before, self.schema))
            raise ChangedQuery(
                f"the labels had the columns {was}, and have {now}: give them as they were, or start the "
                f"stream with another checkpoint"
            )


class EventRows(GroupedRows):
    """The events of an as-of query; ``schema`` is that of the columns that it reads.

    Where others keep partials of a chunk, here its index (level 0) and its keys (level 1) are kept."""

    is_in_order = False
    #: events that came lately are looked through for every label: they join their groups at once
    share = 0

    def __init__(self, query: Spec, schema: pa.Schema, labels: LabelColumns | None = None) -> None:
        assert query.asof_over is not None
        super().__init__(query, query.asof_over)
        self._columns = needed_columns(query)
        self._schema = schema
        self._labels = labels
        self._retention = Retention.of(query)
        #: the same for events of one key
        self._of_one_key = replace(query, by=())
        #: how many events there were when all were looked through, and came since
        self._settled = 0
        self._came = 0
        #: whether it is not of a state that was stored
        self.is_new = True

    # -- events in -------------------------------------------------------------------------------------------

    def push(self, table: pa.Table, arrivals: Any, times: Ints | None = None) -> None:
        self._schema = table.select(self._columns).schema
        rows = Held.of(table.select(self._columns), self._query.time, arrivals, times)
        self._log = self._log.with_merged(rows)
        self._brought += len(rows)
        self._came += len(rows)

    def in_time(self, times: Ints, before: int) -> Mask:
        """Labels may have left without an event from before the watermark; those that ask now may see any
        that is kept, and of the last ones of a key one of any age."""
        if self._labels is not None:
            return super().in_time(times, before)
        return (times >= self._retention.horizon(before)) | bool(self._retention.rows)

    @property
    def late_reason(self) -> str:
        return super().late_reason if self._labels is not None else "too_old"

    # -- events out ------------------------------------------------------------------------------------------

    def answer(self, labels: pa.Table, at_time: str, at_by: tuple[str, ...], read: Any = None) -> pa.Table:
        """The labels with what each sees of the events; ``read``: their times, where these are known."""
        _, times, missing = read_times(labels.column(at_time), at_time) if read is None else read
        rows = labels
        if missing is not None:
            rows, times = filter_rows(labels, ~missing), times[~missing]
        if not len(times):
            return with_seen_of(self._query, self._schema.empty_table(), labels, at_time, at_by)
        asked = LookupRange.of(self._query, self._schema, rows, times, at_by)
        (events, are_theirs), query = self._asked_for(asked), self._query
        is_one = len(asked) == 1 and asked.are_exact
        if is_one and (are_theirs or _are_of_key(events, asked.keys)):  # none has to be compared
            query, at_by = self._of_one_key, ()
        return with_seen_of(query, events, labels, at_time, at_by)

    def _asked_for(self, asked: LookupRange) -> tuple[pa.Table, bool]:
        """The events that are asked for, those of equal key and time as they came; and whether none of other
        keys may be among them."""
        found: list[Any] = []
        for log, some in self._logs_asked(asked):
            first, last = int(some.lows.min()), int(some.highs.max())
            for chunk in log.chunks:
                if chunk.first <= last and (some.rows or chunk.last >= first):
                    rows = chunk.rows
                    index = chunk.whole(0, partial(KeyIndex.of, self._query.by, rows))
                    places = index.find(some.codes, some.lows, some.highs, some.nears, some.rows)
                    if len(places):
                        found.append(in_types(rows.table.take(places), self._schema))
        return pa.concat_tables(found) if found else self._schema.empty_table(), False

    def _logs_asked(self, asked: LookupRange) -> Iterator[tuple[RowLog, LookupRange]]:
        """The logs that may have events of these keys, and what is asked of each."""
        if self._groups.logs:
            numbers = places_of(asked.codes, self._groups.count)
            for number, log in self._groups.logs.find(np.unique(numbers).tolist()).items():
                yield log, asked.where(numbers == number)
        yield self._log, asked

    # -- labels that wait ------------------------------------------------------------------------------------

    def ask(self, labels: pa.Table, arrivals: Ints) -> None:
        """Hold labels, all of which have a time, until they are due."""
        assert self._labels is not None
        self._pending = self._pending.with_rows(Held.of(labels, self._labels.time, arrivals))

    def due(self, up_to: int, closing: bool = False) -> pa.Table | None:
        result = None
        if self._labels is not None:
            asked, rest = self._pending.split(None if closing else due_before(self._query, up_to))
            labels = joined(asked) if asked else None
            if labels is not None:
                due = are_due(self._query, labels.times, up_to) | closing
                rest = rest if due.all() else rest.with_rows(labels.where(~due))
                table = labels.where(due).table
                result = self.answer(table, self._labels.time, self._labels.by) if due.any() else None
            self._pending = rest
        self._drop(END_OF_TIME if closing else min(up_to, self._pending.first), closing)
        return result

    # -- events that no label can see ------------------------------------------------------------------------

    def _drop(self, watermark: int, closing: bool) -> None:
        """Let go of events that no label from the watermark on can see, as far as it pays."""
        if closing:
            self._log, self._groups = self._log.without_rows(), KeyGroups()
            return
        horizon = self._retention.horizon(watermark)
        if horizon == START_OF_TIME:
            return
        self._passed = max(self._passed, watermark)
        over = _NeededEvents(self._query.by, self._retention, watermark)
        if not self._retention.rows:
            self._log = over.log(self._log)
            self._groups = self._groups.without_rows_up_to(horizon - 1, over)
        elif self._came > max(_FEW, self._settled) and all(chunk.is_loaded for chunk in self._log.chunks):
            rows = self._log.all()
            kept = None if rows is None else over.rows(rows.by_time())
            self._log = self._log.without_rows()
            self._log = self._log.with_merged(kept) if kept is not None and len(kept) else self._log
            self._settled, self._came = len(self._log), 0

    def _trim(self) -> Trim | None:
        return _NeededEvents(self._query.by, self._retention, max(self._passed, START_OF_TIME))

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def folds(self) -> bool:
        return False

    @property
    def key_count(self) -> int:
        """How many keys have events; of those in memory."""
        by = self._query.by
        known = [chunk.whole(1, partial(_distinct_codes, by, chunk.rows)) for chunk in self.log.chunks]
        return len(known[0]) if len(known) == 1 else len(np.unique(np.concatenate([_NO_CODES, *known])))

    def chunked(self) -> Self:
        """Another with the same rows: those in memory as chunks to be stored, but for a few."""
        clone = super().chunked()
        chunks = list(clone._log.chunks)
        few: list[Held] = []
        while chunks and chunks[-1].is_loaded and sum(map(len, few)) + chunks[-1].count < fewest_rows():
            few.insert(0, chunks.pop().rows)
        pieces = [piece for chunk in chunks for piece in _pieces(chunk)]
        tail = joined(few).by_time() if few else None
        clone._log = replace(clone._log, chunks=tuple(pieces), masks=(None,) * len(pieces), tail=tail)
        return clone

    def _state_of(self, log: RowLog, with_chunks: bool) -> dict[str, Any]:
        found = super()._state_of(log, with_chunks)
        return found if self._labels is None else found | {"labels": self._labels.schema.empty_table()}

    def restore(
        self, state: dict[str, Any], log: Sequence[Chunk] = (), waiting: Sequence[Chunk] = ()
    ) -> None:
        if self._labels is not None:
            self._labels.check_like(state["labels"].schema)
        super().restore(state, log, waiting)
        self.is_new = False

    def _set_log(self, log: RowLog, state: dict[str, Any]) -> None:
        super()._set_log(log, state)
        tail = self._log.tail
        if tail is not None:
            self._log = replace(self._log, tail=None).with_merged(tail)

    def reads_rows(self, waits: bool) -> Callable[[dict[str, Any]], Held]:
        if not waits or self._labels is None:
            return super().reads_rows(waits)
        types = {field.name: field.type for field in self._labels.schema}
        columns = HeldColumns(self._labels.schema.names, types)
        return partial(Held.restored, time=self._labels.time, columns=columns)


@dataclass(frozen=True)
class _NeededEvents:
    """Events that no label from a watermark on can see are over."""

    by: tuple[str, ...]
    retention: Retention
    watermark: int

    def rows(self, rows: Held) -> Held:
        _, (keys,) = shared_keys(self.by, [rows.table])
        order = np.argsort(keys, kind="stable")
        needed = np.empty(len(rows), np.bool_)
        needed[order] = self.retention.needed(keys[order], rows.times[order], self.watermark)
        return rows.where(needed)

    def log(self, log: RowLog) -> RowLog:
        """Without chunks that are over; those of which most is, if they are at hand, are written anew."""
        if self.retention.rows:
            return log
        horizon, kept = self.retention.horizon(self.watermark), list[Chunk]()
        for chunk in log.chunks:
            if chunk.first < horizon <= chunk.last and chunk.is_loaded:
                over = int(np.searchsorted(chunk.rows.times, horizon))
                if 2 * over >= chunk.count:
                    chunk = Chunk(chunk.rows.take(np.arange(over, chunk.count)))
            if chunk.last >= horizon:
                kept.append(chunk)
        return replace(log, chunks=tuple(kept), masks=(None,) * len(kept))


def _distinct_codes(by: tuple[str, ...], rows: Held) -> Ints:
    return np.unique(codes_of(by, rows.table))


def _pieces(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk in pieces that are not too large to be stored; one that is stored stays."""
    if chunk.count <= MOST_ROWS or not chunk.is_loaded:
        yield chunk
    else:
        yield from cut(chunk.rows)


def in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the types of a schema: columns that held nothing but nulls have no type of their own."""
    return table if table.schema.equals(schema) else table.select(schema.names).cast(schema)


def _are_of_key(events: pa.Table, key: pa.Table) -> bool:
    """Whether all events are of a key, as far as that is easily told."""
    for name in key.column_names:
        value = key.column(name)[0]
        if pa.types.is_nested(value.type):
            return False
        if not pc.all(pc.equal(events.column(name), value), skip_nulls=False).as_py():
            return False
    return True
