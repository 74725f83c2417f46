"""How many rows of each key a log holds: enough to know, without reading them, that new rows complete no
window of so many rows.

Counts go with the log, and where it is stored with the header, which every step reads and writes. So they are
kept while keys are few beside the rows, as the tail of a log is; with more, rows are read instead.
Invariant: the counts are those of all rows that are needed. Cost: one pass over keys and new rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.rows.frame import Frame
from windrow.rows.keys import restored_keys, shared_keys
from windrow.state.checks import check_column, check_numbers, require

__all__ = ["KeyCounts"]


@dataclass(frozen=True)
class KeyCounts:
    """Keys, each once, and how many rows each has; without key columns there is one, and no column."""

    keys: pa.Table
    counts: Ints

    @classmethod
    def of(cls, by: tuple[str, ...], table: pa.Table) -> KeyCounts:
        """Of the rows of a table.

        >>> counts = KeyCounts.of(("k",), pa.table({"k": ["a", "b", "a"]}))
        >>> counts.with_rows(("k",), pa.table({"k": ["c", "a"]})).counts.tolist()
        [3, 1, 1]
        """
        keys, (numbers,) = shared_keys(by, [table])
        return cls(keys, np.bincount(numbers).astype(np.int64))

    @classmethod
    def of_rows(cls, frame: Frame, places: Ints) -> KeyCounts:
        """Of the rows at some places of a frame's table."""
        counts = np.bincount(frame.unordered_keys[places], minlength=len(frame.key_rows)).astype(np.int64)
        some = np.flatnonzero(counts)
        keys = frame.key_table()
        if not keys.num_columns:
            return cls(keys, counts)
        return cls(keys.take(pa.array(some)), counts[some])

    def with_rows(self, by: tuple[str, ...], table: pa.Table) -> KeyCounts:
        """With more rows."""
        if not by:
            return KeyCounts(self.keys, np.array([self.counts.sum() + table.num_rows], np.int64))
        keys, (mine, others) = shared_keys(by, [self.keys, table])
        found = np.bincount(others, minlength=keys.num_rows).astype(np.int64)
        found[mine] += self.counts
        return KeyCounts(keys, found)

    def without_rows(self, by: tuple[str, ...], table: pa.Table) -> KeyCounts:
        """With fewer rows; keys without any are left out.

        >>> counts = KeyCounts.of(("k",), pa.table({"k": ["a", "b", "a"]}))
        >>> counts.without_rows(("k",), pa.table({"k": ["b", "a"]})).keys["k"].to_pylist()
        ['a']
        """
        if not by:
            return KeyCounts(self.keys, np.array([self.counts.sum() - table.num_rows], np.int64))
        keys, (mine, others) = shared_keys(by, [self.keys, table])
        found = self.counts - np.bincount(others, minlength=keys.num_rows)[mine]
        return KeyCounts(self.keys, found).where(found > 0)

    def of_keys(self, by: tuple[str, ...], keys: pa.Table, count: int) -> Ints:
        """How many rows each of so many distinct keys has."""
        if not by:
            return np.array([self.counts.sum()], np.int64)
        _, (_, mine) = shared_keys(by, [keys, self.keys])
        found = np.zeros(count, np.int64)
        found[mine[mine < count]] = self.counts[mine < count]
        return found

    def where(self, kept: Mask) -> KeyCounts:
        """Of some of the keys."""
        return self if kept.all() else KeyCounts(self.keys.filter(pa.array(kept)), self.counts[kept])

    @classmethod
    def concat(cls, parts: Sequence[KeyCounts]) -> KeyCounts:
        """Of keys that are different in each part."""
        keys = pa.concat_tables([part.keys for part in parts], promote_options="permissive")
        return cls(keys, np.concatenate([part.counts for part in parts]))

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def most(self) -> int:
        """How many rows the key has that has most."""
        return int(self.counts.max(initial=0))

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes) + self.counts.nbytes

    def state(self) -> dict[str, Any]:
        return {"keys": self.keys if self.keys.num_columns else None, "counts": self.counts}

    @classmethod
    def restored(cls, by: tuple[str, ...], state: dict[str, Any], rows: int | None = None) -> KeyCounts:
        """Of a stored log with so many rows that are needed; None: of some of its keys."""
        require(bool(by) == (state["keys"] is not None), "counts by other keys than the query has")
        keys = pa.table({}) if state["keys"] is None else restored_keys(by, state["keys"])
        counts = state["counts"]
        check_column("rows of each key", counts, keys.num_rows if by else 1)
        check_numbers("rows of each key", counts, 0, 2**62)
        held = int(counts.sum())
        require(rows is None or held == rows, f"{held} rows by key, and {rows} are held")
        return cls(keys, counts)
