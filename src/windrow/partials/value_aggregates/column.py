"""Partials of one aggregate over slices as the values that are kept of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.monoids.base import Aggregate
from windrow.partials.column import Column
from windrow.partials.plain_column import PlainColumn
from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.base import Family
from windrow.partials.value_aggregates.families import FAMILIES
from windrow.partials.value_aggregates.rows import sharing_key
from windrow.state.checks import check_column, require

__all__ = ["KeptColumn", "joined", "kept_column", "with_shared_bags"]


@dataclass(frozen=True)
class KeptColumn(Column):
    """The values of slices, one slice after the other."""

    bag: Bag
    #: where the values of each slice start, and the end
    offsets: Ints

    @property
    def family(self) -> Family:
        keeps = self.aggregate.monoid.keeps
        assert keeps is not None
        return FAMILIES[keeps]

    def _check(self, name: str, count: int) -> None:
        values, counts, offsets = self.bag.values, self.bag.counts, self.offsets
        is_array = isinstance(values, pa.Array) and not values.null_count
        require(is_array, f"values of {name} that are not an Arrow array, or null")
        self.family.check(self.aggregate.monoid, self.bag, name)
        check_column(f"where values of {name} start", offsets, count + 1)
        is_rising = offsets[0] == 0 and offsets[-1] == len(values) and (np.diff(offsets) >= 0).all()
        require(bool(is_rising), f"values of {name} that do not lie one slice after the other")
        if counts is not None:
            is_whole = type(counts) is np.ndarray and counts.dtype.kind in "iu"
            require(is_whole, f"counts of values of {name} that are not whole numbers")
            tallies = counts.astype(np.int64)
            check_column(f"counts of values of {name}", tallies, len(values))
            require(bool((tallies > 0).all()), f"counts of values of {name} below 1")

    @property
    def nbytes(self) -> int:
        skipped = 0 if self.skipped is None else self.skipped.nbytes
        return self.bag.nbytes + self.offsets[1:].nbytes + skipped

    def take(self, places: Any) -> Column:
        chosen = np.arange(len(self.offsets) - 1)[places]
        widths = (self.offsets[1:] - self.offsets[:-1])[chosen]
        offsets = np.concatenate([[0], np.cumsum(widths)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], widths)
        return replace(self, bag=self.bag.take(rows), offsets=offsets, skipped=self._skipped_taken(places))

    def folded(self, starts: Ints) -> Column:
        return kept_column(self.aggregate, self._skipped_folded(starts), self.bag, self.offsets[starts])

    def results(self, fronts: Ints, stops: Ints, shape: str, values: Ints) -> Any:
        ranges = self.offsets[fronts], self.offsets[stops]
        return self.family.answers(self.aggregate.monoid, self.bag, *ranges)

    def like_unseen(self, skipped: Ints) -> KeptColumn:
        """Slices of which no value is known, beside these."""
        nothing = np.zeros(len(skipped) + 1, np.int64)
        return replace(self, bag=self.bag.take(nothing[:0]), offsets=nothing, skipped=skipped)

    def as_plain(self) -> PlainColumn:
        """The same as Python objects."""
        monoid, family = self.aggregate.monoid, self.family
        partials = family.partials(monoid, self.bag)
        objects = [
            functools.reduce(monoid.combine, partials[front:stop], monoid.identity)
            for front, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        ]
        return PlainColumn(self.aggregate, self.skipped, objects)

    def state(self) -> dict[str, Any]:
        return {
            "form": "kept",
            "values": self.bag.values,
            "counts": self.bag.tallies,
            "offsets": self.offsets,
            "skipped": self.skipped,
        }


def kept_column(aggregate: Aggregate, skipped: Ints | None, bag: Bag, offsets: Ints) -> KeptColumn:
    """What slices need of these values."""
    assert aggregate.monoid.keeps is not None
    family = FAMILIES[aggregate.monoid.keeps]
    bag, offsets = family.reduced(aggregate.monoid, bag, offsets)
    return KeptColumn(aggregate, skipped, bag, offsets)


def with_shared_bags(columns: Sequence[Column | None]) -> list[Column | None]:
    """The same columns; those that hold the same values share what is found out about them."""
    found: list[Column | None] = list(columns)
    firsts: dict[Any, int] = {}
    for k, column in enumerate(columns):
        key = sharing_key(column.aggregate) if isinstance(column, KeptColumn) else None
        first = found[firsts.setdefault(key, k)] if key is not None else None
        if first is column or not isinstance(column, KeptColumn) or not isinstance(first, KeptColumn):
            continue
        if np.array_equal(first.offsets, column.offsets) and first.bag.holds_the_same_as(column.bag):
            bag = first.bag if first.bag.memory is not None else replace(first.bag, memory={})
            found[firsts[key]], found[k] = replace(first, bag=bag), replace(column, bag=bag)
    return found


def joined(columns: Sequence[KeptColumn], skipped: Ints | None) -> KeptColumn:
    """Columns one after the other."""
    bags = [column.bag for column in columns]
    values = pa.concat_arrays([bag.values for bag in bags])
    has_counts = any(bag.counts is not None for bag in bags)
    counts = np.concatenate([bag.with_counts().counts for bag in bags]) if has_counts else None
    begins = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])
    offsets = [c.offsets[:-1] + begin for c, begin in zip(columns, begins[:-1], strict=True)]
    bag = Bag(values, counts)
    return replace(columns[0], bag=bag, offsets=np.concatenate([*offsets, begins[-1:]]), skipped=skipped)
