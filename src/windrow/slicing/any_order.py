"""Rows cut into slices as they come, without sorting them.

The slice of a row is found from its time alone (:mod:`windrow.slicing.grid`): by arithmetic where all edges
are one progression (tumbling windows, sliding ones whose slide divides their size). Key and slice together
are the number of a *cell*, of a grid that has a place for each slice of each key. Where the grid has not many
more places than there are rows, rows are scattered over it; elsewhere they are sorted, by the number of their
cell alone (:mod:`windrow.partials.cells`).

Invariant: the slices are those that :meth:`windrow.slicing.slicer.Slicer.slices` cuts of the same rows once
they are sorted, in the same order; so where something needs processing order after all, they are ranges of
it. Cost: O(1) per row (O(log edges) for edges in a list), and a radix sort where the grid is large.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.partials.cells import Gathered, Pieces, Scattered, pieces_over_cells
from windrow.partials.ranges import Slices
from windrow.rows.sorting import radix_sort
from windrow.slicing.grid import MOST_PLACES, Grid, grid_between
from windrow.slicing.slicer import Slicer
from windrow.threads import even_pieces, in_threads, is_one_piece

__all__ = ["cut_in_any_order"]

#: rows are scattered over a grid that has at most so many places per row, and some
_PLACES_A_ROW = 2
_FEW_PLACES = 1 << 8
#: cells that one thread looks through at a time, about
_CELLS_A_PIECE = 1 << 16


def cut_in_any_order(
    slicer: Slicer,
    times: Ints,
    keys: Any,
    key_count: int,
    span: tuple[int, int] | None = None,
    with_times: bool = True,
) -> Slices | None:
    """The slices of rows that lie in any order, or None where rows must be sorted: if silence or moments cut,
    and if there are too many edges for the rows. ``keys``: the number of each row's key, each of which
    occurs. ``span``: the earliest and the latest time, where they are known. ``with_times``: the cells can
    say which is the earliest and the latest time in each of them."""
    if slicer.cuts_between_rows or not len(times):
        return None
    low, high = (int(times.min()), int(times.max())) if span is None else span
    grid = grid_between(slicer, low, high, len(times))
    if grid is None:
        return None
    places = key_count * grid.count
    if places <= min(_PLACES_A_ROW * len(times) + _FEW_PLACES, MOST_PLACES):
        return _scattered(grid, times, keys, key_count, with_times)
    bits = len(times).bit_length()
    return _gathered(grid, times, keys, key_count, bits) if places.bit_length() + bits <= 63 else None


def _scattered(grid: Grid, times: Ints, keys: Any, key_count: int, with_times: bool) -> Slices:
    """The cells, and of those that hold rows where the rows of each would start, and its slice."""
    (slices, rise), places = grid.numbers(times), key_count * grid.count
    pieces = _pieces(slices, rise, places)
    found = _surveyed(pieces, slices, keys, times, (3 if with_times else 1, key_count, grid.count))
    columns, rows, runs = _held_cells(found)
    held, numbers = columns[0], columns[1]
    extremes = (columns[2], columns[3]) if with_times else None
    cells = Scattered(slices, places, None if len(held) == places else held, pieces, extremes)
    starts = columns[2] if with_times else grid.starts(numbers)
    return Slices(rows, starts, runs, grid.ends(numbers), cells)


def _surveyed(pieces: Pieces, slices: Any, keys: Any, times: Ints, shape: tuple[int, int, int]) -> Ints:
    """What :func:`_survey_cells` finds, for each slice of each key. Slices become cells, where they are."""

    def survey(piece: slice, found: Ints) -> None:
        rows = slices[piece], keys[piece], times[piece]
        _survey_cells(*rows, shape[2], found.reshape(shape[0], -1))

    def add(found: Ints, other: Ints) -> None:
        found[0] += other[0]
        np.minimum(found[1:2], other[1:2], out=found[1:2])
        np.maximum(found[2:], other[2:], out=found[2:])

    return pieces.fold(lambda: _nothing_found(shape), survey, add)


def _nothing_found(shape: tuple[int, int, int]) -> Ints:
    found = np.empty(shape, np.int64)
    found[0] = 0
    found[1:2] = END_OF_TIME
    found[2:] = START_OF_TIME
    return found


def _pieces(slices: Any, rise: bool, places: int) -> Pieces:
    """Rows that threads share: in pieces that have no slice in common, where slices rise and that makes as
    many pieces, and otherwise in pieces that have cells of their own."""
    pieces = pieces_over_cells(len(slices), places)
    if is_one_piece(len(slices)) or not rise:
        return Pieces(pieces)
    cuts = {int(np.searchsorted(slices, slices[piece.start])) for piece in even_pieces(len(slices))}
    apart = [slice(*ends) for ends in itertools.pairwise([*sorted(cuts), len(slices)])]
    return Pieces(apart, are_apart=True) if len(apart) >= len(pieces) else Pieces(pieces)


def _gathered(grid: Grid, times: Ints, keys: Any, key_count: int, bits: int) -> Slices:
    """The same with rows by cell. A number holds a cell, and in its last ``bits`` a row."""
    rows = radix_sort(_marked(grid.numbers(times)[0], keys, grid.count, bits), bits)
    runs = np.empty(key_count + 1, np.int64)
    starts, numbers = _number_sorted(rows, bits, grid.count, runs)
    rows &= (1 << bits) - 1
    return Slices(starts, grid.starts(numbers), runs, grid.ends(numbers), Gathered(rows, starts))


# -- cells ---------------------------------------------------------------------------------------------------


@kernel
def _survey_cells(slices: Any, keys: Any, times: Ints, per_key: int, found: Any) -> None:
    """Slices become cells, where they are. Found: how many more rows each cell holds; and in two more rows,
    if there are any, the earliest and the latest time of each."""
    counts = found[0]
    for i in range(len(slices)):
        cell = np.int64(keys[i]) * per_key + slices[i]
        slices[i] = cell
        counts[cell] += 1
    if len(found) > 1:
        firsts, lasts = found[1], found[2]
        for i in range(len(slices)):
            firsts[slices[i]] = min(firsts[slices[i]], times[i])
            lasts[slices[i]] = max(lasts[slices[i]], times[i])


def _held_cells(found: Ints) -> tuple[Ints, Ints, Ints]:
    """Of the cells that hold rows: columns of their numbers, their slices by the numbers among those of a
    key, and what was found of their times; where the rows of each would start, and the end; and where the
    cells of each key start, and the end. ``found``: for each slice of each key."""
    _, key_count, per_key = found.shape
    pieces = [slice(*ends) for ends in itertools.pairwise(_cuts(key_count, per_key))]
    totals = [(0, 0), *in_threads(lambda piece: _count_held(found[0, piece]), pieces)]
    befores = np.cumsum(totals, axis=0)
    count = int(befores[-1, 0])
    columns, rows = np.empty((len(found) + 1, count), np.int64), np.zeros(count + 1, np.int64)
    runs = np.full(key_count + 1, count, np.int64)

    def note(number: int) -> None:
        piece, (place, before) = pieces[number], befores[number].tolist()
        _note_held(found[:, piece], piece.start * per_key, place, before, columns, rows, runs[piece])

    in_threads(note, range(len(pieces)))
    return columns, rows, runs


def _cuts(key_count: int, per_key: int) -> list[int]:
    """Keys in pieces of so many cells that waking a thread pays."""
    number = min(key_count, max(1, key_count * per_key // _CELLS_A_PIECE))
    return [key_count * k // number for k in range(number + 1)]


@kernel
def _count_held(counts: Any) -> tuple[int, int]:
    """How many cells of some keys hold rows, and how many rows."""
    held = rows = 0
    for count in counts.flat:
        held += count > 0
        rows += count
    return held, rows


@kernel
def _note_held(found: Any, cell: int, place: int, before: int, columns: Any, rows: Ints, runs: Ints) -> None:
    """The columns of some keys, the first cell of which has this number, from this place on; so many rows are
    before them."""
    for key in range(found.shape[1]):
        runs[key] = place
        for number in range(found.shape[2]):
            count = found[0, key, number]
            if count > 0:
                columns[0, place], columns[1, place] = cell, number
                for k in range(1, len(found)):
                    columns[k + 1, place] = found[k, key, number]
                before += count
                place += 1
                rows[place] = before
            cell += 1


@kernel
def _marked(slices: Any, keys: Any, per_key: int, bits: int) -> Ints:
    found = np.empty(len(slices), np.int64)
    for i in range(len(slices)):
        found[i] = ((np.int64(keys[i]) * per_key + slices[i]) << bits) | i
    return found


@kernel
def _number_sorted(rows: Ints, bits: int, per_key: int, runs: Ints) -> Any:
    """Where each cell starts in sorted rows, and the end; its slice, by the number among those of its key;
    and where the cells of each key start, in ``runs``."""
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
