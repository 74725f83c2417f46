"""Rows over which an aggregate of the user's own raises, found before they are folded.

A row is to blame for what ``lift`` raises, which sees nothing but its values; ``combine`` and ``lower`` see
what several rows have become, and no single one of them is. So whether a row raises depends on no other row,
on no watermark, and on no engine. Cost: one native fold of the rows where the aggregate compiles and nothing
raises, else a call of ``lift`` for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.compile.native import native
from windrow.errors import RejectedRows, warn_caller
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.inputs import native_inputs, passing_arrays
from windrow.partials.over_ranges import fold_rows_natively
from windrow.rows.columns import plain_array

__all__ = ["RaisingRows", "raising_rows"]


@dataclass(frozen=True)
class RaisingRows:
    """Rows of a table in order, each with the first aggregate that raised over it, and what it raised."""

    rows: Ints
    aggregates: list[str]
    errors: list[str]

    def others(self, count: int) -> Mask:
        """Which of so many rows are not among them."""
        found = np.ones(count, np.bool_)
        found[self.rows] = False
        return found

    def warn(self, count: int) -> None:
        """Say how many of a table's rows they are, and what the first raised."""
        warn_caller(
            f"{len(self.rows)} of {count} rows were rejected: of row {self.rows[0]}, aggregate "
            f"{self.aggregates[0]!r} raised {self.errors[0]}; query.rejected_rows(table) gives all of them",
            RejectedRows,
        )


def raising_rows(aggregates: Sequence[tuple[str, Aggregate]], table: pa.Table) -> RaisingRows | None:
    """The rows of a table over which an aggregate raises, by the names of result columns; None: there are
    none.

    >>> import windrow as wr
    >>> share = wr.monoid(name="share", lift=lambda v: 1 / v, combine=lambda a, b: a + b, identity=0.0)
    >>> raising_rows([("shares", share("v"))], pa.table({"v": [4, 0, None]}))
    RaisingRows(rows=array([1]), aggregates=['shares'], errors=['ZeroDivisionError: division by zero'])
    """
    found: dict[int, tuple[str, str]] = {}
    for name, aggregate in aggregates:
        if not aggregate.monoid.builtin and table.num_rows:
            arrays = passing_arrays(aggregate, lambda column: plain_array(table.column(column)))
            if not _folds(aggregate.monoid, arrays):
                for row, error in _errors(aggregate.monoid, arrays):
                    found.setdefault(row, (name, error))
    if not found:
        return None
    rows = sorted(found)
    return RaisingRows(np.array(rows), [found[row][0] for row in rows], [found[row][1] for row in rows])


def _folds(monoid: Monoid, arrays: list[Any]) -> bool:
    """Whether native code folds all rows without raising; where it raises, Python finds out over which."""
    columns = native_inputs(monoid, arrays) if monoid.compiles_for else None
    form = None if columns is None else native(monoid, columns.dtypes)
    if form is None:
        return False
    assert columns is not None
    try:
        fold_rows_natively(form, columns, None, np.zeros(1, np.int64), np.array([len(arrays[0])]))
    except Exception:
        return False
    return True


def _errors(monoid: Monoid, arrays: list[Any]) -> list[tuple[int, str]]:
    found = []
    for row, values in enumerate(zip(*(array.to_pylist() for array in arrays), strict=True)):
        try:
            if not monoid.skips(values):
                monoid.lift(*values)
        except Exception as error:
            found.append((row, f"{type(error).__name__}: {error}"))
    return found
