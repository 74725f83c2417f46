"""Two-Stacks Lite and DABA Lite over rows of numbers, in place and in native code.

The same algorithms as in ``two_stacks_lite`` and ``daba_lite``, with rows of a matrix for partials: rows [0,
capacity) are the ring, and behind it lie the sums that the scalar form keeps in registers, and a scratch row
for results. A step gives positions; ``query`` gives the number of the row that holds the total. A new value
is lifted both into its own row and into the sum of the back, since adding one value to a sketch touches a few
numbers and combining two touches all; the driver does that, and ``insert`` only moves pointers.
"""

from __future__ import annotations

from typing import Any

from windrow.compile.access import Function, is_null
from windrow.swag.native.drivers import Jit, Operations

__all__ = ["EXTRA_ROWS", "daba_lite", "roll_rows", "two_stacks_lite"]

#: rows behind the ring: the sum of the back, that of the middle, scratch
EXTRA_ROWS = 3


def _clear(jit: Jit) -> Function:
    @jit
    def clear(rows: Any, row: int) -> None:
        target = rows[row]
        for k in range(target.shape[0]):
            target[k] = 0

    return clear


def _inlined(combine_into: Function) -> Function:
    """The same function, made part of its caller before either is optimised.

    A loop that is optimised on its own is vectorised with a test whether its rows overlap. Where ``out`` is
    ``a`` that test always fails, and what runs then is the loop as it was, half as fast.
    """
    compiled = getattr(combine_into, "compiled", combine_into)
    python_function = getattr(compiled, "py_func", None)
    if python_function is None:
        return combine_into
    import numba

    return numba.njit(error_model="numpy", nogil=True, inline="always")(python_function)


def two_stacks_lite(jit: Jit, combine_into: Function) -> Operations:
    clear = _clear(jit)
    combine_into = _inlined(combine_into)

    @jit
    def insert(rows: Any, mask: int, registers: Any) -> Any:
        front, end, back = registers
        return front, end + 1, back

    @jit
    def evict(rows: Any, mask: int, registers: Any) -> Any:
        front, end, back = registers
        if front == back:
            position = end - 1
            while position > front:
                position -= 1
                combine_into(rows[position & mask], rows[(position + 1) & mask], rows[position & mask])
            back = end
            clear(rows, mask + 1)
        return front + 1, end, back

    @jit
    def query(rows: Any, mask: int, registers: Any) -> Any:
        front, _, back = registers
        if front == back:
            return mask + 1
        combine_into(rows[front & mask], rows[mask + 1], rows[mask + 3])
        return mask + 3

    return Operations(insert, evict, query)


def daba_lite(jit: Jit, combine_into: Function) -> Operations:
    clear = _clear(jit)
    combine_into = _inlined(combine_into)

    @jit
    def fixup(rows: Any, mask: int, registers: Any) -> Any:
        front, end, left, right, accum, back = registers
        if front == back:
            left = right = accum = back = end
            clear(rows, mask + 1)
            clear(rows, mask + 2)
        else:
            if left == back:
                left = front
                accum = back = end
                clear(rows, mask + 2)
                combine_into(rows[mask + 1], rows[mask + 2], rows[mask + 2])
                clear(rows, mask + 1)
            if left == right:
                right += 1
                accum += 1
            else:
                combine_into(rows[left & mask], rows[mask + 2], rows[left & mask])
                accum -= 1
                if accum + 1 != back:
                    combine_into(rows[accum & mask], rows[(accum + 1) & mask], rows[accum & mask])
            left += 1
        return front, end, left, right, accum, back

    @jit
    def insert(rows: Any, mask: int, registers: Any) -> Any:
        front, end, left, right, accum, back = registers
        return fixup(rows, mask, (front, end + 1, left, right, accum, back))

    @jit
    def evict(rows: Any, mask: int, registers: Any) -> Any:
        front, end, left, right, accum, back = registers
        return fixup(rows, mask, (front + 1, end, left, right, accum, back))

    @jit
    def query(rows: Any, mask: int, registers: Any) -> Any:
        front, back = registers[0], registers[5]
        if front == back:
            return mask + 1
        combine_into(rows[front & mask], rows[mask + 1], rows[mask + 3])
        return mask + 3

    return Operations(insert, evict, query)


def roll_rows(jit: Jit, operations: Operations, lift_into: Function, lower_into: Function) -> Function:
    """A window of the last ``size`` values: a result per value."""
    insert, evict, query = operations.insert, operations.evict, operations.query
    clear = _clear(jit)

    @jit
    def process(rows: Any, mask: int, registers: Any, size: int, codes: Any, nulls: Any, out: Any) -> Any:
        while registers[1] - registers[0] > size:
            registers = evict(rows, mask, registers)
        for i in range(codes.shape[0]):
            if registers[1] - registers[0] == size:
                registers = evict(rows, mask, registers)
            clear(rows, registers[1] & mask)
            if not is_null(nulls, i):
                lift_into(rows[registers[1] & mask], codes[i])
                lift_into(rows[mask + 1], codes[i])  # the sum of the back
            registers = insert(rows, mask, registers)
            lower_into(rows[query(rows, mask, registers)], out, i)
        return registers

    return process
