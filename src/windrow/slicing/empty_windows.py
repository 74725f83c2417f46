"""Windows without rows, for ``empty="include"``: those between a key's first and last row.

A window without rows comes out once it has fired *and* a later row of its key has come, since only then is
it known to lie between rows. So each key's first and last time are kept, for as long as the operator runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.slicing.finder.time_windows import TimeWindows
from windrow.slicing.slices import HeldSlices, runs_of
from windrow.slicing.window_lists import Found
from windrow.state.checks import check_column, check_numbers, check_sorted, require

__all__ = ["Filling", "Fillings"]


def _nothing() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Filling:
    """The first and the last time of each key, now and at the latest firing; and up to where windows that end
    have come out of history."""

    keys: Ints = field(default_factory=_nothing)
    firsts: Ints = field(default_factory=_nothing)
    lasts: Ints = field(default_factory=_nothing)
    begun: Ints = field(default_factory=_nothing)
    seen: Ints = field(default_factory=_nothing)
    given: Ints = field(default_factory=_nothing)

    @property
    def nbytes(self) -> int:
        return 6 * self.keys.nbytes

    def check_invariants(self, key_count: int, stretch: tuple[int, int]) -> None:
        """Of what comes from outside, where all rows are in this stretch, its last moment included."""
        for name in ("keys", "firsts", "lasts", "begun", "seen", "given"):
            column = getattr(self, name)
            check_column(f"{name} of empty windows", column, len(self.keys))
            check_numbers(f"{name} of empty windows", column, START_OF_TIME, END_OF_TIME)
        check_numbers("keys of empty windows", self.keys, 0, max(key_count, 1) - 1)
        check_sorted("keys of empty windows", self.keys, each_once=True)
        spans = (self.firsts <= self.lasts) & (self.firsts <= self.begun) & (self.seen <= self.lasts)
        require(spans.all(), "empty windows: a last row that is before the first")
        inside = (self.firsts >= stretch[0]) & (self.lasts <= stretch[1])
        require(inside.all(), "empty windows: a row that is earlier or later than all")

    def with_rows(self, slices: HeldSlices) -> Filling:
        new, runs = runs_of(slices.keys)
        keys = np.union1d(self.keys, new)
        firsts = np.full(len(keys), END_OF_TIME, np.int64)
        lasts = np.full(len(keys), START_OF_TIME, np.int64)
        begun, seen, given = firsts.copy(), lasts.copy(), lasts.copy()
        known = np.searchsorted(keys, self.keys)
        firsts[known], lasts[known] = self.firsts, self.lasts
        begun[known], seen[known], given[known] = self.begun, self.seen, self.given
        places = np.searchsorted(keys, new)
        firsts[places] = np.minimum(firsts[places], np.minimum.reduceat(slices.firsts, runs[:-1]))
        lasts[places] = np.maximum(lasts[places], np.maximum.reduceat(slices.lasts, runs[:-1]))
        return Filling(keys, firsts, lasts, begun, seen, given)

    def due(self, windows: TimeWindows, low: int, high: int) -> tuple[Found, Mask]:
        """All windows that fire now, empty or not; and which had to wait for a row, and so are empty."""
        if not len(self.keys):
            return Found.none(), np.empty(0, np.bool_)
        kinds = windows.kinds_between(*self._stretches(windows, low, high), high)
        stretch, known = (self.firsts, self.lasts), (self.begun, self.seen)
        found = windows.filling(kinds, self.keys, stretch, known, low, high)
        if (self.given > START_OF_TIME).any():
            found = found.take(found.ends > self.given[np.searchsorted(self.keys, found.keys)])
        return found, found.ends <= low

    def _stretches(self, windows: TimeWindows, low: int, high: int) -> tuple[Ints, Ints, int]:
        """Where windows may lie that fire, for each key; and a time after which all of them end."""
        if not windows.has_lists:
            return self.firsts, self.lasts, low
        since = np.full(len(self.keys), low)
        came = (self.lasts > self.seen) & (self.seen > START_OF_TIME)
        # rows that came since the latest firing are the first to lie beyond windows, or before them
        since[came] = np.minimum(low, self.seen[came])
        since = np.where(self.firsts < self.begun, np.minimum(since, self.firsts), since)
        lows, highs = np.maximum(self.firsts, since), np.minimum(self.lasts, high)
        after = int(lows.min())
        awake = self.lasts > after - 2 * windows.longest
        return np.minimum(lows, highs)[awake], highs[awake], after

    def after(self, watermark: int) -> Filling:
        """After everything up to a watermark has fired."""
        return Filling() if watermark == END_OF_TIME else replace(self, begun=self.firsts, seen=self.lasts)

    def given_until(self, keys: Ints, moment: int) -> Filling:
        """Without the windows of these keys that end by a moment."""
        return replace(self, given=np.where(np.isin(self.keys, keys), moment, self.given))

    def with_keys(self, renumbered: Any) -> Filling:
        return replace(self, keys=renumbered[self.keys])


@dataclass(frozen=True)
class Fillings:
    """The same for each window of a query, by its number: a row may be late for one and taken by another, and
    windows that were added later see nothing older."""

    windows: Mapping[int, Filling] = field(default_factory=dict[int, Filling])

    @property
    def nbytes(self) -> int:
        return sum(filling.nbytes for filling in self.windows.values())

    def of(self, number: int) -> Filling:
        return self.windows.get(number, Filling())

    def with_rows(self, number: int, slices: HeldSlices) -> Fillings:
        if not len(slices):
            return self
        return Fillings({**self.windows, number: self.of(number).with_rows(slices)})

    def without(self, number: int) -> Fillings:
        return Fillings({other: filling for other, filling in self.windows.items() if other != number})

    def after(self, watermark: int) -> Fillings:
        return self._each(lambda filling: filling.after(watermark))

    def given_until(self, keys: Ints, moment: int) -> Fillings:
        return self._each(lambda filling: filling.given_until(keys, moment))

    def with_keys(self, renumbered: Any) -> Fillings:
        return self._each(lambda filling: filling.with_keys(renumbered))

    def keys(self) -> Iterator[Ints]:
        return (filling.keys for filling in self.windows.values())

    def _each(self, change: Callable[[Filling], Filling]) -> Fillings:
        return Fillings({number: change(filling) for number, filling in self.windows.items()})

    def state(self) -> dict[int, list[Ints]]:
        return {n: [f.keys, f.firsts, f.lasts, f.begun, f.seen, f.given] for n, f in self.windows.items()}

    @staticmethod
    def restored(state: dict[int, list[Ints]]) -> Fillings:
        return Fillings({number: Filling(*columns) for number, columns in state.items()})

    def check_invariants(self, numbers: Sequence[int], key_count: int, stretch: tuple[int, int]) -> None:
        """Of what comes from outside, for windows of these numbers."""
        require(set(numbers).issuperset(self.windows), "empty windows: of windows that the query has not")
        for filling in self.windows.values():
            filling.check_invariants(key_count, stretch)
