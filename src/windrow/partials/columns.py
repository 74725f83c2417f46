"""The partials of one aggregate over slices: native arrays, native arrays with picked values, or objects.

Invariant: whatever form they have, ``folded`` and ``results`` combine from left to right. A native column of
integers that might leave 64 bits becomes one of objects, which has no such limit.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.native import NativeMonoid, native
from windrow.errors import Raised, StateError, calling
from windrow.monoids.base import Aggregate, Monoid
from windrow.monoids.stored_partials import check_partial
from windrow.partials.inputs import without_values
from windrow.partials.over_ranges import fold_partials, integers_fit, partial_results
from windrow.partials.picked import timed
from windrow.partials.plain_tree import PlainTree
from windrow.partials.ranges import Shape
from windrow.partials.results import array_of, as_moments, first_beyond, result_array
from windrow.state.checks import check_column, require
from windrow.state.codec import Codec, records_in
from windrow.swag.sliding import sliding_window

__all__ = [
    "Column",
    "NativeColumn",
    "PickColumn",
    "PlainColumn",
    "UnseenColumn",
    "column_from",
    "join",
]

Members = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Column(ABC):
    """Partials of one aggregate, one per slice."""

    aggregate: Aggregate
    #: how many rows of each slice the aggregate skipped (None: none of any)
    skipped: Ints | None

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    def check_invariants(self, rows: Ints) -> None:
        """Of a column that comes from outside, for slices of so many rows each."""
        name = repr(self.aggregate)
        if self.skipped is not None:
            check_column(f"rows that {name} skipped", self.skipped, len(rows))
            enough = (self.skipped >= 0) & (self.skipped <= rows)
            require(enough.all(), f"{name} skipped more rows than there are")
        self._check(name, len(rows))

    @abstractmethod
    def _check(self, name: str, count: int) -> None:
        """The same for what a form has besides."""

    @abstractmethod
    def take(self, places: Any) -> Column: ...

    @abstractmethod
    def folded(self, starts: Ints) -> Column: ...

    @abstractmethod
    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        """Lowered, as an Arrow array; ``values`` says how many values each range holds, and what stands for
        ranges without one is not defined."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """As plain values and arrays, for the codec; :func:`column_from` is the reverse."""

    def skipped_in(self, fronts: Ints, stops: Ints) -> Ints | None:
        if self.skipped is None:
            return None
        before = np.concatenate([[0], np.cumsum(self.skipped)])
        return before[stops] - before[fronts]

    def _skipped_taken(self, places: Any) -> Ints | None:
        return None if self.skipped is None else self.skipped[places]

    def _skipped_folded(self, starts: Ints) -> Ints | None:
        if self.skipped is None or len(starts) < 2:
            return None
        found = np.add.reduceat(self.skipped, starts[:-1])
        return found if found.any() else None


@dataclass(frozen=True)
class NativeColumn(Column):
    """Partials as arrays, one per member."""

    form: NativeMonoid
    members: Members
    #: the type of the input where results are moments, which go through as integers
    moments: Any = None

    def _check(self, name: str, count: int) -> None:
        _check_members(name, self.members, self.form.layout.partial, count)
        is_moment = self.moments is None or pa.types.is_temporal(self.moments)
        require(is_moment, f"partials of {name}: moments of type {self.moments}")

    @property
    def nbytes(self) -> int:
        return sum(m.nbytes for m in self.members) + (0 if self.skipped is None else self.skipped.nbytes)

    def take(self, places: Any) -> Column:
        return replace(
            self, members=tuple(m[places] for m in self.members), skipped=self._skipped_taken(places)
        )

    def folded(self, starts: Ints) -> Column:
        if not integers_fit(self.form, self.members, int(np.diff(starts).max(initial=0))):
            return self.as_plain().folded(starts)
        try:
            members = fold_partials(self.form, self.members, starts[:-1], starts[1:])
        except Exception:
            return self._plain_instead().folded(starts)
        return replace(self, members=members, skipped=self._skipped_folded(starts))

    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        if not integers_fit(self.form, self.members, int((stops - fronts).max(initial=0))):
            return self.as_plain().results(fronts, stops, shape, values)
        try:
            out, valid = partial_results(
                self.form, self.members, fronts, stops, shape, without_values(values)
            )
        except Exception:
            return self._plain_instead().results(fronts, stops, shape, values)
        if self.moments is not None:
            return as_moments(out, self.moments)
        return array_of(out, valid, self.aggregate.monoid)

    def _plain_instead(self) -> PlainColumn:
        """For an error that is being handled: the plain form raises it again, and can say where."""
        if self.aggregate.monoid.builtin:
            raise
        return self.as_plain()

    def as_plain(self) -> PlainColumn:
        """The same as Python objects."""
        rows = zip(*self.members, strict=True) if self.form.layout.is_tuple else iter(self.members[0])
        objects = [self.form.to_plain(self.form.layout.python_value(row)) for row in rows]
        return PlainColumn(self.aggregate, self.skipped, objects)

    def state(self) -> dict[str, Any]:
        return {
            "form": "native",
            "dtypes": [d.str for d in self.form.dtypes],
            "members": list(self.members),
            "skipped": self.skipped,
            "moments": None if self.moments is None else pa.nulls(0, self.moments),
        }


@dataclass(frozen=True)
class PickColumn(Column):
    """Partials that point at one row each, with that row's value beside them.

    The last member but one of the native partial is a reference (see :mod:`windrow.partials.picked`). It
    refers by position, so it is made when it is needed and not kept."""

    form: NativeMonoid
    members: Members
    values: Any

    def _check(self, name: str, count: int) -> None:
        kinds = self.form.layout.partial
        _check_members(name, self.members, (*kinds[:-2], kinds[-1]), count)
        require(isinstance(self.values, pa.Array), f"partials of {name}: values that are not an Arrow array")
        require(len(self.values) == count, f"partials of {name}: {len(self.values)} values, {count} slices")

    @property
    def nbytes(self) -> int:
        skipped = 0 if self.skipped is None else self.skipped.nbytes
        return sum(m.nbytes for m in self.members) + self.values.nbytes + skipped

    def take(self, places: Any) -> Column:
        return replace(
            self,
            members=tuple(m[places] for m in self.members),
            values=self.values.take(pa.array(np.arange(len(self.values))[places])),
            skipped=self._skipped_taken(places),
        )

    def folded(self, starts: Ints) -> Column:
        members = fold_partials(self.form, self._with_references(), starts[:-1], starts[1:])
        return replace(
            self,
            members=(*members[:-2], members[-1]),
            values=self._values_at(members[-2]),
            skipped=self._skipped_folded(starts),
        )

    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        members, bare = self._with_references(), without_values(values)
        references, _ = partial_results(self.form, members, fronts, stops, shape, bare)
        return self._values_at(references)

    def _with_references(self) -> Members:
        return (*self.members[:-1], np.arange(len(self.values), dtype=np.int64), self.members[-1])

    def _values_at(self, references: Ints) -> Any:
        """A slice without a value refers to any row: it is made null where values are counted."""
        if not len(self.values):
            return self.values
        return self.values.take(pa.array(np.clip(references, 0, len(self.values) - 1)))

    def state(self) -> dict[str, Any]:
        return {
            "form": "pick",
            "dtypes": [d.str for d in self.form.dtypes],
            "members": list(self.members),
            "values": self.values,
            "skipped": self.skipped,
        }


@dataclass(frozen=True)
class PlainColumn(Column):
    """Partials as Python objects."""

    objects: list[Any]

    def _check(self, name: str, count: int) -> None:
        found = len(self.objects)
        require(found == count, f"partials of {name}: {found} where {count} are expected")
        for partial in self.objects:
            check_partial(self.aggregate.monoid, partial)

    @property
    def nbytes(self) -> int:
        return 64 * len(self.objects)  # an estimate: objects share what they refer to

    def take(self, places: Any) -> Column:
        chosen = np.arange(len(self.objects))[places].tolist()
        return replace(self, objects=[self.objects[i] for i in chosen], skipped=self._skipped_taken(places))

    def folded(self, starts: Ints) -> Column:
        objects = self._each(self._fold, itertools.pairwise(starts.tolist()))
        return replace(self, objects=objects, skipped=self._skipped_folded(starts))

    def _fold(self, front: int, stop: int) -> Any:
        return functools.reduce(self.aggregate.monoid.combine, self.objects[front:stop])

    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        answer = self._slide if shape != "any" else self._ask
        held = np.flatnonzero(values)
        found: list[Any] = [None] * len(fronts)
        try:
            answered = answer(fronts[held].tolist(), stops[held].tolist())
        except Exception:  # the same again, range by range, to tell which raises
            ranges = zip(fronts[held].tolist(), stops[held].tolist(), strict=True)
            answered = self._each(self._lowered_fold, ranges)
        for place, result in zip(held.tolist(), answered, strict=True):
            found[place] = result
        beyond = first_beyond(self.aggregate.monoid, found)
        if beyond is not None:
            front, stop = int(fronts[beyond]), int(stops[beyond])
            raise Raised.overflown(self.aggregate.monoid, found[beyond], front, stop)
        return result_array(self.aggregate.monoid, found)

    def _lowered_fold(self, front: int, stop: int) -> Any:
        return self.aggregate.monoid.lower(self._fold(front, stop))

    def _slide(self, fronts: list[int], stops: list[int]) -> list[Any]:
        """One window over the slices: each in once, out once."""
        monoid = _of_partials(self.aggregate.monoid)
        window, first, last = sliding_window(monoid), 0, 0
        found = []
        for front, stop in zip(fronts, stops, strict=True):
            if front >= last:
                window, first, last = sliding_window(monoid), front, front
            for i in range(last, stop):
                window.insert((self.objects[i],))
            last = max(last, stop)
            window.evict_many(front - first)
            first = front
            found.append(monoid.lower(window.query_partial()))
        return found

    def _ask(self, fronts: list[int], stops: list[int]) -> list[Any]:
        """A tree over the slices, or a fold per range where that is less to combine."""
        if not fronts:
            return []
        begin, end = min(fronts), max(stops)
        if sum(stops) - sum(fronts) <= 2 * (end - begin):
            return [self._lowered_fold(*each) for each in zip(fronts, stops, strict=True)]
        monoid = self.aggregate.monoid
        tree = PlainTree(monoid.combine, self.objects[begin:end])
        ranges = zip(fronts, stops, strict=True)
        return [monoid.lower(tree.fold(front - begin, stop - begin)) for front, stop in ranges]

    def _each(self, fold: Callable[[int, int], Any], ranges: Iterable[tuple[int, int]]) -> list[Any]:
        """Range by range; what a user's function raises knows its slices."""
        found = []
        with calling(self.aggregate.monoid) as loop:
            for loop.place, loop.stop in ranges:
                found.append(fold(loop.place, loop.stop))
        return found

    def state(self) -> dict[str, Any]:
        codec = _codec(self.aggregate.monoid)
        return {"form": "plain", "objects": bytes(codec.payload(self.objects)), "skipped": self.skipped}


