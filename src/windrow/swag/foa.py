"""FOA, the Functional Okasaki Aggregator: lazy lists that never change, so that old versions go on answering.

A version of the window is a triple of lists (front, next, back). The front list has the oldest value first,
the back list the newest; each cell has the sum of itself and of the cells after it. next is the part of front
that is still to be walked through before back has to be rotated behind front. Rotation is lazy: a cell of
front may have a suspended ``rot`` for its tail. Every operation takes one step through next, and so does the
one suspended step and suspends the one after it. A step done is kept in its cell, for all versions that share
it; apart from that nothing is ever written, so that a version is taken by keeping the triple.

Invariant: |next| = |front| - |back| >= 0. A version has at most one suspended rot, in next ([DABA] lemma
3.1), and the lists it works on have none, so that forcing one never forces another: the depth is constant.
([DABA] 3.1 prints |F| <= |B| and |N| = |L| - |R|, which does not hold; Okasaki's invariant is meant.)
Cost: at most 4 combines per insert, 3 per evict, 1 per query, in the worst case, as for DABA.
Source: [DABA] 3.1, fig 5.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from windrow.monoids.base import Monoid
from windrow.swag.base import Swag
from windrow.swag.checks import check_okasaki

__all__ = ["FOA", "Version"]


@dataclass(slots=True, eq=False)
class Cons:
    """A value, the sum of the list from here on, and its rest, maybe suspended. None is the empty list."""

    value: Any
    agg: Any
    rest: Cons | Suspended | None


class Suspended(NamedTuple):
    """rot(L, R, A), to be evaluated when it is looked at."""

    L: Cons | None
    R: Cons
    A: Cons


class Version(NamedTuple):
    """A window at one time."""

    front: Cons | None = None
    next: Cons | None = None
    back: Cons | None = None


def makeq(monoid: Monoid, version: Version) -> Version:
    """[DABA] fig 5."""
    front, next_, back = version
    if next_ is not None:
        return Version(front, tail(monoid, next_), back)  # line 12
    assert back is not None  # it has just become one longer than front
    rotated = rot(monoid, front, back, None)  # lines 9-10
    return Version(rotated, rotated, None)


def rot(monoid: Monoid, L: Cons | None, R: Cons, A: Cons | None) -> Cons:
    """The cells of L, then those of R turned round, then those of A, where |R| = |L| + 1."""
    combine = monoid.combine
    moved = Cons(R.value, R.value if A is None else combine(R.value, A.agg), A)  # line 14
    if L is None:
        return moved  # line 16
    agg = combine(L.agg, R.agg)
    if A is not None:
        agg = combine(agg, A.agg)
    rest_of_right = tail(monoid, R)
    assert rest_of_right is not None
    return Cons(L.value, agg, Suspended(tail(monoid, L), rest_of_right, moved))  # lines 18-19


def tail(monoid: Monoid, cell: Cons) -> Cons | None:
    rest = cell.rest
    if isinstance(rest, Suspended):
        rest = cell.rest = rot(monoid, *rest)
    return rest


class FOA(Swag):
    """Constant time in the worst case, and persistent: a snapshot costs O(1) and goes its own way.

    >>> from windrow.monoids import monoid
    >>> window = FOA(monoid(lift=int, combine=max, identity=0))
    >>> for value in (2, 6, 3):
    ...     window.insert(value)
    >>> before = window.snapshot()
    >>> window.evict_many(2)
    >>> window.query(), before.query()
    (3, 6)
    """

    cost = "at most 4 combines per insert, 3 per evict, 1 per query"
    source = "[DABA] 3.1, fig 5"

    def __init__(self, monoid: Any) -> None:
        super().__init__(monoid)
        #: the lists of the window as it is now; they stay what they are
        self.version = Version()

    def snapshot(self) -> FOA:
        """The window as it is now, sharing its lists, in O(1) but for positions of nulls and times, which are
        copied; neither sees what happens to the other from here on."""
        twin = copy.copy(self)
        twin._null_positions = self._null_positions.copy()
        twin._times = self._times.copy()
        return twin

    def _insert(self, partial: Any) -> None:
        front, next_, back = self.version
        agg = partial if back is None else self.monoid.combine(back.agg, partial)
        self.version = makeq(self.monoid, Version(front, next_, Cons(partial, agg, back)))  # line 4

    def _evict(self, count: int) -> None:
        version = self.version
        for _ in range(count):
            front, next_, back = version
            assert front is not None
            version = makeq(self.monoid, Version(tail(self.monoid, front), next_, back))  # line 6
        self.version = version

    def _backup(self) -> dict[str, Any]:
        return {**super()._backup(), "version": self.version}

    def _partial(self) -> Any:
        front, _, back = self.version
        if front is None:  # the front list is never the shorter one
            return self.monoid.identity
        return front.agg if back is None else self.monoid.combine(front.agg, back.agg)  # line 2

    def check_invariants(self) -> None:
        super().check_invariants()
        check_okasaki(self.monoid, self._size, *self.version, walk=_walk, parts=tuple)


def _walk(cells: Cons | None) -> tuple[list[Cons], Suspended | None]:
    """The cells of a list up to its end or to a suspended rot, which is not forced."""
    found: list[Cons] = []
    while cells is not None:
        found.append(cells)
        if isinstance(cells.rest, Suspended):
            return found, cells.rest
        cells = cells.rest
    return found, None
