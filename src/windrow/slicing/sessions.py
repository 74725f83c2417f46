"""Sessions over endless input: slices of one Session window, fused as rows bridge them.

Each session that has not fired is one slice (or, for aggregates that depend on order and for sessions of a
largest size, which a late row may split anew, one slice a moment). Rows that are in time join what they
touch. A row that comes too late to change what has fired is judged alone; see docs/streams.md.

Invariant: the sessions of a key are disjoint, unless late rows are judged by themselves. What has fired and
cannot be changed any more is forgotten but for its end, and that only as long as a late row could otherwise
slip in before it.
Cost: linear in the open sessions per batch. Source: [Scotty] section III, figure 4, case 2 (fusing slices).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.compile.cache import kernel
from windrow.compile.pieces import pieces
from windrow.slicing.finder.sorted_rows import session_ranges
from windrow.slicing.slices import HeldSlices, concat, merge_order, run_starts, runs_of, sorted_and_fused
from windrow.slicing.window_lists import Ranges
from windrow.state.checks import check_column, check_numbers, check_sorted
from windrow.values import with_fields
from windrow.windows import Session

__all__ = ["SessionStore"]


def _nothing() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class SessionStore:
    """The slices of one Session window."""

    window: Session
    #: every moment has a slice of its own
    moments: bool
    slices: HeldSlices | None = None
    #: until when the sessions of a key are closed, for keys where it matters
    closed_keys: Ints = field(default_factory=_nothing)
    closed_ends: Ints = field(default_factory=_nothing)

    def __len__(self) -> int:
        return 0 if self.slices is None else len(self.slices)

    @property
    def nbytes(self) -> int:
        held = 0 if self.slices is None else self.slices.nbytes
        return held + self.closed_keys.nbytes + self.closed_ends.nbytes

    def check_invariants(self, key_count: int) -> None:
        """Of a store that comes from outside."""
        if self.slices is not None:
            by = "ends" if self.slices.order else "firsts"
            self.slices.check_invariants(key_count, by=by, by_moment=self.moments)
        check_column("keys of closed sessions", self.closed_keys, len(self.closed_keys))
        check_column("ends of closed sessions", self.closed_ends, len(self.closed_keys))
        check_numbers("keys of closed sessions", self.closed_keys, 0, max(key_count, 1) - 1)
        check_numbers("ends of closed sessions", self.closed_ends, START_OF_TIME, END_OF_TIME)
        check_sorted("closed sessions", self.closed_keys, each_once=True)

    def spans(self) -> Ranges:
        """The sessions as they are now, and the slices that make them up."""
        if self.slices is None:
            return session_ranges(_nothing(), np.zeros(1, np.int64), self.window)
        held = self.slices
        found = session_ranges(held.firsts, run_starts(held.keys), self.window, held.lasts)
        # copies: as views they would keep room for as many sessions as there are slices
        fronts, stops, ends = found.fronts.copy(), found.stops.copy(), found.ends.copy()
        return Ranges(held.keys[fronts], found.starts, ends, fronts, stops, disjoint=True)

    def added(self, slices: HeldSlices) -> SessionStore:
        """With slices that join whatever they touch; they are sorted by key and time."""
        if not len(slices):
            return self
        if self.slices is None or not len(self.slices):
            both = slices
        else:
            both = concat([self.slices, slices])
            if not both.order:
                both = both.take(merge_order(both.keys, both.firsts, len(self.slices)))
        if both.order:
            return with_fields(self, slices=sorted_and_fused(both))
        if self.moments:
            return with_fields(self, slices=sorted_and_fused(both, is_sorted=True))
        store = with_fields(self, slices=both)
        spans = store.spans()
        return with_fields(store, slices=both.folded(np.append(spans.fronts, len(both))))

    def takes(self, keys: Ints, times: Ints, watermark: int) -> Mask:
        """Which of these late rows, each judged alone, join a session that has not fired."""
        taken = np.zeros(len(keys), np.bool_)
        if not len(keys):
            return taken
        if self.window.late_by == "row":
            return times + self.window.gap_us > watermark
        spans = self.spans()
        closed = self._closed_at(keys, spans, watermark)
        held = self.slices
        if held is None or not len(held):
            open_keys = firsts = lasts = np.empty(0, np.int64)
        else:
            is_open = np.repeat(spans.ends > watermark, spans.stops - spans.fronts)
            open_keys, firsts, lasts = held.keys[is_open], held.firsts[is_open], held.lasts[is_open]
        run_keys, runs = runs_of(open_keys)
        longest = self.window.max_size_us or 0
        gap = self.window.gap_us
        # each row is judged by all open slices of its key
        for first, stop in pieces(len(keys), cost=int(np.diff(runs).max(initial=1))):
            rows = (keys[first:stop], times[first:stop], closed[first:stop])
            _judge(*rows, run_keys, runs, firsts, lasts, gap, longest, watermark, taken[first:stop])
        return taken

    def _closed_at(self, keys: Ints, spans: Ranges, watermark: int) -> Ints:
        """For each row, the end of the last session of its key that has fired."""
        fired = spans.ends <= watermark
        known = np.concatenate([self.closed_keys, spans.keys[fired]])
        ends = np.concatenate([self.closed_ends, spans.ends[fired]])
        order = np.lexsort([ends, known])
        places = np.searchsorted(known[order], keys, side="right") - 1
        found = np.full(len(keys), START_OF_TIME, np.int64)
        mine = (places >= 0) & (known[order][places] == keys) if len(known) else np.zeros(len(keys), np.bool_)
        found[mine] = ends[order][places[mine]]
        return found

    def forgotten(self, spans: Ranges, until: int, watermark: int) -> SessionStore:
        """Without the sessions that end at or before ``until``; what late rows need to know stays."""
        gone = spans.ends <= until
        keys = np.concatenate([self.closed_keys, spans.keys[gone]])
        ends = np.concatenate([self.closed_ends, spans.ends[gone]])
        order = np.lexsort([ends, keys])
        keys, ends = keys[order], ends[order]
        last = np.append(keys[1:] != keys[:-1], True) if len(keys) else np.zeros(0, np.bool_)
        keys, ends = keys[last], ends[last]
        matters = np.zeros(len(ends), np.bool_)
        if self.window.late_by == "session":
            first_open = self._first_open(keys, spans, watermark)
            matters = ends > np.minimum(watermark, first_open) - self.window.gap_us
        slices = self.slices
        if gone.any() and slices is not None:
            slices = slices.take(np.flatnonzero(np.repeat(~gone, spans.stops - spans.fronts)))
        return with_fields(self, slices=slices, closed_keys=keys[matters], closed_ends=ends[matters])

    @staticmethod
    def _first_open(keys: Ints, spans: Ranges, watermark: int) -> Ints:
        """Where the first session that has not fired starts, of each key."""
        is_open = spans.ends > watermark
        open_keys, starts = spans.keys[is_open], spans.starts[is_open]
        places = np.searchsorted(open_keys, keys)
        found = np.full(len(keys), END_OF_TIME, np.int64)
        inside = places < len(open_keys)
        mine = np.flatnonzero(inside)[open_keys[places[inside]] == keys[inside]]
        found[mine] = starts[places[mine]]
        return found

    def with_keys(self, renumbered: Ints) -> SessionStore:
        slices = None if self.slices is None else self.slices.with_keys(renumbered)
        return with_fields(self, slices=slices, closed_keys=renumbered[self.closed_keys])

    def keys(self) -> list[Ints]:
        return [self.closed_keys] if self.slices is None else [self.closed_keys, self.slices.keys]


@kernel
def _judge(
    keys: Ints,
    times: Ints,
    closed: Ints,
    run_keys: Ints,
    runs: Ints,
    firsts: Ints,
    lasts: Ints,
    gap: int,
    longest: int,
    watermark: int,
    taken: Any,
) -> None:
    for i in range(len(keys)):
        if times[i] < closed[i]:
            continue
        run = np.searchsorted(run_keys, keys[i])
        low = high = 0
        if run < len(run_keys) and run_keys[run] == keys[i]:
            low, high = runs[run], runs[run + 1]
        taken[i] = _end_with(times[i], firsts[low:high], lasts[low:high], gap, longest) > watermark


@kernel
def _end_with(time: int, firsts: Ints, lasts: Ints, gap: int, longest: int) -> Any:
    """The end of the session that a row would be in, together with these slices."""
    start = last = np.int64(0)
    started = holds = placed = False
    i = 0
    while i < len(firsts) or not placed:
        if not placed and (i == len(firsts) or time < firsts[i]):
            first, final, is_row = np.int64(time), np.int64(time), True
            placed = True
        else:
            first, final, is_row = firsts[i], lasts[i], False
            if not placed and time <= final:
                is_row = placed = True
            i += 1
        if not started or first - last > gap or (longest > 0 and first - start >= longest):
            if holds:
                break
            start, last, started = first, final, True
        last = max(last, final)
        holds = holds or is_row
    end = last + gap
    return min(end, start + longest) if longest > 0 else end