@dataclass(frozen=True)
class UnseenColumn(Column):
    """Partials of an aggregate that was added later, and saw none of the rows of these slices: all of them
    are skipped."""

    skipped: Ints

    def _check(self, name: str, count: int) -> None:
        require(self.skipped is not None, f"{name}: rows that were not seen, and not how many")

    @property
    def nbytes(self) -> int:
        return self.skipped.nbytes

    def take(self, places: Any) -> Column:
        return replace(self, skipped=self.skipped[places])

    def folded(self, starts: Ints) -> Column:
        return replace(self, skipped=np.add.reduceat(self.skipped, starts[:-1]))

    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        return self.like(None).results(fronts, stops, shape, values)

    def like(self, other: Column | None) -> Column:
        """The same in the form of a column that has seen rows."""
        count = len(self.skipped)
        nothing = np.zeros(count, np.int64)
        if isinstance(other, NativeColumn):
            members = fold_partials(other.form, tuple(m[:0] for m in other.members), nothing, nothing)
            return replace(other, skipped=self.skipped, members=members)
        if isinstance(other, PickColumn):
            members = tuple(m[:0] for m in other._with_references())
            members = fold_partials(other.form, members, nothing, nothing)
            values = pa.nulls(count, other.values.type)
            return replace(other, skipped=self.skipped, members=(*members[:-2], members[-1]), values=values)
        return PlainColumn(self.aggregate, self.skipped, [self.aggregate.monoid.identity] * count)

    def state(self) -> dict[str, Any]:
        return {"form": "unseen", "skipped": self.skipped}


