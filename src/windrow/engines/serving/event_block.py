"""Events in a block: by key, then by time, then as they came, so that those of a key in a stretch of time are
neighbours.

Cost: a look-up is two searches per key that is asked, O(log rows), and a copy of the events that are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.compile.cache import kernel
from windrow.rows.selection import filter_rows, take_rows

__all__ = ["EventBlock", "in_types", "joined_blocks"]


@dataclass(frozen=True)
class EventBlock:
    """Rows, their keys' numbers and their times."""

    table: pa.Table
    keys: Ints
    times: Ints

    @classmethod
    def of(cls, table: pa.Table, keys: Ints, times: Ints) -> EventBlock:
        """Of rows in the order in which they came, or of sorted ones after one another."""
        order = np.lexsort((times, keys))
        if (order[1:] > order[:-1]).all():
            return cls(table.combine_chunks(), keys, times)
        return cls(take_rows(table, order).combine_chunks(), keys[order], times[order])

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes) + self.keys.nbytes + self.times.nbytes

    def where(self, kept: Mask) -> EventBlock:
        if kept.all():
            return self
        return EventBlock(filter_rows(self.table, kept).combine_chunks(), self.keys[kept], self.times[kept])

    def seen(self, keys: Ints, lows: Ints, highs: Ints, nears: Ints, rows: int) -> pa.Table | None:
        """The events of these keys from a time of each to another, both included; None: there are none. With
        ``rows`` those before ``nears`` are not all needed, but so many."""
        fronts, stops = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        _find_ranges(self.keys, self.times, (keys, lows, highs, nears), rows, fronts, stops)
        counts = stops - fronts
        total = int(counts.sum())
        if not total:
            return None
        if len(keys) == 1:
            return self.table.slice(int(fronts[0]), total)
        ends = np.cumsum(counts)
        return take_rows(self.table, np.arange(total) + np.repeat(fronts - (ends - counts), counts))


def joined_blocks(blocks: Sequence[EventBlock], schema: pa.Schema) -> EventBlock:
    """The rows of several blocks, the oldest first, as one."""
    if len(blocks) == 1:
        return blocks[0]
    table = pa.concat_tables([in_types(block.table, schema) for block in blocks])
    keys, times = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("keys", "times"))
    return EventBlock.of(table, keys, times)


@kernel
def _first_at(keys: Ints, times: Ints, key: int, time: int) -> int:
    """The first row of a key at this time or behind it, or of a later key."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key or (keys[middle] == key and times[middle] < time):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _find_ranges(keys: Ints, times: Ints, asked: Any, rows: int, fronts: Ints, stops: Ints) -> None:
    """Fronts and stops of what is asked: keys, first moments, last moments, near ends."""
    wanted, lows, highs, nears = asked
    for i in range(len(wanted)):
        key = wanted[i]
        front = _first_at(keys, times, key, lows[i])
        stop = max(front, _first_at(keys, times, key, highs[i] + 1))
        if rows > 0:
            least = _first_at(keys, times, key, nears[i]) - rows
            if least > front:
                # rows of one time may be in another order than here: all of them or none
                while least > front and times[least - 1] == times[least]:
                    least -= 1
                front = least
        fronts[i] = front
        stops[i] = max(front, stop)


def in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in the columns and types of a schema: columns that held nothing but nulls have no type of their
    own."""
    return table if table.schema.equals(schema) else table.select(schema.names).cast(schema)
