"""Partials of rows, and of the nodes over them, in arrays that grow: the trees of all keys.

A pool has the partials of one aggregate at the nodes that :mod:`windrow.engines.living.rings` numbers. They
are read as columns of partials (:mod:`windrow.partials.columns`) and combined from left to right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.engines.living.rings import Move
from windrow.monoids.base import Aggregate
from windrow.partials.columns import Column, NativeColumn, PickColumn, PlainColumn, UnseenColumn
from windrow.partials.over_ranges import fold_partials
from windrow.partials.partials import Partials, Shape
from windrow.values import with_fields

__all__ = ["Trees", "Unfit", "Values"]

#: the values of a column of the rows with these numbers
Values = Callable[[str, Ints], Any]


class Unfit(Exception):
    """Partials that no tree is made of: lists of values, which rows answer better."""


class _Pool(ABC):
    """The partials of one aggregate; rows that it skipped are counted beside them."""

    def __init__(self, size: int) -> None:
        self.skipped: Ints | None = None
        self.size = size

    @abstractmethod
    def write(self, nodes: Ints, column: Any, rows: Ints | None = None) -> None:
        """Put partials at nodes; ``rows``: the numbers of their rows, where they are leaves."""

    @abstractmethod
    def read(self, nodes: Ints, values: Values) -> Column:
        """Return the partials at nodes."""

    @abstractmethod
    def follow(self, move: Move) -> None:
        """Let partials follow nodes that moved."""

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    def _write_skipped(self, nodes: Ints, skipped: Ints | None) -> None:
        if self.skipped is None and skipped is not None:
            self.skipped = np.zeros(self.size, np.int64)
        if self.skipped is not None:
            self.skipped[nodes] = 0 if skipped is None else skipped

    def _read_skipped(self, nodes: Ints) -> Ints | None:
        if self.skipped is None:
            return None
        found = self.skipped[nodes]
        return found if found.any() else None

    def _follow(self, move: Move) -> None:
        self.size = move.size
        if self.skipped is not None:
            self.skipped = move.array(self.skipped)


class _NativePool(_Pool):
    """Arrays, one per member."""

    def __init__(self, size: int, like: NativeColumn) -> None:
        super().__init__(size)
        self._like = with_fields(like, skipped=None, members=())
        self._members = [np.zeros(size, member.dtype) for member in like.members]

    def fits(self, column: Column) -> bool:
        return isinstance(column, NativeColumn) and column.form is self._like.form

    def write(self, nodes: Ints, column: Any, rows: Ints | None = None) -> None:
        for member, values in zip(self._members, column.members, strict=True):
            member[nodes] = values
        self._write_skipped(nodes, column.skipped)

    def read(self, nodes: Ints, values: Values) -> NativeColumn:
        members = tuple([member[nodes] for member in self._members])
        return with_fields(self._like, members=members, skipped=self._read_skipped(nodes))

    def follow(self, move: Move) -> None:
        self._members = [move.array(member) for member in self._members]
        self._follow(move)

    @property
    def nbytes(self) -> int:
        beside = 0 if self.skipped is None else self.skipped.nbytes
        return beside + sum(member.nbytes for member in self._members)


class _PickPool(_NativePool):
    """The same for partials that point at a row, by its number: values stay where rows are."""

    def __init__(self, size: int, like: PickColumn) -> None:
        _Pool.__init__(self, size)
        self._pick = like
        *members, times = like.members
        self._members = [np.zeros(size, each.dtype) for each in (*members, np.zeros(0, np.int64), times)]

    def fits(self, column: Column) -> bool:
        return isinstance(column, PickColumn) and column.form is self._pick.form

    def write(self, nodes: Ints, column: Any, rows: Ints | None = None) -> None:
        *members, times = column.members
        numbers = column.references if rows is None else rows
        for member, values in zip(self._members, (*members, numbers, times), strict=True):
            member[nodes] = values
        self._write_skipped(nodes, column.skipped)

    def read(self, nodes: Ints, values: Values) -> Any:
        members = tuple([member[nodes] for member in self._members])
        return _Picked(self._pick, members, self._read_skipped(nodes), values)


class _Picked:
    """Partials on their way from a pool of picks: rows are looked up when results are asked for."""

    def __init__(self, like: PickColumn, members: tuple[Any, ...], skipped: Ints | None, values: Values):
        self._like, self._all, self.skipped, self._values = like, members, skipped, values

    @property
    def members(self) -> tuple[Any, ...]:
        return (*self._all[:-2], self._all[-1])

    @property
    def references(self) -> Ints:
        found: Ints = self._all[-2]
        return found

    def folded(self, starts: Ints) -> _Picked:
        members = fold_partials(self._like.form, self._all, starts[:-1], starts[1:])
        skipped = None if self.skipped is None else np.add.reduceat(self.skipped, starts[:-1])
        return _Picked(self._like, members, skipped, self._values)

    def column(self) -> PickColumn:
        aggregate = self._like.aggregate
        picked = aggregate.monoid.picks
        assert picked is not None
        values = self._values(aggregate.inputs[picked], self.references)
        return with_fields(self._like, members=self.members, values=values, skipped=self.skipped)


class _PlainPool(_Pool):
    """Python objects."""

    def __init__(self, size: int, like: PlainColumn) -> None:
        super().__init__(size)
        self._like = with_fields(like, skipped=None, objects=[])
        self._objects: list[Any] = [None] * size

    def fits(self, column: Column) -> bool:
        return isinstance(column, PlainColumn | NativeColumn)

    def write(self, nodes: Ints, column: Any, rows: Ints | None = None) -> None:
        if isinstance(column, NativeColumn):
            column = column.as_plain()
        if self._like.decimals is None and column.decimals is not None:
            self._like = with_fields(self._like, decimals=column.decimals)
        for node, partial in zip(nodes.tolist(), column.objects, strict=True):
            self._objects[node] = partial
        self._write_skipped(nodes, column.skipped)

    def read(self, nodes: Ints, values: Values) -> PlainColumn:
        objects = [self._objects[node] for node in nodes.tolist()]
        return with_fields(self._like, objects=objects, skipped=self._read_skipped(nodes))

    def follow(self, move: Move) -> None:
        self._objects = move.objects(self._objects)
        self._follow(move)

    @property
    def nbytes(self) -> int:
        return 72 * self.size  # an estimate: objects share what they refer to

    @classmethod
    def of_native(cls, pool: _NativePool) -> _PlainPool:
        """Take over from a pool of integers that became too large for it."""
        column = pool.read(np.arange(pool.size), _no_values)
        found = cls(pool.size, column.as_plain())
        found.write(np.arange(pool.size), column)
        found.skipped = pool.skipped
        return found


def _no_values(name: str, rows: Ints) -> Any:
    raise AssertionError("native partials point at no rows")


class Trees:
    """The trees of all aggregates; ``count()`` has none, since rows count themselves."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self._aggregates = tuple(aggregates)
        self._pools: list[_Pool | None] = [None] * len(aggregates)
        #: rows that are absent for aggregates with a condition
        self._absent: list[Ints | None] = [None] * len(aggregates)
        self._size = 0

    @property
    def nbytes(self) -> int:
        held = [*self._pools, *self._absent]
        return sum(each.nbytes for each in held if each is not None)

    def follow(self, move: Move) -> None:
        """Let partials follow nodes that moved."""
        self._size = move.size
        for pool in self._pools:
            if pool is not None:
                pool.follow(move)
        self._absent = [None if each is None else move.array(each) for each in self._absent]

    def write(self, nodes: Ints, partials: Partials, rows: Ints) -> None:
        """Put the partials of rows at their leaves."""
        absent = partials.absent or (None,) * len(self._aggregates)
        for k, column in enumerate(partials.columns):
            if column is not None:
                self._write(k, nodes, column, rows)
            self._write_absent(k, nodes, absent[k])

    def _write(self, k: int, nodes: Ints, column: Any, rows: Ints | None) -> None:
        pool = self._pools[k]
        if isinstance(column, UnseenColumn):
            raise Unfit("the type of values is not known yet")
        if pool is None:
            pool = self._pools[k] = _pool_for(self._size, column)
        elif not _fits(pool, column):
            if not (isinstance(pool, _NativePool) and isinstance(column, PlainColumn)):
                raise Unfit("values of another kind than before")
            pool = self._pools[k] = _PlainPool.of_native(pool)
        pool.write(nodes, column, rows)

    def _write_absent(self, k: int, nodes: Ints, absent: Ints | None) -> None:
        column = self._absent[k]
        if column is None and absent is not None:
            column = self._absent[k] = np.zeros(self._size, np.int64)
        if column is not None:
            column[nodes] = 0 if absent is None else absent

    def join(self, nodes: Ints, children: Ints, values: Values) -> None:
        """Make nodes of their children, two of each."""
        starts = np.arange(0, len(children) + 1, 2)
        for k, pool in enumerate(self._pools):
            if pool is not None:
                self._write(k, nodes, pool.read(children, values).folded(starts), None)
            absent = self._absent[k]
            if absent is not None:
                absent[nodes] = np.add.reduceat(absent[children], starts[:-1])

    def results(
        self, nodes: Ints, starts: Ints, rows: Ints, fronts: Ints, stops: Ints, shape: Shape, values: Values
    ) -> list[Any]:
        """The result columns of ranges [front, stop) of runs of nodes, which have so many rows each;
        ``starts`` says where each run starts, and the end."""
        is_each = len(starts) - 1 == len(nodes)
        columns = self._columns(nodes, None if is_each else starts, values)
        absent: tuple[Ints | None, ...] = ()
        if any(each is not None for each in self._absent):
            absent = tuple(
                [None if a is None else np.add.reduceat(a[nodes], starts[:-1]) for a in self._absent]
            )
        return Partials(self._aggregates, rows, columns, (), absent).results(fronts, stops, shape)

    def _columns(self, nodes: Ints, starts: Ints | None, values: Values) -> tuple[Column | None, ...]:
        found: list[Any] = []
        for pool in self._pools:
            column: Any = None if pool is None else pool.read(nodes, values)
            if column is not None and starts is not None:
                column = column.folded(starts)
            found.append(column.column() if isinstance(column, _Picked) else column)
        return tuple(found)


def _pool_for(size: int, column: Column) -> _Pool:
    if isinstance(column, NativeColumn):
        return _NativePool(size, column)
    if isinstance(column, PickColumn):
        return _PickPool(size, column)
    if isinstance(column, PlainColumn):
        return _PlainPool(size, column)
    raise Unfit("lists of values are not combined")


def _fits(pool: Any, column: Any) -> bool:
    if isinstance(column, _Picked):
        return isinstance(pool, _PickPool)
    found: bool = pool.fits(column)
    return found