def _check_members(name: str, members: Members, kinds: Sequence[str], count: int) -> None:
    require(len(members) == len(kinds), f"partials of {name}: {len(members)} members, {len(kinds)} expected")
    for member, kind in zip(members, kinds, strict=True):
        check_column(f"partials of {name}", member, count, kind)


@functools.lru_cache(maxsize=256)
def _of_partials(monoid: Monoid) -> Monoid:
    """The same monoid for inputs that are partials already, each in a tuple so that none looks like null."""
    return replace(
        monoid, lift=lambda boxed: boxed[0], arity=(1, 1), compiles_for="", nan="propagate", nulls="skip"
    )


def _codec(monoid: Monoid) -> Codec:
    """Knows the named tuples of partials; the identity, which may be compared with ``is``, comes back as
    itself."""
    return Codec("partials", records=records_in(monoid.identity), constants=(monoid.identity,))


def join(columns: Sequence[Column]) -> Column:
    """Columns one after the other."""
    skipped = _joined_skips(columns)
    seen = next((c for c in columns if not isinstance(c, UnseenColumn)), None)
    if seen is None:
        return replace(columns[0], skipped=skipped)
    columns = [c.like(seen) if isinstance(c, UnseenColumn) else c for c in columns]
    first = columns[0]
    if all(isinstance(c, NativeColumn) and c.form is getattr(first, "form", None) for c in columns):
        return replace(first, members=_joined_members(columns), skipped=skipped)  # type: ignore[call-arg]
    picks = [isinstance(c, PickColumn) for c in columns]
    if all(picks):
        values = pa.concat_arrays([c.values for c in columns])  # type: ignore[attr-defined]
        return replace(first, members=_joined_members(columns), values=values, skipped=skipped)  # type: ignore[call-arg]
    if any(picks):
        raise TypeError(
            f"{first.aggregate!r} got values of another kind than before (integers beyond 63 bits?): "
            f"cast the columns {', '.join(map(repr, first.aggregate.columns))} to one type"
        )
    plain = [c.as_plain() if isinstance(c, NativeColumn) else c for c in columns]
    return PlainColumn(first.aggregate, skipped, [o for c in plain for o in c.objects])  # type: ignore[attr-defined]


