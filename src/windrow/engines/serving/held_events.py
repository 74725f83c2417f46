"""Events in memory: blocks, each several times as long as the next, so that there are few.

Rows that come make a block of their own, which is joined with those before it while they are not much longer:
a row is copied O(log rows) times. Now and then all are joined, and rows that no label can see are dropped
(:mod:`windrow.engines.frames.retention`), so that no more than about twice what is needed is held.

Invariant: blocks are in the order in which rows came, and so are rows of equal key and time in each.
Nothing is changed in place but the index of keys, to which keys are added.
Cost: a look-up asks O(log rows) blocks; no row is sorted for it but those that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import START_OF_TIME, Ints
from windrow.engines.frames.retention import Retention
from windrow.engines.serving.event_block import EventBlock, in_types, joined_blocks
from windrow.engines.serving.lookup_range import LookupRange
from windrow.rows.columns import plain_array
from windrow.rows.key_bytes import key_bytes
from windrow.rows.keys import encoded_keys
from windrow.rows.times import TimeAxis, read_moments
from windrow.spec import Spec
from windrow.state.checks import making_sense, require

__all__ = ["HeldEvents", "keyed", "plain_table"]

#: a block is joined with the one before it unless that is so many times as long
_LONGER = 4
#: fewer rows than this are not worth looking through for those that are not needed
_FEW = 1024


def plain_table(table: pa.Table, names: list[str]) -> pa.Table:
    """These columns, in types that Arrow's functions work on."""
    return pa.table({name: plain_array(table.column(name)) for name in names})


def keyed(query: Spec, table: pa.Table) -> tuple[list[bytes], Ints]:
    """The keys in a table, each once, and the place among them of each row's."""
    codes, firsts = encoded_keys(query.by, table)
    columns = [plain_array(table.column(name)).take(pa.array(firsts)) for name in query.by]
    return key_bytes(columns, len(firsts)), codes.astype(np.int64)


@dataclass(frozen=True)
class HeldEvents:
    """All events that a label may still see."""

    query: Spec
    blocks: tuple[EventBlock, ...] = ()
    #: how many rows there were when all were looked through, and came since
    settled: int = 0
    added: int = 0
    _numbers: dict[bytes, int] = field(default_factory=dict[bytes, int], repr=False)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def key_count(self) -> int:
        return len(self._numbers)

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)

    def for_query(self, query: Spec) -> HeldEvents:
        return replace(self, query=query)

    def with_rows(self, table: pa.Table, times: Ints, watermark: int) -> HeldEvents:
        """With rows that have a time, of the columns that the query reads in plain types."""
        keys, codes = keyed(self.query, table)
        known = self._numbers
        numbers = np.fromiter((known.setdefault(key, len(known)) for key in keys), np.int64, len(keys))
        tail = [EventBlock.of(table, numbers[codes], times)]
        before = list(self.blocks)
        while before and len(before[-1]) < _LONGER * sum(map(len, tail)):
            tail.insert(0, before.pop())
        blocks = (*before, joined_blocks(tail, table.schema))
        found = replace(self, blocks=blocks, added=self.added + len(times))
        if found.added > max(_FEW, self.settled):
            return found.tidied(table.schema, watermark)
        return found

    def tidied(self, schema: pa.Schema, watermark: int) -> HeldEvents:
        """Without rows, and keys, that no label from the watermark on can see."""
        if not self.blocks:
            return self
        every = joined_blocks(self.blocks, schema)
        every = every.where(Retention.of(self.query).needed(every.keys, every.times, watermark))
        alive = np.unique(every.keys)
        if 2 * len(alive) < len(self._numbers):
            every, numbers = _renumbered(every, alive, self._numbers)
        else:
            numbers = self._numbers
        blocks = (every,) if len(every) else ()
        return HeldEvents(self.query, blocks, len(every), 0, numbers)

    def seen(self, asked: LookupRange, schema: pa.Schema) -> pa.Table:
        """The events that are asked for; those of equal key and time as they came."""
        numbers = np.fromiter((self._numbers.get(key, -1) for key in asked.keys), np.int64, len(asked))
        known = np.flatnonzero(numbers >= 0)
        stretches = (asked.lows[known], asked.highs[known], asked.nears[known])
        found = [block.seen(numbers[known], *stretches, asked.rows) for block in self.blocks]
        tables = [in_types(table, schema) for table in found if table is not None]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    # -- state -----------------------------------------------------------------------------------------------

    def table(self, schema: pa.Schema) -> pa.Table:
        """All rows."""
        tables = [in_types(block.table, schema) for block in self.blocks]
        return pa.concat_tables([schema.empty_table(), *tables])

    @classmethod
    def of_tables(
        cls, query: Spec, tables: Sequence[pa.Table], schema: pa.Schema, settled: int, added: int
    ) -> HeldEvents:
        """Of the rows of blocks, each by itself."""
        every = [cls.restored(query, table, schema) for table in tables]
        numbers: dict[bytes, int] = {}
        blocks = []
        for each in every:
            places = [numbers.setdefault(key, len(numbers)) for key in each._numbers]
            (block,) = each.blocks
            blocks.append(EventBlock.of(block.table, np.array(places, np.int64)[block.keys], block.times))
        return cls(query, tuple(blocks), settled, added, numbers)

    @classmethod
    def restored(cls, query: Spec, stored: Any, schema: pa.Schema) -> HeldEvents:
        """Of rows as ``table`` gave them."""
        with making_sense("the events"):
            require(isinstance(stored, pa.Table), "events: not a table")
            stored = stored.select(schema.names)
            require(stored.schema.equals(schema), "events of other columns or types")
            column = stored.column(query.time)
            require(not column.null_count, "events without a time")
            if not stored.num_rows:
                return cls(query)
            times = read_moments(TimeAxis(column.type), column, query.time).times
        found = cls(query).with_rows(stored, times, START_OF_TIME)
        return replace(found, settled=stored.num_rows, added=0)


def _renumbered(
    block: EventBlock, alive: Ints, numbers: dict[bytes, int]
) -> tuple[EventBlock, dict[bytes, int]]:
    """The block with numbers for the keys that it has, and those alone."""
    names = list(numbers)
    keys = np.searchsorted(alive, block.keys)
    return replace(block, keys=keys), {names[number]: place for place, number in enumerate(alive.tolist())}
