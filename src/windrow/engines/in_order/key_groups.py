"""Rows that are held in groups of keys: a step reads the groups that its keys are in, and no others.

The group of a key follows from a code of its value (:mod:`windrow.rows.stable_codes`). Each group has its own
log (:mod:`windrow.engines.in_order.log`), here without a tail: the last of its chunks is *open* while it has
few rows, and written anew with the rows that come. There is about one group for a few hundred rows: one is
many keys of few rows, all in an open chunk, or one key of many.

Groups grow in number one by one, and each step splits a few of them: group ``h`` of ``n`` groups is split
into ``h`` and ``n``, as in linear hashing (Litwin, VLDB 1980). So their number is all that must be known to
find the group of a key, and a step that brings m rows splits O(m / GROUP) groups.

Invariant: all rows of a key are in one group, in order of time. Groups are values.
Cost: a step reads and writes what the groups of its keys hold, not what is held; the list of chunks, which
every step reads, has an entry for each group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.in_order.chunks import Chunk, cut, fewest_rows
from windrow.engines.in_order.held_rows import Held, joined
from windrow.engines.in_order.key_counts import KeyCounts
from windrow.engines.in_order.log import RowLog
from windrow.monoids.hashing import encode_array
from windrow.rows.keys import shared_keys
from windrow.rows.stable_codes import Codes, stable_codes
from windrow.state.checks import check_column, check_numbers, require, whole

__all__ = ["KeyGroups", "group_numbers", "opened", "wanted_groups"]

#: so many groups are made of the rows of a full chunk
_GROUPS_A_CHUNK = 4
#: behind full chunks, so many parts make one
_PARTS = 8
#: no one has had more
_MOST_GROUPS = 1 << 40


@dataclass(frozen=True)
class KeyGroups:
    """The logs of groups that have rows, by number."""

    count: int = 1
    logs: Mapping[int, RowLog] = field(default_factory=dict[int, RowLog])
    #: how many rows keys have, of groups with full chunks: all keys of a group, or none
    counts: KeyCounts | None = None
    #: the same for the last row of each key
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
            log.check_invariants()
        return cls(most, logs)

    # -- groups that are read --------------------------------------------------------------------------------

    def opened(self, by: tuple[str, ...], numbers: Collection[int]) -> dict[int, RowLog]:
        """The rows of those groups that there are, open chunks in the tail, with what is known of keys."""
        logs = {number: opened(self.logs[number]) for number in numbers if number in self.logs}
        if not any(log.chunks for log in logs.values()):
            return logs
        counted = None if self.counts is None else group_numbers(by, self.counts.keys, self.count)
        lasting = None if self.lasts is None else group_numbers(by, self.lasts.table, self.count)
        return {
            number: self._knowing(log, counted, lasting, number) if log.chunks else log
            for number, log in logs.items()
        }

    def _knowing(self, log: RowLog, counted: Ints | None, lasting: Ints | None, number: int) -> RowLog:
        counts = lasts = None
        if self.counts is not None and counted is not None and (counted == number).any():
            counts = self.counts.where(counted == number)
            held = int(counts.counts.sum())
            require(held == log.needed_rows, f"{held} rows by key, and {log.needed_rows} are in their group")
        if self.lasts is not None and lasting is not None and (lasting == number).any():
            lasts = self.lasts.where(lasting == number)
        return replace(log, counts=counts, lasts=lasts)

    def without(self, by: tuple[str, ...], numbers: Collection[int]) -> KeyGroups:
        """Without some groups."""
        gone = set(numbers)
        if not gone:
            return self
        logs = {number: log for number, log in self.logs.items() if number not in gone}
        counts, lasts = self.counts, self.lasts
        some = np.array(sorted(gone), np.int64)
        if counts is not None:
            counts = counts.where(~np.isin(group_numbers(by, counts.keys, self.count), some))
        if lasts is not None:
            lasts = lasts.where(~np.isin(group_numbers(by, lasts.table, self.count), some))
        return replace(self, logs=logs, counts=counts, lasts=lasts)

    def with_log(self, number: int, log: RowLog) -> KeyGroups:
        """With a group that is not there."""
        closed = replace(_closed(log), counts=None, lasts=None)
        logs = {**self.logs, number: closed} if closed.chunks else self.logs
        return replace(self, logs=logs).knowing(log.counts, log.lasts)

    def knowing(self, counts: KeyCounts | None, lasts: Held | None) -> KeyGroups:
        """With what is known of more keys, unless these are many: every step reads and writes it."""
        known = [each for each in (self.counts, counts) if each is not None and len(each)]
        last = [each for each in (self.lasts, lasts) if each is not None and len(each)]
        return replace(
            self,
            counts=self._few(KeyCounts.concat(known)) if known else None,
            lasts=self._few(joined(last)) if last else None,
        )

    def _few(self, known: Any) -> Any:
        return known if len(known) <= max(fewest_rows(), len(self.logs)) else None

    # -- groups that are made --------------------------------------------------------------------------------

    def with_rows(
        self, by: tuple[str, ...], count: int, log: RowLog, owners: Mapping[Chunk, int]
    ) -> KeyGroups:
        """So many groups, with the rows of a log, of keys that are in none of these: some of its chunks have
        an owner, the group that they are of. Of their keys nothing is known yet."""
        split = set(_places(np.arange(self.count, count, dtype=np.uint64), self.count).tolist())
        sorter = _Sorter(by, count)
        for chunk, mask in zip(log.chunks, log.masks, strict=True):
            owner = owners.get(chunk)
            sorter.add(chunk, mask, None if owner in split else owner)
        for number in sorted(split & set(self.logs)):
            for chunk, mask in zip(self.logs[number].chunks, self.logs[number].masks, strict=True):
                sorter.add(chunk, mask, None)
        if log.tail is not None:
            sorter.add_rows(log.tail)
        stay = {number: each for number, each in self.logs.items() if number not in split}
        return replace(self, count=count, logs=stay | sorter.logs())

    def of_full_chunks(self, by: tuple[str, ...], table: pa.Table) -> Mask:
        """Which keys are in groups with full chunks."""
        full = [number for number, log in self.logs.items() if _has_full(log)]
        return np.isin(group_numbers(by, table, self.count), np.array(full, np.int64))


class _Sorter:
    """Takes logs apart into groups. Chunks whose rows are all of one group stay as they are, unless rows
    before them do not."""

    def __init__(self, by: tuple[str, ...], count: int) -> None:
        self._by, self._count = by, count
        self._whole: dict[int, RowLog] = {}
        self._loose: list[tuple[Held, Ints]] = []
        self._loosened: set[int] = set()

    def add(self, chunk: Chunk, mask: Mask | None, number: int | None) -> None:
        """A chunk of a group, or of any (None)."""
        if number is not None:
            self._keep(number, chunk, mask)
            return
        rows = chunk.rows if mask is None else chunk.rows.where(mask)
        numbers = group_numbers(self._by, rows.table, self._count)
        number = int(numbers[0])
        is_full = chunk.count >= fewest_rows()
        if is_full and number not in self._loosened and (numbers == number).all():
            self._keep(number, chunk, mask)
        else:
            self._loosen(rows, numbers)

    def add_rows(self, rows: Held) -> None:
        self._loosen(rows, group_numbers(self._by, rows.table, self._count))

    def _keep(self, number: int, chunk: Chunk, mask: Mask | None) -> None:
        log = self._whole.get(number, RowLog())
        self._whole[number] = replace(log, chunks=(*log.chunks, chunk), masks=(*log.masks, mask))

    def _loosen(self, rows: Held, numbers: Ints) -> None:
        self._loose.append((rows, numbers))
        self._loosened.update(np.unique(numbers).tolist())

    def logs(self) -> dict[int, RowLog]:
        found = dict(self._whole)
        if not self._loose:
            return found
        rows = joined([rows for rows, _ in self._loose])
        numbers = np.concatenate([numbers for _, numbers in self._loose])
        order = np.argsort(numbers, kind="stable")
        rows, numbers = rows.take(order), numbers[order]
        edges = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(numbers)]
        for begin, end in itertools.pairwise(edges):
            number = int(numbers[begin])
            found[number] = _closed(replace(found.get(number, RowLog()), tail=rows.slice(begin, end)))
        return found


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
    rows += sum(many if _has_full(each) else _open_rows(each) for each in groups.logs.values())
    # groups of more rows where these are very many: the list of groups is read by every step
    most = _GROUPS_A_CHUNK * math.isqrt(rows)
    return max(groups.count, min(rows * _GROUPS_A_CHUNK // few, most))


def _has_full(log: RowLog) -> bool:
    return any(chunk.count >= fewest_rows() for chunk in log.chunks)


def _open_rows(log: RowLog) -> int:
    """The rows of the last chunk, if it is open."""
    last = log.chunks[-1].count if log.chunks else 0
    return last if last < _open_until(log) else 0


def _open_until(log: RowLog) -> int:
    """A chunk of so many rows is not open: fewer where full ones are before it."""
    return max(fewest_rows() // _PARTS, 1) if _has_full(log) else fewest_rows()


# -- open chunks ---------------------------------------------------------------------------------------------


def opened(log: RowLog) -> RowLog:
    """With the rows of the last chunk in the tail, if it is open."""
    if not _open_rows(log):
        return log
    (rows,) = log.rows(len(log.chunks) - 1)
    tail = rows if log.tail is None else joined([rows, log.tail])
    return replace(log, chunks=log.chunks[:-1], masks=log.masks[:-1], tail=tail)


def _closed(log: RowLog) -> RowLog:
    """The reverse. Behind full chunks a tail becomes a part of one, and parts become one together: so an
    open chunk is short where keys have many rows, and each row is written a few times."""
    rows = log.tail
    if rows is None or not len(rows):
        return replace(log, tail=None)
    log = replace(log, tail=None)
    if len(rows) >= _open_until(log):
        parts = len(log.chunks) - len(list(itertools.takewhile(_is_part, reversed(log.chunks))))
        if sum(chunk.count for chunk in log.chunks[parts:]) + len(rows) >= fewest_rows():
            rows = joined([*log.rows(parts), rows])
            log = replace(log, chunks=log.chunks[:parts], masks=log.masks[:parts])
    new = tuple(cut(rows))
    return replace(log, chunks=(*log.chunks, *new), masks=(*log.masks, *(None for _ in new)))


def _is_part(chunk: Chunk) -> bool:
    return chunk.count < fewest_rows()
