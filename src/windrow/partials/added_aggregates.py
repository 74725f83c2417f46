"""Rows that came before an aggregate was added to the query: it has not seen them, so that over a window that
holds one of them its result would be a part of the truth. It is null instead.

Each aggregate has one count of such rows per slice, or per row; None: it has seen them all. Where no
aggregate was added, there is nothing at all: ``()``. Cost: none until an aggregate is added; then one sum per
window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints

__all__ = [
    "Unseen",
    "counted_rows",
    "joined_unseen",
    "null_where_unseen",
    "summed",
    "totals",
    "unseen_rows",
]

#: for each aggregate, how many rows of each slice came before it
Unseen = tuple[Ints | None, ...]


def unseen_rows(arrivals: Ints, before: Sequence[int]) -> Unseen:
    """Of rows by their arrival numbers; ``before`` says for each aggregate how many had come when it was
    added.

    >>> unseen_rows(np.array([3, 8, 4]), [0, 5])
    (None, array([1, 0, 1]))
    """
    return counted_rows((arrivals < bound).astype(np.int64) if bound else None for bound in before)


def summed(unseen: Unseen, starts: Ints) -> Unseen:
    """Of runs of neighbours: ``starts`` says where each run starts, and the end."""
    if not unseen:
        return ()
    return counted_rows(
        None if counts is None else totals(counts, starts[:-1], starts[1:]) for counts in unseen
    )


def joined_unseen(parts: Sequence[tuple[int, Unseen]]) -> Unseen:
    """Of slices one after the other, so many in each part."""
    if not any(unseen for _, unseen in parts):
        return ()
    count = max((len(unseen) for _, unseen in parts), default=0)
    return counted_rows(
        _joined([(size, unseen[k] if unseen else None) for size, unseen in parts]) for k in range(count)
    )


def null_where_unseen(columns: Iterable[Any], unseen: Unseen, fronts: Ints, stops: Ints) -> list[Any]:
    """Result columns, one per aggregate, for ranges [front, stop) of slices or rows.

    >>> [total, top] = [pa.array([5, 7]), pa.array([3, 4])]
    >>> found = null_where_unseen(
    ...     [total, top], (None, np.array([1, 0, 0])), np.array([0, 1]), np.array([2, 3])
    ... )
    >>> [column.to_pylist() for column in found]
    [[5, 7], [None, 4]]
    """
    if not unseen:
        return list(columns)
    pairs = zip(columns, unseen, strict=True)
    return [c if counts is None else _nulled(c, totals(counts, fronts, stops) > 0) for c, counts in pairs]


def _nulled(column: Any, missing: npt.NDArray[np.bool_]) -> Any:
    return pc.if_else(pa.array(missing), pa.scalar(None, column.type), column) if missing.any() else column


def totals(counts: Ints, fronts: Ints, stops: Ints) -> Ints:
    """The sum of counts over ranges [front, stop) of them."""
    before = np.concatenate([[0], np.cumsum(counts)])
    return before[stops] - before[fronts]


def _joined(parts: Sequence[tuple[int, Ints | None]]) -> Ints | None:
    if all(counts is None for _, counts in parts):
        return None
    return np.concatenate([np.zeros(size, np.int64) if c is None else c for size, c in parts])


def counted_rows(columns: Iterable[Ints | None]) -> Unseen:
    """Counts of rows, one for each aggregate, without those that are all zero."""
    found = tuple(None if c is None or not c.any() else c for c in columns)
    return found if any(c is not None for c in found) else ()
