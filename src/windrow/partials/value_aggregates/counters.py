"""Count-Min in queries: counters that values are counted into and out of.

A value is kept as the two numbers that its counters follow from, in one integer: that is less than its
counters are. A slice with so many values that its counters are less keeps those, one by one: a number below
that of the counters is a counter, and any other a value. Both are counted alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.monoids.base import Monoid
from windrow.monoids.sketches import first_probe
from windrow.partials.value_aggregates.bags import Bag, shortened, without_repeats
from windrow.partials.value_aggregates.sketches import RowSketch, copy_row, fill_cells, numbered_cells, probes
from windrow.partials.value_aggregates.slide import slide_in_pieces

__all__ = ["Counters"]

#: what is kept has 32 bits; of larger sketches, counters are kept
_LIMIT = 1 << 31


class Counters(RowSketch):
    """``count_min``."""

    def _size(self, monoid: Monoid) -> int:
        return _width(monoid) * _depth(monoid)

    def _limit(self, monoid: Monoid) -> int:
        size = self._size(monoid)
        return size + _width(monoid) ** 2 if self._keeps_values(monoid) else size

    def _keeps_values(self, monoid: Monoid) -> bool:
        return self._size(monoid) + _width(monoid) ** 2 <= _LIMIT

    def _cells(self, monoid: Monoid, codes: Any) -> Any:
        depth, width = _depth(monoid), _width(monoid)
        if self._keeps_values(monoid):
            found = np.empty(len(codes), self._kind(monoid))
            fill_cells(_values_of, codes, (width, self._size(monoid)), found)
            return found
        out = np.empty((len(codes), depth), self._kind(monoid))
        fill_cells(probes, codes, (depth, width, width), out)
        return out.ravel()

    def partials(self, monoid: Monoid, bag: Bag) -> list[Any]:
        """What is kept may be a value, with several counters."""
        found, before = self._with_counters(monoid, bag, np.ones(len(bag), np.bool_))
        cells, counts = found.values.to_numpy(), found.counts
        rows = []
        for front, stop in zip(before[:-1].tolist(), before[1:].tolist(), strict=True):
            row = np.zeros_like(monoid.identity)
            row[cells[front:stop]] = counts[front:stop]
            rows.append(row)
        return rows

    def _mark(self, row: Any, cell: int, count: int) -> None:
        row[cell] = count

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        bag, starts = self._each_once(monoid, bag, offsets)
        are_many = np.diff(starts) > self._size(monoid) // 2
        if not self._keeps_values(monoid) or not are_many.any():
            return bag, starts
        bag, before = self._with_counters(monoid, bag, np.repeat(are_many, np.diff(starts)))
        return self._each_once(monoid, bag, before[starts])

    def _each_once(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        numbered = numbered_cells(bag.values.to_numpy(), self._limit(monoid))
        return without_repeats(bag, offsets, True, numbered)

    def _with_counters(self, monoid: Monoid, bag: Bag, chosen: Any) -> tuple[Bag, Ints]:
        """Values that are chosen as their counters; and where what became of each starts, and the end."""
        kept, given = bag.values.to_numpy(), bag.with_counts().tallies
        shape = _depth(monoid), _width(monoid), self._size(monoid)
        cells, counts, before = _counters_of(kept, given, chosen, *shape)
        return Bag(pa.array(cells.astype(kept.dtype, copy=False)), shortened(counts)), before

    def _slide(self, monoid: Monoid, bag: Bag, new_row: Any, windows: Any, out: Any) -> None:
        if self._keeps_values(monoid):
            bag, before = self._with_counters(monoid, bag, np.ones(len(bag), np.bool_))
            windows = (before[windows[0]], before[windows[1]])
        functions, cells = (_count_in, _count_out, copy_row), bag.values.to_numpy()
        slide_in_pieces(functions, lambda: (new_row(),), cells, bag.tallies, windows, out)


def _width(monoid: Monoid) -> int:
    return int(monoid.parameters["width"])


def _depth(monoid: Monoid) -> int:
    return int(monoid.parameters["depth"])


def _values_of(codes: Any, width: int, size: int, out: Any) -> None:
    """The two numbers that the counters of each code follow from, as one from ``size`` on."""
    for i in range(codes.shape[0]):
        position, step = first_probe(codes[i])
        first, by = position % np.uint64(width), step % np.uint64(width)
        out[i] = size + np.int64(first) * width + np.int64(by)


@kernel
def _counters_of(kept: Any, given: Ints, chosen: Any, depth: int, width: int, size: int) -> Any:
    """The counters of values that are chosen, others as they are, with their counts; and where those of each
    start, and the end."""
    before = np.zeros(len(kept) + 1, np.int64)
    for i in range(len(kept)):
        before[i + 1] = before[i] + (depth if chosen[i] and kept[i] >= size else 1)
    cells, counts = np.empty(before[-1], np.int64), np.empty(before[-1], np.int64)
    for i in range(len(kept)):
        place = before[i]
        if not (chosen[i] and kept[i] >= size):
            cells[place], counts[place] = kept[i], given[i]
            continue
        position, step = (kept[i] - size) // width, (kept[i] - size) % width
        for k in range(depth):
            cells[place + k], counts[place + k] = k * width + position % width, given[i]
            position, step = position + step, step + k
    return cells, counts, before


def _count_in(state: Any, cell: int, count: int) -> None:
    state[0][cell] += count


def _count_out(state: Any, cell: int, count: int) -> None:
    state[0][cell] -= count
