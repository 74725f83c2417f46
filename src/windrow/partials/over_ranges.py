"""Aggregates over ranges of rows, natively where they compile.

:func:`~windrow.swag.choose` says how: disjoint ranges are folded, overlapping ones slide, each row in once
and out once, by the drivers of :mod:`windrow.swag.native.drivers`, and for ranges in any order there is a
tree. The folds here are closure factories like those. Rows are read where they lie in the table: ``places``
says which row of the table is the i-th in processing order. What does not compile slides in plain Python.

Ranges are cut into pieces for threads (:mod:`windrow.partials.range_pieces`); each piece has a window of its
own. A fold does at most about so many ``units`` of work (rows and ranges) in a call, keeps where it is in
``reached`` and the partial at hand in ``kept``, and says whether all is done (:mod:`windrow.compile.pieces`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile import pieces as work
from windrow.compile.access import Function, at, cast, emit, is_null, load, row, row_count, store
from windrow.compile.columns import Columns
from windrow.compile.general import mask_or_none, places_or_none
from windrow.compile.native import NativeMonoid, build, native
from windrow.compile.pieces import run_in_pieces
from windrow.monoids.base import Monoid, itself
from windrow.partials.range_pieces import are_long, range_parts, range_pieces, row_pieces, widest_range
from windrow.partials.ranges import LastRows, Over, RowRanges, Shape, SliceRanges, Slices
from windrow.swag.choose import choose
from windrow.swag.flat_fat import FlatFAT
from windrow.swag.native.drivers import Jit, fill, roll_runs, slide_ranges
from windrow.swag.native.integer_sums import extreme_integers, sums_fit
from windrow.swag.plain_ranges import PlainRanges
from windrow.swag.recalc import Recalc
from windrow.swag.sliding import sliding_algorithm, sliding_kernel
from windrow.threads import even_pieces, in_threads, is_one_piece

__all__ = [
    "fold_partials",
    "fold_rows_natively",
    "integers_fit",
    "member_arrays",
    "native_results",
    "partial_results",
    "partials_form",
    "plain_results",
    "run_driver",
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

    ``places``: where rows lie in the columns, by their places in processing order, or as they come where they
    go to cells. There is one result per range; for ranges that belong to rows, one per row of the table, at
    its place.
    ``bare`` says which ranges hold no value (None: none): what stands there is not defined."""
    if not monoid.compiles_for or monoid.wide is not None:
        return None
    form = native(monoid, columns.dtypes)
    if form is None or (form.adds_integers and not integers_fit(form, columns.arrays, over.widest)):
        return None
    rows = _rows(form, columns, places)
    if isinstance(over, SliceRanges):
        members = _slice_partials(form, columns, places, over.slices)
        return partial_results(form, members, over.fronts, over.stops, over.shape, bare)
    if isinstance(over, RowRanges) and choose(monoid, ranges=over.shape).algorithm is Recalc:
        return _fold_results(form, rows, over, bare)
    count = len(columns) if over.one_a_row else len(over)
    bare = mask_or_none(bare, len(over))
    out, valid = _outputs(form, count, bare)
    if isinstance(over, LastRows):
        _roll(form, over, rows[1:], bare, out, valid)
    else:
        targets = rows[3] if over.one_a_row else places_or_none(None, len(over))
        _slide(form, over.widest, rows[1:], (over.fronts, over.stops, targets, bare), out, valid)
    return out, valid


def _fold_results(form: NativeMonoid, rows: tuple[Any, ...], over: RowRanges, bare: Any) -> Results:
    """Results over disjoint ranges; long ones are folded in parts."""
    if are_long(over.widest):
        *parts, begins = range_parts(over.fronts, over.stops)
        return partial_results(form, _folded(form, rows, *parts), begins[:-1], begins[1:], "disjoint", bare)
    bare = mask_or_none(bare, len(over))
    out, valid = _outputs(form, len(over), bare)
    _fold(form, rows, (over.fronts, over.stops, bare, out, valid))
    return out, valid


def _rows(form: NativeMonoid, columns: Columns, places: Any) -> tuple[Any, ...]:
    """Rows as drivers take them."""
    arrays = columns.arrays
    count = len(arrays[0])
    return form.identity, arrays, mask_or_none(columns.nulls, count), places_or_none(places, count)


def _outputs(form: NativeMonoid, count: int, bare: Any) -> Results:
    """Room for results, and for which are valid; zeros where some are not written."""
    room = np.empty if bare is None else np.zeros
    valid = np.ones(count, np.bool_) if form.layout.may_be_null else None
    return room(count, form.layout.result_dtype), valid


def _slice_partials(form: NativeMonoid, columns: Columns, places: Any, slices: Slices) -> tuple[Any, ...]:
    """The partials of all slices, one array per member; folded when first asked for, then shared by all
    windows."""
    key = (form, *(array.ctypes.data for array in columns.arrays))
    if key not in slices.partials:
        if slices.cells is not None:
            members = slices.cells.fold(form, columns, places)
        else:
            members = fold_rows_natively(form, columns, places, slices.rows[:-1], slices.rows[1:])
        # the columns stay alive, so that their address stays theirs
        slices.partials[key] = (members, columns.arrays)
    found: tuple[Any, ...] = slices.partials[key][0]
    return found


