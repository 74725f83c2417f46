"""Windows over ranges of rows, in plain Python: for what has no native form.

The twin of :func:`windrow.swag.native.drivers.slide_ranges`, with the same steps in the same order: where
neither fronts nor stops fall each row goes in once and out once; where they do, and where a window shares
nothing with the one before, a new window begins. The window stays for the next call.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.errors import calling
from windrow.monoids.base import Monoid
from windrow.swag.sliding import sliding_window

__all__ = ["PlainRanges"]


class PlainRanges:
    """A window that slides over rows by their positions.

    >>> import numpy as np, windrow as wr
    >>> rows = [("a",), ("b",), ("c",), ("d",)]
    >>> PlainRanges(wr.concat).results(rows, np.array([0, 1, 3]), np.array([2, 3, 4]))
    ['ab', 'bc', 'd']
    """

    def __init__(self, monoid: Monoid) -> None:
        self._monoid = monoid
        self.window = sliding_window(monoid)
        #: the range that the window holds
        self.front = self.stop = 0

    def results(self, rows: list[tuple[Any, ...]], fronts: Ints, stops: Ints, base: int = 0) -> list[Any]:
        """A result per range [front, stop) of positions; ``base`` is that of the first of the rows. What a
        user's function raises is :class:`~windrow.errors.Raised` at the place of the row."""
        results: list[Any] = []
        if not len(fronts):
            return results
        old_fronts = np.concatenate([[self.front], fronts[:-1]])
        old_stops = np.concatenate([[self.stop], stops[:-1]])
        is_new = (fronts >= old_stops) | (fronts < old_fronts) | (stops < old_stops)
        # a new window begins with its first row
        evicted = np.where(is_new, 0, fronts - old_fronts).tolist()
        firsts = (np.where(is_new, fronts, old_stops) - base).tolist()
        steps = list(zip(evicted, firsts, (stops - base).tolist(), strict=True))
        with calling(self._monoid, rows) as loop:
            for first, stop in pairwise([0, *np.flatnonzero(is_new).tolist(), len(steps)]):
                if first < stop and is_new[first]:
                    self.window = sliding_window(self._monoid)
                results += self.window._slide(rows, steps[first:stop], loop)
        self.front, self.stop = int(fronts[-1]), int(stops[-1])
        return results