def _joined_members(columns: Sequence[Any]) -> Members:
    return tuple(np.concatenate(each) for each in zip(*(c.members for c in columns), strict=True))


def _size(column: Any) -> int:
    if isinstance(column, UnseenColumn):
        return len(column.skipped)
    return len(column.objects) if isinstance(column, PlainColumn) else len(column.members[0])


def _joined_skips(columns: Sequence[Column]) -> Ints | None:
    if all(c.skipped is None for c in columns):
        return None
    return np.concatenate([np.zeros(_size(c), np.int64) if c.skipped is None else c.skipped for c in columns])


def column_from(aggregate: Aggregate, state: dict[str, Any]) -> Column:
    """The column of :meth:`Column.state`."""
    skipped = state["skipped"]
    if state["form"] == "unseen":
        return UnseenColumn(aggregate, skipped)
    if state["form"] == "plain":
        objects = _codec(aggregate.monoid).value(memoryview(state["objects"]))
        return PlainColumn(aggregate, skipped, list(objects))
    monoid = aggregate.monoid if state["form"] == "native" else timed(aggregate.monoid)
    form = native(monoid, tuple(np.dtype(kind) for kind in state["dtypes"]))
    if form is None:
        raise StateError(f"aggregate {aggregate!r} had a native form when it was stored, and has none now")
    members = tuple(state["members"])
    if state["form"] == "native":
        moments = None if state["moments"] is None else state["moments"].type
        return NativeColumn(aggregate, skipped, form, members, moments)
    return PickColumn(aggregate, skipped, form, members, state["values"])
