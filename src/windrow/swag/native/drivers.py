"""Drivers: how a batch goes through a FIFO algorithm, whatever the algorithm is.

An algorithm is a factory ``operations(jit, combine)`` of step functions over a *register* tuple that starts
with (front, end), both positions, and a ring of partials: ``position & mask`` is the slot (mask -1: the
position itself). A driver calls the steps in a loop. With ``jit`` being Numba the steps are inlined and the
registers stay in registers; with :func:`windrow.compile.access.interpret` the same code runs on any Python
objects.

``lasts`` says for each row the position of the last value that is not skipped, up to this row (None: no row
is skipped): a window that starts after it holds no value, and has no result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from windrow.compile.access import (
    Function,
    cast,
    emit,
    holds_value,
    is_null,
    load,
    note,
    row,
    row_count,
    store,
)

__all__ = ["Operations", "roll_count", "roll_time"]

Jit = Callable[[Function], Function]


class Operations(NamedTuple):
    """The steps of an algorithm. Each takes (ring, mask, identity, registers) and gives registers."""

    insert: Function
    evict: Function
    query: Function
    #: evict one and insert one, for windows of two or more; None: one after the other
    slide: Function | None = None
    #: how many slides from here on need no housekeeping; None: each may
    calm: Function | None = None
    #: such a slide, and the query after it: gives (registers, partial)
    glide: Function | None = None


def _slide_of(jit: Jit, operations: Operations) -> Function:
    if operations.slide is not None:
        return operations.slide
    insert, evict = operations.insert, operations.evict

    @jit
    def slide(ring: Any, mask: int, identity: Any, registers: Any, partial: Any) -> Any:
        return insert(ring, mask, identity, evict(ring, mask, identity, registers), partial)

    return slide


def _full(registers: Any, size: int) -> Any:
    """The registers of a full window; to know that end is front + size spares a compiled loop a register."""
    return registers[0], registers[0] + size, *registers[2:]


def _sliding(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """Rows from ``first`` on through a full window."""
    query, slide = operations.query, _slide_of(jit, operations)

    @jit
    def steady(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        lasts: Any,
        out: Any,
        valid: Any,
        fronts: Any,
        first: int,
    ) -> Any:
        for i in range(first, row_count(columns)):
            partial = identity if is_null(nulls, i) else cast(identity, lift(*row(columns, i)))
            registers = slide(ring, mask, identity, _full(registers, size), partial)
            if holds_value(lasts, i, registers[0]):
                emit(out, valid, i, lower(query(ring, mask, identity, registers)))
            note(fronts, i, registers[0])
        return registers

    return steady


def _gliding(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """The same for an algorithm that knows how long it needs no housekeeping: an inner loop without it."""
    query, slide = operations.query, _slide_of(jit, operations)
    calm, glide = operations.calm, operations.glide
    assert calm is not None
    assert glide is not None

    @jit
    def steady(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        lasts: Any,
        out: Any,
        valid: Any,
        fronts: Any,
        first: int,
    ) -> Any:
        count = row_count(columns)
        i = first
        while i < count:
            partial = identity if is_null(nulls, i) else cast(identity, lift(*row(columns, i)))
            registers = slide(ring, mask, identity, _full(registers, size), partial)
            if holds_value(lasts, i, registers[0]):
                emit(out, valid, i, lower(query(ring, mask, identity, registers)))
            note(fronts, i, registers[0])
            i += 1
            stop = min(count, i + calm(registers))
            for k in range(i, stop):
                partial = identity if is_null(nulls, k) else cast(identity, lift(*row(columns, k)))
                registers, total = glide(ring, mask, identity, registers, partial)
                if holds_value(lasts, k, registers[0]):
                    emit(out, valid, k, lower(total))
                note(fronts, k, registers[0])
            i = max(i, stop)
        return registers

    return steady


def roll_count(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """A window of the last ``size`` rows: a result per row."""
    insert, evict, query = operations.insert, operations.evict, operations.query
    steady = (_sliding if operations.glide is None else _gliding)(jit, operations, lift, lower)

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        lasts: Any,
        out: Any,
        valid: Any,
        fronts: Any,
    ) -> Any:
        while registers[1] - registers[0] > size:
            registers = evict(ring, mask, identity, registers)
        count = row_count(columns)
        # one by one until the window is full, and always where there is one value at a time
        singles = min(count, size - (registers[1] - registers[0])) if size > 1 else count
        for i in range(singles):
            if registers[1] - registers[0] == size:
                registers = evict(ring, mask, identity, registers)
            partial = identity if is_null(nulls, i) else cast(identity, lift(*row(columns, i)))
            registers = insert(ring, mask, identity, registers, partial)
            if holds_value(lasts, i, registers[0]):
                emit(out, valid, i, lower(query(ring, mask, identity, registers)))
            note(fronts, i, registers[0])
        return steady(
            ring, mask, identity, registers, size, columns, nulls, lasts, out, valid, fronts, singles
        )

    return process


def roll_time(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """A window of the rows in (t - size, t], peers included: a result per row.

    Stops before the run of peers for which the ring has no room and returns how many rows are done, so that
    the caller can enlarge the ring and go on.
    """
    insert, evict, query = operations.insert, operations.evict, operations.query

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        clock: Any,
        times: Any,
        size: Any,
        start: int,
        columns: Any,
        nulls: Any,
        lasts: Any,
        out: Any,
        valid: Any,
        fronts: Any,
    ) -> Any:
        i = start
        count = row_count(columns)
        while i < count:
            moment = load(times, i)
            while registers[0] < registers[1] and moment - load(clock, registers[0] & mask) >= size:
                registers = evict(ring, mask, identity, registers)
            j = i
            while j < count and load(times, j) == moment:
                j += 1
            if registers[1] - registers[0] + (j - i) > mask:
                return registers, i
            for k in range(i, j):
                partial = identity if is_null(nulls, k) else cast(identity, lift(*row(columns, k)))
                store(clock, registers[1] & mask, moment)
                registers = insert(ring, mask, identity, registers, partial)
            total = query(ring, mask, identity, registers)
            for k in range(i, j):
                if holds_value(lasts, j - 1, registers[0]):
                    emit(out, valid, k, lower(total))
                note(fronts, k, registers[0])
            i = j
        return registers, i

    return process
