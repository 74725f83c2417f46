"""The partials of one aggregate over slices: native arrays, native arrays with picked values, kept values
(:mod:`windrow.partials.value_aggregates`) or objects (:mod:`windrow.partials.plain_column`).

Invariant: a native column of integers that might leave 64 bits becomes one of objects, which has no such
limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.native import NativeMonoid, native
from windrow.errors import StateError
from windrow.monoids.base import Aggregate
from windrow.partials.column import Column
from windrow.partials.inputs import without_values
from windrow.partials.over_ranges import fold_partials, integers_fit, partial_results
from windrow.partials.picked import timed
from windrow.partials.plain_column import PlainColumn, codec_of
from windrow.partials.ranges import Shape
from windrow.partials.results import array_of, as_moments
from windrow.partials.value_aggregates.bags import Bag, shortened
from windrow.partials.value_aggregates.column import KeptColumn, joined
from windrow.state.checks import check_column, require
from windrow.swag.native.fallback import warn_of_error
from windrow.values import made_at_once, with_fields

__all__ = [
    "Column",
    "NativeColumn",
    "PickColumn",
    "PlainColumn",
    "UnseenColumn",
    "column_from",
    "join",
    "merge",
]

Members = tuple[np.ndarray[Any, Any], ...]


@made_at_once
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
        return with_fields(
            self, members=tuple(m[places] for m in self.members), skipped=self._skipped_taken(places)
        )

    def folded(self, starts: Ints) -> Column:
        if not integers_fit(self.form, self.members, int(np.diff(starts).max(initial=0))):
            return self.as_plain().folded(starts)
        try:
            members = fold_partials(self.form, self.members, starts[:-1], starts[1:])
        except Exception as error:
            return self._plainly(error, lambda plain: plain.folded(starts))
        return with_fields(self, members=members, skipped=self._skipped_folded(starts))

    def is_like(self, other: NativeColumn) -> bool:
        """Whether both are of one form, which windrow's own functions combine."""
        return self.form is other.form and self.aggregate.monoid.builtin

    def merged(self, other: NativeColumn, order: Ints, starts: Ints) -> Column | None:
        """This column and another of the same form in an order, neighbours fused; None: not natively."""
        members = _joined_members((self, other))
        if not integers_fit(self.form, members, len(order) - len(starts) + 2):
            return None
        try:
            members = fold_partials(self.form, members, starts[:-1], starts[1:], order)
        except Exception:
            if self.aggregate.monoid.builtin:
                raise
            return None
        return NativeColumn(self.aggregate, None, self.form, members, self.moments)

    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        if not integers_fit(self.form, self.members, int((stops - fronts).max(initial=0))):
            return self.as_plain().results(fronts, stops, shape, values)
        try:
            out, valid = partial_results(
                self.form, self.members, fronts, stops, shape, without_values(values)
            )
        except Exception as error:
            return self._plainly(error, lambda plain: plain.results(fronts, stops, shape, values))
        if self.moments is not None:
            return as_moments(out, self.moments)
        return array_of(out, valid, self.aggregate.monoid)

    def _plainly(self, error: Exception, ask: Callable[[PlainColumn], Any]) -> Any:
        """What the plain form gives where native code raised: a user's function raises again there, and the
        plain form can say where."""
        if self.aggregate.monoid.builtin:
            raise error
        found = ask(self.as_plain())
        warn_of_error(self.aggregate.monoid, error)
        return found

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
        return with_fields(
            self,
            members=tuple(m[places] for m in self.members),
            values=self.values.take(pa.array(np.arange(len(self.values))[places])),
            skipped=self._skipped_taken(places),
        )

    def folded(self, starts: Ints) -> Column:
        members = fold_partials(self.form, self._with_references(), starts[:-1], starts[1:])
        return with_fields(
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
            return pa.nulls(len(references), self.values.type)
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
        return with_fields(self, skipped=self.skipped[places])

    def folded(self, starts: Ints) -> Column:
        return with_fields(self, skipped=np.add.reduceat(self.skipped, starts[:-1]))

    def results(self, fronts: Ints, stops: Ints, shape: Shape, values: Ints) -> Any:
        return self.like(None).results(fronts, stops, shape, values)

    def like(self, other: Column | None) -> Column:
        """The same in the form of a column that has seen rows."""
        count = len(self.skipped)
        nothing = np.zeros(count, np.int64)
        if isinstance(other, NativeColumn):
            members = fold_partials(other.form, tuple(m[:0] for m in other.members), nothing, nothing)
            return with_fields(other, skipped=self.skipped, members=members)
        if isinstance(other, PickColumn):
            members = tuple(m[:0] for m in other._with_references())
            members = fold_partials(other.form, members, nothing, nothing)
            values = pa.nulls(count, other.values.type)
            return with_fields(
                other, skipped=self.skipped, members=(*members[:-2], members[-1]), values=values
            )
        if isinstance(other, KeptColumn):
            return other.like_unseen(self.skipped)
        decimals = other.decimals if isinstance(other, PlainColumn) else None
        return PlainColumn(self.aggregate, self.skipped, [self.aggregate.monoid.identity] * count, decimals)

    def state(self) -> dict[str, Any]:
        return {"form": "unseen", "skipped": self.skipped}


def _check_members(name: str, members: Members, kinds: Sequence[str], count: int) -> None:
    require(len(members) == len(kinds), f"partials of {name}: {len(members)} members, {len(kinds)} expected")
    for member, kind in zip(members, kinds, strict=True):
        check_column(f"partials of {name}", member, count, kind)


def join(columns: Sequence[Column]) -> Column:
    """Columns one after the other."""
    skipped = _joined_skips(columns)
    seen = next((c for c in columns if not isinstance(c, UnseenColumn)), None)
    if seen is None:
        return with_fields(columns[0], skipped=skipped)
    columns = [c.like(seen) if isinstance(c, UnseenColumn) else c for c in columns]
    first = columns[0]
    if all(isinstance(c, NativeColumn) and c.form is getattr(first, "form", None) for c in columns):
        return with_fields(first, members=_joined_members(columns), skipped=skipped)
    kept = [c for c in columns if isinstance(c, KeptColumn)]
    if len(kept) == len(columns):
        return joined(kept, skipped)
    picks = [isinstance(c, PickColumn) for c in columns]
    if all(picks):
        values = pa.concat_arrays([c.values for c in columns])  # type: ignore[attr-defined]
        return with_fields(first, members=_joined_members(columns), values=values, skipped=skipped)
    if any(picks):
        raise TypeError(
            f"{first.aggregate!r} got values of another kind than before (integers beyond 63 bits?): "
            f"cast the columns {', '.join(map(repr, first.aggregate.columns))} to one type"
        )
    plain = [c.as_plain() if isinstance(c, (KeptColumn, NativeColumn)) else c for c in columns]
    decimals = next((c.decimals for c in columns if isinstance(c, PlainColumn)), None)
    objects = [o for c in plain for o in c.objects]  # type: ignore[attr-defined]
    return PlainColumn(first.aggregate, skipped, objects, decimals)


def merge(held: Column, new: Column, order: Ints, starts: Ints) -> Column:
    """Two columns in an order of both, neighbours fused: ``starts`` says where each run of them starts, and
    the end."""
    if isinstance(held, NativeColumn) and isinstance(new, NativeColumn) and held.form is new.form:
        found = held.merged(new, order, starts) if held.skipped is None and new.skipped is None else None
        if found is not None:
            return found
    both = join([held, new]).take(order)
    return both if len(starts) - 1 == len(order) else both.folded(starts)


def _joined_members(columns: Sequence[Any]) -> Members:
    return tuple([np.concatenate(each) for each in zip(*[c.members for c in columns], strict=True)])


def _size(column: Any) -> int:
    if isinstance(column, UnseenColumn):
        return len(column.skipped)
    if isinstance(column, KeptColumn):
        return len(column.offsets) - 1
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
        objects = codec_of(aggregate.monoid).value(memoryview(state["objects"]))
        decimals = state.get("decimals")
        return PlainColumn(aggregate, skipped, list(objects), None if decimals is None else decimals.type)
    if state["form"] == "kept":
        if aggregate.monoid.keeps is None:
            raise StateError(f"aggregate {aggregate!r} kept values when it was stored, and keeps none now")
        return KeptColumn(
            aggregate, skipped, Bag(state["values"], shortened(state["counts"])), state["offsets"]
        )
    monoid = aggregate.monoid if state["form"] == "native" else timed(aggregate.monoid)
    form = native(monoid, tuple(np.dtype(kind) for kind in state["dtypes"]))
    if form is None:
        raise StateError(f"aggregate {aggregate!r} had a native form when it was stored, and has none now")
    members = tuple(state["members"])
    if state["form"] == "native":
        moments = None if state["moments"] is None else state["moments"].type
        return NativeColumn(aggregate, skipped, form, members, moments)
    return PickColumn(aggregate, skipped, form, members, state["values"])
