"""A batch of values through a window of sketches, in native code.

The window moves into a matrix, one row a partial, as :mod:`windrow.swag.native.roll` moves others into a
ring of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.compile.columns import shaped_like
from windrow.compile.native import build
from windrow.compile.pieces import call_whole, pieces
from windrow.compile.sketch_rows import WideForm, codes_of, wide_form
from windrow.swag.fifo import FifoSwag, NativeWindow
from windrow.swag.native.roll import account_for_nulls, keep_taken, power_of_two, skips_by_count
from windrow.swag.native.sketch_rows import EXTRA_ROWS, roll_rows
from windrow.swag.queue import ChunkedArrayQueue

__all__ = ["roll_wide"]


def roll_wide(window: FifoSwag, values: Any, size: int, out: Any) -> Any:
    form = wide_form(window.monoid)
    batch = codes_of(values, window.monoid)
    state = _enter(window, form, min(size, len(window) + len(batch)))
    count = len(batch)
    results = _results(form, count, out)
    first_position = window._registers[1]
    skips = skips_by_count(window, batch.nulls, count, size)
    try:
        for first, stop in pieces(count):
            part = slice(first, stop)
            nulls = None if batch.nulls is None else batch.nulls[part]
            positions = tuple(int(r) for r in window._registers[: window._integers])
            rows = (size, batch.codes[part], nulls, results[part])
            _take(window, form, state, (state.ring, state.mask, positions, *rows))
    except BaseException:
        keep_taken(window, batch.nulls, first_position)
        raise
    results, valid = account_for_nulls(window, batch.nulls, first_position, results, None, skips)
    return shaped_like(values, window.monoid, out)(_as_results(form, results, valid), valid)


def _take(window: FifoSwag, form: WideForm, state: NativeWindow, arguments: tuple[Any, ...]) -> None:
    """Run a piece. Its registers stay with the matrix that it has changed, also where a signal ends it."""
    kernel, found = _kernel(window, form, arguments), list[Any]()
    try:
        call_whole(kernel, arguments, found)
    finally:
        if found:
            sums = state.ring[state.mask + 1 : state.mask + EXTRA_ROWS]
            kept = [row.copy() for row in sums[: len(window._registers) - window._integers]]
            # the scalar form lists the middle's sum before the back's; the matrix has the back's first
            window._registers = (*found[0], *reversed(kept))


def _enter(window: FifoSwag, form: WideForm, room: int) -> NativeWindow:
    capacity = power_of_two(max(room, len(window)))
    state = window._window
    if state is not None and state.native is form and state.mask + 1 >= capacity:
        return state
    if state is not None:
        window._to_plain()
    rows = _aligned_rows(capacity + EXTRA_ROWS, form.wide.width, np.dtype(form.wide.dtype))
    front, end = window._registers[:2]
    for position in range(front, end):
        rows[position & (capacity - 1)] = window._queue[position]
    for offset, partial in enumerate(reversed(window._registers[window._integers :])):
        rows[capacity + offset] = partial
    window._queue = ChunkedArrayQueue()
    window._window = NativeWindow(form, rows, None, capacity - 1)
    return window._window


def _aligned_rows(count: int, width: int, dtype: np.dtype[Any]) -> Any:
    """A matrix of zeros that begins with a cache line: numpy's own begin 16 bytes into one, and vector loads
    and stores that cross lines cost twice."""
    line = 64
    size = count * width * dtype.itemsize
    raw = np.zeros(size + line, np.uint8)
    skip = -raw.ctypes.data % line
    return raw[skip : skip + size].view(dtype).reshape(count, width)


def _results(form: WideForm, count: int, out: Any) -> Any:
    if form.lower is None:
        return np.zeros((count, form.wide.width), form.wide.dtype)
    fits = isinstance(out, np.ndarray) and out.dtype == np.int64 and out.shape == (count,)
    return out if fits else np.zeros(count, np.int64)


def _as_results(form: WideForm, results: Any, valid: Any) -> Any:
    """Rows become bytes."""
    if form.lower is not None:
        return results
    lower = form.monoid.lower
    present = np.ones(len(results), np.bool_) if valid is None else valid
    return [lower(row) if ok else None for row, ok in zip(results, present.tolist(), strict=True)]


def _kernel(window: FifoSwag, form: WideForm, arguments: tuple[Any, ...]) -> Any:
    key = (type(window), *(argument is None for argument in arguments))
    if key not in form.kernels:
        assert window.wide_operations is not None
        steps = type(window).wide_operations(form.jit, form.combine_into)  # type: ignore[misc]
        lower_into = form.jit(_row_lower(form.lower))

        def factory(jit: Any, lift_into: Any) -> Any:
            return roll_rows(jit, steps, lift_into, lower_into)

        form.kernels[key] = build(factory, form.jit, form.lift_into, arguments=arguments).buy()
    return form.kernels[key]


def _row_lower(lower: Any) -> Any:
    """Writes the result of a row: a number, or the row itself."""
    if lower is None:

        def copy(row: Any, out: Any, index: int) -> None:
            for k in range(row.shape[0]):
                out[index, k] = row[k]

        return copy

    def number(row: Any, out: Any, index: int) -> None:
        out[index] = lower(row)

    return number
