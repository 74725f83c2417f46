"""Aggregates over windows that slide on from batch to batch.

A *carry* is what one aggregate keeps of the rows it has seen: the partials of the present window, and
nothing else, so that memory does not grow with the rows of a key. ``push`` takes the columns of a batch and
the ranges [front, stop) of its windows, in absolute positions that never fall, and gives a result per window.

The native carry is a ring of partials under the algorithm that is chosen for sliding windows. It becomes a
plain one, for good, when integers might leave 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.columns import Columns
from windrow.compile.native import NativeMonoid
from windrow.engines.spark.worker.rolling.tails import ArrowTail
from windrow.errors import Raised
from windrow.monoids.base import Aggregate
from windrow.partials.inputs import is_extreme_moment, native_form, native_inputs, skipped_values, skipping
from windrow.partials.over_ranges import integers_fit
from windrow.partials.picked import picked_input
from windrow.partials.result_types import type_over
from windrow.partials.results import array_of, as_moments, check_fits, result_array
from windrow.partials.value_aggregates import Family, family_of
from windrow.partials.value_aggregates.rows import kept_values
from windrow.swag.native.drivers import slide_ranges
from windrow.swag.plain_ranges import PlainRanges
from windrow.swag.queue import ChunkedArrayQueue
from windrow.swag.sliding import sliding_algorithm, sliding_kernel

__all__ = ["Batch", "Carry", "carry_for"]

#: units of work without a limit: a batch is one piece
_ALL = 1 << 62


@dataclass(frozen=True)
class Batch:
    """Rows in order, and for each the positions [front, stop) of its window."""

    base: int
    fronts: Ints
    stops: Ints
    #: where a row of this batch comes from, for messages
    describe: Callable[[int], str]

    @property
    def oldest(self) -> int:
        """The position before which nothing will be asked for again."""
        return int(self.fronts[-1]) if len(self.fronts) else self.base

    @property
    def widest(self) -> int:
        return int((self.stops - self.fronts).max(initial=1))


class Carry(Protocol):
    def push(self, arrays: list[Any], batch: Batch) -> Any:
        """A result per row of the batch, as an Arrow array; undefined where the window holds no value. What a
        user's function raises is :class:`~windrow.errors.Raised` at the place of the row in the batch."""


class PlainCarry:
    """Any Python objects, one by one."""

    def __init__(self, aggregate: Aggregate, kind: Any = None) -> None:
        """``kind``: the type that is known of the results."""
        self._monoid, self._kind = aggregate.monoid, kind
        self._ranges = PlainRanges(skipping(aggregate))

    @classmethod
    def of_native(cls, aggregate: Aggregate, carry: NativeCarry) -> PlainCarry:
        """The same window as Python objects."""
        plain = cls(aggregate)
        *positions, total = carry.registers
        front, end = positions[:2]
        queue = ChunkedArrayQueue(front)
        for position in range(front, end):
            queue[position] = carry.form.to_plain(carry.ring[position & carry.mask])
        window: Any = plain._ranges.window
        window._queue, window._size, window._evicted = queue, end - front, front
        window._registers = (*positions, carry.form.to_plain(total))
        window._null_positions.extend(carry.nulls.tolist())
        plain._ranges.front, plain._ranges.stop = front, end
        return plain

    def push(self, arrays: list[Any], batch: Batch) -> Any:
        rows = list(zip(*(array.to_pylist() for array in arrays), strict=True))
        results = self._ranges.results(rows, batch.fronts, batch.stops, batch.base)
        check_fits(
            self._monoid, results, self._kind, lambda place: f"the window up to {batch.describe(place)}"
        )
        return result_array(self._monoid, results, self._kind)


