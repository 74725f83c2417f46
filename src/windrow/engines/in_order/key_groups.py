"""Rows that are held in groups of keys: a step reads the groups that its keys are in, and no others.

The group of a key follows from a code of its value (:mod:`windrow.rows.stable_codes`). Each group has its own
log (:mod:`windrow.engines.in_order.log`), here without a tail. There is about one group for a few hundred
rows: one is many keys of few rows, in a few chunks, or one key of many.

Rows join groups many at a time, from a log of rows that came lately (:mod:`windrow.engines.in_order.keyed`).
Those of a group become its last chunk, together with chunks before it that are not much longer. So chunks get
shorter from the first to the last, as in a log-structured merge tree (O'Neil et al., 1996), and a row is
written O(log GROUP) times in all.

Groups grow in number one by one, and each time a few of them are split: group ``h`` of ``n`` groups is split
into ``h`` and ``n``, as in linear hashing (Litwin, VLDB 1980). So their number is all that must be known to
find the group of a key, and m rows split O(m / GROUP) groups.

Invariant: in a group all rows of a key are in order of time. Groups are values.
Cost: a step reads what the groups of its keys hold, not what is held; the list of chunks, which every step
reads, has a few entries for each group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.in_order.chunks import Chunk, cut, fewest_rows
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.key_counts import KeyCounts
from windrow.engines.in_order.log import RowLog, needed_of
from windrow.monoids.hashing import encode_array
from windrow.rows.keys import shared_keys
from windrow.rows.stable_codes import Codes, stable_codes
from windrow.state.checks import check_column, check_numbers, whole

__all__ = ["KeyGroups", "group_numbers", "is_among", "wanted_groups"]

#: so many groups are made of the rows of a full chunk
_GROUPS_A_CHUNK = 4
#: a chunk is joined with what comes behind it if it has at most so many times as many rows
_FACTOR = 4
#: no one has had more
_MOST_GROUPS = 1 << 40


@dataclass(frozen=True)
class KeyGroups:
    """The logs of groups that have rows, by number."""

    count: int = 1
    logs: Mapping[int, RowLog] = field(default_factory=dict[int, RowLog])
    #: how many rows some keys have, those included that are in no group yet
    counts: KeyCounts | None = None
    #: the last row of some keys
    lasts: Held | None = None

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        return tuple(chunk for log in self.logs.values() for chunk in log.chunks)

    @property
    def masks(self) -> tuple[Mask | None, ...]:
        return tuple(mask for log in self.logs.values() for mask in log.masks)

    @property
    def numbers(self) -> Ints:
        """The group of each chunk."""
        lengths = [len(log.chunks) for log in self.logs.values()]
        return np.repeat(np.fromiter(self.logs, np.int64, len(self.logs)), lengths)

    @classmethod
    def restored(
        cls, count: object, numbers: Ints, chunks: Sequence[Chunk], masks: Sequence[Mask | None]
    ) -> KeyGroups:
        """Of what a state says; its chunks are checked when they are loaded."""
        most = whole("number of groups of keys", count, 2, _MOST_GROUPS)
        check_column("groups of chunks", numbers, len(chunks))
        check_numbers("groups of chunks", numbers, 0, most - 1)
        found: dict[int, list[tuple[Chunk, Mask | None]]] = {}
        for number, chunk, mask in zip(numbers.tolist(), chunks, masks, strict=True):
            found.setdefault(number, []).append((chunk, mask))
        logs = {
            number: RowLog(tuple(chunk for chunk, _ in pairs), masks=tuple(mask for _, mask in pairs))
            for number, pairs in found.items()
        }
        for log in logs.values():
            if len(log.chunks) > 1:
                log.check_invariants()
        return cls(most, logs)

    # -- what is known of keys -------------------------------------------------------------------------------

    def knowing(
        self, by: tuple[str, ...], table: pa.Table, counts: KeyCounts | None, lasts: Held | None
    ) -> KeyGroups:
        """With what is known now of the keys of a table; of these alone, and no longer what was, unless these
        are many: every step reads and writes it."""
        counts_before, lasts_before = self.counts, self.lasts
        if counts_before is not None:
            counts_before = counts_before.where(~is_among(by, counts_before.keys, table))
        if lasts_before is not None:
            lasts_before = lasts_before.where(~is_among(by, lasts_before.table, table))
        known = [each for each in (counts_before, counts) if each is not None and len(each)]
        last = [each for each in (lasts_before, lasts) if each is not None and len(each)]
        return replace(
            self,
            counts=self._few(KeyCounts.concat(known)) if known else None,
            lasts=self._few(joined(last)) if last else None,
        )

    def _few(self, known: Any) -> Any:
        return known if len(known) <= max(fewest_rows(), len(self.logs)) else None

    # -- groups that are made --------------------------------------------------------------------------------

    def with_rows(self, by: tuple[str, ...], count: int, log: RowLog, *, folds: bool) -> KeyGroups:
        """So many groups, with the rows of a log, which come after all rows of their keys here. ``folds``:
        chunks of groups have wholes, so that those of the log must be written anew."""
        split = set(_places(np.arange(self.count, count, dtype=np.uint64), self.count).tolist())
        sorter = _Sorter(
            by, count, {number: each for number, each in self.logs.items() if number not in split}
        )
        for number in sorted(split & set(self.logs)):
            sorter.add(self.logs[number])
        sorter.add(log, anew=folds)
        return replace(self, count=count, logs=sorter.logs())

    def of_full_chunks(self, by: tuple[str, ...], table: pa.Table) -> Mask:
        """Which keys are in groups with full chunks."""
        full = [number for number, log in self.logs.items() if _has_full(log)]
        return np.isin(group_numbers(by, table, self.count), np.array(full, np.int64))


class _Sorter:
    """Takes logs apart into groups, behind the rows that these have. Full chunks whose rows are all of one
    group stay as they are, unless rows before them do not."""

    def __init__(self, by: tuple[str, ...], count: int, logs: Mapping[int, RowLog]) -> None:
        self._by, self._count = by, count
        self._logs = dict(logs)
        self._loose: list[tuple[Held, Ints]] = []
        self._loosened: set[int] = set()

    def add(self, log: RowLog, anew: bool = False) -> None:
        for chunk, mask in zip(log.chunks, log.masks, strict=True):
            rows = chunk.rows if mask is None else chunk.rows.where(mask)
            numbers = self._numbers(rows)
            number = int(numbers[0])
            is_full = chunk.count >= fewest_rows()
            if is_full and number not in self._loosened and (numbers == number).all():
                self._keep(number, Chunk(rows) if anew else chunk, None if anew else mask)
            else:
                self._loosen(rows, numbers)
        if log.tail is not None:
            self._loosen(log.tail, self._numbers(log.tail))

    def _numbers(self, rows: Held) -> Ints:
        return group_numbers(self._by, rows.table, self._count)

    def _keep(self, number: int, chunk: Chunk, mask: Mask | None) -> None:
        log = self._logs.get(number, RowLog())
        self._logs[number] = replace(log, chunks=(*log.chunks, chunk), masks=(*log.masks, mask))

    def _loosen(self, rows: Held, numbers: Ints) -> None:
        self._loose.append((rows, numbers))
        self._loosened.update(np.unique(numbers).tolist())

    def logs(self) -> dict[int, RowLog]:
        found = dict(self._logs)
        if not self._loose:
            return found
        rows = joined([rows for rows, _ in self._loose])
        numbers = np.concatenate([numbers for _, numbers in self._loose])
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows.take(order), numbers[order]
        edges = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(numbers)]
        for begin, end in itertools.pairwise(edges):
            number = int(numbers[begin])
            found[number] = _extended(found.get(number, RowLog()), rows.slice(begin, end))
        return found


def _extended(log: RowLog, rows: Held) -> RowLog:
    """With rows in a chunk behind the others, and with those of the last chunks that are not much longer, or
    of whose rows most are over."""
    begin, count = len(log.chunks), len(rows)
    while begin and _is_joined(log.chunks[begin - 1], log.masks[begin - 1], count):
        begin -= 1
        count += needed_of(log.chunks[begin], log.masks[begin])
    new = tuple(cut(joined([*log.rows(begin), rows]), count // fewest_rows()))
    masks = (*log.masks[:begin], *(None for _ in new))
    return replace(log, chunks=(*log.chunks[:begin], *new), masks=masks)


def _is_joined(chunk: Chunk, mask: Mask | None, count: int) -> bool:
    needed = needed_of(chunk, mask)
    return chunk.count < fewest_rows() and (needed <= _FACTOR * count or 2 * needed <= chunk.count)


# -- which group ---------------------------------------------------------------------------------------------


def group_numbers(by: tuple[str, ...], table: pa.Table, count: int) -> Ints:
    """The group of each row's key, among so many.

    >>> group_numbers(("k",), pa.table({"k": ["north", "south", "east", "north"]}), 3).tolist()
    [0, 1, 2, 0]
    """
    if count == 1 or not by:
        return np.zeros(table.num_rows, np.int64)
    keys, (numbers,) = shared_keys(by, [table])
    # mixed once more: the keys of a bucket have something of their codes in common
    return _places(encode_array(stable_codes(keys).view(np.int64)), count)[numbers]


def _places(codes: Codes, count: int) -> Ints:
    """Linear hashing: by one bit more where that group is there already."""
    half = 1 << (count.bit_length() - 1)
    places = (codes & np.uint64(2 * half - 1)).astype(np.int64)
    return np.where(places < count, places, places - half)


def is_among(by: tuple[str, ...], table: pa.Table, others: pa.Table) -> Mask:
    """Which rows have a key that rows of another table have.

    >>> is_among(("k",), pa.table({"k": ["a", "b", "a"]}), pa.table({"k": ["c", "b"]})).tolist()
    [False, True, False]
    """
    _, (theirs, mine) = shared_keys(by, [others, table])
    found: Mask = mine <= theirs.max(initial=-1)
    return found


def wanted_groups(by: tuple[str, ...], groups: KeyGroups, log: RowLog) -> int:
    """How many groups there should be, if the rows of a log join them: one for so many rows, and two for a
    key of many, which cannot be split. Chunks that are not in memory do not count."""
    parts = [chunk.rows for chunk in log.chunks if chunk.is_loaded]
    parts += [] if log.tail is None else [log.tail]
    if not by or not parts:
        return groups.count
    keys = [part.table.select(list(by)) for part in parts]
    loose = KeyCounts.of(by, pa.concat_tables(keys, promote_options="permissive"))
    if groups.count == 1 and len(loose) == 1:
        return 1
    few = fewest_rows()
    many = max(2 * few // _GROUPS_A_CHUNK, 1)
    rows = int(np.minimum(loose.counts, many).sum())
    rows += sum(many if _has_full(each) else each.needed_rows for each in groups.logs.values())
    # groups of more rows where these are very many: the list of groups is read by every step
    most = _GROUPS_A_CHUNK * math.isqrt(rows)
    return max(groups.count, min(rows * _GROUPS_A_CHUNK // few, most))


def _has_full(log: RowLog) -> bool:
    return any(chunk.count >= fewest_rows() for chunk in log.chunks)
