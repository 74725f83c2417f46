"""Rows cut into slices as they come, without sorting them.

The slice of a row is found from its time alone: by arithmetic where all edges are one progression (tumbling
windows, sliding ones whose slide divides their size), otherwise by a search in a list of the edges. Key and
slice together are the number of a *cell*, of a grid that has a place for each slice of each key. Where the
grid has not many more places than there are rows, rows are scattered over it; elsewhere they are sorted, by
the number of their cell alone (:mod:`windrow.partials.cells`).

Invariant: the slices are those that :meth:`windrow.slicing.slicer.Slicer.slices` cuts of the same rows once
they are sorted, in the same order; so where something needs processing order after all, they are ranges of
it. Cost: O(1) per row (O(log edges) for edges in a list), and a radix sort where the grid is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.partials.cells import Cells, Gathered, Scattered, pieces_over_cells
from windrow.partials.ranges import Slices
from windrow.rows.sorting import radix_sort
from windrow.slicing.slicer import Slicer
from windrow.threads import even_pieces, in_threads

__all__ = ["cut_in_any_order"]

#: rows are scattered over a grid that has at most so many places per row, and some
_PLACES_A_ROW = 2
_FEW_PLACES = 1 << 8
#: slices, and the places of a grid that rows are scattered over, are numbered with 32 bits
_MOST_PLACES = 1 << 31
#: what 64 bits do not hold
_BEYOND = 1 << 63


def cut_in_any_order(slicer: Slicer, times: Ints, keys: Any, key_count: int) -> Slices | None:
    """The slices of rows that lie in any order, or None where rows must be sorted: if silence or moments cut,
    and if there are too many edges for the rows. ``keys``: the number of each row's key, each of which
    occurs."""
    if slicer.cuts_between_rows or not len(times):
        return None
    grid = _grid(slicer, times)
    if grid is None:
        return None
    runs = np.empty(key_count + 1, np.int64)
    places = key_count * grid.count
    if places <= min(_PLACES_A_ROW * len(times) + _FEW_PLACES, _MOST_PLACES):
        cells, rows, numbers = _scattered(grid.numbers(times), keys, grid.count, runs)
    else:
        bits = len(times).bit_length()
        if places.bit_length() + bits > 63:
            return None
        cells, rows, numbers = _gathered(grid.numbers(times), keys, grid.count, runs, bits)
    return Slices(rows, grid.starts(numbers), runs, grid.ends(numbers), cells)


def _scattered(slices: Any, keys: Any, per_key: int, runs: Ints) -> tuple[Cells, Ints, Ints]:
    """The cells; of those that hold rows, where the rows of each would start, and the number of its slice;
    and where those of each key start, in ``runs``."""
    places = (len(runs) - 1) * per_key

    def number(piece: slice) -> Ints:
        found = np.zeros(places, np.int64)
        _number_cells(slices[piece], keys[piece], per_key, found)
        return found

    counts, *others = in_threads(number, pieces_over_cells(len(slices), places))
    for other in others:
        counts += other
    held = np.flatnonzero(counts)
    rows = np.concatenate([[0], np.cumsum(counts[held])])
    cells = Scattered(slices, places, None if len(held) == places else held)
    return cells, rows, _number_slices(held, per_key, runs)


def _gathered(slices: Any, keys: Any, per_key: int, runs: Ints, bits: int) -> tuple[Cells, Ints, Ints]:
    """The same with rows by cell. A number holds a cell, and in its last ``bits`` a row."""
    rows = radix_sort(_marked(slices, keys, per_key, bits), bits)
    starts, numbers = _number_sorted(rows, bits, per_key, runs)
    rows &= (1 << bits) - 1
    return Gathered(rows, starts), starts, numbers


# -- slices by time ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Uniform:
    """Slices of one length, from ``base`` on."""

    base: int
    period: int
    count: int

    def numbers(self, times: Ints) -> Any:
        return _in_pieces(lambda part, found: _number_uniform(part, self.base, self.period, found), times)

    def starts(self, numbers: Ints) -> Ints:
        return self.base + self.period * numbers

    def ends(self, numbers: Ints) -> Ints:
        return self.base + self.period * (numbers + 1)


@dataclass(frozen=True)
class _Listed:
    """Slices between edges; the first begins with the first row."""

    low: int
    edges: Ints

    @property
    def count(self) -> int:
        return len(self.edges) + 1

    def numbers(self, times: Ints) -> Any:
        return _in_pieces(lambda part, found: _number_listed(part, self.edges, found), times)

    def starts(self, numbers: Ints) -> Ints:
        return np.concatenate([[self.low], self.edges])[numbers]

    def ends(self, numbers: Ints) -> Ints:
        return np.append(self.edges, END_OF_TIME)[numbers]


def _in_pieces(number: Callable[[Ints, Any], None], times: Ints) -> Any:
    found = np.empty(len(times), np.int32)
    in_threads(lambda piece: number(times[piece], found[piece]), even_pieces(len(times)))
    return found


def _grid(slicer: Slicer, times: Ints) -> _Uniform | _Listed | None:
    """The slices that rows of these times may be in; None: there are too many."""
    low, high = int(times.min()), int(times.max())
    only = slicer.only_progression
    if only is None:
        edges = slicer.edges_between(low, high, len(times))
        return None if edges is None or len(edges) + 1 >= _MOST_PLACES else _Listed(low, edges)
    base = low - (low - only.anchor) % only.period
    count = (high - base) // only.period + 1
    fits = base >= -_BEYOND and high - base < _BEYOND and base + count * only.period < _BEYOND
    return _Uniform(base, only.period, count) if count < _MOST_PLACES and fits else None


@kernel
def _number_uniform(times: Ints, base: int, period: int, found: Any) -> None:
    """The quotient of a product with the inverse is off by one at most, as there are few slices."""
    inverse = 1.0 / period
    for i in range(len(times)):
        distance = times[i] - base
        number = np.int64(distance * inverse)
        rest = distance - number * period
        found[i] = number + np.int64(rest >= period) - np.int64(rest < 0)


@kernel
def _number_listed(times: Ints, edges: Ints, found: Any) -> None:
    """How many edges are at or before each time; of a row in the slice of the one before it, without a
    search."""
    number = 0
    for i in range(len(times)):
        is_after = number == 0 or times[i] >= edges[number - 1]
        if not is_after or (number < len(edges) and times[i] >= edges[number]):
            number = np.searchsorted(edges, times[i], side="right")
        found[i] = number


# -- cells ---------------------------------------------------------------------------------------------------


@kernel
def _number_cells(slices: Any, keys: Any, per_key: int, counts: Ints) -> None:
    """Slices become cells, where they are; and rows are counted."""
    for i in range(len(slices)):
        cell = np.int64(keys[i]) * per_key + slices[i]
        slices[i] = cell
        counts[cell] += 1


@kernel
def _number_slices(cells: Ints, per_key: int, runs: Ints) -> Ints:
    """The slice of each cell, by its number among those of its key; and where the cells of each key start."""
    numbers = np.empty(len(cells), np.int64)
    place = 0
    for key in range(len(runs) - 1):
        runs[key] = place
        while place < len(cells) and cells[place] < (key + 1) * per_key:
            numbers[place] = cells[place] - key * per_key
            place += 1
    runs[len(runs) - 1] = place
    return numbers


@kernel
def _marked(slices: Any, keys: Any, per_key: int, bits: int) -> Ints:
    found = np.empty(len(slices), np.int64)
    for i in range(len(slices)):
        found[i] = ((np.int64(keys[i]) * per_key + slices[i]) << bits) | i
    return found


@kernel
def _number_sorted(rows: Ints, bits: int, per_key: int, runs: Ints) -> Any:
    """Where each cell starts in sorted rows, and the end; and its slice, as :func:`_number_slices` has it."""
    count = 0
    for i in range(len(rows)):
        if i == 0 or rows[i] >> bits != rows[i - 1] >> bits:
            count += 1
    starts, numbers = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    count = key = 0
    for i in range(len(rows)):
        cell = rows[i] >> bits
        if i == 0 or cell != rows[i - 1] >> bits:
            while cell >= key * per_key:
                runs[key] = count
                key += 1
            starts[count] = i
            numbers[count] = cell - (key - 1) * per_key
            count += 1
    starts[count] = len(rows)
    runs[len(runs) - 1] = count
    return starts, numbers
