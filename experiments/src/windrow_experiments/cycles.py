"""Latency of single rounds, in cycles of the processor's time stamp counter.

In native code the driver calls the same steps as windrow's own and reads the counter before and after each
round. In plain Python a round takes microseconds; it is timed by the clock, and the counter's rate makes
cycles of that. The same rounds run several times on fresh windows: the least of each round's times is what
the algorithm needs, and the rest is what the machine did meanwhile.
"""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.compile.access import cast, emit, row, row_count
from windrow.compile.native import jit_for, native
from windrow.compile.sketch_rows import codes_of, wide_form
from windrow.compile.steps import for_python
from windrow.swag.native.sketch_rows import EXTRA_ROWS

__all__ = ["Latency", "cycles_per_ns", "native_latency", "plain_latency", "reading_cost"]

#: a row of the rounds' cycles
Cycles = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Latency:
    """The cycles of each round (evict, insert, query), each the least of repeated runs."""

    rounds: Cycles

    @property
    def mean(self) -> float:
        return float(self.rounds.mean())

    @property
    def std(self) -> float:
        return float(self.rounds.std())

    @property
    def worst(self) -> int:
        return int(self.rounds.max())

    @property
    def median(self) -> float:
        return float(np.median(self.rounds))


@intrinsic
def _cycles(typing_context: Any) -> Any:
    """The time stamp counter."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind), [])

    return types.int64(), generate


@for_python
@jit_for(checked=False)
def _now() -> Any:
    return _cycles()


@for_python
@jit_for(checked=False)
def _nothing(taken: Any) -> None:
    for i in range(taken.shape[0]):
        begun = _cycles()
        taken[i] = _cycles() - begun


def reading_cost() -> float:
    """The cycles that are measured where nothing is done."""
    taken = np.zeros(100_000, np.int64)
    _nothing(taken)
    return float(np.median(taken))


@functools.cache
def cycles_per_ns() -> float:
    """The rate of the counter, measured against the clock for a tenth of a second."""
    _now()
    begun, counted = time.perf_counter_ns(), _now()
    time.sleep(0.1)
    taken, cycles = time.perf_counter_ns() - begun, _now() - counted
    return float(cycles / taken)


def _driver(jit: Any, operations: Any, lift: Any, lower: Any) -> Any:
    """Fills the window, then rolls the rest through it and notes what each round took."""
    insert, evict, query = operations.insert, operations.evict, operations.query

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        out: Any,
        valid: Any,
        taken: Any,
    ) -> Any:
        for i in range(size):
            registers = insert(ring, mask, identity, registers, cast(identity, lift(*row(columns, i))))
        for i in range(size, row_count(columns)):
            begun = _cycles()
            registers = evict(ring, mask, identity, registers)
            registers = insert(ring, mask, identity, registers, cast(identity, lift(*row(columns, i))))
            emit(out, valid, i - size, lower(query(ring, mask, identity, registers)))
            taken[i - size] = _cycles() - begun
        return registers

    return process


def native_latency(
    algorithm: Any, monoid: Any, columns: Sequence[np.ndarray[Any, Any]], size: int, repeats: int
) -> Latency | None:
    """Rounds in native code; None where algorithm and aggregate have none. ``size`` is a power of two; the
    first ``size`` values of each column fill the window."""
    arrays = tuple(np.ascontiguousarray(column) for column in columns)
    if monoid.wide is not None:
        return _sketch_latency(algorithm, monoid, arrays[0], size, repeats)
    form = native(monoid, tuple(column.dtype for column in arrays))
    if form is None:
        return None
    key = (_driver, algorithm)
    if key not in form.kernels:
        steps = algorithm.operations(form.jit, form.combine)
        form.kernels[key] = for_python(_driver(form.jit, steps, form.lift, form.lower))
    process: Any = form.kernels[key]
    rounds = len(arrays[0]) - size
    out = np.zeros(rounds, form.layout.result_dtype)
    valid = np.ones(rounds, np.bool_) if form.layout.may_be_null else None
    taken = np.zeros(rounds, np.int64)

    def run() -> Cycles:
        ring = np.zeros(size * algorithm.slots, form.layout.partial_dtype)
        start = algorithm.start(form.identity)
        process(ring, size - 1, form.identity, start, size, arrays, out, valid, taken)
        return taken

    run()  # compiles, where it is the first of its kind
    return Latency(_least(run, repeats))


def _sketch_driver(jit: Any, operations: Any, lift_into: Any) -> Any:
    """Drive rows of a matrix as :func:`windrow.swag.native.sketch_rows.roll_rows` does.."""
    insert, evict, query = operations.insert, operations.evict, operations.query

    @jit
    def put(rows: Any, mask: int, registers: Any, code: Any) -> Any:
        target = rows[registers[1] & mask]
        for k in range(target.shape[0]):
            target[k] = 0
        lift_into(target, code)
        lift_into(rows[mask + 1], code)
        return insert(rows, mask, registers)

    @jit
    def process(rows: Any, mask: int, registers: Any, size: int, codes: Any, out: Any, taken: Any) -> Any:
        for i in range(size):
            registers = put(rows, mask, registers, codes[i])
        for i in range(size, codes.shape[0]):
            begun = _cycles()
            registers = put(rows, mask, evict(rows, mask, registers), codes[i])
            out[i - size] = query(rows, mask, registers)
            taken[i - size] = _cycles() - begun
        return registers

    return process


def _sketch_latency(algorithm: Any, monoid: Any, values: Any, size: int, repeats: int) -> Latency | None:
    if algorithm.wide_operations is None:
        return None
    form = wide_form(monoid)
    key = (_sketch_driver, algorithm)
    if key not in form.kernels:
        steps = algorithm.wide_operations(form.jit, form.combine_into)
        form.kernels[key] = for_python(_sketch_driver(form.jit, steps, form.lift_into))
    process = form.kernels[key]
    codes = codes_of(values, monoid).codes
    out, taken = np.zeros(len(codes) - size, np.int64), np.zeros(len(codes) - size, np.int64)
    positions = tuple(register for register in algorithm.start(None) if register is not None)

    def run() -> Cycles:
        rows = np.zeros((size + EXTRA_ROWS, form.wide.width), form.wide.dtype)
        process(rows, size - 1, positions, size, codes, out, taken)
        return taken

    run()  # compiles, where it is the first of its kind
    return Latency(_least(run, repeats))


def plain_latency(
    algorithm: Callable[[Any], Any], monoid: Any, rows: Sequence[tuple[Any, ...]], size: int, repeats: int
) -> Latency:
    """Rounds on Python objects; ``rows`` has the inputs of each. Garbage collection is part of what an
    algorithm costs: each run begins with a clean slate, so that collections fall on the same rounds in all
    and stay in the least."""

    def run() -> Cycles:
        gc.collect()
        window = algorithm(monoid)
        for values in rows[:size]:
            window.insert(*values)
        insert, evict, query, clock = window.insert, window.evict, window.query, time.perf_counter_ns
        taken = []
        for values in rows[size:]:
            begun = clock()
            evict()
            insert(*values)
            query()
            taken.append(clock() - begun)
        return (np.array(taken) * cycles_per_ns()).astype(np.int64)

    return Latency(_least(run, repeats))


def _least(run: Callable[[], Cycles], repeats: int) -> Cycles:
    least = run().copy()
    for _ in range(repeats - 1):
        np.minimum(least, run(), out=least)
    return least
