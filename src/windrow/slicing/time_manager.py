"""The windows of an operator that time alone decides: Tumbling, Sliding, Cumulative, Fixed.

All share one store of slices. Windows that are due are found and assembled for all kinds and keys together:
kinds of similar size in one group, so that the eager store can give whole blocks for what all of a group have
in common. A few kinds slide over the slices, each by itself; many ask a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.partials.value_aggregates.families import FAMILIES
from windrow.rows.columns import plain_array
from windrow.slicing.batch import Batch
from windrow.slicing.blocks import Block, SliceStore
from windrow.slicing.empty_windows import Fillings
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.fired import Piece
from windrow.slicing.ledger import Ledger
from windrow.slicing.limits import add_windows, most_windows
from windrow.slicing.slices import HeldSlices
from windrow.slicing.time_kinds import Kind, Kinds, shape_of
from windrow.slicing.window_lists import Found
from windrow.spec import Spec
from windrow.values import with_fields

__all__ = ["MOST_LAZY", "TimePart"]


#: windows of more slices than this read whole blocks from an eager store
MOST_LAZY = 64
#: where each window sees slices of its own, windows are read together that hold about so many
_SEEN_TOGETHER = 1 << 20


@dataclass(frozen=True)
class TimePart:
    """Time windows, their slices, and what came out of them."""

    query: Spec
    kinds: Kinds
    store: SliceStore
    ledger: Ledger
    #: every moment is a slice of its own, and stays one
    keeps_moments: bool = False
    filling: Fillings = field(default_factory=Fillings)

    @classmethod
    def empty(cls, query: Spec, kinds: Sequence[Kind], moments: bool = False) -> TimePart:
        made = Kinds(tuple(kinds), query.max_windows)
        store = SliceStore.empty(made.windows.longest, eager=made.slices_a_window > MOST_LAZY)
        return cls(query, made, store, Ledger.empty(), moments)

    def check_invariants(self, key_count: int, stretch: tuple[int, int]) -> None:
        """Of a part that comes from outside; blocks that are not loaded are checked when they are."""
        self.store.check_invariants(key_count)
        self.ledger.check_invariants(self.kinds.numbers, key_count)
        self.filling.check_invariants(self.kinds.numbers, key_count, stretch)

    @property
    def windows(self) -> TimeWindows:
        return self.kinds.windows

    @property
    def keeps_ledger(self) -> bool:
        return self.query.corrects or self.query.output == "update"

    # -- rows in ---------------------------------------------------------------------------------------------

    def judge(self, batch: Batch, watermark: int) -> tuple[Mask, Mask]:
        """Which slices some window takes, and which are in some window at all."""
        return self._judge_slices(self.windows, batch.slices, batch.late_before, watermark)

    def _judge_slices(
        self, windows: TimeWindows, slices: HeldSlices, late_before: int, watermark: int
    ) -> tuple[Mask, Mask]:
        longest = windows.longest_each
        latest = longest.latest_ends(longest.kinds(slices.firsts), slices.firsts, watermark)
        inside = latest > START_OF_TIME
        taken = inside & (latest > watermark)
        return (taken | (inside & (slices.firsts >= late_before)) if self.query.corrects else taken), inside

    def late_pairs(self, batch: Batch, watermark: int) -> tuple[int, Ints]:
        """Pairs of a row and a window that has fired and is not corrected by it: how many, and the times of
        the slices of such rows."""
        before = batch.late_before if self.query.corrects else watermark
        late = np.flatnonzero(batch.slices.firsts < before)
        times = batch.slices.firsts[late]
        if not len(late):
            return 0, times
        ended = self.windows.count_ended(times, watermark)
        return int(ended @ batch.slices.partials.rows[late]), times[ended > 0]

    def added(self, batch: Batch, taken: Mask | None, watermark: int) -> TimePart:
        """With the slices of a batch that are taken (None: all of them)."""
        slices = batch.slices if taken is None else batch.slices.take(np.flatnonzero(taken))
        if not len(slices):
            return self
        if (
            self.query.allowed_lateness is not None
            and self.query.corrects
            and (slices.firsts < batch.late_before).any()
        ):
            # too late to be seen by what has fired
            since = np.where(slices.firsts < batch.late_before, watermark, START_OF_TIME)
            slices = with_fields(slices, since=since)
        filling = self.filling
        if self.query.empty == "include":
            for windows in self.windows.one_by_one():
                mine, _ = self._judge_slices(windows, slices, batch.late_before, watermark)
                filling = filling.with_rows(int(windows.numbers[0]), slices.take(np.flatnonzero(mine)))
        return with_fields(self, store=self.store.added(slices), filling=filling)

    # -- results out -----------------------------------------------------------------------------------------

    def corrections(self, touched: HeldSlices, watermark: int) -> tuple[TimePart, list[Piece]]:
        """Windows that have fired and hold one of these slices."""
        return self._emitted(self._holding(touched, START_OF_TIME, watermark), is_final=True, masked=True)

    def speculations(self, touched: HeldSlices, watermark: int) -> tuple[TimePart, list[Piece]]:
        """Windows that have not fired and hold one of these slices."""
        return self._emitted(self._holding(touched, watermark, END_OF_TIME), is_final=False)

    def _holding(self, touched: HeldSlices, low: int, high: int) -> Iterator[Found]:
        if len(touched):
            for windows in self.kinds.groups:
                kinds = windows.kinds(touched.firsts, low, high)
                found = windows.holding(kinds, touched.keys, touched.firsts, low, high)
                complete = self.kinds.complete(found)
                yield found if complete is None else found.take(complete)

    def _emitted(
        self, asked: Iterator[Found], is_final: bool, masked: bool = False
    ) -> tuple[TimePart, list[Piece]]:
        part, pieces = self, list[Piece]()
        for found in asked:
            if not len(found):
                continue
            found, results = self._read(found, masked)
            part, piece = part._entered(found, results, is_final)
            pieces.append(piece)
        return part, pieces

    def _read(self, found: Found, masked: bool) -> tuple[Found, Sequence[Any]]:
        """The results of windows; those that see no row are left out."""
        slices = self.store.between(int(found.starts.min()), int(found.ends.max()))
        assert slices is not None, "a window that holds a row has a slice"
        fronts, stops = TimeWindows.ranges(found, slices)
        if masked and slices.since is not None:
            return self._read_layers(found, slices, fronts, stops)
        held = np.flatnonzero(stops > fronts)
        results = slices.results(fronts[held], stops[held], "any")
        return found.take(held), results

    def _read_layers(
        self, found: Found, slices: HeldSlices, fronts: Ints, stops: Ints
    ) -> tuple[Found, Sequence[Any]]:
        """The same where each window sees slices of its own: some windows at a time, since what they see is
        windows x slices."""
        places, columns = [], []
        for first, stop in _with_few_slices(stops - fronts):
            some = slice(first, stop)
            seen, begins, ends = _seen_by_each(slices, found.take(some), fronts[some], stops[some])
            held = np.flatnonzero(ends > begins)
            places.append(held + first)
            columns.append(seen.results(begins[held], ends[held], "any"))
        return found.take(np.concatenate(places)), _joined_results(columns)

    def _entered(self, found: Found, results: Sequence[Any], is_final: bool) -> tuple[TimePart, Piece]:
        if not self.keeps_ledger:
            return self, Piece(found, results, None, is_final)
        ledger, revisions, corrected = self.ledger.entered(found, is_final)
        return with_fields(self, ledger=ledger), Piece(found, results, revisions, is_final, corrected)

    def fired(self, low: int, high: int) -> tuple[TimePart, list[Piece]]:
        """The windows that end in (low, high]."""
        part, pieces = self, list[Piece]()
        if self._is_quiet(low, high):
            return self, pieces
        if self.query.empty == "include":
            part, pieces = self._filled(low, high)
        else:
            for windows in self.kinds.groups:
                for found, results in self._due(windows, low, high):
                    part, piece = part._entered(found, results, is_final=True)
                    pieces.append(piece)
        return part.forgotten(high), pieces

    def _is_quiet(self, low: int, high: int) -> bool:
        """Whether nothing is due, fused or forgotten while the watermark goes from one time to another."""
        if self.query.empty == "include" or low == START_OF_TIME or high == END_OF_TIME:
            return False
        allowed = self._allowed
        if self.kinds.ends_ahead.lies_in(low, high):
            return False
        if allowed and self.kinds.ends_behind.lies_in(low - allowed, high - allowed):
            return False
        span = self.store.span
        return not self._settles or (low - allowed) // span == (high - allowed) // span

    @cached_property
    def _settles(self) -> bool:
        """Whether less is kept of slices once the windows that end by then have come out."""
        if self.keeps_moments:
            return False
        kept = [a.monoid.keeps for _, a in self.query.aggregates]
        return self.kinds.starts is not None or any(FAMILIES[k].covers for k in kept if k is not None)

    @property
    def _allowed(self) -> int:
        return 0 if self.query.allowed_lateness is None else self.query.allowed_lateness.units

    def _due(self, windows: TimeWindows, low: int, high: int) -> Iterator[tuple[Found, Sequence[Any]]]:
        start = windows.first_start(low, high)
        if start is None:
            return
        slices = self.store.between(start, high, windows.common(low, high))
        if slices is None:
            return
        for few in self.kinds.read_apart(windows):
            due = few.due(few.kinds(slices.firsts, low, high), slices, low, high)
            complete = self.kinds.complete(due.found)
            due = due if complete is None else due.take(complete)
            if len(due):
                yield due.found, slices.results(due.fronts, due.stops, shape_of(few))

    def _filled(self, low: int, high: int) -> tuple[TimePart, list[Piece]]:
        """With windows without rows, for keys that have a row after them."""
        part, pieces = self, list[Piece]()
        for kind, windows in zip(self.kinds, self.windows.one_by_one(), strict=True):
            found, deferred = self.filling.of(kind.number).due(windows, low, high)
            complete = self.kinds.complete(found)
            if complete is not None:
                found, deferred = found.take(complete), deferred[complete]
            if deferred.any() and self.keeps_ledger:  # what came out as a correction does not come out again
                again = deferred & (self.ledger.places(found) >= 0)
                found, deferred = found.take(~again), deferred[~again]
            if not len(found):
                continue
            slices = self.store.between(int(found.starts.min()), int(found.ends.max()))
            if slices is None:
                slices = part._any_slice()
                fronts = stops = np.zeros(len(found), np.int64)
            else:
                fronts, stops = TimeWindows.ranges(found, slices)
            stops = np.where(deferred, fronts, stops)
            kept = np.flatnonzero((stops > fronts) | ~windows.is_single(found.windows))
            found, fronts, stops = found.take(kept), fronts[kept], stops[kept]
            add_windows([kind.window], [len(found)], most_windows(self.query.max_windows, len(found)))
            results = slices.results(fronts, stops, "any")
            part, piece = part._entered(found, results, is_final=True)
            pieces.append(piece)
        return with_fields(part, filling=part.filling.after(high)), pieces

    def _any_slice(self) -> HeldSlices:
        return next(self.store.all())

    def forgotten(self, watermark: int) -> TimePart:
        """Without what no window can need any more."""
        until = watermark if watermark == END_OF_TIME else watermark - self._allowed
        horizon = END_OF_TIME if until == END_OF_TIME else self.windows.horizon(until)
        ledger = self.ledger
        if len(ledger) and (ledger.found.ends <= until).any():
            ledger = ledger.only(ledger.found.ends > until)
        store = self.store.dropped_before(horizon)
        if self._settles and until < END_OF_TIME:
            store = store.settled(self.kinds.starts, until)
        return with_fields(self, store=store, ledger=ledger)

    # -- housekeeping ----------------------------------------------------------------------------------------

    def with_moments(self, order: Sequence[Any]) -> TimePart:
        """From now on every moment has a slice of its own; ``order``: types of columns that order rows."""
        blocks = self.store.blocks.items()
        changed = {number: Block(block.slices.with_order(order)) for number, block in blocks}
        return with_fields(self, store=with_fields(self.store, blocks=changed), keeps_moments=True)

    def with_keys(self, renumbered: Ints) -> TimePart:
        return with_fields(
            self,
            store=self.store.with_keys(renumbered),
            ledger=self.ledger.with_keys(renumbered),
            filling=self.filling.with_keys(renumbered),
        )

    def keys(self) -> Iterator[Ints]:
        yield from self.store.keys()
        yield self.ledger.found.keys
        yield from self.filling.keys()

    def with_kind(self, kind: Kind) -> TimePart:
        """With another window, which starts after all rows so far. Slices were not cut at its edges: each
        ends at the first of them behind its rows from now on, and so before that window."""
        kinds = self.kinds.changed((*self.kinds, kind))

        def ends(slices: HeldSlices) -> Ints:
            after = slices.lasts + 1 if self.keeps_moments else kinds.edges.edges_after(slices.lasts)
            return np.minimum(slices.ends, after)

        store = with_fields(self.store, longest=kinds.windows.longest)
        return with_fields(self, kinds=kinds, store=store.with_ends(ends))

    def without(self, number: int) -> TimePart:
        kinds = self.kinds.changed(kind for kind in self.kinds if kind.number != number)
        ledger = self.ledger.only(self.ledger.found.windows != number)
        return with_fields(self, kinds=kinds, ledger=ledger, filling=self.filling.without(number))


def _joined_results(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Result columns one after the other; parts without a value may have no type."""
    if len(parts) == 1:
        return parts[0]
    names = list(map(str, range(len(parts[0]))))
    tables = [pa.table(list(columns), names) for columns in parts]
    return [plain_array(each) for each in pa.concat_tables(tables, promote_options="permissive").columns]


def _with_few_slices(counts: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of windows that hold about so many slices together, or one window."""
    ends, first = np.cumsum(counts), 0
    while first < len(counts):
        before = int(ends[first] - counts[first])
        stop = max(first + 1, int(np.searchsorted(ends, before + _SEEN_TOGETHER, side="right")))
        yield first, stop
        first = stop


def _seen_by_each(
    slices: HeldSlices, found: Found, fronts: Ints, stops: Ints
) -> tuple[HeldSlices, Ints, Ints]:
    """The slices of each window without those that came too late for it, one window after the other."""
    assert slices.since is not None
    counts = stops - fronts
    places = np.repeat(fronts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    owners = np.repeat(np.arange(len(found)), counts)
    seen = slices.since[places] < found.ends[owners]
    held = np.bincount(owners[seen], minlength=len(found))
    stops = np.cumsum(held)
    return slices.take(places[seen]), stops - held, stops
