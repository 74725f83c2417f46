"""Rows that are held in groups of keys: a step reads the groups that its keys are in, and no others.

The group of a key follows from a code of its value (:mod:`windrow.rows.stable_codes`). Each group has its own
log (:mod:`windrow.engines.kept_rows.log`), here without a tail. There is about one group for a few hundred
rows: one is many keys of few rows, in a few chunks, or one key of many. The logs are in pages
(:mod:`windrow.engines.kept_rows.pages`).

Rows join groups many at a time, from a log of rows that came lately
(:mod:`windrow.engines.kept_rows.grouped_rows`). Those of a group become its last chunk, together with chunks
before it that are not much longer. So chunks get shorter from the first to the last, as in a log-structured
merge tree (O'Neil et al., 1996), and a row is written O(log GROUP) times in all.

Groups grow in number one by one, and each time a few of them are split: group ``h`` of ``n`` groups is split
into ``h`` and ``n``, as in linear hashing (Litwin, VLDB 1980). So their number is all that must be known to
find the group of a key, and m rows split O(m / GROUP) groups.

Invariant: in a group all rows of a key are in order of time. Groups are values.
Cost: a step reads what the groups of its keys hold, and O(log groups) pages for each: not what is held.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.engines.kept_rows.chunk import Chunk, cut, fewest_rows
from windrow.engines.kept_rows.expiry import AfterTime, Trim
from windrow.engines.kept_rows.key_counts import KeyCounts
from windrow.engines.kept_rows.log import RowLog, needed_of
from windrow.engines.kept_rows.pages import GROUPS_A_CHUNK, GroupLogs, most_rows_of_one
from windrow.engines.kept_rows.row_table import Held, joined
from windrow.monoids.hashing import encode_array
from windrow.rows.keys import shared_keys
from windrow.rows.stable_codes import Codes, stable_codes
from windrow.state.checks import whole

__all__ = [
    "KeyGroups",
    "check_count",
    "group_numbers",
    "groups_for",
    "is_among",
    "places_of",
    "wanted_groups",
]

#: a chunk is joined with what comes behind it if it has at most so many times as many rows
_FACTOR = 4
#: no one has had more
_MOST_GROUPS = 1 << 40


def check_count(count: object) -> int:
    """How many groups a state says there are."""
    return whole("number of groups of keys", count, 2, _MOST_GROUPS)


@dataclass(frozen=True)
class KeyGroups:
    """The logs of groups that have rows, and what is known of some keys."""

    count: int = 1
    logs: GroupLogs = field(default_factory=GroupLogs)
    #: how many rows some keys have, those included that are in no group yet
    counts: KeyCounts | None = None
    #: the last row of some keys
    lasts: Held | None = None

    def of_keys(self, by: tuple[str, ...], table: pa.Table) -> dict[int, RowLog]:
        """The logs of the groups that the keys of a table are in, by number."""
        return self.logs.find(np.unique(group_numbers(by, table, self.count)).tolist())

    def without_rows_up_to(self, bound: int, over: Trim | None = None) -> KeyGroups:
        """Without chunks that end by a time, or as ``over`` says; pages without such chunks are not read."""
        if self.logs.totals.earliest > bound:
            return self
        over = AfterTime(bound) if over is None else over
        return replace(
            self, logs=self.logs.with_logs({n: over.log(log) for n, log in self.logs.items(ends_by=bound)})
        )

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
        return known if len(known) <= fewest_rows() else None

    def of_full_chunks(self, by: tuple[str, ...], table: pa.Table) -> Mask:
        """Which keys are in groups with full chunks."""
        numbers = group_numbers(by, table, self.count)
        logs = self.logs.find(np.unique(numbers).tolist())
        full = [number for number, log in logs.items() if log.has_full_chunk]
        return np.isin(numbers, np.array(full, np.int64))

    # -- groups that are made --------------------------------------------------------------------------------

    def with_rows(
        self, by: tuple[str, ...], count: int, log: RowLog, *, folds: bool, trim: Trim | None = None
    ) -> KeyGroups:
        """So many groups, with the rows of a log, which come after all rows of their keys here. ``folds``:
        chunks of groups have wholes, so that those that move must be written anew. ``trim``: which rows are
        over."""
        split = set(_places(np.arange(self.count, count, dtype=np.uint64), self.count).tolist())
        sorter = _Sorter(by, count, self.logs, split, folds, trim)
        for _, each in sorted(self.logs.find(split).items()):
            sorter.move(replace(each, added_after=log.added_after))
        sorter.add(log)
        return replace(self, count=count, logs=self.logs.with_logs(sorter.changes()))


class _Sorter:
    """Takes logs apart into groups, behind the rows that these have. Full chunks whose rows are all of one
    group stay as they are, unless rows before them do not."""

    def __init__(
        self,
        by: tuple[str, ...],
        count: int,
        logs: GroupLogs,
        split: set[int],
        folds: bool,
        trim: Trim | None,
    ) -> None:
        self._by, self._count, self._folds, self._trim = by, count, folds, trim
        self._added_after: tuple[int, ...] = ()
        self._before, self._split = logs, split
        self._changed: dict[int, RowLog] = {number: RowLog() for number in split}
        self._loose: list[tuple[Held, Ints]] = []
        self._loosened: set[int] = set()

    def move(self, log: RowLog) -> None:
        """Take a log apart that was that of a group, unless all its rows are of one again."""
        numbers = [self._numbers(rows) for rows in log.rows()]
        targets = np.unique(np.concatenate(numbers))
        if len(targets) == 1:
            self._changed[int(targets[0])] = log
        else:
            self.add(log)

    def add(self, log: RowLog) -> None:
        self._added_after = log.added_after
        for chunk, rows in zip(log.chunks, log.rows(), strict=True):
            if not len(rows):
                continue
            numbers = self._numbers(rows)
            number = int(numbers[0])
            is_full = chunk.count >= fewest_rows()
            if is_full and number not in self._loosened and (numbers == number).all():
                self._keep(number, Chunk(rows) if self._folds or len(rows) < chunk.count else chunk)
            else:
                self._loosen(rows, numbers)
        if log.tail is not None and len(log.tail):
            self._loosen(log.tail, self._numbers(log.tail))

    def _numbers(self, rows: Held) -> Ints:
        return group_numbers(self._by, rows.table, self._count)

    def _of(self, number: int) -> RowLog:
        """The log of a group so far."""
        if number not in self._changed:
            self._changed[number] = self._before.find([number]).get(number, RowLog())
        return replace(self._changed[number], added_after=self._added_after)

    def _keep(self, number: int, chunk: Chunk) -> None:
        log = self._of(number)
        counts = None if log.counts is None else log.counts.with_rows(self._by, chunk.rows.table)
        chunks, masks = (*log.chunks, chunk), (*log.masks, None)
        self._changed[number] = replace(log, chunks=chunks, masks=masks, counts=counts)

    def _loosen(self, rows: Held, numbers: Ints) -> None:
        self._loose.append((rows, numbers))
        self._loosened.update(np.unique(numbers).tolist())

    def changes(self) -> dict[int, RowLog]:
        """The logs of all groups that are other than before; without rows, if they are gone."""
        if self._loose:
            rows = joined([rows for rows, _ in self._loose])
            numbers = np.concatenate([numbers for _, numbers in self._loose])
            order = np.argsort(numbers, kind="stable")
            rows, numbers = rows.take(order), numbers[order]
            edges = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(numbers)]
            for begin, end in itertools.pairwise(edges):
                number = int(numbers[begin])
                self._changed[number] = self._extended(self._of(number), rows.slice(begin, end))
        return self._changed

    def _extended(self, log: RowLog, rows: Held) -> RowLog:
        """With rows in a chunk behind the others, and with those of the last chunks that are not much longer,
        or of whose rows most are over."""
        begin, count = len(log.chunks), len(rows)
        while begin and _is_joined(log.chunks[begin - 1], log.masks[begin - 1], count):
            begin -= 1
            count += needed_of(log.chunks[begin], log.masks[begin])
        counts = None if log.counts is None else log.counts.with_rows(self._by, rows.table)
        rows = joined([*log.rows(begin), rows]).by_time()
        if self._trim is not None and not begin:
            rows = self._trim.rows(rows)
        new = tuple(cut(rows, len(rows) // fewest_rows())) if len(rows) else ()
        masks = (*log.masks[:begin], *(None for _ in new))
        log = replace(log, chunks=(*log.chunks[:begin], *new), masks=masks, counts=counts)
        is_full = bool(new) and new[0].count >= fewest_rows()
        return log if self._trim is None or not is_full else self._trim.log(log)


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
    return places_of(stable_codes(keys).view(np.int64), count)[numbers]


def places_of(codes: Ints, count: int) -> Ints:
    """The groups of keys with these codes, among so many."""
    # mixed once more: the keys of a bucket have something of their codes in common
    return _places(encode_array(codes), count)


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
    rows = int(np.minimum(loose.counts, most_rows_of_one()).sum()) + groups.logs.totals.weight
    return max(groups.count, groups_for(rows))


def groups_for(rows: int) -> int:
    """How many groups there should be for rows of many keys."""
    return rows * GROUPS_A_CHUNK // fewest_rows()