def fold_rows_natively(
    form: NativeMonoid, columns: Columns, places: Any, fronts: Ints, stops: Ints
) -> tuple[Any, ...]:
    """The partial of each range of rows, one array per member."""
    return _folded(form, _rows(form, columns, places), fronts, stops)


def fold_partials(
    form: NativeMonoid, members: tuple[Any, ...], fronts: Ints, stops: Ints, places: Any = None
) -> tuple[Any, ...]:
    """The partial of each range of partials, in the order that ``places`` gives, one array per member."""
    return _folded(partials_form(form), (form.identity, members, None, places), fronts, stops)


def _folded(form: NativeMonoid, rows: tuple[Any, ...], fronts: Ints, stops: Ints) -> tuple[Any, ...]:
    if not is_one_piece(len(rows[1][0])) and are_long(widest_range(fronts, stops)):
        *parts, begins = range_parts(fronts, stops)
        return fold_partials(form, _folded(form, rows, *parts), begins[:-1], begins[1:])
    out = np.empty(len(fronts), form.layout.partial_dtype)
    _fold(_variant(form, "keeping", lower=itself), rows, (fronts, stops, None, out, None))
    return member_arrays(out)


def member_arrays(partials: Any) -> tuple[Any, ...]:
    """Partials as one array per member."""
    names = partials.dtype.names
    return (partials,) if names is None else tuple([np.ascontiguousarray(partials[name]) for name in names])


def partial_results(
    form: NativeMonoid, members: tuple[Any, ...], fronts: Ints, stops: Ints, shape: Shape, bare: Any = None
) -> Results:
    """Results over ranges of partials, and which are valid (None: all); ``bare`` ranges are left out.

    ``shape`` is what :func:`~windrow.swag.choose` is asked with: "disjoint" ranges, "sliding" ones (neither
    fronts nor stops fall), or "any"."""
    bare = mask_or_none(bare, len(fronts))
    out, valid = _outputs(form, len(fronts), bare)
    rows = (form.identity, members, None, None)
    form = partials_form(form)
    algorithm = _algorithm(form, shape)
    if algorithm is Recalc:
        _fold(form, rows, (fronts, stops, bare, out, valid))
    elif algorithm is FlatFAT:
        _ask_tree(form, members, (fronts, stops, bare, out, valid))
    else:
        targets = places_or_none(None, len(fronts))
        widest = widest_range(fronts, stops)
        _slide(form, widest, rows[1:], (fronts, stops, targets, bare), out, valid)
    return out, valid


def _algorithm(form: NativeMonoid, shape: Shape) -> Any:
    """What :func:`~windrow.swag.choose` says, asked once."""
    key = (choose, shape)
    if key not in form.kernels:
        form.kernels[key] = choose(form.monoid, ranges=shape).algorithm
    return form.kernels[key]


def partials_form(form: NativeMonoid) -> NativeMonoid:
    """The same monoid for inputs that are partials already."""
    return _variant(form, "partials", lift=_tuple if form.layout.is_tuple else itself)


def _variant(form: NativeMonoid, name: str, **functions: Any) -> NativeMonoid:
    if name not in form.variants:
        compiled = {key: form.jit(function) for key, function in functions.items()}
        form.variants[name] = replace(form, kernels={}, variants={}, **compiled)
    return form.variants[name]


def _tuple(*members: Any) -> Any:
    return members


def _fold(form: NativeMonoid, rows: tuple[Any, ...], windows: tuple[Any, ...]) -> None:
    """Disjoint ranges; ``windows``: fronts, stops, which are bare, results, which are valid."""
    fronts, stops, arguments = windows[0], windows[1], (*rows, *windows)
    kernel = _kernel(form, fold_ranges, arguments)
    if is_one_piece(len(rows[1][0]) + len(fronts)):
        _run(form, kernel, arguments)
        return
    pieces = range_pieces(fronts, stops, widest_range(fronts, stops), overlap=False)
    in_threads(lambda piece: _run(form, kernel, (*rows, *_cut(windows, piece))), pieces)


def _ask_tree(form: NativeMonoid, members: tuple[Any, ...], windows: tuple[Any, ...]) -> None:
    """Ranges in any order, the same columns: the tree is built by one thread."""
    count = len(members[0])
    tree = (np.zeros(2 * count, form.layout.partial_dtype), form.identity, members)
    kernel = _kernel(form, tree_ranges, (*tree, *windows))
    _run(form, kernel, (*tree, *_cut(windows, slice(0, 0))))
    pieces = even_pieces(len(windows[0]))
    in_threads(lambda piece: _run(form, kernel, (*tree, *_cut(windows, piece)), done=2 * count), pieces)


def _cut(columns: tuple[Any, ...], piece: slice) -> tuple[Any, ...]:
    return tuple(None if column is None else column[piece] for column in columns)


