"""The keys that an operator knows: numbers for key values, and back.

Invariant: numbers are 0 ... n - 1 in the order in which keys first appeared. Keys that nothing refers to any
more are forgotten, and the others renumbered in the same order.
Cost: O(known keys + keys of the batch) a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.rows.frame import Frame, encoded_keys, plain_array, restored_keys
from windrow.state.checks import require

__all__ = ["Keys"]


@dataclass(frozen=True)
class Keys:
    """Key values in the order of their numbers; without key columns there is one key, number 0."""

    by: tuple[str, ...]
    values: pa.Table | None = None
    #: how many were in use when it was last looked at
    settled: int = 0

    @classmethod
    def restored(cls, by: tuple[str, ...], values: pa.Table | None, settled: int) -> Keys:
        if values is None:
            return cls(by, None, settled)
        require(bool(by) and isinstance(values, pa.Table), "keys, and the query has no key columns")
        return cls(by, restored_keys(by, values), settled)

    @property
    def may_be_stale(self) -> bool:
        """Whether so many keys came since then that it is time to look again."""
        return len(self) > 2 * self.settled + 1024

    def __len__(self) -> int:
        return 0 if self.values is None else self.values.num_rows

    @property
    def nbytes(self) -> int:
        return 0 if self.values is None else int(self.values.nbytes)

    def with_frame(self, frame: Frame) -> tuple[Keys, Ints]:
        """With the keys of a frame, and the number of each of them."""
        return self.with_values(frame.key_table(), len(frame.key_rows))

    def with_values(self, new: pa.Table, count: int = 1) -> tuple[Keys, Ints]:
        """With these key values, and the number of each of them; without key columns there are ``count``."""
        if not self.by:
            return self, np.zeros(count, np.int64)
        known = [] if self.values is None else [self.values]
        both = pa.concat_tables([*known, new], promote_options="permissive")
        codes, firsts = encoded_keys(self.by, both, None)
        numbers = codes[len(self) :].astype(np.int64)
        return Keys(self.by, _flat(both.take(pa.array(firsts))), self.settled), numbers

    def columns(self, numbers: Ints) -> dict[str, Any]:
        """The key columns of results."""
        if not self.by or self.values is None:
            return {name: pa.nulls(len(numbers)) for name in self.by}
        taken = self.values.take(pa.array(numbers))
        return {name: plain_array(taken.column(name)) for name in self.by}

    def only(self, alive: Ints) -> tuple[Keys, Ints]:
        """The keys with these numbers, sorted; and the new number of each old one."""
        renumbered = np.zeros(max(len(self), 1), np.int64)
        renumbered[alive] = np.arange(len(alive))
        if self.values is None:
            return self, renumbered
        values = _flat(self.values.take(pa.array(alive))) if len(alive) else None
        return Keys(self.by, values, len(alive)), renumbered


def _flat(table: pa.Table) -> pa.Table:
    return pa.table({name: plain_array(table.column(name)) for name in table.column_names})
