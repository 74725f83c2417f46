"""Drivers: how a batch goes through a FIFO algorithm, whatever the algorithm is.

An algorithm is a factory ``operations(jit, combine)`` of step functions over a *register* tuple that starts
with (front, end), both positions, and a ring of partials: ``position & mask`` is the slot (mask -1: the
position itself). A driver calls the steps in a loop. With ``jit`` being Numba the steps are inlined and the
registers stay in registers; with :func:`windrow.compile.access.interpret` the same code runs on any Python
objects.

There is one family of them: windows over ranges of rows (:func:`slide_ranges`), over the last rows
(:func:`roll_count`, and :func:`roll_runs` for many keys at once) and over the last rows by time
(:func:`roll_time`). Each takes registers and gives them back, so that a window goes on from call to call, or
begins with rows that :func:`fill` put into it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from windrow.compile.access import (
    Function,
    at,
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

__all__ = ["Jit", "Operations", "fill", "roll_count", "roll_runs", "roll_time", "slide_ranges"]

Jit = Callable[[Function], Function]


class Operations(NamedTuple):
    """The steps of an algorithm. Each takes (ring, mask, identity, registers) and gives registers."""

    insert: Function
    evict: Function
    query: Function
    #: evict one and insert one, for windows of two or more; None: one after the other
    slide: Function | None = None
    #: how many evictions from here on only move the front, and need no housekeeping; None: each may
    calm: Function | None = None
    #: the registers of an empty window that begins at a position, whatever the ring holds; None: there are
    #: none, and windows over ranges cannot be had
    empty: Function | None = None
    #: ``block(jit, lifted, lower)`` makes a step that takes as many rows as a full window holds through it,
    #: and leaves it ready to evict; None: there is none, and rows go one by one
    block: Function | None = None


#: windows of fewer rows slide row by row: blocks of them would be too short
_SHORTEST_BLOCK = 4


def _lifted(jit: Jit, lift: Function) -> Function:
    """The partial of a row; the identity for one that is skipped."""

    @jit
    def lifted(identity: Any, columns: Any, nulls: Any, place: int) -> Any:
        return identity if is_null(nulls, place) else cast(identity, lift(*row(columns, place)))

    return lifted


def _calm_of(jit: Jit, operations: Operations) -> Function:
    if operations.calm is not None:
        return operations.calm

    @jit
    def calm(registers: Any) -> int:
        return 0

    return calm


def _moved(registers: Any, front: int) -> Any:
    """The registers after evictions that need no housekeeping."""
    return front, *registers[1:]


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


def _block_of(jit: Jit, operations: Operations, lifted: Function, lower: Function) -> Function:
    if operations.block is not None:
        found: Function = operations.block(jit, lifted, lower)
        return found

    @jit
    def block(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        places: Any,
        bare: Any,
        out: Any,
        valid: Any,
        first: int,
    ) -> Any:
        return registers

    return block


def _is_cheap(lift: Any, levels: int = 3) -> bool:
    """Whether a lift costs next to nothing, so that blocks may call it twice for a row: it calls nothing of a
    module, nor does a function that it calls. A logarithm takes as long as the rest of a round."""
    function: Any = getattr(lift, "py_func", lift)
    if levels == 0 or not isinstance(function, FunctionType):
        return False
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    captured = [cell.cell_contents for cell in function.__closure__ or ()]
    return all(
        _is_cheap(found, levels - 1)
        for found in (*named, *captured)
        if isinstance(found, ModuleType) or (callable(found) and not isinstance(found, type))
    )


def _rolling(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """Rows [first, last) through a window of the last ``size``: one by one until it is full, then in blocks
    where the algorithm has them and the ring has room for two windows. Rows always follow a block, so that
    the window is in the end what it is row by row.

    A loop while the window fills and one when it is full take a third of the time of one loop for both where
    windows are of one row, and nine tenths where they are of ten. Both are in one function: in one each, they
    took a third longer to compile."""
    insert, evict, query = operations.insert, operations.evict, operations.query
    lifted, slide, calm = _lifted(jit, lift), _slide_of(jit, operations), _calm_of(jit, operations)
    block = _block_of(jit, operations, lifted, lower)
    has_blocks = operations.block is not None and _is_cheap(lift)
    # an algorithm's own slide is for two values or more
    shortest = 1 if operations.slide is None else 2

    @jit
    def roll(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        places: Any,
        bare: Any,
        out: Any,
        valid: Any,
        first: int,
        last: int,
    ) -> Any:
        done = last if size < shortest else first + min(last - first, size - (registers[1] - registers[0]))
        for i in range(first, done):
            if shortest > 1 and registers[1] - registers[0] == size:
                registers = evict(ring, mask, identity, registers)
            place = at(places, i)
            registers = insert(ring, mask, identity, registers, lifted(identity, columns, nulls, place))
            if not is_null(bare, i):
                emit(out, valid, place, lower(query(ring, mask, identity, registers)))
        while done < last:
            stop = last
            if has_blocks and _SHORTEST_BLOCK <= size <= min(mask + 1, last - done - 1) // 2:
                stop = done + calm(registers) % size
            if stop == done:
                registers = block(
                    ring, mask, identity, registers, size, columns, nulls, places, bare, out, valid, done
                )
                done += size
            for i in range(done, stop):
                place = at(places, i)
                partial = lifted(identity, columns, nulls, place)
                registers = slide(ring, mask, identity, _full(registers, size), partial)
                if not is_null(bare, i):
                    emit(out, valid, place, lower(query(ring, mask, identity, registers)))
            done = max(done, stop)
        return registers

    return roll


def roll_count(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """A window of the last ``size`` rows: a result for each of the rows [first, last), where the row lies.
    ``bare`` says which windows hold no value, and have no result."""
    evict, roll = operations.evict, _rolling(jit, operations, lift, lower)

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        places: Any,
        bare: Any,
        out: Any,
        valid: Any,
        first: int,
        last: int,
    ) -> Any:
        while registers[1] - registers[0] > size:
            registers = evict(ring, mask, identity, registers)
        return roll(
            ring, mask, identity, registers, size, columns, nulls, places, bare, out, valid, first, last
        )

    return process


def roll_runs(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """The same for many runs of rows, each with a window of its own; ``runs`` says where they start and end.
    Takes at most so many ``units`` of rows, from ``first`` in ``run`` on; gives the registers and both."""
    empty, roll = operations.empty, _rolling(jit, operations, lift, lower)
    assert empty is not None

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        size: int,
        columns: Any,
        nulls: Any,
        places: Any,
        bare: Any,
        out: Any,
        valid: Any,
        runs: Any,
        run: int,
        first: int,
        units: int,
    ) -> Any:
        last = min(first + units, runs[runs.shape[0] - 1])
        while first < last:
            if first == runs[run + 1]:
                registers = empty(0, identity)
                run += 1
            stop = min(last, runs[run + 1])
            registers = roll(
                ring, mask, identity, registers, size, columns, nulls, places, bare, out, valid, first, stop
            )
            first = stop
        return registers, run, first

    return process


def fill(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """Rows into a window that has room for them, without results: what it holds when others go on with it.
    Takes at most so many ``units`` of the rows [first, last); gives the registers and the next row."""
    insert, lifted = operations.insert, _lifted(jit, lift)

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        columns: Any,
        nulls: Any,
        places: Any,
        last: int,
        first: int,
        units: int,
    ) -> Any:
        last = min(first + units, last)
        for i in range(first, last):
            partial = lifted(identity, columns, nulls, at(places, i))
            registers = insert(ring, mask, identity, registers, partial)
        return registers, last

    return process


def slide_ranges(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """Windows over ranges [front, stop) of positions: a result per window, at its place in ``targets``.

    Where neither fronts nor stops fall, each row is inserted once and evicted once; where they do, and where
    a window shares nothing with the one before, a new window begins. Row ``i`` of the batch has position
    ``base + i`` and lies at ``places[i]``. ``bare`` says which windows hold no value, and have no result.
    ``reached`` notes the row that is worked on, should a user's function raise. Takes at most so many
    ``units`` of rows and of windows, from ``window`` on; gives the registers and the next window.

    The inner loop is over windows whose fronts need no housekeeping: a third to a half of the time that
    evicting one by one takes.
    """
    insert, evict, query, empty = operations.insert, operations.evict, operations.query, operations.empty
    assert empty is not None
    calm, lifted = _calm_of(jit, operations), _lifted(jit, lift)

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        base: int,
        columns: Any,
        nulls: Any,
        places: Any,
        fronts: Any,
        stops: Any,
        targets: Any,
        bare: Any,
        out: Any,
        valid: Any,
        reached: Any,
        window: int,
        units: int,
    ) -> Any:
        last = min(fronts.shape[0], window + units)
        edge = registers[1] + units
        while window < last:
            front, stop = fronts[window], stops[window]
            note(reached, 0, stop - 1 - base)
            if front >= registers[1] or front < registers[0] or stop < registers[1]:
                edge += front - registers[1]
                registers = empty(front, identity)
            while registers[0] < front:
                registers = evict(ring, mask, identity, registers)
            limit = front + calm(registers)
            while True:
                until = min(stop, edge)
                while registers[1] < until:
                    note(reached, 0, registers[1] - base)
                    partial = lifted(identity, columns, nulls, at(places, registers[1] - base))
                    registers = insert(ring, mask, identity, registers, partial)
                if until < stop:
                    return registers, window
                note(reached, 0, stop - 1 - base)
                if not is_null(bare, window):
                    emit(out, valid, at(targets, window), lower(query(ring, mask, identity, registers)))
                window += 1
                if window == last:
                    break
                front, stop = fronts[window], stops[window]
                if front > limit or front < registers[0] or stop < registers[1]:
                    break
                registers = _moved(registers, front)
        return registers, window

    return process


def roll_time(jit: Jit, operations: Operations, lift: Function, lower: Function) -> Function:
    """A window of the rows in (t - size, t], peers included: a result per row.

    Stops before the run of peers for which the ring has no room and returns how many rows are done, so that
    the caller can enlarge the ring and go on. ``lasts`` says for each row the position of the last value that
    is not skipped, up to this row (None: no row is skipped): a window that starts after it holds no value,
    and has no result.

    A loop of its own: to find ranges first and call :func:`slide_ranges` took 1.3 to 1.9 times as long (sum
    and stddev over 200,000 rows, one and five rows per moment).
    """
    insert, evict, query = operations.insert, operations.evict, operations.query
    lifted = _lifted(jit, lift)

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
                partial = lifted(identity, columns, nulls, k)
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
