"""Rows of a chunk by key and time, so that those of a key in a stretch of time are found by two searches.

Keys are codes (:mod:`windrow.rows.stable_codes`): what is found may hold rows of another key with the same
code, and is compared with what is asked by those who asked.

Cost: O(rows log rows) to make, O(log rows) for each key that is asked, and a copy of the rows that are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.engines.kept_rows.row_table import Held
from windrow.rows.stable_codes import stable_codes

__all__ = ["KeyIndex", "codes_of"]


def codes_of(by: tuple[str, ...], table: pa.Table) -> Ints:
    """The code of each row's key.

    >>> codes_of((), pa.table({"v": [1, 2]})).tolist()
    [0, 0]
    """
    if not by:
        return np.zeros(table.num_rows, np.int64)
    return stable_codes(table.select(list(by))).view(np.int64)


@dataclass(frozen=True)
class KeyIndex:
    """Codes and times of rows by code, then by time, and where each row lies."""

    codes: Ints
    times: Ints
    order: Ints

    @classmethod
    def of(cls, by: tuple[str, ...], rows: Held) -> KeyIndex:
        """Of rows in order of time."""
        codes = codes_of(by, rows.table)
        order = np.argsort(codes, kind="stable")
        return cls(codes[order], rows.times[order], order)

    def find(self, codes: Ints, lows: Ints, highs: Ints, nears: Ints, rows: int) -> Ints:
        """Where the rows of keys lie, from a time of each to another, both included. With ``rows`` those
        before ``nears`` are not all needed, but so many."""
        fronts, stops = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
        _find_ranges(self.codes, self.times, (codes, lows, highs, nears), rows, fronts, stops)
        if len(codes) == 1:
            return self.order[fronts[0] : stops[0]]
        counts = stops - fronts
        ends = np.cumsum(counts)
        return self.order[np.arange(ends[-1]) + np.repeat(fronts - (ends - counts), counts)]


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
