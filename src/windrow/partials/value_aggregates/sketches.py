"""Sketches in queries: HyperLogLog (``approx_distinct``) and Bloom filters, over the cells that values fall
into; Count-Min (:mod:`windrow.partials.value_aggregates.counters`) is one of them.

A value is kept as its *cells*: of a Bloom filter a few bits, of HyperLogLog its code, from which a register
with a rank follow. A slice keeps each cell once, so that a small slice is small and no slice is much larger
than a sketch. As windows slide, cells are counted in and out: a bit is set while its count is above zero, and
a register has the highest rank whose count is. So a window costs O(1) per cell, and nothing of the size of a
sketch is combined or cleared.

What comes out is what lifting and combining rows gives, bit by bit.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import Kernel, attach, kernel
from windrow.compile.native import jit_for
from windrow.monoids.base import Monoid
from windrow.monoids.sketches import (
    EXACT,
    estimated_distinct,
    first_probe,
    next_probe,
    register_and_rank,
    sketch_header,
)
from windrow.partials.value_aggregates.bags import Bag, codes_of, hash_codes, without_repeats
from windrow.partials.value_aggregates.base import Covering, Family
from windrow.partials.value_aggregates.distinct import is_encodable
from windrow.partials.value_aggregates.slide import slide_in_pieces
from windrow.state.checks import require
from windrow.threads import even_pieces, in_threads

__all__ = ["Bits", "Registers", "RowSketch", "copy_row", "fill_cells", "numbered_cells", "probes"]

#: of a column of bytes
_MOST = 2**31 - 1
_RANKS = 64
#: sketches with more cells are combined in Python: counting cells would take more memory than they do
_LARGEST = 1 << 24
#: a table by number has at most so many places for each cell that is looked up in it, or few
_PLACES_A_CELL = 16
_FEW_PLACES = 1 << 14


class _Sketch(Family):
    """Cells are numbers from 0 on."""

    how = "cells of the sketch counted in and out, O(1) per row; native code"
    held = "the cells of each slice, at most those of one sketch"

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return is_encodable(kind) and self._size(monoid) <= _LARGEST

    def kept(self, monoid: Monoid, values: Any) -> Any:
        return pa.array(self._cells(monoid, hash_codes(values)))

    def _kind(self, monoid: Monoid) -> Any:
        """The type of cells: the shorter the less is held."""
        return np.int16 if self._limit(monoid) <= 1 << 15 else np.int32

    def _limit(self, monoid: Monoid) -> int:
        """What all that is kept of values is below."""
        return self._size(monoid)

    def _fit(self, monoid: Monoid, values: Any) -> bool:
        """Whether all cells are those of the sketch."""
        cells = values.to_numpy()
        return not len(cells) or bool(cells.min() >= 0 and cells.max() < self._limit(monoid))

    @abstractmethod
    def _cells(self, monoid: Monoid, codes: Any) -> Any:
        """The cells of codes, as many for each."""

    @abstractmethod
    def _size(self, monoid: Monoid) -> int:
        """How many cells there are."""

    def check(self, monoid: Monoid, bag: Bag, name: str) -> None:
        kind = pa.from_numpy_dtype(self._kind(monoid))
        require(bag.values.type == kind, f"cells of {name} of type {bag.values.type}")
        require(self._fit(monoid, bag.values), f"cells of {name} outside of its sketch")

    def partials(self, monoid: Monoid, bag: Bag) -> list[Any]:
        counts = np.ones(len(bag), np.int64) if bag.counts is None else bag.counts
        return [
            self._row(monoid, cell, count)
            for cell, count in zip(bag.values.to_pylist(), counts.tolist(), strict=True)
        ]

    def _row(self, monoid: Monoid, cell: int, count: int) -> Any:
        """The sketch with one cell."""
        row = np.zeros_like(monoid.identity)
        self._mark(row, cell, count)
        return row

    @abstractmethod
    def _mark(self, row: Any, cell: int, count: int) -> None: ...


def numbered_cells(cells: Any, size: int) -> tuple[Any, int]:
    """Numbers below ``size`` as they are, or few of them numbered anew; and how many numbers there are."""
    if size <= max(_PLACES_A_CELL * len(cells), _FEW_PLACES):
        return cells.astype(np.int64), size
    return codes_of(pa.array(cells))


@kernel
def _needed_codes(registers: Any, ranks: Any, offsets: Ints, most: int, latest: Ints, is_needed: Any) -> None:
    """Which of the distinct codes of each slice are needed: all where they are ``most`` at most, else one
    more than that, and the highest of each register. ``latest``: of each register, -1."""
    for k in range(len(offsets) - 1):
        front, stop = offsets[k], offsets[k + 1]
        for i in range(front, stop):
            is_needed[i] = i - front <= most
        if stop - front <= most:
            continue
        for i in range(front, stop):
            place = latest[registers[i]]
            if place < front or ranks[i] > ranks[place]:  # none of this slice yet, or a lower one
                latest[registers[i]] = i
        for i in range(front, stop):
            if latest[registers[i]] == i:
                is_needed[i] = True


class Registers(Family):
    """``approx_distinct``: codes, of which up to ``EXACT`` in a window are counted."""

    how = "codes counted in and out, and the registers that they fall into, O(1) per row; native code"
    held = "the distinct values of each slice as codes, about those of one sketch at most"
    covers = True

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return is_encodable(kind)

    def kept(self, monoid: Monoid, values: Any) -> Any:
        return pa.array(hash_codes(values).view(np.int64))

    def check(self, monoid: Monoid, bag: Bag, name: str) -> None:
        require(pa.types.is_int64(bag.values.type), f"codes of {name} of type {bag.values.type}")

    def partials(self, monoid: Monoid, bag: Bag) -> list[Any]:
        assert monoid.wide is not None
        rows = []
        for code in bag.values.to_numpy().view(np.uint64):
            rows.append(np.zeros_like(monoid.identity))
            monoid.wide.lift_into(rows[-1], code)
        return rows

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        bag, offsets = without_repeats(bag, offsets, keeps_counts=False)
        if (np.diff(offsets) <= EXACT).all():
            return bag, offsets
        registers, ranks, count = _numbered_registers(monoid, bag.values)
        is_needed = np.zeros(len(bag), np.bool_)
        _needed_codes(registers, ranks, offsets, EXACT, np.full(count, -1), is_needed)
        before = np.concatenate([[0], np.cumsum(is_needed)])
        return Bag(bag.values.filter(pa.array(is_needed))), before[offsets]

    def coverings(self, monoid: Monoid, values: Any) -> list[Covering]:
        numbers, distinct = codes_of(values)
        few = Covering(numbers, np.zeros(len(numbers), np.int8), distinct, EXACT + 1)
        return [Covering(*_numbered_registers(monoid, values)), few]

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        precision = int(monoid.parameters["precision"])
        numbers, distinct = codes_of(bag.values)
        cells = _cells_of(monoid, bag.values)

        def new_state() -> tuple[Any, ...]:
            ranks = np.zeros(64 - precision + 2, np.int64)
            ranks[0] = 1 << precision
            counts, tops = np.zeros(_RANKS << precision, np.int32), np.zeros(1 << precision, np.int64)
            seen, found = np.zeros(distinct, np.int32), np.zeros(1, np.int64)
            return counts, tops, ranks, 1 << precision, cells, numbers, seen, found

        out, rows = np.zeros(len(fronts), np.int64), np.arange(len(cells))
        slide_in_pieces((_raise, _lower, _estimate), new_state, rows, None, (fronts, stops), out)
        return pa.array(out)


def _cells_of(monoid: Monoid, values: Any) -> Any:
    """Of each code 64 times its register, and its rank."""
    codes = values.to_numpy().view(np.uint64)
    out = np.empty(len(codes), np.int32)
    fill_cells(_registers, codes, (int(monoid.parameters["precision"]),), out)
    return out


def _numbered_registers(monoid: Monoid, values: Any) -> tuple[Any, Any, int]:
    """The register of each code, numbered; its rank; and how many numbers there are."""
    cells = _cells_of(monoid, values)
    registers, count = numbered_cells(cells // _RANKS, 1 << int(monoid.parameters["precision"]))
    return registers, (cells % _RANKS).astype(np.int8), count


def _raise(state: Any, row: int, count: int) -> None:
    counts, tops, ranks, cells = state[0], state[1], state[2], state[4]
    numbers, seen, found = state[5], state[6], state[7]
    seen[numbers[row]] += 1
    if seen[numbers[row]] > 1:
        return
    found[0] += 1
    cell = cells[row]
    counts[cell] += 1
    register, rank = cell // _RANKS, cell % _RANKS
    if counts[cell] == 1 and rank > tops[register]:
        ranks[tops[register]] -= 1
        ranks[rank] += 1
        tops[register] = rank


def _lower(state: Any, row: int, count: int) -> None:
    counts, tops, ranks, cells = state[0], state[1], state[2], state[4]
    numbers, seen, found = state[5], state[6], state[7]
    seen[numbers[row]] -= 1
    if seen[numbers[row]] > 0:
        return
    found[0] -= 1
    cell = cells[row]
    counts[cell] -= 1
    register, rank = cell // _RANKS, cell % _RANKS
    if counts[cell] == 0 and rank == tops[register]:
        lower = rank - 1
        while lower > 0 and counts[register * _RANKS + lower] == 0:
            lower -= 1
        ranks[rank] -= 1
        ranks[lower] += 1
        tops[register] = lower


def _estimate(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    count = state[7][0]
    out[window] = count if count <= EXACT else max(EXACT + 1, estimated_distinct(state[2], state[3]))


class RowSketch(_Sketch):
    """The sketch itself is the result, as bytes."""

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        assert monoid.wide is not None
        row = np.zeros(monoid.wide.width, np.dtype(monoid.wide.dtype).newbyteorder("="))
        header = np.frombuffer(sketch_header(monoid), row.dtype.newbyteorder("<"))
        nbytes = (header.nbytes + row.nbytes) * len(fronts)
        if nbytes > _MOST:
            raise ValueError(
                f"the results of {monoid.name!r} are {nbytes} bytes, and a column holds {_MOST}: take fewer "
                f"windows or rows at a time, or a smaller sketch"
            )
        out = np.zeros((len(fronts), len(header) + len(row)), row.dtype)
        out[:, : len(header)] = header
        self._slide(monoid, bag, row.copy, (fronts, stops), out)
        data = out.astype(out.dtype.newbyteorder("<"), copy=False)
        ends = np.arange(len(fronts) + 1, dtype=np.int32) * (out.itemsize * out.shape[1])
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), len(fronts), buffers)

    @abstractmethod
    def _slide(self, monoid: Monoid, bag: Bag, new_row: Any, windows: Any, out: Any) -> None: ...


def copy_row(state: Any, window: int, front: int, stop: int, out: Any) -> None:
    row = state[0]
    before = out.shape[1] - row.shape[0]  # the header
    for k in range(row.shape[0]):
        out[window, before + k] = row[k]


class Bits(RowSketch):
    """``bloom``: a cell is a bit."""

    covers = True

    def _size(self, monoid: Monoid) -> int:
        return int(monoid.parameters["bits"])

    def _cells(self, monoid: Monoid, codes: Any) -> Any:
        hashes, bits = int(monoid.parameters["hashes"]), int(monoid.parameters["bits"])
        out = np.empty((len(codes), hashes), self._kind(monoid))
        fill_cells(probes, codes, (hashes, bits, 0), out)
        return out.ravel()

    def _mark(self, row: Any, cell: int, count: int) -> None:
        row[cell >> 6] |= np.uint64(1) << np.uint64(cell & 63)

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        numbered = numbered_cells(bag.values.to_numpy(), self._size(monoid))
        return without_repeats(bag, offsets, False, numbered)

    def coverings(self, monoid: Monoid, values: Any) -> list[Covering]:
        bits, count = numbered_cells(values.to_numpy(), self._size(monoid))
        return [Covering(bits, np.zeros(len(bits), np.int8), count)]

    def _slide(self, monoid: Monoid, bag: Bag, new_row: Any, windows: Any, out: Any) -> None:
        def new_state() -> tuple[Any, ...]:
            return new_row(), np.zeros(self._size(monoid), np.int32)

        slide_in_pieces((_set, _clear, copy_row), new_state, bag.values.to_numpy(), None, windows, out)


def _set(state: Any, cell: int, count: int) -> None:
    row, counts = state
    counts[cell] += 1
    if counts[cell] == 1:
        row[cell >> 6] |= np.uint64(1) << np.uint64(cell & 63)


def _clear(state: Any, cell: int, count: int) -> None:
    row, counts = state
    counts[cell] -= 1
    if counts[cell] == 0:
        row[cell >> 6] ^= np.uint64(1) << np.uint64(cell & 63)


def fill_cells(function: Any, codes: Any, arguments: tuple[int, ...], out: Any) -> None:
    """The cells of codes, in threads; ``out`` has a row for each code."""
    kernel = _compiled(function)
    kernel(codes[:0], *arguments, out[:0].ravel())  # compiles, before threads do
    in_threads(
        lambda piece: kernel(codes[piece], *arguments, out[piece].reshape(-1)), even_pieces(len(codes))
    )


@functools.cache
def _compiled(function: Any) -> Any:
    """The function for Python to call, kept on disk."""
    return Kernel(function, _dispatcher, jit_for(checked=False))


def _dispatcher(function: Any) -> Any:
    from windrow.compile.steps import for_python

    return attach(for_python(jit_for(checked=False)(function)))


def _registers(codes: Any, precision: int, out: Any) -> None:
    for i in range(codes.shape[0]):
        register, rank = register_and_rank(codes[i], precision)
        out[i] = np.int64(register) * _RANKS + rank


def probes(codes: Any, count: int, modulus: int, stride: int, out: Any) -> None:
    """``count`` cells for each code, each below the modulus and ``stride`` further on than the one before."""
    for i in range(codes.shape[0]):
        position, step = first_probe(codes[i])
        for k in range(count):
            out[i * count + k] = k * stride + np.int64(position % np.uint64(modulus))
            position, step = next_probe(position, step, k)
