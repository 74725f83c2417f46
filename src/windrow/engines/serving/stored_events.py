"""Events in a key-value store: those of a key together, so that a look-up reads the keys that are asked, and
nothing else.

For each key there is a *record*, with its latest events in the order in which they came, and a list of its
*blocks*: earlier events, some hundred to a block, with the first and the last time in each. A push reads and
writes the records of its keys; events that become too many for a record go into a block, which is never
written again. A look-up reads records in one round trip, then the blocks that reach into the stretch of time
that is asked, in another one.

Records are changed in place, in the same atomic write as the operator's header: a step that fails leaves them
as they were, and one of which that is not known is found out before anything else is read
(:mod:`windrow.engines.stream.persistence.fence`).

Events that no label can see are dropped when their key is next pushed to. Keys that come no more are found by
a sweep over all keys, some with each push; one begins when the watermark has moved on by as much as labels
look back. Cost in memory: a cache of records, and nothing per key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints
from windrow.engines.frames.retention import Retention
from windrow.engines.serving.event_block import in_types
from windrow.engines.serving.event_records import Record, Records
from windrow.engines.serving.held_events import keyed
from windrow.engines.serving.lookup_range import LookupRange
from windrow.engines.stream.persistence.saved_operator import Loaded, StoreEntries
from windrow.spec import Spec
from windrow.state.store import Guard, Item

__all__ = ["StoredEvents"]

#: records or blocks that are read at once
_AT_ONCE = 4096
#: keys that a push looks at for the sweep, beside its own
_SWEPT = 256


@dataclass
class StoredEvents:
    """The events of an operator, by key, in a store."""

    query: Spec
    entries: StoreEntries
    cache: Loaded
    #: the first time that was kept when the last sweep began; and keys that it has not looked at yet
    _swept: int = START_OF_TIME
    _sweep: Iterator[bytes] | None = None
    #: what the step under way has changed
    _puts: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    _deletes: set[bytes] = field(default_factory=set[bytes])
    _changed: dict[bytes, Record] = field(default_factory=dict[bytes, Record])

    def __post_init__(self) -> None:
        self._records = Records(self.entries, self.query.time)
        self._retention = Retention.of(self.query)
        if self.entries.fence.known is None:
            self.entries.delete_events()  # of an operator that was deleted, and whose events were left
        else:
            self._records.load()

    def __len__(self) -> int:
        return self._records.events

    @property
    def key_count(self) -> int:
        return self._records.keys

    @property
    def nbytes(self) -> int:
        """Of what is in memory."""
        return self.cache.nbytes

    def for_query(self, query: Spec) -> StoredEvents:
        self.query, self._retention = query, Retention.of(query)
        return self

    # -- events in -------------------------------------------------------------------------------------------

    def with_rows(self, table: pa.Table, times: Ints, watermark: int) -> StoredEvents:
        keys, codes = keyed(self.query, table)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(keys))).tolist()
        rows, moments = table.take(pa.array(order)), times[order]
        self._records.follow(table.schema)
        self.entries.fence.check_step()
        for key, record, begin, end in zip(keys, self._read(keys), [0, *ends], ends, strict=False):
            more = record.with_rows(rows.slice(begin, end - begin), moments[begin:end])
            self._put(key, record, more, watermark)
        self._sweep_some(watermark)
        return self

    def tidied(self, schema: pa.Schema, watermark: int) -> StoredEvents:
        """What is not needed goes with the next pushes."""
        return self

    def _put(self, key: bytes, before: Record, record: Record, watermark: int) -> None:
        """Change a record: events that no label can see are dropped, and many go into a block."""
        records, place = self._records, self._records.place(key)
        record, gone = record.needed(self._retention, watermark)
        self._deletes |= {records.block_place(key, number) for number in gone}
        self._changed[key] = record = records.with_sealed(key, record, self._puts)
        records.count(record.events - before.events, bool(record.events) - bool(before.events))
        if record.events:
            self._puts[place] = records.packed(key, record)
            self._deletes.discard(place)
        else:
            self._puts.pop(place, None)
            self._deletes.add(place)

    # -- events out ------------------------------------------------------------------------------------------

    def seen(self, asked: LookupRange, schema: pa.Schema) -> pa.Table:
        self.entries.fence.check_step()
        self._records.follow(schema)
        tables = []
        wanted: list[tuple[bytes, int, int]] = []
        for place, (key, record) in enumerate(zip(asked.keys, self._read(asked.keys), strict=True)):
            stretch = int(asked.lows[place]), int(asked.highs[place])
            for block in record.blocks_within(*stretch, asked.rows, int(asked.nears[place])).tolist():
                wanted.append((key, int(record.numbers[block]), int(record.sums[block])))
            tables += [] if record.rows is None else [in_types(record.rows, schema)]
        # those in blocks came before those in records
        blocks = [
            table
            for start in range(0, len(wanted), _AT_ONCE)
            for table in self._records.read_blocks(wanted[start : start + _AT_ONCE])
        ]
        return pa.concat_tables([schema.empty_table(), *blocks, *tables])

    def _read(self, keys: Sequence[bytes]) -> list[Record]:
        """The records of keys, as the step under way has left them."""
        found: dict[bytes, Record] = {}
        for key in keys:
            known = self._changed.get(key) or self.cache.get(_name(key))
            if known is not None:
                found[key] = known
        missing = [key for key in keys if key not in found]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for key, record in zip(some, self._records.read(some), strict=True):
                found[key] = record
                self.cache.put(_name(key), record)
        return [found[key] for key in keys]

    # -- keys that come no more ------------------------------------------------------------------------------

    def _sweep_some(self, watermark: int) -> None:
        """Look at some keys, if it is time to, and drop what no label can see."""
        horizon = self._retention.horizon(watermark)
        if self._retention.rows or horizon == START_OF_TIME:
            return
        if self._sweep is None:
            if self._swept > START_OF_TIME and horizon - self._swept < watermark - horizon:
                return
            self._swept, self._sweep = horizon, self._records.names()
        keys = list(islice(self._sweep, _SWEPT))
        if len(keys) < _SWEPT:
            self._sweep = None
        keys = [key for key in keys if key not in self._changed]
        for key, record in zip(keys, self._records.read(keys), strict=True):
            if record.low < horizon:
                self._put(key, record, record, watermark)

    # -- a step ends -----------------------------------------------------------------------------------------

    def write(self, puts: Sequence[Item], deletes: Sequence[bytes], guards: Sequence[Guard]) -> None:
        """Store what the step has changed together with items of its own."""
        entries, own = self.entries, [self._records.shared(), *self._puts.items()]
        entries.store.write([*puts, *own], [*deletes, *self._deletes], sync=entries.sync, guards=guards)

    def settle(self) -> None:
        """The step is stored."""
        self._records.settle()
        self._end()

    def undo(self) -> None:
        """The step has failed: what is stored is what there is."""
        self._sweep, self._swept = None, START_OF_TIME
        self._records.undo()
        self._end()

    def _end(self) -> None:
        # records that were changed are parts of the table that was pushed, and would keep all of it in memory
        for key in self._changed:
            self.cache.forget(_name(key))
        self._puts, self._deletes, self._changed = {}, set(), {}


def _name(key: bytes) -> str:
    return key.decode("latin-1")
