"""The partials of one aggregate over slices as Python objects, which have no limits but cost a call each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.errors import Raised, calling
from windrow.monoids.base import Monoid
from windrow.monoids.stored_partials import check_partial
from windrow.partials.column import Column
from windrow.partials.plain_tree import PlainTree
from windrow.partials.ranges import Shape
from windrow.partials.results import first_beyond, holds_decimals, result_array
from windrow.state.checks import require
from windrow.state.codec import Codec, records_in
from windrow.swag.plain_ranges import PlainRanges

__all__ = ["PlainColumn", "codec_of"]


@dataclass(frozen=True)
class PlainColumn(Column):
    """Partials as Python objects."""

    objects: list[Any]
    #: the type of results, where it is known and has decimals in it
    decimals: Any = None

    def _check(self, name: str, count: int) -> None:
        is_known = self.decimals is None or holds_decimals(self.decimals)
        require(is_known, f"partials of {name}: decimals of type {self.decimals}")
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
            answered = answer(fronts[held], stops[held])
        except Exception:  # the same again, range by range, to tell which raises
            ranges = zip(fronts[held].tolist(), stops[held].tolist(), strict=True)
            answered = self._each(self._lowered_fold, ranges)
        for place, result in zip(held.tolist(), answered, strict=True):
            found[place] = result
        beyond = first_beyond(self.aggregate.monoid, found, self.decimals)
        if beyond is not None:
            place, number, kind = beyond
            raise Raised.overflown(self.aggregate.monoid, number, kind, int(fronts[place]), int(stops[place]))
        return result_array(self.aggregate.monoid, found, self.decimals)

    def _lowered_fold(self, front: int, stop: int) -> Any:
        return self.aggregate.monoid.lower(self._fold(front, stop))

    def _slide(self, fronts: Ints, stops: Ints) -> list[Any]:
        """One window over the slices: each in once, out once."""
        boxed = [((partial,),) for partial in self.objects]
        return PlainRanges(_of_partials(self.aggregate.monoid)).results(boxed, fronts, stops)

    def _ask(self, fronts: Ints, stops: Ints) -> list[Any]:
        """A tree over the slices, or a fold per range where that is less to combine."""
        if not len(fronts):
            return []
        begin, end = int(fronts.min()), int(stops.max())
        ranges = zip(fronts.tolist(), stops.tolist(), strict=True)
        if (stops - fronts).sum() <= 2 * (end - begin):
            return [self._lowered_fold(*each) for each in ranges]
        monoid = self.aggregate.monoid
        tree = PlainTree(monoid.combine, self.objects[begin:end])
        return [monoid.lower(tree.fold(front - begin, stop - begin)) for front, stop in ranges]

    def _each(self, fold: Callable[[int, int], Any], ranges: Iterable[tuple[int, int]]) -> list[Any]:
        """Range by range; what a user's function raises knows its slices."""
        found = []
        with calling(self.aggregate.monoid) as loop:
            for loop.place, loop.stop in ranges:
                found.append(fold(loop.place, loop.stop))
        return found

    def state(self) -> dict[str, Any]:
        codec = codec_of(self.aggregate.monoid)
        return {
            "form": "plain",
            "objects": bytes(codec.payload(self.objects)),
            "decimals": None if self.decimals is None else pa.nulls(0, self.decimals),
            "skipped": self.skipped,
        }


@functools.lru_cache(maxsize=256)
def _of_partials(monoid: Monoid) -> Monoid:
    """The same monoid for inputs that are partials already, each in a tuple so that none looks like null."""
    return replace(
        monoid, lift=lambda boxed: boxed[0], arity=(1, 1), compiles_for="", nan="propagate", nulls="skip"
    )


def codec_of(monoid: Monoid) -> Codec:
    """Knows the named tuples of partials; the identity, which may be compared with ``is``, comes back as
    itself."""
    return Codec("partials", records=records_in(monoid.identity), constants=(monoid.identity,))
