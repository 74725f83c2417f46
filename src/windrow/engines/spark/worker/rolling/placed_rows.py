"""Rows of a partition that Spark has sorted by one number, their *place*, put in order of key and time.

Spark sorts by one integer many times faster than by a key and a time: digit by digit, without comparing rows.
So it gets one: some bits of the key's hash, and behind them the time in steps. Rows then come with keys
together, but for those that share a hash, and nearly in order of time. The rest is done here, on columns:
rows of the same step are put in order once all of them have come, and so are keys that share a hash.

Invariant: what is given out is sorted by key, keys in any order, then by time and order of arrival, and none
of it comes again: keys that share a hash are held until their hash is over.
Cost: O(1) per row where steps hold few rows, O(log n) where they hold many. Memory: the rows of a step, and
those of keys that share a hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.rows.keys import KeyRuns, encoded_keys

__all__ = ["ARRIVAL", "PLACE", "TIME_BITS", "in_order"]

#: the column that rows come sorted by, and the one that says in which order those of equal time came
PLACE = "__windrow_place"
ARRIVAL = "__windrow_arrival"
#: bits of a place that say the time; those before them are of the key's hash
TIME_BITS = 36

_FIRST = np.iinfo(np.int64).min


def in_order(tables: Iterable[pa.Table], keys: Sequence[str], clock: str) -> Iterator[pa.Table]:
    """Tables of a partition, sorted by PLACE; the same rows by key, time (none comes first) and arrival,
    without the columns that order them."""
    rows = _PlacedRows(tuple(keys), clock)
    for table in tables:
        yield from rows.push(table)
    yield from rows.finish()


class _PlacedRows:
    def __init__(self, keys: tuple[str, ...], clock: str) -> None:
        self._keys, self._clock = keys, clock
        self._held: list[pa.Table] = []
        #: the row that was given out last, and its hash
        self._last: tuple[pa.Table, int] | None = None
        #: whether rows that are held are of keys that share a hash
        self._is_shared = False

    def push(self, table: pa.Table) -> list[pa.Table]:
        self._held.append(table)
        first, last = self._held[0].column(PLACE)[0].as_py(), table.column(PLACE)[-1].as_py()
        shift = TIME_BITS if self._is_shared else 0
        if first >> shift == last >> shift:
            return []
        rows = pa.concat_tables(self._held)
        places = rows.column(PLACE).to_numpy()
        over = int(np.searchsorted(places >> shift, last >> shift))
        begin = int(np.searchsorted(places >> TIME_BITS, last >> TIME_BITS))
        # the last hash is not over: if keys share it, all their rows are held
        self._is_shared = bool(self._shared(rows.slice(0, over), places[:over])[begin:].any())
        over = begin if self._is_shared else over
        self._held = [rows.slice(over)]
        return self._given(rows.slice(0, over), places[:over])

    def finish(self) -> list[pa.Table]:
        if not self._held:
            return []
        rows, self._held = pa.concat_tables(self._held), []
        return self._given(rows, rows.column(PLACE).to_numpy())

    def _given(self, rows: pa.Table, places: Ints) -> list[pa.Table]:
        """Rows whose time has come, in order."""
        if not rows.num_rows:
            return []
        order = self._order(rows, places)
        if order is not None:
            rows = rows.take(pa.array(order))
        self._last = rows.slice(rows.num_rows - 1), int(places[-1]) >> TIME_BITS
        return [rows.drop_columns([name for name in (PLACE, ARRIVAL) if name in rows.column_names])]

    # -- order -----------------------------------------------------------------------------------------------

    def _shared(self, rows: pa.Table, places: Ints) -> Mask:
        """True where a key starts and its hash goes on."""
        if not self._keys or not rows.num_rows:
            return np.zeros(rows.num_rows, np.bool_)
        runs = KeyRuns(self._keys)
        if self._last is not None:
            runs.starts(self._last[0])
        return runs.starts(rows) & ~self._hash_starts(places)

    def _hash_starts(self, places: Ints) -> Mask:
        hashes = places >> TIME_BITS
        starts = np.ones(len(hashes), np.bool_)
        starts[1:] = hashes[1:] != hashes[:-1]
        starts[:1] = self._last is None or self._last[1] != hashes[:1]
        return starts

    def _order(self, rows: pa.Table, places: Ints) -> Ints | None:
        """The permutation by key, time and arrival; None: it is the order that there is."""
        keys: Ints = np.cumsum(self._hash_starts(places), dtype=np.int64)
        if self._shared(rows, places).any():
            keys = self._numbered(rows, keys)
        times = rows.column(self._clock)
        columns = [keys, times.fill_null(_FIRST).to_numpy() if times.null_count else times.to_numpy()]
        if ARRIVAL in rows.column_names:
            columns.append(rows.column(ARRIVAL).fill_null(0).to_numpy())
        return None if _are_sorted(columns) else np.lexsort(columns[::-1])

    def _numbered(self, rows: pa.Table, hashes: Ints) -> Ints:
        """Numbers of keys in the order of their hashes; that of the last row comes first where it goes on."""
        known = [] if self._last is None else [self._last[0]]
        codes, _ = encoded_keys(self._keys, pa.concat_tables([*known, rows]).select(list(self._keys)))
        own = codes[len(known) :].astype(np.int64)
        return hashes * (int(codes.max()) + 1) + own


def _are_sorted(columns: Sequence[Ints]) -> bool:
    """Whether rows are in order by the first column, then by the next."""
    equal = np.ones(max(len(columns[0]) - 1, 0), np.bool_)
    for column in columns:
        if (equal & (column[1:] < column[:-1])).any():
            return False
        equal &= column[1:] == column[:-1]
    return True