class NativeCarry:
    """Numbers in a ring, by compiled code."""

    def __init__(self, aggregate: Aggregate, form: NativeMonoid) -> None:
        self._aggregate = aggregate
        self.form = form
        self.ring = np.zeros(64, form.layout.partial_dtype)
        self.mask = len(self.ring) - 1
        self.registers: Any = sliding_algorithm(aggregate.monoid).start(form.identity)
        #: the positions of rows in the window that are skipped
        self.nulls: Ints = np.zeros(0, np.int64)
        self._largest: tuple[Any, ...] = ()
        self._plain: PlainCarry | None = None

    def push(self, arrays: list[Any], batch: Batch) -> Any:
        columns = None if self._plain is not None else native_inputs(self._aggregate.monoid, arrays)
        if columns is not None and not self._fits(columns, batch.widest):
            columns, self._plain = None, PlainCarry.of_native(self._aggregate, self)
        if columns is None:
            assert self._plain is not None
            return self._plain.push(arrays, batch)
        out, valid = self.slide(columns, batch)
        if is_extreme_moment(self._aggregate.monoid, arrays[0].type):
            return as_moments(out, arrays[0].type)
        return array_of(out, valid, self._aggregate.monoid)

    def slide(self, columns: Columns, batch: Batch) -> tuple[Any, Any]:
        """Native results and which are valid (None: all)."""
        self._make_room(batch.widest)
        layout, count = self.form.layout, len(batch.fronts)
        out = np.zeros(count, layout.result_dtype)
        valid = np.ones(count, np.bool_) if layout.may_be_null else None
        # always a mask, so that there is one kernel and not two to compile
        nulls = np.zeros(len(columns), np.bool_) if columns.nulls is None else columns.nulls
        # windrow's own functions do not raise
        reached = None if self._aggregate.monoid.builtin else np.zeros(1, np.int64)
        window = (self.ring, self.mask, self.form.identity, self.registers)
        rows = (batch.base, columns.arrays, nulls, None, batch.fronts, batch.stops, None)
        arguments = (*window, *rows, self._without_values(nulls, batch), out, valid, reached, 0, _ALL)
        try:
            self.registers, _ = sliding_kernel(self.form, slide_ranges, arguments)(*arguments)
        except Exception as error:
            if reached is None:
                raise
            row = int(reached[0])
            values = tuple(array[row].item() for array in columns.arrays)
            raise Raised(self._aggregate.monoid, error, row, values=values) from error
        self.nulls = self.nulls[self.nulls >= self.registers[0]]
        return out, valid

    def _without_values(self, nulls: Any, batch: Batch) -> Any:
        """Which windows of the batch hold no value; its skipped rows are noted."""
        self.nulls = np.concatenate([self.nulls, np.flatnonzero(nulls) + batch.base])
        if not len(self.nulls):
            return np.zeros(len(batch.fronts), np.bool_)
        skipped = np.searchsorted(self.nulls, batch.stops) - np.searchsorted(self.nulls, batch.fronts)
        return skipped == batch.stops - batch.fronts

    def _fits(self, columns: Columns, widest: int) -> bool:
        """Whether no sum over a window can leave 64 bits, by the largest integers seen so far."""
        if not self.form.monoid.adds_integers:
            return True
        extremes = [np.array([a.min(), a.max()]) for a in columns.arrays if a.dtype.kind == "i" and a.size]
        self._largest = (*extremes, *self._largest)
        if len(self._largest) > 8:
            both = np.concatenate(self._largest)
            self._largest = (np.array([both.min(), both.max()]),)
        return integers_fit(self.form, self._largest, widest)

    def _make_room(self, widest: int) -> None:
        if widest <= len(self.ring):
            return
        larger = np.zeros(1 << (widest - 1).bit_length(), self.ring.dtype)
        live = np.arange(self.registers[0], self.registers[1])
        larger[live & (len(larger) - 1)] = self.ring[live & self.mask]
        self.ring, self.mask = larger, len(larger) - 1


class PickCarry:
    """Aggregates that pick a row: the native window holds positions, and values are kept beside it."""

    def __init__(self, aggregate: Aggregate, form: NativeMonoid, picked: int, kind: Any) -> None:
        self._carry = NativeCarry(aggregate, form)
        self._monoid = aggregate.monoid
        self._picked = picked
        self._values = ArrowTail(kind)

    def push(self, arrays: list[Any], batch: Batch) -> Any:
        columns = native_inputs(self._monoid, arrays)
        assert columns is not None
        numbers = list(columns.arrays)
        numbers[self._picked] = numbers[self._picked] + batch.base
        self._values.append(arrays[self._picked])
        out, _ = self._carry.slide(Columns(tuple(numbers), columns.nulls), batch)
        results = self._values.take(out)
        self._values.forget(batch.oldest)
        return results


class KeptCarry:
    """Aggregates that keep values: those of the present window, and a mask of the rows that are skipped."""

    def __init__(self, aggregate: Aggregate, family: Family, kind: Any) -> None:
        self._monoid, self._family = aggregate.monoid, family
        self._values = pa.nulls(0, kind)
        self._first = 0

    def push(self, arrays: list[Any], batch: Batch) -> Any:
        if batch.base > self._first + len(self._values):  # nothing before this batch is asked for again
            self._values, self._first = self._values.slice(0, 0), batch.base
        values = pa.concat_arrays([self._values, arrays[0]])
        fronts, stops = batch.fronts - self._first, batch.stops - self._first
        skipped = skipped_values(self._monoid, [values])
        bag, before = kept_values(self._monoid, values, skipped)
        if before is not None:
            fronts, stops = before[fronts], before[stops]
        gone = batch.oldest - self._first
        self._values, self._first = values.slice(gone), batch.oldest
        return self._family.answers(self._monoid, bag, fronts, stops)


def carry_for(aggregate: Aggregate, kinds: list[Any]) -> Carry:
    """The carry of an aggregate over columns of these Arrow types."""
    monoid = aggregate.monoid
    family = family_of(monoid, kinds[0])
    if family is not None:
        return KeptCarry(aggregate, family, kinds[0])
    form = native_form(monoid, kinds)
    if form is None:
        return PlainCarry(aggregate, type_over(aggregate, kinds))
    picked = picked_input(monoid)
    if picked is not None:
        return PickCarry(aggregate, form, picked, kinds[picked])
    return NativeCarry(aggregate, form)
