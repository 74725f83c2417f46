"""What a family of aggregates over kept values answers to."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from windrow.arrays import Ints
from windrow.monoids.base import Monoid
from windrow.partials.value_aggregates.bags import Bag
from windrow.state.checks import require

__all__ = ["Covering", "Family"]


class Covering(NamedTuple):
    """A value covers those before it with the same number and no higher level."""

    #: of each value
    numbers: Any
    #: of each value, from 0 to 63
    levels: Any
    #: how many numbers there are
    size: int
    #: how many values are needed for it at most, the latest
    most: int = 1 << 62


class Family(ABC):
    """How aggregates of a kind keep values and answer windows over them."""

    #: how windows are answered, and what an operator keeps, for explain()
    how: ClassVar[str]
    held: ClassVar[str]
    #: whether values make others needless that came before them, by :meth:`coverings`
    covers: ClassVar[bool] = False

    def held_for(self, monoid: Monoid) -> str:
        """What an operator keeps for an aggregate of the family."""
        return self.held

    def shared_by(self, monoid: Monoid) -> Any:
        """What two aggregates of the family over one column have in common if they can share what is found
        out about its values; None: nothing is shared."""
        return None

    @abstractmethod
    def takes(self, monoid: Monoid, kind: Any) -> bool:
        """Whether columns of this Arrow type are kept natively; those of others are folded in Python."""

    def kept(self, monoid: Monoid, values: Any) -> Any:
        """What is kept of an array without nulls, as many for each value."""
        return values

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        """What slices need of their values, and where slices start then; ``offsets`` says where they start,
        and the end."""
        return bag, offsets

    def coverings(self, monoid: Monoid, values: Any) -> list[Covering]:
        """Which values make others needless that came before them: a value is needed where one of these says
        so."""
        raise NotImplementedError

    def partials(self, monoid: Monoid, bag: Bag) -> list[Any]:
        """Each value as the Python partial that it stands for."""
        counts = itertools.repeat(1) if bag.counts is None else bag.counts.tolist()
        pairs = zip(bag.values.to_pylist(), counts, strict=False)
        return [_times(monoid, monoid.lift(value), count) for value, count in pairs]

    def check(self, monoid: Monoid, bag: Bag, name: str) -> None:
        """Raise for values from stored state that this family does not keep."""
        require(self.takes(monoid, bag.values.type), f"values of {name} of type {bag.values.type}")

    @abstractmethod
    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        """The result of each range [front, stop) of values, as an Arrow array; what stands for ranges
        without a value is not defined."""


def _times(monoid: Monoid, partial: Any, count: int) -> Any:
    """The partial combined with itself until it stands for so many rows, in O(log n) combines.

    >>> from windrow.monoids import count
    >>> _times(count, 1, 13)
    13
    """
    found, double = monoid.identity, partial
    while count:
        if count & 1:
            found = monoid.combine(found, double)
        double, count = monoid.combine(double, double), count >> 1
    return found
