"""Rows that living structures are made of, as they were taken: the state of which those are caches.

Each row knows its key, its position among the rows of its key, and its number among all rows. Rows lie in
parts, in the order in which they were taken; a part is joined with the next while it is not much longer, so
that a row is copied O(log rows) times. Rows that no window needs are dropped once they are as many as the
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.rows.columns import plain_array

__all__ = ["KeptRows"]

#: so many parts wait to be joined, since each costs some steps however few its rows are
_MOST_PARTS = 32
#: a part is joined with the next unless it is so many times as long
_MUCH = 4


@dataclass(frozen=True)
class _Part:
    rows: Held
    keys: Ints
    positions: Ints
    numbers: Ints

    def where(self, kept: Any) -> _Part:
        return _Part(self.rows.where(kept), self.keys[kept], self.positions[kept], self.numbers[kept])


class KeptRows:
    """All of them; what is done to one of these is not done to those it was made of."""

    def __init__(self, parts: tuple[_Part, ...] = (), taken: int = 0, joined_parts: int = 0) -> None:
        self._parts = parts
        #: how many parts come before those that are waiting to be joined
        self._joined = joined_parts
        #: how many rows were ever taken
        self.taken = taken

    def __len__(self) -> int:
        if not self._parts:
            return 0
        return sum([len(part.numbers) for part in self._parts])

    @property
    def newest(self) -> int:
        """The time of the row that was taken last."""
        return int(self._parts[-1].rows.times[-1])

    @property
    def nbytes(self) -> int:
        return sum(part.rows.nbytes + 3 * part.keys.nbytes for part in self._parts)

    def with_rows(self, rows: Held, keys: Ints, positions: Ints) -> KeptRows:
        numbers = np.arange(self.taken, self.taken + len(rows))
        parts = [*self._parts, _Part(rows, keys, positions, numbers)]
        if len(parts) > self._joined + _MOST_PARTS:
            parts[self._joined :] = [_one(parts[self._joined :])]
            while len(parts) > 1 and len(parts[-2].rows) <= _MUCH * len(parts[-1].rows):
                parts[-2:] = [_one(parts[-2:])]
            return KeptRows(tuple(parts), self.taken + len(rows), len(parts))
        return KeptRows(tuple(parts), self.taken + len(rows), self._joined)

    def live(self, begins: Ints, keys: Any = None) -> tuple[Held, Ints, Ints] | None:
        """Return the rows that are needed, with the numbers of their keys and their positions; ``keys``: a
        mask of the keys that are asked for (None: all). None: there are no such rows."""
        found = []
        for part in self._parts:
            kept = part.positions >= begins[part.keys]
            kept = kept if keys is None else kept & keys[part.keys]
            if kept.any():
                found.append(part.where(kept))
        if not found:
            return None
        part = _one(found)
        return part.rows, part.keys, part.positions

    def only(self, begins: Ints, renumbered: Ints) -> KeptRows:
        """The rows that are needed, with other numbers for their keys."""
        found = [part.where(part.positions >= begins[part.keys]) for part in self._parts]
        found = [part for part in found if len(part.rows)]
        if not found:
            return KeptRows((), self.taken)
        part = _one(found)
        return KeptRows(
            (_Part(part.rows, renumbered[part.keys], part.positions, part.numbers),), self.taken, 1
        )

    def values(self, name: str, numbers: Ints) -> Any:
        """The values of a column of the rows with these numbers; any value for one that is not there."""
        columns, places, before = [], np.zeros(len(numbers), np.int64), 0
        firsts = np.array([part.numbers[0] for part in self._parts])
        which = np.maximum(np.searchsorted(firsts, numbers, side="right") - 1, 0)
        for k in np.unique(which).tolist():
            part, asked = self._parts[k], which == k
            found = np.searchsorted(part.numbers, numbers[asked])
            found = np.minimum(found, len(part.numbers) - 1)
            columns.append(plain_array(part.rows.table.column(name)).take(pa.array(found)))
            places[asked] = np.arange(before, before + len(found))
            before += len(found)
        if len(columns) == 1:
            return columns[0]
        return pa.concat_arrays(columns).take(pa.array(places))


def _one(parts: list[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    return _Part(
        joined([part.rows for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.positions for part in parts]),
        np.concatenate([part.numbers for part in parts]),
    )
