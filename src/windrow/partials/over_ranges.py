"""Aggregates over ranges of rows, natively where they compile.

:func:`~windrow.swag.choose` says how: disjoint ranges are folded, overlapping ones slide, each row in once
and out once, and for ranges in any order there is a tree. The drivers are closure factories like those of
:mod:`windrow.swag`, whose steps they use. Rows are read where they lie in the table: ``places`` says which
row of the table is the i-th in processing order. What does not compile slides in plain Python.

A driver does at most about so many ``units`` of work (rows and ranges) in a call, keeps where it is in
``reached`` and the partial at hand in ``kept``, and says whether all is done (:mod:`windrow.compile.pieces`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.access import Function, at, cast, emit, is_null, load, row, row_count, store
from windrow.compile.columns import Columns
from windrow.compile.native import NativeMonoid, build, native
from windrow.compile.pieces import run_in_pieces
from windrow.errors import calling
from windrow.monoids.base import Monoid, itself
from windrow.partials.ranges import LastRows, Over, RowRanges, Shape, SliceRanges, Slices
from windrow.swag.choose import choose
from windrow.swag.flat_fat import FlatFAT
from windrow.swag.native.drivers import Jit, Operations
from windrow.swag.native.integer_sums import extreme_integers, sums_fit
from windrow.swag.recalc import Recalc
from windrow.swag.sliding import sliding_steps, sliding_window

__all__ = [
    "fold_partials",
    "fold_rows_natively",
    "integers_fit",
    "native_results",
    "partial_results",
    "plain_results",
]

Results = tuple[Any, Any]


def fold_ranges(jit: Jit, combine: Function, lift: Function, lower: Function) -> Function:
    """Disjoint ranges: one fold each. ``reached``: the range, and how many rows of it are in ``kept``."""

    @jit
    def process(
        identity: Any,
        columns: Any,
        nulls: Any,
        places: Any,
        fronts: Any,
        stops: Any,
        bare: Any,
        out: Any,
        valid: Any,
        kept: Any,
        reached: Any,
        units: int,
    ) -> bool:
        window, done = reached[0], reached[1]
        total = load(kept, 0)
        while window < fronts.shape[0] and units > 0:
            begin = fronts[window] + done
            end = min(stops[window], begin + units)
            units -= 1 + end - begin
            if not is_null(bare, window):
                for i in range(begin, end):
                    place = at(places, i)
                    if not is_null(nulls, place):
                        total = cast(identity, combine(total, lift(*row(columns, place))))
            if end < stops[window]:
                done = end - fronts[window]
            else:
                if not is_null(bare, window):
                    emit(out, valid, window, lower(total))
                total = identity
                done = 0
                window += 1
        store(kept, 0, total)
        reached[0] = window
        reached[1] = done
        return window == fronts.shape[0]

    return process


def slide_ranges(jit: Jit, steps: Operations, lift: Function, lower: Function) -> Function:
    """Overlapping ranges: each row is inserted once and evicted once. ``reached``: the range, and the
    registers but for the last, which is ``kept``."""
    insert, evict, query = steps.insert, steps.evict, steps.query

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        columns: Any,
        nulls: Any,
        places: Any,
        fronts: Any,
        stops: Any,
        targets: Any,
        bare: Any,
        out: Any,
        valid: Any,
        kept: Any,
        reached: Any,
        units: int,
    ) -> bool:
        window = reached[0]
        registers = (reached[1], reached[2], reached[3], load(kept, 0))
        while window < fronts.shape[0] and units > 0:
            front, stop = fronts[window], stops[window]
            # the window before shares nothing with this one, or reaches beyond it
            if front >= registers[1] or front < registers[0] or stop < registers[1]:
                registers = (front, front, front, identity)
            until = min(stop, registers[1] + units)
            units -= 1 + until - registers[1]
            while registers[0] < front:
                registers = evict(ring, mask, identity, registers)
            while registers[1] < until:
                place = at(places, registers[1])
                partial = identity if is_null(nulls, place) else cast(identity, lift(*row(columns, place)))
                registers = insert(ring, mask, identity, registers, partial)
            if until == stop:
                if not is_null(bare, window):
                    emit(out, valid, at(targets, window), lower(query(ring, mask, identity, registers)))
                window += 1
        reached[0], reached[1], reached[2], reached[3] = window, registers[0], registers[1], registers[2]
        store(kept, 0, registers[3])
        return window == fronts.shape[0]

    return process


def slide_rows(jit: Jit, steps: Operations, lift: Function, lower: Function) -> Function:
    """The last ``size`` rows of each run: a result per row. ``reached``: the row, the registers but for the
    last, which is ``kept``, and the run."""
    insert, evict, query = steps.insert, steps.evict, steps.query

    @jit
    def process(
        ring: Any,
        mask: int,
        identity: Any,
        columns: Any,
        nulls: Any,
        places: Any,
        runs: Any,
        size: int,
        bare: Any,
        out: Any,
        valid: Any,
        kept: Any,
        reached: Any,
        units: int,
    ) -> bool:
        first, run, count = reached[0], reached[4], runs[runs.shape[0] - 1]
        registers = (reached[1], reached[2], reached[3], load(kept, 0))
        last = min(first + units, count)
        while first < last:
            if first == runs[run + 1]:
                registers = (0, 0, 0, identity)
                run += 1
            for i in range(first, min(last, runs[run + 1])):
                place = at(places, i)
                if registers[1] - registers[0] == size:
                    registers = evict(ring, mask, identity, registers)
                partial = identity if is_null(nulls, place) else cast(identity, lift(*row(columns, place)))
                registers = insert(ring, mask, identity, registers, partial)
                if not is_null(bare, i):
                    emit(out, valid, place, lower(query(ring, mask, identity, registers)))
            first = min(last, runs[run + 1])
        reached[0], reached[1], reached[2], reached[3] = first, registers[0], registers[1], registers[2]
        reached[4] = run
        store(kept, 0, registers[3])
        return first == count

    return process


def tree_ranges(jit: Jit, combine: Function, lift: Function, lower: Function) -> Function:
    """Ranges in any order: a tree over the rows, each node the sum of its two children; O(log n) a range.
    ``reached``: leaves, nodes and ranges that are done."""

    @jit
    def process(
        tree: Any,
        identity: Any,
        columns: Any,
        fronts: Any,
        stops: Any,
        bare: Any,
        out: Any,
        valid: Any,
        kept: Any,
        reached: Any,
        units: int,
    ) -> bool:
        count = row_count(columns)
        begin, end = reached[0], reached[0] + units
        for i in range(begin, min(end, count)):
            store(tree, count + i, cast(identity, lift(*row(columns, i))))
        for i in range(max(begin, count), min(end, 2 * count)):
            node = 2 * count - 1 - i
            if node > 0:
                store(tree, node, cast(identity, combine(load(tree, 2 * node), load(tree, 2 * node + 1))))
        for window in range(max(begin - 2 * count, 0), min(end - 2 * count, fronts.shape[0])):
            if is_null(bare, window):
                continue
            low, high = fronts[window] + count, stops[window] + count
            left = right = identity
            while low < high:
                if low & 1:
                    left = cast(identity, combine(left, load(tree, low)))
                    low += 1
                if high & 1:
                    high -= 1
                    right = cast(identity, combine(load(tree, high), right))
                low >>= 1
                high >>= 1
            emit(out, valid, window, lower(cast(identity, combine(left, right))))
        reached[0] = end
        return end >= 2 * count + fronts.shape[0]

    return process


def native_results(
    monoid: Monoid, columns: Columns, places: Any, over: Over, bare: Any = None
) -> Results | None:
    """Results and which are valid (None: all), or None where the monoid has no native form for the columns.

    There is one result per range; for ranges that belong to rows, one per row of the table, at its place.
    ``bare`` says which ranges hold no value (None: none): what stands there is not defined."""
    if not monoid.compiles_for or monoid.wide is not None:
        return None
    form = native(monoid, columns.dtypes)
    if form is None or not integers_fit(form, columns.arrays, over.widest):
        return None
    rows: tuple[Any, ...] = (form.identity, columns.arrays, columns.nulls, places)
    if isinstance(over, SliceRanges):
        members = _slice_partials(form, rows, over.slices)
        return partial_results(form, members, over.fronts, over.stops, over.shape, bare)
    count = len(columns) if over.one_a_row else len(over)
    out, valid = _outputs(form, count, bare)
    if isinstance(over, RowRanges) and choose(monoid, ranges=over.shape).algorithm is Recalc:
        _run(form, fold_ranges, (*rows, over.fronts, over.stops, bare, out, valid))
        return out, valid
    capacity = 1 << max(6, (over.widest - 1).bit_length())
    ring = np.zeros(capacity, form.layout.partial_dtype)
    if isinstance(over, LastRows):
        _run(form, slide_rows, (ring, capacity - 1, *rows, over.runs, over.size, bare, out, valid))
    else:
        targets = places if over.one_a_row else None
        ranges = (over.fronts, over.stops, targets, bare)
        _run(form, slide_ranges, (ring, capacity - 1, *rows, *ranges, out, valid))
    return out, valid


def _outputs(form: NativeMonoid, count: int, bare: Any) -> Results:
    """Room for results, and for which are valid; zeros where some are not written."""
    room = np.empty if bare is None else np.zeros
    valid = np.ones(count, np.bool_) if form.layout.may_be_null else None
    return room(count, form.layout.result_dtype), valid


def _slice_partials(form: NativeMonoid, rows: tuple[Any, ...], slices: Slices) -> tuple[Any, ...]:
    """The partials of all slices, one array per member; folded when first asked for, then shared by all
    windows."""
    key = (form, *(array.ctypes.data for array in rows[1]))
    if key not in slices.partials:
        members = _folded(form, rows, slices.rows[:-1], slices.rows[1:])
        # the columns stay alive, so that their address stays theirs
        slices.partials[key] = (members, rows[1])
    found: tuple[Any, ...] = slices.partials[key][0]
    return found


def fold_rows_natively(
    form: NativeMonoid, columns: Columns, places: Any, fronts: Ints, stops: Ints
) -> tuple[Any, ...]:
    """The partial of each range of rows, one array per member."""
    return _folded(form, (form.identity, columns.arrays, columns.nulls, places), fronts, stops)


def fold_partials(form: NativeMonoid, members: tuple[Any, ...], fronts: Ints, stops: Ints) -> tuple[Any, ...]:
    """The partial of each range of partials, one array per member."""
    return _folded(_of_partials(form), (form.identity, members, None, None), fronts, stops)


def _folded(form: NativeMonoid, rows: tuple[Any, ...], fronts: Ints, stops: Ints) -> tuple[Any, ...]:
    out = np.empty(len(fronts), form.layout.partial_dtype)
    keeping = _variant(form, "keeping", lower=itself)
    _run(keeping, fold_ranges, (*rows, fronts, stops, None, out, None))
    names = out.dtype.names
    return (out,) if names is None else tuple(np.ascontiguousarray(out[name]) for name in names)


def partial_results(
    form: NativeMonoid, members: tuple[Any, ...], fronts: Ints, stops: Ints, shape: Shape, bare: Any = None
) -> Results:
    """Results over ranges of partials, and which are valid (None: all); ``bare`` ranges are left out.

    ``shape`` is what :func:`~windrow.swag.choose` is asked with: "disjoint" ranges, "sliding" ones (neither
    fronts nor stops fall), or "any"."""
    out, valid = _outputs(form, len(fronts), bare)
    rows = (form.identity, members, None, None)
    form = _of_partials(form)
    algorithm = choose(form.monoid, ranges=shape).algorithm
    if algorithm is Recalc:
        _run(form, fold_ranges, (*rows, fronts, stops, bare, out, valid))
    elif algorithm is FlatFAT:
        tree = np.zeros(2 * len(members[0]), form.layout.partial_dtype)
        _run(form, tree_ranges, (tree, form.identity, members, fronts, stops, bare, out, valid))
    else:
        capacity = 1 << max(6, int((stops - fronts).max(initial=1) - 1).bit_length())
        ring = np.zeros(capacity, form.layout.partial_dtype)
        _run(form, slide_ranges, (ring, capacity - 1, *rows, fronts, stops, None, bare, out, valid))
    return out, valid


def _of_partials(form: NativeMonoid) -> NativeMonoid:
    """The same monoid for inputs that are partials already."""
    return _variant(form, "partials", lift=_tuple if form.layout.is_tuple else itself)


def _variant(form: NativeMonoid, name: str, **functions: Any) -> NativeMonoid:
    if name not in form.variants:
        compiled = {key: form.jit(function) for key, function in functions.items()}
        form.variants[name] = replace(form, kernels={}, variants={}, **compiled)
    return form.variants[name]


def _tuple(*members: Any) -> Any:
    return members


def _run(form: NativeMonoid, driver: Any, arguments: tuple[Any, ...]) -> None:
    """A driver over all its ranges, piece by piece."""
    kept, reached = np.zeros(1, form.layout.partial_dtype), np.zeros(5, np.int64)
    kept[0] = form.identity
    arguments = (*arguments, kept, reached)
    key = (driver, *(argument is None for argument in arguments))
    if key not in form.kernels:
        slides = driver in (slide_ranges, slide_rows)
        first = sliding_steps(form) if slides else form.combine

        def factory(jit: Any, lift: Any, lower: Any) -> Any:
            return driver(jit, first, lift, lower)

        form.kernels[key] = build(factory, form.jit, form.lift, form.lower, arguments=(*arguments, 1))
    kernel = form.kernels[key]
    assert kernel is not None
    run_in_pieces(lambda units: kernel(*arguments, units))


def integers_fit(form: NativeMonoid, inputs: tuple[Any, ...], widest: int) -> bool:
    """Whether no sum over so many of these inputs can leave 64 bits."""
    return not form.monoid.adds_integers or sums_fit(form, *extreme_integers(inputs), widest)


def plain_results(monoid: Monoid, rows: list[tuple[Any, ...]], over: RowRanges) -> list[Any]:
    """The same in plain Python, for any objects; rows and results are in processing order. What a user's
    function raises is :class:`~windrow.errors.Raised` at the place of the row."""
    results: list[Any] = []
    window = sliding_window(monoid)
    first = last = 0
    with calling(monoid, rows) as loop:
        for front, stop in zip(over.fronts.tolist(), over.stops.tolist(), strict=True):
            # the window before shares nothing with this one, or reaches beyond it
            if front >= last or front < first or stop < last:
                window = sliding_window(monoid)
                first = last = front
            for loop.place in range(last, stop):
                window.insert(*rows[loop.place])
            loop.place = stop - 1
            last = max(last, stop)
            window.evict_many(front - first)
            first = front
            results.append(window.query())
    return results