def _kernel(form: NativeMonoid, driver: Any, arguments: tuple[Any, ...]) -> Any:
    """A driver for arguments like these, compiled before threads need it."""
    key = (driver, *[argument is None for argument in arguments])
    if key not in form.kernels:
        functions = (form.combine, form.lift, form.lower)
        state = (np.zeros(1, form.layout.partial_dtype), np.zeros(5, np.int64), 1)
        form.kernels[key] = build(driver, form.jit, *functions, arguments=(*arguments, *state))
    return form.kernels[key]


def run_driver(form: NativeMonoid, driver: Any, arguments: tuple[Any, ...]) -> None:
    """A driver over all its rows or ranges, in this thread."""
    _run(form, _kernel(form, driver, arguments), arguments)


def _run(form: NativeMonoid, kernel: Any, arguments: tuple[Any, ...], done: int = 0) -> None:
    """A kernel over all its ranges, some work at a time; ``done``: what was done before."""
    kept, reached = np.empty(1, form.layout.partial_dtype), np.zeros(5, np.int64)
    kept[0], reached[0] = form.identity, done
    if not kernel(*arguments, kept, reached, work.FIRST):  # a small input is done at once
        run_in_pieces(lambda units: kernel(*arguments, kept, reached, units))


def _slide(form: NativeMonoid, widest: int, rows: Any, windows: Any, out: Any, valid: Any) -> None:
    """Overlapping ranges, with a window for each piece of them; ``windows``: fronts, stops, where results go
    (None: in their order), which are bare."""
    has_targets = windows[2] is not None

    def arguments(piece: slice) -> tuple[Any, ...]:
        results = (out, valid) if has_targets else _cut((out, valid), piece)
        # positions are places in processing order, from 0 on
        return (0, *rows, *_cut(windows, piece), *results, None)

    def slide(piece: slice) -> None:
        _Window(form, widest).drive(slide_ranges, arguments(piece), (0,), piece.stop - piece.start)

    pieces = range_pieces(windows[0], windows[1], widest, overlap=True)
    if len(pieces) > 1:
        _Window(form, 1).compile(slide_ranges, arguments(pieces[0]), (0,))
    in_threads(slide, pieces)


def _roll(form: NativeMonoid, over: LastRows, rows: Any, bare: Any, out: Any, valid: Any) -> None:
    """The last rows of each run; a piece that begins within a run begins with the rows before it. There is
    room for two windows, so that rows go in blocks."""

    def roll(piece: slice) -> None:
        runs, first = over.runs_in(piece)
        window = _Window(form, 2 * over.widest)
        if first < piece.start:
            window.drive(fill, (*rows, piece.start), (first,), piece.start)
        window.drive(roll_runs, (over.size, *rows, bare, out, valid, runs), (0, piece.start), piece.stop)

    pieces = row_pieces(len(over), over.widest)
    if len(pieces) > 1:
        _Window(form, 1).compile(fill, (*rows, 0), (0,))
        _Window(form, 1).compile(roll_runs, (over.size, *rows, bare, out, valid, over.runs), (0, 0))
    in_threads(roll, pieces)


class _Window:
    """A window that drivers go on with, for so many partials."""

    def __init__(self, form: NativeMonoid, widest: int) -> None:
        self._form = form
        capacity = 1 << max(6, (widest - 1).bit_length())
        self._ring = np.zeros(capacity, form.layout.partial_dtype), capacity - 1
        self._registers: Any = sliding_algorithm(form.monoid).start(form.identity)

    def compile(self, driver: Any, arguments: tuple[Any, ...], reached: tuple[int, ...]) -> None:
        """Compile a driver for arguments like these, before threads need it."""
        sliding_kernel(self._form, driver, self._with_state(arguments, reached, 1))

    def drive(self, driver: Any, arguments: tuple[Any, ...], reached: tuple[int, ...], stop: int) -> None:
        """Call a driver with where it has got to, until the last number of that is ``stop``."""
        kernel = sliding_kernel(self._form, driver, self._with_state(arguments, reached, 1))

        def run(units: int) -> bool:
            nonlocal reached
            self._registers, *reached = kernel(*self._with_state(arguments, reached, units))
            return reached[-1] == stop

        if reached[-1] < stop:
            run_in_pieces(run)

    def _with_state(
        self, arguments: tuple[Any, ...], reached: tuple[int, ...], units: int
    ) -> tuple[Any, ...]:
        return (*self._ring, self._form.identity, self._registers, *arguments, *reached, units)


def integers_fit(form: NativeMonoid, inputs: tuple[Any, ...], widest: int) -> bool:
    """Whether no sum over so many of these inputs can leave 64 bits."""
    if not form.adds_integers:
        return True
    return sums_fit(form, *extreme_integers(inputs), widest)


def plain_results(monoid: Monoid, rows: list[tuple[Any, ...]], over: RowRanges) -> list[Any]:
    """The same in plain Python, for any objects; rows and results are in processing order. What a user's
    function raises is :class:`~windrow.errors.Raised` at the place of the row."""
    return PlainRanges(monoid).results(rows, over.fronts, over.stops)
