"""Aggregates answered from the values themselves: lists, order statistics, distinct values, sketches.

Their partials are not a few numbers but a *bag*: the values of a slice, one after the other, or what is kept
of them (distinct values, cells of a sketch), with counts where one stands for several. A window is then a
range of neighbouring values, and is answered natively by a family
(:mod:`windrow.partials.value_aggregates.families`): values enter and leave one structure as windows slide,
each once.

Cost: O(1) to O(log n) per value, whatever the overlap of windows; what a window returns is added to that.
"""

from __future__ import annotations

from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.families import Family, family_of

__all__ = ["Bag", "Family", "family_of"]
