"""Aggregates over ranges of rows, natively where they compile.

Disjoint ranges are folded; overlapping ones go through Two-Stacks Lite, each row in once and out once. Both
are closure factories like the kernels of :mod:`windrow.swag`, whose steps they use. What does not compile
runs through the same algorithm in plain Python.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.compile.access import Function, cast, emit, is_null, row
from windrow.compile.columns import Columns
from windrow.compile.native import NativeMonoid, build, native
from windrow.monoids.base import Monoid
from windrow.swag.kernels import Jit, Operations
from windrow.swag.two_stacks_lite import TwoStacksLite, operations

__all__ = ["native_results", "plain_results"]

Ints = npt.NDArray[np.int64]
Results = tuple[Any, Any]


def fold_ranges(jit: Jit, combine: Function, lift: Function, lower: Function) -> Function:
    """Disjoint ranges: one fold each."""

    @jit
    def process(
        identity: Any, columns: Any, nulls: Any, fronts: Any, stops: Any, out: Any, valid: Any
    ) -> None:
        for window in range(fronts.shape[0]):
            total = identity
            for i in range(fronts[window], stops[window]):
                if not is_null(nulls, i):
                    total = cast(identity, combine(total, lift(*row(columns, i))))
            emit(out, valid, window, lower(total))

    return process


def slide_ranges(jit: Jit, steps: Operations, lift: Function, lower: Function) -> Function:
    """Overlapping ranges whose fronts and stops do not fall: each row is inserted once and evicted once."""
    insert, evict, query = steps.insert, steps.evict, steps.query

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        columns: Any,
        nulls: Any,
        fronts: Any,
        stops: Any,
        out: Any,
        valid: Any,
    ) -> None:
        registers = (0, 0, 0, identity)
        for window in range(fronts.shape[0]):
            front, stop = fronts[window], stops[window]
            if front >= registers[1]:  # nothing is shared with the window before
                registers = (front, front, front, identity)
            while registers[0] < front:
                registers = evict(ring, mask, identity, registers)
            while registers[1] < stop:
                i = registers[1]
                partial = identity if is_null(nulls, i) else cast(identity, lift(*row(columns, i)))
                registers = insert(ring, mask, identity, registers, partial)
            emit(out, valid, window, lower(query(ring, mask, identity, registers)))

    return process


def native_results(
    monoid: Monoid, columns: Columns, fronts: Ints, stops: Ints, disjoint: bool
) -> Results | None:
    """Results and which are valid (None: all), or None where the monoid has no native form for the
    columns."""
    if not monoid.compiles_for or monoid.wide is not None:
        return None
    form = native(monoid, columns.dtypes)
    widest = int((stops - fronts).max(initial=0))
    if form is None or not _integers_fit(form, columns, widest):
        return None
    out = np.zeros(len(fronts), form.layout.result_dtype)
    valid = np.ones(len(fronts), np.bool_) if form.layout.may_be_null else None
    if disjoint:
        _run(form, "fold", (form.identity, columns.arrays, columns.nulls, fronts, stops, out, valid))
    else:
        capacity = 1 << max(6, (widest - 1).bit_length())
        ring = np.zeros(capacity, form.layout.partial_dtype)
        _run(
            form,
            "slide",
            (ring, capacity - 1, form.identity, columns.arrays, columns.nulls, fronts, stops, out, valid),
        )
    return out, valid


def _run(form: NativeMonoid, kind: str, arguments: tuple[Any, ...]) -> None:
    key = ("ranges", kind, *(argument is None for argument in arguments))
    if key not in form.kernels:
        if kind == "fold":
            form.kernels[key] = build(
                fold_ranges, form.jit, form.combine, form.lift, form.lower, arguments=arguments
            )
        else:
            steps = operations(form.jit, form.combine)

            def factory(jit: Any, lift: Any, lower: Any) -> Any:
                return slide_ranges(jit, steps, lift, lower)

            form.kernels[key] = build(factory, form.jit, form.lift, form.lower, arguments=arguments)
    kernel = form.kernels[key]
    assert kernel is not None
    kernel(*arguments)


def _integers_fit(form: NativeMonoid, columns: Columns, widest: int) -> bool:
    """Whether no sum over a window can leave 64 bits."""
    if not form.monoid.adds_integers or "i8" not in form.layout.partial:
        return True
    arrays = [a for a in columns.arrays if a.dtype.kind == "i" and a.size]
    largest = max((max(abs(int(a.max())), abs(int(a.min()))) for a in arrays), default=0)
    return largest * widest < 2**63


def plain_results(monoid: Monoid, rows: list[tuple[Any, ...]], fronts: Ints, stops: Ints) -> list[Any]:
    """The same in plain Python, for any objects."""
    results: list[Any] = []
    window = TwoStacksLite(monoid)
    first = last = 0
    for front, stop in zip(fronts.tolist(), stops.tolist(), strict=True):
        if front >= last:  # nothing is shared with the window before
            window = TwoStacksLite(monoid)
            first = last = front
        for i in range(last, stop):
            window._checked(i, rows[i], functools.partial(window.insert, *rows[i]))
        last = max(last, stop)
        window.evict_many(front - first)
        first = front
        results.append(window.query())
    return results
