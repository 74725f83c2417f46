"""The events of one key in a store: a record with the latest of them, and blocks of those before.

Keys of the store are those of the operator, then ``e`` and the key for a record, ``f``, the key and a number
for a block, and ``s`` for what all records share: the types that columns had, and how many events and keys
there are. Rows are written as Arrow's batches without their schema. Every entry is bound to its place by its
checksum, and a record lists the checksums of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.engines.frames.event_rows import in_types
from windrow.engines.frames.retention import Retention
from windrow.engines.stream.persistence.saved_operator import StoreEntries
from windrow.errors import CorruptState, UnstorableValue
from windrow.rows.selection import filter_rows
from windrow.rows.times import TimeAxis, read_moments
from windrow.state.checks import check_column, check_numbers, making_sense, require, whole
from windrow.state.codec import checksum_of, pack, unpack
from windrow.state.store import Item

__all__ = ["Record", "Records"]

#: more events than this leave the record for a block
_MOST_ROWS = 256
_RECORD, _BLOCK, _SHARED = "event record", "event block", "events"
_NONE: Ints = np.zeros(0, np.int64)
#: what a record has for each of its blocks
_BLOCKS = ("numbers", "counts", "lows", "highs", "sums")


@dataclass(frozen=True)
class Record:
    """What is known of a key without reading its blocks."""

    #: the latest events, in the order in which they came, and their times; None: there are none
    rows: pa.Table | None = None
    times: Ints = field(default_factory=lambda: _NONE)
    #: of each block its number, how many events it has, the first and the last time, and its checksum
    numbers: Ints = field(default_factory=lambda: _NONE)
    counts: Ints = field(default_factory=lambda: _NONE)
    lows: Ints = field(default_factory=lambda: _NONE)
    highs: Ints = field(default_factory=lambda: _NONE)
    sums: Ints = field(default_factory=lambda: _NONE)
    #: the number of the next block; none is used again
    following: int = 0

    @property
    def nbytes(self) -> int:
        return 256 + (0 if self.rows is None else int(self.rows.nbytes)) + 6 * self.numbers.nbytes

    @property
    def events(self) -> int:
        return len(self.times) + int(self.counts.sum())

    @property
    def low(self) -> int:
        """The earliest time of all events."""
        return min(int(self.times.min(initial=END_OF_TIME)), int(self.lows.min(initial=END_OF_TIME)))

    def with_rows(self, rows: pa.Table, times: Ints) -> Record:
        if self.rows is not None:
            rows = pa.concat_tables([in_types(self.rows, rows.schema), rows])
        return replace(self, rows=rows, times=np.concatenate([self.times, times]))

    def needed(self, retention: Retention, watermark: int) -> tuple[Record, list[int]]:
        """Without events that no label can see, as far as blocks are gone as a whole; and the numbers of
        those blocks."""
        horizon = retention.horizon(watermark)
        gone = self.highs < horizon
        if retention.rows:
            gone &= self._is_followed(retention.rows, horizon)
        order = np.argsort(self.times, kind="stable")
        kept = np.empty(len(order), np.bool_)
        kept[order] = retention.needed(np.zeros(len(order), np.int64), self.times[order], watermark)
        found = self if kept.all() else self._where(kept)
        return found.with_blocks(~gone), self.numbers[gone].tolist()

    def _where(self, kept: Mask) -> Record:
        assert self.rows is not None
        rows = filter_rows(self.rows, kept).combine_chunks() if kept.any() else None
        return replace(self, rows=rows, times=self.times[kept])

    def with_blocks(self, kept: Mask) -> Record:
        if kept.all():
            return self
        columns: Any = {name: getattr(self, name)[kept] for name in _BLOCKS}
        return replace(self, **columns)

    def _is_followed(self, rows: int, before: int) -> Mask:
        """Whether at least so many events are behind each block and before a time."""
        found = np.empty(len(self.numbers), np.bool_)
        for place, high in enumerate(self.highs.tolist()):
            later = int(self.counts[(self.lows > high) & (self.highs < before)].sum())
            found[place] = later + int(((self.times > high) & (self.times < before)).sum()) >= rows
        return found

    def blocks_within(self, low: int, high: int, rows: int, near: int) -> Ints:
        """The places of the blocks that hold events from one time to another; with ``rows``, those before
        ``near`` are not all needed, but so many."""
        wanted = (self.highs >= low) & (self.lows <= high)
        if rows:
            wanted &= ~self._is_followed(rows, near)
        return np.flatnonzero(wanted)

    def check_invariants(self) -> None:
        """Of a record that comes from a store."""
        whole("number of the next block", self.following, 0, 2**62)
        if self.numbers is _NONE:
            return
        for name in _BLOCKS:
            check_column(f"{name} of blocks", getattr(self, name), len(self.numbers))
        check_numbers("numbers of blocks", self.numbers, 0, self.following - 1)
        check_numbers("events of blocks", self.counts, 1, 2**62)
        check_numbers("times of blocks", np.concatenate([self.lows, self.highs]), START_OF_TIME, END_OF_TIME)


class Records:
    """Records and blocks as they are stored."""

    def __init__(self, entries: StoreEntries, time: str) -> None:
        self._store, self._fence, self._time = entries.store, entries.fence, time
        self._records, self._blocks = entries.place + b"e", entries.place + b"f"
        self._shared = entries.place + b"s"
        self._schemas: list[pa.Schema] = []
        #: how many are stored
        self.events, self.keys = 0, 0

    # -- what records share ----------------------------------------------------------------------------------

    def load(self) -> None:
        """Read what is stored; nothing is, before the first events."""
        data = self._store.get(self._shared)
        if data is not None:
            with making_sense("what the records of events share"):
                stored = unpack(_SHARED, data, self._shared)
                self._schemas = [table.schema for table in stored["schemas"]]
                self.events = whole("number of events", stored["events"], 0, 2**62)
                self.keys = whole("number of keys", stored["keys"], 0, 2**62)

    def shared(self, events: int, keys: int) -> Item:
        """The item to store with so many events and keys."""
        schemas = [schema.empty_table() for schema in self._schemas]
        value = {"schemas": schemas, "events": events, "keys": keys}
        return self._shared, pack(_SHARED, value, self._shared)

    def follow(self, schema: pa.Schema) -> None:
        """From now on columns are of these types."""
        if not self._schemas or not self._schemas[-1].equals(schema):
            for each in schema:
                _check_storable(each.name, each.type)
            self._schemas = [*self._schemas, schema]

    # -- records ---------------------------------------------------------------------------------------------

    def place(self, key: bytes) -> bytes:
        return self._records + key

    def names(self) -> Iterator[bytes]:
        """The keys of all records."""
        return (place[len(self._records) :] for place in self._store.scan(self._records))

    def read(self, keys: Sequence[bytes]) -> list[Record]:
        """The records of keys; one without anything for keys that have none. One round trip, with which the
        fence is read, too: what another operator, or another step, has stored is an error."""
        places, fence = [self.place(key) for key in keys], self._fence
        owner, known, *found = self._store.get_many([fence.owner_key, fence.key, *places])
        fence.check_read(owner, known)
        pairs = zip(places, found, strict=True)
        return [Record() if data is None else self._unpacked(place, data) for place, data in pairs]

    def packed(self, key: bytes, record: Record) -> bytes:
        # most keys have none
        blocks = [getattr(record, name) for name in _BLOCKS] if len(record.numbers) else []
        version, data = self._rows_out(record.rows)
        return pack(_RECORD, [version, data, blocks, record.following], self.place(key))

    def _unpacked(self, place: bytes, data: bytes) -> Record:
        with making_sense("a record of events"):
            version, rows, blocks, following = unpack(_RECORD, data, place)
            table = self._rows_in(version, rows) if rows else None
            times = _NONE if table is None else self._times(table)
            listed = dict(zip(_BLOCKS, blocks, strict=True)) if blocks else {}
            found = Record(table, times, following=following, **listed)
            found.check_invariants()
        return found

    # -- blocks ----------------------------------------------------------------------------------------------

    def block_place(self, key: bytes, number: int) -> bytes:
        return self._blocks + len(key).to_bytes(4, "big") + key + number.to_bytes(8, "big")

    def with_sealed(self, key: bytes, record: Record) -> tuple[Record, list[Item]]:
        """The record with its events in a block, if they are many; and the block to store."""
        times = record.times
        if len(times) <= _MOST_ROWS:
            return record, []
        place = self.block_place(key, record.following)
        data = pack(_BLOCK, list(self._rows_out(record.rows)), place)
        added = (record.following, len(times), int(times.min()), int(times.max()), checksum_of(data))
        pairs = zip(_BLOCKS, added, strict=True)
        columns = {name: np.append(getattr(record, name), value) for name, value in pairs}
        return Record(following=record.following + 1, **columns), [(place, data)]

    def read_blocks(self, wanted: Sequence[tuple[bytes, int, int]]) -> list[pa.Table]:
        """The events of blocks, by key, number and checksum. One round trip."""
        places = [self.block_place(key, number) for key, number, _ in wanted]
        found = self._store.get_many(places)
        return [
            self._block(place, data, checksum)
            for place, data, (_, _, checksum) in zip(places, found, wanted, strict=True)
        ]

    def _block(self, place: bytes, data: bytes | None, checksum: int) -> pa.Table:
        if data is None:
            self._fence.check_stored()
            raise CorruptState("a block of events is missing from the store: it was deleted, or lost")
        with making_sense("a block of events"):
            version, rows = unpack(_BLOCK, data, place)
            require(checksum_of(data) == checksum, "a block of events is not the one that its record lists")
            return self._rows_in(version, rows)

    # -- rows ------------------------------------------------------------------------------------------------

    def _rows_out(self, rows: pa.Table | None) -> tuple[int, bytes]:
        version = len(self._schemas) - 1
        if rows is None:
            return version, b""
        (batch,) = in_types(rows, self._schemas[-1]).combine_chunks().to_batches()
        return version, batch.serialize().to_pybytes()

    def _rows_in(self, version: Any, data: Any) -> pa.Table:
        schema = self._schemas[whole("version of columns", version, 0, len(self._schemas) - 1)]
        batch = pa.ipc.read_record_batch(pa.py_buffer(data), schema)
        batch.validate(full=True)
        return in_types(pa.Table.from_batches([batch]), self._schemas[-1])

    def _times(self, rows: pa.Table) -> Ints:
        column = rows.column(self._time)
        require(not column.null_count, "an event without a time")
        return read_moments(TimeAxis(column.type), column, self._time).times


def _check_storable(name: str, kind: Any) -> None:
    """Refuse dictionaries inside lists and structs, which batches without a schema do not hold."""
    if pa.types.is_dictionary(kind):
        raise UnstorableValue(
            f"column {name!r} has a dictionary in a list or struct: cast it to plain values"
        )
    for place in range(kind.num_fields if pa.types.is_nested(kind) else 0):
        _check_storable(name, kind.field(place).type)
