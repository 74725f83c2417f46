"""IOA, the Imperative Okasaki Aggregator: FOA without lazy evaluation, for languages that have none.

The lists are those of :mod:`windrow.swag.foa`: front with the oldest value first, back with the newest first,
each cell with the sum of the list from it on, and next walking through front. What is lazy there is a kind of
cell here. A *forced* cell holds a value, a sum and the next cell; a *delayed* cell stands for the rest of a
rotation and holds its three lists L, R and A. The window steps on to a cell only by forcing it, which turns
it into a forced cell in place and makes the cell after it delayed.

Invariant: |next| = |front| - |back| >= 0; at most one cell is delayed, and it comes right after next or later
([DABA] lemma 3.1).
Memory: a cell is freed by its reference count as soon as the front has passed it. A long chain of cells is
freed without recursion (CPython's trashcan works for classes with slots), so a window of any size can be
dropped.
Cost: at most 4 combines per insert, 3 per evict, 1 per query, in the worst case. Source: [DABA] 3.2.
"""

from __future__ import annotations

from typing import Any

from windrow.swag.base import Swag
from windrow.swag.checks import check_okasaki

__all__ = ["IOA"]


class Cell:
    """Forced: ``value``, ``agg``, ``tail``. Delayed: the same slots hold L, R, A. None is the empty list."""

    __slots__ = ("agg", "is_delayed", "tail", "value")

    def __init__(self, value: Any, agg: Any, tail: Cell | None, is_delayed: bool = False) -> None:
        self.value = value
        self.agg = agg
        self.tail = tail
        self.is_delayed = is_delayed


class IOA(Swag):
    """Constant time in the worst case, on linked cells that are freed one by one.

    >>> from windrow.monoids import monoid
    >>> window = IOA(monoid(lift=int, combine=max, identity=0))
    >>> for value in (2, 6, 3):
    ...     window.insert(value)
    >>> window.query()
    6
    >>> window.evict_many(2)
    >>> window.query()
    3
    """

    cost = "at most 4 combines per insert, 3 per evict, 1 per query"
    source = "[DABA] 3.2"

    def __init__(self, monoid: Any) -> None:
        super().__init__(monoid)
        self._front: Cell | None = None
        self._next: Cell | None = None
        self._back: Cell | None = None

    # Each operation sets the lists last, so that a combine that raises leaves the window as it was.

    def _insert(self, partial: Any) -> None:
        back = self._back
        agg = partial if back is None else self.monoid.combine(back.agg, partial)
        self._step(self._front, Cell(partial, agg, back))

    def _evict(self, count: int) -> None:
        lists = self._front, self._next, self._back
        try:
            for _ in range(count):
                assert self._front is not None
                self._step(self._tail(self._front), self._back)
        except BaseException:
            self._front, self._next, self._back = lists
            raise

    def _backup(self) -> dict[str, Any]:
        lists = {"_front": self._front, "_next": self._next, "_back": self._back}
        return {**super()._backup(), **lists}

    def _partial(self) -> Any:
        front, back = self._front, self._back
        if front is None:
            return self.monoid.identity
        return front.agg if back is None else self.monoid.combine(front.agg, back.agg)

    def _step(self, front: Cell | None, back: Cell | None) -> None:
        """One step of the rotation: makeq, [DABA] fig 5, lines 7-12."""
        if self._next is not None:
            self._next = self._tail(self._next)
            self._front, self._back = front, back
            return
        assert back is not None  # it has just become one longer than front
        rotation = Cell(front, back, None, is_delayed=True)
        self._force(rotation)
        self._front = self._next = rotation
        self._back = None

    def _tail(self, cell: Cell) -> Cell | None:
        rest = cell.tail
        if rest is not None and rest.is_delayed:
            self._force(rest)
        return rest

    def _force(self, cell: Cell) -> None:
        """Turn a delayed cell into a forced one: rot, [DABA] fig 5, lines 13-19."""
        combine = self.monoid.combine
        left, right, accumulated = cell.value, cell.agg, cell.tail
        moved_agg = right.value if accumulated is None else combine(right.value, accumulated.agg)
        if left is None:
            cell.value, cell.agg, cell.tail = right.value, moved_agg, accumulated
        else:
            agg = combine(left.agg, right.agg)
            if accumulated is not None:
                agg = combine(agg, accumulated.agg)
            rest = Cell(left.tail, right.tail, Cell(right.value, moved_agg, accumulated), is_delayed=True)
            cell.value, cell.agg, cell.tail = left.value, agg, rest
        cell.is_delayed = False

    def check_invariants(self) -> None:
        super().check_invariants()
        lists = self._front, self._next, self._back
        check_okasaki(
            self.monoid, self._size, *lists, walk=_walk, parts=lambda cell: (cell.value, cell.agg, cell.tail)
        )


def _walk(cells: Cell | None) -> tuple[list[Cell], Cell | None]:
    """The forced cells of a list, and the delayed one at its end, if there is one."""
    found: list[Cell] = []
    while cells is not None and not cells.is_delayed:
        found.append(cells)
        cells = cells.tail
    return found, cells
