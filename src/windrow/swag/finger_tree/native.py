"""The native form of a finger B-tree: arrays of numbers and compiled steps, for batches and what comes
after.

A window starts as lists. The first batch for which its aggregate compiles moves it into arrays, where it
stays; a value or a time that has no place there (a float among integers, a sum that might not fit 64
bits) moves it back for as long as it is not empty. Either move rebuilds the tree from its entries, in
O(n).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from windrow.compile.access import Function, cast, is_null, row, store
from windrow.compile.columns import Columns, native_columns
from windrow.compile.general import mask_or_none
from windrow.compile.interpreted import Source
from windrow.compile.native import NativeMonoid, build, native, step_of
from windrow.monoids.base import Monoid
from windrow.swag.finger_tree.bulk import Batch
from windrow.swag.finger_tree.forms import Form, Unfit, slots_in_order
from windrow.swag.finger_tree.layout import MARKS, Tree, stride_of
from windrow.swag.native.drivers import Jit
from windrow.swag.native.integer_sums import extreme_integers, sums_fit

__all__ = ["NativeForm", "native_input", "native_times"]

_INT64_MAX = 2**63 - 1
_EXACT_FLOAT = 2**53
_PART = 1 << 13
_CACHE_LINE = 64


def native_times(times: Any) -> np.ndarray[Any, Any] | None:
    """Times as an array of integers, floats or moments, or None where they are something else."""
    array = np.asarray(times)
    if array.ndim != 1 or (array.dtype.kind == "O" and len(array) > 0):
        return None
    if array.dtype.kind == "M":
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "if" and len(array) > 0:
        return None
    return np.ascontiguousarray(array, "f8" if array.dtype.kind == "f" and len(array) > 0 else "i8")


def native_input(values: Any, monoid: Monoid) -> tuple[Columns, NativeMonoid] | None:
    """A batch as columns, and the monoid compiled for them; None where either is impossible."""
    if not monoid.compiles_for or monoid.wide is not None or monoid.only_moments:
        return None
    columns = native_columns(values, monoid)
    if columns is None or not monoid.arity[0] <= len(columns.arrays) <= monoid.arity[1]:
        return None
    form = native(monoid, columns.dtypes)
    return None if form is None else (columns, form)


def _lifting(jit: Jit, lift: Function) -> Function:
    """The step that fills a batch with lifted rows, in the given order."""

    @jit
    def fill(partials: Any, skipped: Any, identity: Any, columns: Any, nulls: Any, order: Any) -> None:
        for i in range(len(order)):
            null = is_null(nulls, order[i])
            skipped[i] = null
            store(partials, i, identity if null else cast(identity, lift(*row(columns, order[i]))))

    return fill


class _Jit:
    """The house's compiler, which inlines all, and beside it one that calls what is large and rare."""

    def __init__(self, functions: NativeMonoid) -> None:
        #: see :func:`windrow.swag.finger_tree.layout.shared`
        self.memo: dict[Any, Any] = {}
        self._inlined = functions.jit
        errors = "numpy" if functions.monoid.builtin else "python"
        options = {"nopython": True, "error_model": errors, "nogil": True, "_nrt": False}
        self.apart: Any = functools.partial(Source, make=step_of(options))

    def __call__(self, function: Function) -> Function:
        return self._inlined(function)


_compilers: weakref.WeakKeyDictionary[NativeMonoid, _Jit] = weakref.WeakKeyDictionary()


