"""Values in their order: all of a window (``collect``), joined (``concat``), or those at one end of it
(``first_k``, ``last_k``).

Windows that lie side by side share the column that they come from: their lists are offsets into it, and
nothing is copied. Windows that overlap hold some values several times, and are copied natively.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.arrays import Ints
from windrow.monoids.base import Monoid
from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.base import Family
from windrow.rows.pieces import take_array

__all__ = ["Joined", "Listed", "lists_of", "lists_over", "places_in"]

_MOST = 2**31 - 1


class Listed(Family):
    """``collect``, and with a parameter ``k`` the first or last k values."""

    how = "ranges of the values themselves; native code"
    held = "the values of each slice"

    def __init__(self, end: str = "all") -> None:
        self._end = end

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return True

    def reduced(self, monoid: Monoid, bag: Bag, offsets: Ints) -> tuple[Bag, Ints]:
        if self._end == "all":
            return bag, offsets
        fronts, stops = self._ends(monoid, offsets[:-1], offsets[1:])
        return bag.take(places_in(fronts, stops)), np.concatenate([[0], np.cumsum(stops - fronts)])

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        return lists_over(monoid, bag.values, *self._ends(monoid, fronts, stops))

    def _ends(self, monoid: Monoid, fronts: Ints, stops: Ints) -> tuple[Ints, Ints]:
        """The ranges, cut to the values that are asked for."""
        if self._end == "first":
            return fronts, np.minimum(stops, fronts + monoid.parameters["k"])
        if self._end == "last":
            return np.maximum(fronts, stops - monoid.parameters["k"]), stops
        return fronts, stops


class Joined(Family):
    """``concat``: texts or bytes with a separator between them."""

    how = "ranges of the values themselves; native code"
    held = "the values of each slice"

    def takes(self, monoid: Monoid, kind: Any) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))

    def answers(self, monoid: Monoid, bag: Bag, fronts: Ints, stops: Ints) -> Any:
        separator = monoid.parameters.get("sep", "" if pa.types.is_string(bag.values.type) else b"")
        lists = lists_over(monoid, bag.values, fronts, stops)
        return pc.binary_join(lists, pa.scalar(separator, bag.values.type))


def lists_over(monoid: Monoid, values: Any, fronts: Ints, stops: Ints) -> Any:
    """A list for each range [front, stop) of values.

    >>> import windrow as wr
    >>> lists_over(wr.collect, pa.array([5, 6, 7]), np.array([0, 1]), np.array([2, 3])).to_pylist()
    [[5, 6], [6, 7]]
    """
    if len(fronts) and stops[-1] <= _MOST and (fronts[1:] == stops[:-1]).all():
        return pa.ListArray.from_arrays(pa.array(np.append(fronts, stops[-1]), pa.int32()), values)
    offsets = np.concatenate([[0], np.cumsum(stops - fronts)])
    return lists_of(monoid, values, offsets, places_in(fronts, stops))


def places_in(fronts: Ints, stops: Ints) -> Ints:
    """All places in ranges [front, stop), one range after the other.

    >>> places_in(np.array([0, 5]), np.array([2, 6])).tolist()
    [0, 1, 5]
    """
    widths = stops - fronts
    ends = np.cumsum(widths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(fronts - ends + widths, widths)


def lists_of(monoid: Monoid, values: Any, offsets: Ints, places: Ints) -> Any:
    """Lists of the values at ``places``, one after the other; ``offsets`` says where each begins, and the
    end."""
    if len(places) > _MOST:
        raise ValueError(
            f"the results of {monoid.name!r} hold {len(places)} values; a column of lists holds {_MOST}: "
            f"take smaller windows or fewer rows at a time"
        )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), take_array(values, places))
