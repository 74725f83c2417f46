"""Kernels that go on from batch to batch: fronts of rolling windows, and a sliding window with its registers
handed in and out.

Positions are absolute: they count the rows of a partition. A new key needs no reset of its own: the windows
of its rows start at or after the end of all before, and that empties the window.
"""

from __future__ import annotations

from typing import Any

from windrow.arrays import Ints
from windrow.compile.access import Function, cast, emit, is_null, row
from windrow.compile.cache import kernel
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["count_fronts", "slide_on", "time_fronts"]


@kernel
def time_fronts(
    clock: Any, first: int, old: int, starts: Any, size: int, front: int, fronts: Ints, stops: Ints
) -> int:
    """For each new row the rows of its key in (t - size, t], peers included; gives the last front.

    ``clock`` holds times from position ``first`` on, ``old`` of them of earlier rows; ``front`` is the last
    front, as a position."""
    low = front - first
    stop = old
    for i in range(old, len(clock)):
        if starts[i - old]:
            low = i
        if i >= stop:
            stop = i + 1
            while stop < len(clock) and not starts[stop - old] and clock[stop] == clock[i]:
                stop += 1
        while clock[i] - clock[low] >= size:
            low += 1
        fronts[i - old] = first + low
        stops[i - old] = first + stop
    return first + low


@kernel
def count_fronts(base: int, starts: Any, size: int, run: int, fronts: Ints) -> int:
    """For each row the last ``size`` rows of its key; gives the position where the last key starts."""
    for i in range(len(starts)):
        if starts[i]:
            run = base + i
        fronts[i] = max(run, base + i + 1 - size)
    return run


def slide_on(jit: Jit, steps: Operations, lift: Function, lower: Function) -> Function:
    """Ranges of positions through a window that stays for the next batch.

    ``base`` is the position of the batch's first row; ``bare`` says which windows hold no value, and so have
    no result; ``reached`` tells which row was worked on, should a user's function raise."""
    insert, evict, query = steps.insert, steps.evict, steps.query

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        registers: Any,
        base: int,
        columns: Any,
        nulls: Any,
        fronts: Any,
        stops: Any,
        bare: Any,
        reached: Any,
        out: Any,
        valid: Any,
    ) -> Any:
        for window in range(fronts.shape[0]):
            front, stop = fronts[window], stops[window]
            reached[0] = window
            if front >= registers[1]:  # nothing is shared with the window before
                registers = (front, front, front, identity)
            while registers[0] < front:
                registers = evict(ring, mask, identity, registers)
            while registers[1] < stop:
                i = registers[1] - base
                reached[0] = i
                partial = identity if is_null(nulls, i) else cast(identity, lift(*row(columns, i)))
                registers = insert(ring, mask, identity, registers, partial)
            if not is_null(bare, window):
                emit(out, valid, window, lower(query(ring, mask, identity, registers)))
        return registers

    return process