class NativeForm(Form):
    """Arrays; the steps are compiled when they are first used, or loaded from the disk."""

    def __init__(self, functions: NativeMonoid, clock: np.dtype[Any], mu: int) -> None:
        self.functions = functions
        self.identity = functions.identity
        self.clock = clock
        #: the largest magnitude among the integers that were added up
        self.largest_integer = 0
        self._steps: dict[Any, Callable[..., Any]] = {}
        self.no_time = np.dtype("f8" if clock.kind == "f" else "i8").type(0)
        super().__init__(mu)

    def same_as(self, functions: NativeMonoid, clock: np.dtype[Any]) -> bool:
        return self.functions is functions and self.clock == clock

    def run(self, factory: Callable[..., Function], *arguments: Any) -> Any:
        step = self._steps.get(factory)
        if step is None:
            parameters = (self.functions.combine, self.mu)
            step = self.compiled(factory, parameters, (self.tree, self.identity, *arguments))
            self._steps[factory] = step
        return step(self.tree, self.identity, *arguments)

    def compiled(self, factory: Callable[..., Function], parameters: tuple[Any, ...], arguments: Any) -> Any:
        """A step or a driver for arguments of these types; windows of the same aggregate share it."""
        known = self.functions.kernels
        absent = tuple(argument is None for argument in arguments)
        key = (factory, self.mu, self.clock.kind == "f", absent)
        if key not in known:
            if self.functions not in _compilers:
                _compilers[self.functions] = _Jit(self.functions)
            known[key] = build(factory, _compilers[self.functions], *parameters, arguments=arguments)
        return known[key]

    def _buffers(self, capacity: int) -> Tree:
        slots, partial = 2 * self.mu * capacity, self.functions.layout.partial_dtype
        return Tree(
            links=_aligned(stride_of(self.mu) * capacity, "i8"),
            times=_aligned(slots, "f8" if self.clock.kind == "f" else "i8"),
            partials=_aligned(slots, partial),
            nulls=np.zeros(slots, "u1"),
            aggregates=_aligned(2 * capacity, partial),
            marks=np.zeros(MARKS, "i8"),
        )

    def _enlarged(self, capacity: int) -> Tree:
        larger = self._buffers(capacity)
        for old, new in zip(self.tree, larger, strict=True):
            new[: len(old)] = old
        return larger

    # -- batches ---------------------------------------------------------------------------------------------

    def batch(self, times: Any, partials: Any, nulls: Any) -> Batch:
        count = len(times)
        batch = self.empty_batch(count)
        batch.times[:count] = [self.typed_time(time) for time in times]
        batch.nulls[:count] = nulls
        for i in range(count):
            batch.partials[i] = self.typed_partial(partials[i], nulls[i], more=count)
        return batch

    def empty_batch(self, count: int) -> Batch:
        room = 3 * count + 2 * self.mu
        kinds = (self.tree.times.dtype, self.tree.partials.dtype, "u1", "i8", "i8", "i8")
        return Batch(*(np.zeros(room, kind) for kind in kinds))

    def batches_of(self, times: np.ndarray[Any, Any], columns: Columns) -> Iterator[tuple[Batch, int]]:
        """The rows sorted by time and lifted, in parts that fit the processor's cache, with their lengths."""
        raw = self.raw_times(times)
        order = np.arange(len(raw))
        if np.any(raw[1:] < raw[:-1]):
            order = np.argsort(raw, kind="stable")
        batch, nulls = self.empty_batch(min(len(raw), _PART)), mask_or_none(columns.nulls, len(columns))
        for start in range(0, len(raw), _PART):
            part = order[start : start + _PART]
            batch.times[: len(part)] = raw[part]
            rows = (batch.partials, batch.nulls, self.identity, columns.arrays, nulls, part)
            self.compiled(_lifting, (self.functions.lift,), rows)(*rows)
            yield batch, len(part)

    def raw_times(self, times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return times.view("i8") if times.dtype.kind == "M" else times

    def integers_fit(self, columns: Columns) -> bool:
        """Whether no sum over the window with this batch can leave 64 bits."""
        smallest, largest = extreme_integers(columns.arrays)
        return self.integer_fits(max(largest, -smallest), len(columns))

    def integer_fits(self, magnitude: int, count: int) -> bool:
        largest = max(self.largest_integer, magnitude)
        if not sums_fit(self.functions, -largest, largest, len(self) + count):
            return False
        self.largest_integer = largest
        return True

    # -- single values ---------------------------------------------------------------------------------------

    def typed_time(self, time: Any) -> Any:
        if self.clock.kind == "M":
            if isinstance(time, np.datetime64) and time.astype(self.clock) == time:
                return time.astype(self.clock).view("i8")
        elif _member_fits(time, self.clock.kind):
            return self.clock.type(time)
        raise Unfit(f"time {time!r}")

    def typed_partial(self, partial: Any, null: int, more: int = 1) -> Any:
        if null:
            return self.identity
        layout = self.functions.layout
        members = partial if layout.is_tuple else (partial,)
        if not isinstance(members, tuple) or len(members) != len(layout.partial):
            raise Unfit(f"partial {partial!r}")
        if not all(_member_fits(m, np.dtype(k).kind) for m, k in zip(members, layout.partial, strict=True)):
            raise Unfit(f"partial {partial!r}")
        magnitude = max((abs(m) for m in members if isinstance(m, int)), default=0)
        if not self.integer_fits(magnitude, more):
            raise Unfit(f"partial {partial!r}")
        return layout.partial_value(partial)

    # -- back to Python --------------------------------------------------------------------------------------

    def plain_times(self, times: np.ndarray[Any, Any]) -> list[Any]:
        return list(times.view(self.clock)) if self.clock.kind == "M" else times.tolist()

    def oldest(self) -> Any:
        return self.plain_times(np.array([self.first_time()]))[0]

    def youngest(self) -> Any:
        return self.plain_times(np.array([self.last_time()]))[0]

    def entries(self) -> tuple[list[Any], list[Any], list[Any]]:
        slots = np.array(slots_in_order(self.tree, self.mu), "i8")
        tree = self.tree
        return self.plain_times(tree.times[slots]), tree.partials[slots].tolist(), tree.nulls[slots].tolist()

    def plain_tree(self) -> Tree:
        return Tree(*(buffer.tolist() for buffer in self.tree))


def _member_fits(value: Any, kind: str) -> bool:
    """Whether a number keeps its value and its meaning in an array of this kind."""
    if isinstance(value, (bool, np.bool_)):
        return kind == "b"
    if isinstance(value, (int, np.integer)):
        largest = {"i": _INT64_MAX, "f": _EXACT_FLOAT}.get(kind, -1)
        return -largest <= int(value) <= largest
    return kind == "f" and isinstance(value, (float, np.floating))


def _aligned(count: int, kind: Any) -> np.ndarray[Any, Any]:
    """Zeros that begin with a cache line, so that the entries of a node are in as few lines as can be."""
    size = np.dtype(kind).itemsize * count
    room = np.zeros(size + _CACHE_LINE, "u1")
    start = -room.ctypes.data % _CACHE_LINE
    return room[start : start + size].view(kind)
