"""Values kept of rows, one slice after the other, and how equal ones of a slice become one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.compile.columns import as_array
from windrow.monoids.hashing import encode, encode_array
from windrow.rows.keys import numbered_values
from windrow.threads import even_pieces, in_threads

__all__ = ["Bag", "codes_of", "hash_codes", "shortened", "without_repeats"]


@dataclass(frozen=True)
class Bag:
    """Values in processing order, none of them null."""

    values: Any
    #: how many rows each value stands for (None: one), in integers as short as they fit
    counts: Any = None
    #: what was found out about the values, for other aggregates that share them; None: none does
    memory: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes) + (0 if self.counts is None else self.counts.nbytes)

    def holds_the_same_as(self, other: Bag) -> bool:
        """Whether two bags hold equal values in the same order, as often."""
        same = self.values is other.values or self.values.equals(other.values)
        if not same or self.counts is None or other.counts is None:
            return same and self.counts is other.counts
        return np.array_equal(self.counts, other.counts)

    def take(self, places: Ints) -> Bag:
        counts = None if self.counts is None else self.counts[places]
        return Bag(self.values.take(pa.array(places)), counts)

    def with_counts(self) -> Bag:
        return self if self.counts is not None else replace(self, counts=np.ones(len(self), np.uint8))

    @property
    def tallies(self) -> Ints | None:
        """The counts, in integers of 64 bits."""
        return None if self.counts is None else self.counts.astype(np.int64, copy=False)


def codes_of(values: Any) -> tuple[Ints, int]:
    """A number from 0 on for each value, equal ones for equal values, and how many numbers there are. Zeros
    of either sign are equal, and so are all NaNs.

    >>> codes_of(pa.array([0.0, 5.0, -0.0]))[0].tolist()
    [0, 1, 0]
    """
    if pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0, values.type))  # -0.0 + 0.0 is 0.0
    codes, distinct = numbered_values(values)
    return codes.astype(np.int64), len(distinct)


def without_repeats(
    bag: Bag, offsets: Ints, keeps_counts: bool, numbered: tuple[Ints, int] | None = None
) -> tuple[Bag, Ints]:
    """Each value once per slice, at the place of its first appearance, and where slices start then;
    ``offsets`` says where they start, and the end. ``numbered``: what :func:`codes_of` the values is,
    where that is known.

    >>> bag, offsets = without_repeats(Bag(pa.array(["a", "b", "a", "a"])), np.array([0, 3, 4]), True)
    >>> bag.values.to_pylist(), bag.counts.tolist(), offsets.tolist()
    (['a', 'b', 'a'], [2, 1, 1], [0, 2, 3])
    """
    codes, distinct = codes_of(bag.values) if numbered is None else numbered
    given = bag.with_counts().tallies if keeps_counts else None
    places, starts = np.empty(len(codes), np.int64), np.empty(len(offsets), np.int64)
    counts = np.empty(0 if given is None else len(codes), np.int64)
    latest = np.full(distinct, -1)
    _first_places(codes, counts if given is None else given, offsets, latest, places, counts, starts)
    count = int(starts[-1])
    often = shortened(counts[:count]) if keeps_counts else None
    return Bag(bag.values.take(pa.array(places[:count])), often), starts


@kernel
def _first_places(
    codes: Any, given: Ints, offsets: Ints, latest: Ints, places: Ints, counts: Ints, starts: Ints
) -> None:
    """Where each code of a slice is first seen, and how often it is there, unless ``counts`` is empty;
    ``starts`` says where those of each slice start, and the end. ``latest``: of each code, -1."""
    count = 0
    for k in range(len(offsets) - 1):
        starts[k] = count
        for i in range(offsets[k], offsets[k + 1]):
            place = latest[codes[i]]
            if place < starts[k]:  # not in this slice yet
                latest[codes[i]] = count
                places[count] = i
                if len(counts):
                    counts[count] = given[i]
                count += 1
            elif len(counts):
                counts[place] += given[i]
    starts[len(offsets) - 1] = count


def shortened(counts: Any) -> Any:
    """The same counts in the shortest integers that hold them: unsigned ones of up to 32 bits, which NumPy
    joins with those of 64 exactly. What are not counts stays as it is.

    >>> shortened(np.array([1, 300])).dtype
    dtype('uint16')
    """
    is_plain = type(counts) is np.ndarray and counts.dtype == np.int64 and counts.ndim == 1
    if not is_plain or counts.min(initial=0) < 0:
        return counts
    kind = np.min_scalar_type(counts.max(initial=0))
    return counts if kind.itemsize == 8 else counts.astype(kind)


def hash_codes(values: Any) -> Any:
    """The stable 64-bit codes of values without nulls, as :mod:`windrow.monoids.hashing` has them.

    >>> hash_codes(pa.array(["a", "b", "a"])).tolist() == [encode("a"), encode("b"), encode("a")]
    True
    """
    numbers = as_array(_as_stored(values))
    if numbers is not None:
        found = in_threads(lambda piece: encode_array(numbers[0][piece]), even_pieces(len(values)))
        return found[0] if len(found) == 1 else np.concatenate(found)
    encoded = values.dictionary_encode()
    codes = np.fromiter(map(encode, encoded.dictionary.to_pylist()), np.uint64, len(encoded.dictionary))
    return codes[encoded.indices.to_numpy()]


def _as_stored(values: Any) -> Any:
    """Moments as the integers that their codes are made of."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(values.type) and values.type.unit == "us":
        return values.cast(pa.int64())
    return values
