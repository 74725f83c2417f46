"""Where rows that lie in no order go: each into its cell, which is a slice of its key.

Cells are numbered by key and time, as slices are. There are two forms. :class:`Scattered` has the number of
each row's cell, for a grid of keys and slices that is small enough to hold a partial for each place of it:
rows are folded in one pass over columns as they lie. :class:`Gathered` has the rows sorted by cell, for a
grid with more places than rows.

Invariant: the rows of a cell are combined in the order in which they lie in the table. Scattered rows are
folded in pieces, which are cut by the rows and the number of cells alone, and combined in their order where
they have cells in common: results are the same, bit for bit, whatever the chunks of a table are and whatever
folds the pieces. Cost: one combine per row, and one per cell and piece that has cells of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from windrow.arrays import Ints, Mask
from windrow.compile.access import Function, at, cast, is_null, load, row, store
from windrow.compile.columns import Columns
from windrow.compile.native import NativeMonoid
from windrow.partials.over_ranges import fold_rows_natively, member_arrays, partials_form, run_driver
from windrow.swag.native.drivers import Jit
from windrow.threads import even_pieces, in_threads

__all__ = ["Cells", "Gathered", "Pieces", "Scattered", "fold_into_cells", "pieces_over_cells"]

_C = TypeVar("_C")

#: a piece has at least so many rows for each cell
_ROWS_A_CELL = 16


def fold_cells(jit: Jit, combine: Function, lift: Function, lower: Function) -> Function:
    """Rows into the partials of their cells, in ``out``. ``places``: where each row lies in the columns;
    ``cells``: None: each row is a cell. ``reached``: rows that are done."""

    @jit
    def process(
        identity: Any,
        columns: Any,
        nulls: Any,
        places: Any,
        cells: Any,
        count: int,
        out: Any,
        kept: Any,
        reached: Any,
        units: int,
    ) -> bool:
        end = min(count, reached[0] + units)
        for i in range(reached[0], end):
            place = at(places, i)
            if not is_null(nulls, place):
                cell = at(cells, i)
                partial = cast(identity, lift(*row(columns, place)))
                store(out, cell, cast(identity, combine(load(out, cell), partial)))
        reached[0] = end
        return end == count

    return process


def pieces_over_cells(rows: int, count: int) -> list[slice]:
    """Neighbouring rows that go to cells of their own, which are combined later, as long as that costs little
    beside the rows."""
    return even_pieces(rows, least=_ROWS_A_CELL * count)


@dataclass(frozen=True)
class Pieces:
    """Rows that threads share. ``are_apart``: no cell has rows of two pieces, so that all fold into the same
    cells; otherwise each piece has cells of its own."""

    rows: list[slice]
    are_apart: bool = False

    def fold(
        self, make: Callable[[], _C], fold: Callable[[slice, _C], None], add: Callable[[_C, _C], None]
    ) -> _C:
        """Cells, made empty, with each piece folded into them; ``add`` combines cells with those of a later
        piece."""
        if self.are_apart:
            cells = make()
            in_threads(lambda piece: fold(piece, cells), self.rows)
            return cells

        def folded(piece: slice) -> _C:
            own = make()
            fold(piece, own)
            return own

        first, *others = in_threads(folded, self.rows)
        for other in others:
            add(first, other)
        return first


def _run_cells(form: NativeMonoid, columns: Any, nulls: Any, places: Any, cells: Any, out: Any) -> None:
    count = len(out) if cells is None else len(cells)
    run_driver(form, fold_cells, (form.identity, columns, nulls, places, cells, count, out))


def fold_into_cells(form: NativeMonoid, columns: Columns, numbers: Any, count: int) -> tuple[Any, ...]:
    """The partial of each of so many cells, one array per member, for rows in one piece; ``numbers``: the
    cell of each row."""
    cells = _empty_cells(form, count)
    _run_cells(form, columns.arrays, columns.nulls, None, numbers, cells)
    return member_arrays(cells)


def _empty_cells(form: NativeMonoid, count: int) -> Any:
    cells = np.empty(count, form.layout.partial_dtype)
    cells[:] = form.identity
    return cells


@dataclass(frozen=True)
class Scattered:
    """The cell of each row."""

    numbers: Any
    #: how many cells there are, with and without rows
    count: int
    #: those that hold rows, which are the slices; None: all
    held: Ints | None
    #: how threads share the rows
    pieces: Pieces
    #: the earliest and the latest time in each slice; None: nobody has asked for them
    times: tuple[Ints, Ints] | None = None

    def fold(self, form: NativeMonoid, columns: Columns, rows: Ints | None) -> tuple[Any, ...]:
        """The partial of each slice, one array per member. ``rows``: where each row lies in the columns;
        None: they are the same."""

        def fold(piece: slice, cells: Any) -> None:
            self._fold_into(cells, form, columns, rows, piece)

        def add(cells: Any, later: Any) -> None:
            _run_cells(partials_form(form), member_arrays(later), None, None, None, cells)

        total = self.pieces.fold(lambda: _empty_cells(form, self.count), fold, add)
        return member_arrays(total if self.held is None else total[self.held])

    def _fold_into(
        self, cells: Any, form: NativeMonoid, columns: Columns, rows: Ints | None, piece: slice
    ) -> None:
        arrays, nulls, places = columns.arrays, columns.nulls, None
        if rows is not None:
            places = rows[piece]
        else:
            arrays = tuple(array[piece] for array in arrays)
            nulls = None if nulls is None else nulls[piece]
        _run_cells(form, arrays, nulls, places, self.numbers[piece], cells)

    def counts(self, chosen: Mask) -> Ints:
        """How many of the chosen rows each slice holds."""
        found = np.bincount(self.numbers[chosen], minlength=self.count)
        return found if self.held is None else found[self.held]

    def rows_in(self, chosen: Mask) -> Mask:
        """Which rows are in one of the chosen slices."""
        if self.held is None:
            return chosen[self.numbers]
        cells = np.zeros(self.count, np.bool_)
        cells[self.held[chosen]] = True
        return cells[self.numbers]

    def extremes(self, times: Ints) -> tuple[Ints, Ints]:
        """The smallest and the largest time in each slice."""
        assert self.times is not None, "cut with times"
        return self.times


@dataclass(frozen=True)
class Gathered:
    """The rows by cell, those of a cell as they lie; every cell holds one."""

    order: Ints
    #: where the rows of each slice start, and the end
    starts: Ints

    def fold(self, form: NativeMonoid, columns: Columns, rows: Ints | None) -> tuple[Any, ...]:
        """The partial of each slice, one array per member. ``rows``: where each row lies in the columns;
        None: they are the same."""
        places = self.order if rows is None else rows[self.order]
        return fold_rows_natively(form, columns, places, self.starts[:-1], self.starts[1:])

    def counts(self, chosen: Mask) -> Ints:
        """How many of the chosen rows each slice holds."""
        return np.diff(np.concatenate([[0], np.cumsum(chosen[self.order])])[self.starts])

    def rows_in(self, chosen: Mask) -> Mask:
        """Which rows are in one of the chosen slices."""
        found = np.empty(len(self.order), np.bool_)
        found[self.order] = np.repeat(chosen, np.diff(self.starts))
        return found

    def extremes(self, times: Ints) -> tuple[Ints, Ints]:
        """The smallest and the largest time in each slice."""
        arranged, heads = times[self.order], self.starts[:-1]
        return np.minimum.reduceat(arranged, heads), np.maximum.reduceat(arranged, heads)


Cells: TypeAlias = "Scattered | Gathered"
