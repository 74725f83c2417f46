"""The slice manager: slices of all keys in columns, and what becomes of them when rows come in any order.

Slices are sorted by key, then by time. A batch of rows comes as slices of its own, and both are merged. In
terms of [Scotty] figure 4: a row inside a slice is added to it (case 1.1); rows before the first or after the
last row of a slice move its ends (1.2, 1.3); where a session's gap is bridged, slices are fused (2); and a
row where no slice is makes one (3). Slices are never split: edges are known before rows are folded, and for
aggregates that depend on order every moment has a slice of its own, so that a late row finds its place
between its neighbours.

Slices in columns are of three types. :class:`HeldSlices` are folded, and know their keys by number;
:class:`KeyedSlices` bring the values of these keys along, where slices leave what numbered them; and
:class:`windrow.partials.ranges.Slices` say where rows that are at hand are cut, and hold no partials.

*Layers* keep apart what some windows may see and others not. A row that came after the watermark W, too late
to correct windows that had fired, goes to layer ``since`` = W: only windows that end after W see it.

Invariant: sorted by (key, end, since), each combination once. Cost: one linear merge per batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.errors import Raised, Span
from windrow.partials.partials import Partials, Shape
from windrow.state.checks import check_column, check_numbers, check_sorted, require
from windrow.values import made_at_once, with_fields

__all__ = [
    "HeldSlices",
    "KeyedSlices",
    "concat",
    "merge_order",
    "merged",
    "owners",
    "run_starts",
    "runs_of",
    "sorted_and_fused",
]


@made_at_once
@dataclass(frozen=True)
class HeldSlices:
    """Slices in columns, sorted by key and time."""

    keys: Ints
    #: time of the first and of the last row
    firsts: Ints
    lasts: Ints
    #: the edge up to which a slice reaches: every window holds all of it or nothing
    ends: Ints
    #: layers; None: all are the lowest
    since: Ints | None
    partials: Partials
    #: columns that order rows of equal time, where a query has them
    order: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        columns = (self.keys, self.firsts, self.lasts, self.ends, self.since)
        return int(sum(c.nbytes for c in columns if c is not None) + self.partials.nbytes)

    def check_invariants(self, key_count: int, *, by: str = "ends", by_moment: bool = False) -> None:
        """What all that computes with slices relies on, checked for slices that come from outside.

        ``by``: the times that the slices of a key are sorted by; where order counts for more than time, or
        slices are those of sessions, several may have the same. ``by_moment``: slices of sessions, told apart
        by the moment of their first row."""
        count = len(self.keys)
        for name in ("keys", "firsts", "lasts", "ends"):
            check_column(f"{name} of slices", getattr(self, name), count)
        if self.since is not None:
            check_column("layers of slices", self.since, count)
            check_numbers("layers of slices", self.since, START_OF_TIME, END_OF_TIME)
        check_numbers("keys of slices", self.keys, 0, max(key_count, 1) - 1)
        check_numbers("times of slices", self.firsts, START_OF_TIME, END_OF_TIME)
        check_numbers("ends of slices", self.ends, START_OF_TIME, 2 * END_OF_TIME - 1)
        require((self.firsts <= self.lasts).all(), "slices: a last row that is before the first")
        if by_moment:
            require((self.ends == self.firsts + 1).all(), "slices: ends that are not those of their moments")
        else:
            require((self.lasts < self.ends).all(), "slices: rows after their end")
        layers = [] if self.since is None or by != "ends" else [self.since]
        each_once = by == "ends" and not self.order
        check_sorted("slices", self.keys, getattr(self, by), *layers, each_once=each_once)
        for column in self.order:
            require(len(column) == count, f"order of slices: {len(column)} values where {count} are expected")
        self.partials.check_invariants(count)

    def take(self, places: Any) -> HeldSlices:
        return HeldSlices(
            self.keys[places],
            self.firsts[places],
            self.lasts[places],
            self.ends[places],
            None if self.since is None else self.since[places],
            self.partials.take(places),
            tuple(column.take(np.arange(len(self))[places]) for column in self.order),
        )

    def folded(self, starts: Ints) -> HeldSlices:
        """Neighbours fused; ``starts`` says where each run of them starts, and the end."""
        if len(starts) - 1 == len(self):
            return self
        heads = starts[:-1]
        return HeldSlices(
            self.keys[heads],
            np.minimum.reduceat(self.firsts, heads),
            np.maximum.reduceat(self.lasts, heads),
            np.maximum.reduceat(self.ends, heads),
            None if self.since is None else self.since[heads],
            self._locating(lambda: self.partials.folded(starts)),
        )

    def may_wait_for(self, other: HeldSlices) -> bool:
        """Whether these and others can be merged at any time, since nothing that is combined then raises."""
        if self.since is not None or other.since is not None or self.order or other.order:
            return False
        return self.partials.combines_natively(other.partials)

    def results(self, fronts: Ints, stops: Ints, shape: Shape) -> Sequence[Any]:
        """A result column per aggregate, for ranges [front, stop) of slices."""
        return self._locating(lambda: self.partials.results(fronts, stops, shape))

    def _locating(self, operation: Callable[[], Any]) -> Any:
        """An error in an aggregate says of which key it is, and of which times."""
        try:
            return operation()
        except Raised as raised:
            raised.span = Span(int(self.keys[raised.front]), *raised.times(self.firsts, self.lasts))
            raise

    def without_times(self, largest: int) -> HeldSlices:
        """The same without the times of their rows, where nobody asks for them: each has a moment before its
        end instead, at most ``largest``, after which there is no row. They are stored in a few bits."""
        moments = np.minimum(self.ends - 1, largest)
        return with_fields(self, firsts=moments, lasts=moments)

    def with_order(self, kinds: Sequence[Any]) -> HeldSlices:
        """The same with columns of nulls, of these types, that order rows of equal time."""
        return with_fields(self, order=tuple(pa.nulls(len(self), kind) for kind in kinds))

    def with_keys(self, renumbered: Ints) -> HeldSlices:
        """The same with other numbers for keys, in the same order."""
        return with_fields(self, keys=renumbered[self.keys])


@dataclass(frozen=True)
class KeyedSlices:
    """Slices with keys of their own: row k of ``keys`` is key number k. Without key columns there is none."""

    keys: pa.Table
    slices: HeldSlices
    #: the time of the first row of all; None: the slices know it
    earliest: int | None = None

    def __len__(self) -> int:
        return len(self.slices)

    def of_keys(self, chosen: Ints) -> KeyedSlices:
        """The slices of some keys."""
        renumbered = np.full(max(self.keys.num_rows, 1), -1, np.int64)
        renumbered[chosen] = np.arange(len(chosen))
        numbers = renumbered[self.slices.keys]
        mine = np.flatnonzero(numbers >= 0)
        slices = with_fields(self.slices.take(mine), keys=numbers[mine])
        return KeyedSlices(self.keys.take(pa.array(chosen)), slices)


def concat(parts: Sequence[HeldSlices]) -> HeldSlices:
    """Slices one after the other, in no order yet."""
    if len(parts) == 1:
        return parts[0]

    return HeldSlices(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.firsts for part in parts]),
        np.concatenate([part.lasts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        _joined_layers(parts),
        Partials.concat([part.partials for part in parts]),
        tuple(pa.concat_arrays(columns) for columns in zip(*(part.order for part in parts), strict=True)),
    )


def _joined_layers(parts: Sequence[HeldSlices]) -> Ints | None:
    if all(part.since is None for part in parts):
        return None
    lowest = [np.full(len(p), START_OF_TIME) if p.since is None else p.since for p in parts]
    return np.concatenate(lowest)


def sorted_and_fused(slices: HeldSlices, is_sorted: bool = False) -> HeldSlices:
    """Slices sorted, those of one place and layer fused; slices that came first stay first."""
    if slices.order:  # rows of equal time are apart, and are ordered by more than time
        ranks = [_ranks(column) for column in reversed(slices.order)]
        return slices.take(np.lexsort([*ranks, slices.ends, slices.keys]))
    if not is_sorted:
        layers = [] if slices.since is None else [slices.since]
        slices = slices.take(np.lexsort([*layers, slices.ends, slices.keys]))
    since = np.zeros(1, np.int64) if slices.since is None else slices.since
    return slices.folded(_groups(slices.keys, slices.ends, since))


def merged(held: HeldSlices, new: HeldSlices) -> HeldSlices:
    """Two lists of slices, each sorted and fused, as one; of equal ones those that are held come first. They
    have neither layers nor an order besides time."""
    order, starts, columns = _merge(
        held.keys, held.firsts, held.lasts, held.ends, held.partials.rows,
        new.keys, new.firsts, new.lasts, new.ends, new.partials.rows,
    )  # fmt: skip
    try:
        partials = held.partials.merged(new.partials, order, starts, columns[4])
    except Raised as raised:
        keys, firsts, lasts = (
            np.concatenate(each)[order]
            for each in ((held.keys, new.keys), (held.firsts, new.firsts), (held.lasts, new.lasts))
        )
        raised.span = Span(int(keys[raised.front]), *raised.times(firsts, lasts))
        raise
    return HeldSlices(columns[0], columns[1], columns[2], columns[3], None, partials)


def _ranks(column: Any) -> Ints:
    return pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)


@kernel
def _groups(keys: Ints, ends: Ints, since: Ints) -> Ints:
    """Where each run of slices of one place and layer starts, and the end; a layer of one element is one."""
    found = np.empty(len(keys) + 1, np.int64)
    count = 0
    for i in range(len(keys)):
        same = i > 0 and keys[i] == keys[i - 1] and ends[i] == ends[i - 1]
        if same and len(since) > 1:
            same = since[i] == since[i - 1]
        if not same:
            found[count] = i
            count += 1
    found[count] = len(keys)
    return found[: count + 1].copy()


@kernel
def _merge(
    keys: Ints,
    firsts: Ints,
    lasts: Ints,
    ends: Ints,
    rows: Ints,
    new_keys: Ints,
    new_firsts: Ints,
    new_lasts: Ints,
    new_ends: Ints,
    new_rows: Ints,
) -> Any:
    """The order that merges slices and new ones, which are numbered after them; where each run of equal ones
    starts in it, and the end; and the columns (key, first, last, end, rows) of these runs."""
    cut, count = len(keys), len(keys) + len(new_keys)
    order, starts = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    found = np.empty((5, count), np.int64)
    a, b, last = 0, 0, -1
    for i in range(count):
        is_held = a < cut
        if is_held and b < len(new_keys):
            is_held = keys[a] < new_keys[b] or (keys[a] == new_keys[b] and ends[a] <= new_ends[b])
        if is_held:
            key, first, latest, end, held = keys[a], firsts[a], lasts[a], ends[a], rows[a]
            order[i] = a
            a += 1
        else:
            key, first, latest = new_keys[b], new_firsts[b], new_lasts[b]
            end, held = new_ends[b], new_rows[b]
            order[i] = cut + b
            b += 1
        if last >= 0 and found[0, last] == key and found[3, last] == end:
            found[1, last] = min(found[1, last], first)
            found[2, last] = max(found[2, last], latest)
            found[4, last] += held
        else:
            last += 1
            starts[last] = i
            found[0, last], found[1, last], found[2, last] = key, first, latest
            found[3, last], found[4, last] = end, held
    starts[last + 1] = count
    return order, starts[: last + 2].copy(), found[:, : last + 1].copy()


@kernel
def merge_order(keys: Ints, ends: Ints, cut: int) -> Ints:
    """The order that merges rows [0, cut) and [cut, n), each sorted by key and end; the first come first."""
    count = len(keys)
    order = np.empty(count, np.int64)
    a, b = 0, cut
    for i in range(count):
        if b == count or (a < cut and (keys[a] < keys[b] or (keys[a] == keys[b] and ends[a] <= ends[b]))):
            order[i] = a
            a += 1
        else:
            order[i] = b
            b += 1
    return order


@kernel
def owners(runs: Ints) -> Ints:
    """The number of the run that each slice is of; ``runs`` says where each starts, and the end."""
    found = np.empty(runs[-1] - runs[0], np.int64)
    for run in range(len(runs) - 1):
        found[runs[run] - runs[0] : runs[run + 1] - runs[0]] = run
    return found


def runs_of(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct keys of sorted keys, and where the slices of each start, with the end."""
    runs = run_starts(keys)
    return keys[runs[:-1]], runs


@kernel
def run_starts(keys: Ints) -> Ints:
    """Where each key of sorted keys starts, and the end."""
    found = np.empty(len(keys) + 1, np.int64)
    count = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            found[count] = i
            count += 1
    found[count] = len(keys)
    return found[: count + 1].copy()
