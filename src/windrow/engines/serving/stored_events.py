"""Events in a key-value store: those of a key together, so that a look-up reads the keys that are asked, and
nothing else.

For each key there is a *record*, with its latest events in the order in which they came, and a list of its
*blocks*: earlier events, some hundred to a block, with the first and the last time in each. A push reads and
writes the records of its keys; events that become too many for a record go into a block, which is never
written again. A look-up reads records in one round trip, then the blocks that reach into the stretch of time
that is asked, in another one. Groups of keys, as rows are held elsewhere, would take a round trip for each
level of their pages, and read the events of some tens of keys for one.

What a step changes is part of its state, and is stored in the same atomic write as the operator's header. A
step that fails is forgotten with its state, and one of which it is not known whether it was stored is found
out before anything else is read (:mod:`windrow.engines.stream.persistence.fence`).

Events that no label can see are dropped when their key is next pushed to. Keys that come no more are found by
a sweep over all keys, some with each push; one begins when the watermark has moved on by as much as labels
look back. Cost in memory: a cache of records, and nothing per key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints
from windrow.engines.frames.event_rows import EventRows, in_types
from windrow.engines.frames.lookup_range import LookupRange
from windrow.engines.serving.event_records import Record, Records
from windrow.engines.stream.persistence.saved_operator import Loaded, StoreEntries
from windrow.rows.columns import plain_array
from windrow.rows.key_bytes import key_bytes
from windrow.rows.keys import encoded_keys
from windrow.rows.times import read_times
from windrow.spec import Spec
from windrow.state.store import Item

__all__ = ["EventStore", "StoredEvents"]

#: records or blocks that are read at once
_AT_ONCE = 4096
#: keys that a push looks at for the sweep, beside its own
_SWEPT = 256


@dataclass
class EventStore:
    """Where the events of an operator are, and those of their records that are in memory."""

    entries: StoreEntries
    cache: Loaded
    records: Records

    @classmethod
    def of(cls, entries: StoreEntries, most_bytes: int, time: str) -> EventStore:
        return cls(entries, Loaded(most_bytes), Records(entries, time))

    def open(self) -> None:
        """Once no one else can write: see what is there."""
        if self.entries.fence.known is None:
            self.entries.delete_events()  # of an operator that was deleted, and whose events were left
        else:
            self.records.load()

    def read(self, keys: Sequence[bytes], changed: Mapping[bytes, Record]) -> list[Record]:
        """The records of keys, where some may have been changed."""
        found: dict[bytes, Record] = {}
        for key in keys:
            known = changed.get(key) or self.cache.get(_name(key))
            if known is not None:
                found[key] = known
        missing = [key for key in keys if key not in found]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for key, record in zip(some, self.records.read(some), strict=True):
                found[key] = record
                self.cache.put(_name(key), record)
        return [found[key] for key in keys]


class StoredEvents(EventRows):
    """The events of an operator, by key, in a store."""

    def __init__(self, query: Spec, schema: pa.Schema, store: EventStore) -> None:
        super().__init__(query, schema)
        self._store = store
        #: the first time that was kept when the last sweep began; and keys that it has not looked at yet
        self._swept = START_OF_TIME
        self._sweep: Iterator[bytes] | None = None
        self._forget()

    def _forget(self) -> None:
        """Nothing is changed that is not stored: records, blocks, and how many events and keys there are."""
        self._records: dict[bytes, Record] = {}
        self._blocks: dict[bytes, bytes] = {}
        self._gone: set[bytes] = set()
        self._more_events, self._more_keys = 0, 0

    def copied(self) -> Self:
        clone = super().copied()
        clone._records, clone._blocks, clone._gone = {**self._records}, {**self._blocks}, {*self._gone}
        return clone

    # -- events in -------------------------------------------------------------------------------------------

    def push(self, table: pa.Table, arrivals: Any, times: Any = None) -> None:
        table = table.select(self._columns)
        self._schema = table.schema
        if times is None:
            _, times, _ = read_times(table.column(self._query.time), self._query.time)
        keys, codes = _keys_of(self._query, table)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(keys))).tolist()
        rows, moments = table.take(pa.array(order)), times[order]
        self._store.records.follow(table.schema)
        self._store.entries.fence.check_step()
        for key, record, begin, end in zip(keys, self._read(keys), [0, *ends], ends, strict=False):
            more = record.with_rows(rows.slice(begin, end - begin), moments[begin:end])
            self._put(key, record, more)

    def _put(self, key: bytes, before: Record, record: Record) -> None:
        """Change a record: events that no label can see are dropped, and many go into a block."""
        records = self._store.records
        record, gone = record.needed(self._retention, max(self._passed, START_OF_TIME))
        record, blocks = records.with_sealed(key, record)
        self._records[key] = record
        self._blocks |= blocks
        self._gone |= {records.block_place(key, number) for number in gone}
        self._more_events += record.events - before.events
        self._more_keys += bool(record.events) - bool(before.events)

    def _drop(self, watermark: int, closing: bool) -> None:
        """Look at some keys that may come no more, if it is time to, and drop what no label can see."""
        self._passed = max(self._passed, watermark)
        horizon = self._retention.horizon(watermark)
        if closing or self._retention.rows or horizon == START_OF_TIME:
            return
        if self._sweep is None:
            if self._swept > START_OF_TIME and horizon - self._swept < watermark - horizon:
                return
            self._swept, self._sweep = horizon, self._store.records.names()
        keys = list(islice(self._sweep, _SWEPT))
        if len(keys) < _SWEPT:
            self._sweep = None
        keys = [key for key in keys if key not in self._records]
        for key, record in zip(keys, self._store.records.read(keys), strict=True):
            if record.low < horizon:
                self._put(key, record, record)

    # -- events out ------------------------------------------------------------------------------------------

    def _asked_for(self, asked: LookupRange) -> tuple[pa.Table, bool]:
        records = self._store.records
        self._store.entries.fence.check_step()
        records.follow(self._schema)
        tables = []
        wanted: list[tuple[bytes, int, int]] = []
        keys = key_bytes([plain_array(column) for column in asked.keys.columns], len(asked))
        for place, (key, record) in enumerate(zip(keys, self._read(keys), strict=True)):
            stretch = int(asked.lows[place]), int(asked.highs[place])
            for block in record.blocks_within(*stretch, asked.rows, int(asked.nears[place])).tolist():
                wanted.append((key, int(record.numbers[block]), int(record.sums[block])))
            tables += [] if record.rows is None else [in_types(record.rows, self._schema)]
        # those in blocks came before those in records
        blocks = [
            table
            for start in range(0, len(wanted), _AT_ONCE)
            for table in records.read_blocks(wanted[start : start + _AT_ONCE])
        ]
        return pa.concat_tables([self._schema.empty_table(), *blocks, *tables]), True

    def _read(self, keys: Sequence[bytes]) -> list[Record]:
        return self._store.read(keys, self._records)

    # -- what is stored --------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return self._store.records.events + self._more_events

    @property
    def key_count(self) -> int:
        return self._store.records.keys + self._more_keys

    @property
    def nbytes(self) -> int:
        """Of what is in memory."""
        return self._store.cache.nbytes

    def items(self) -> tuple[list[Item], list[bytes]]:
        """What to store, and to delete, with the state that this is part of."""
        self._store.entries.fence.check_step()
        records = self._store.records
        puts = [records.shared(self.rows, self.key_count), *self._blocks.items()]
        gone = [place for place in self._gone if place not in self._blocks]
        for key, record in self._records.items():
            place = records.place(key)
            if record.events:
                puts.append((place, records.packed(key, record)))
            else:
                gone.append(place)
        return puts, gone

    def settled(self) -> Self:
        """Another, of which all is stored."""
        clone = self.copied()
        records = self._store.records
        records.events, records.keys = self.rows, self.key_count
        # records that were changed are parts of the table that was pushed, and would keep all of it in memory
        for key in self._records:
            self._store.cache.forget(_name(key))
        clone._forget()
        return clone


def _keys_of(query: Spec, table: pa.Table) -> tuple[list[bytes], Ints]:
    """The keys in a table, each once, and the place among them of each row's."""
    codes, firsts = encoded_keys(query.by, table)
    columns = [plain_array(table.column(name)).take(pa.array(firsts)) for name in query.by]
    return key_bytes(columns, len(firsts)), codes.astype(np.int64)


def _name(key: bytes) -> str:
    return key.decode("latin-1")
