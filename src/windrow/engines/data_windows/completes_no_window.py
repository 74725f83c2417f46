"""New rows whose keys complete no window, as far as is known without the rows before them: these are not read
then. Rows of one key are quiet together, or none of them is.
Cost: one pass over new rows, and over the keys of which something is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.arrays import Mask
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.rows.keys import shared_keys

__all__ = ["quiet_by_counts", "quiet_by_flags"]

_UNKNOWN = 2**62


def quiet_by_flags(by: tuple[str, ...], table: pa.Table, completing: Mask | None) -> Mask:
    """Those of keys without a row that may complete a window; None: any row may.

    >>> quiet_by_flags(("k",), pa.table({"k": ["a", "b", "a"]}), np.array([False, False, True])).tolist()
    [False, True, False]
    """
    if completing is None:
        return np.zeros(table.num_rows, np.bool_)
    keys, (numbers,) = shared_keys(by, [table])
    is_asked = np.zeros(max(keys.num_rows, 1), np.bool_)
    is_asked[numbers[completing]] = True
    return ~is_asked[numbers]


def quiet_by_counts(
    by: tuple[str, ...], table: pa.Table, counts: KeyCounts | None, fewest: int
) -> tuple[Mask, KeyCounts | None]:
    """Those of keys that are known to have fewer rows than complete a window; and how many each of these keys
    has then.

    >>> known = KeyCounts.of(("k",), pa.table({"k": ["a", "a", "b"]}))
    >>> quiet, counts = quiet_by_counts(("k",), pa.table({"k": ["a", "b", "c"]}), known, 3)
    >>> quiet.tolist(), counts.keys["k"].to_pylist(), counts.counts.tolist()
    ([False, True, False], ['b'], [2])
    """
    if counts is None:
        return np.zeros(table.num_rows, np.bool_), None
    keys, (numbers, known) = shared_keys(by, [table, counts.keys])
    found = int(numbers.max()) + 1
    held = np.full(keys.num_rows, _UNKNOWN)
    held[known] = counts.counts
    held = held[:found] + np.bincount(numbers, minlength=found)
    quiet = held < fewest
    some = np.flatnonzero(quiet)
    return quiet[numbers], KeyCounts(keys.take(pa.array(some)), held[some])
