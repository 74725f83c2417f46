"""The aggregate and the slide policy of [MTA] listings 2 and 3: updates say how large the window may be."""

from __future__ import annotations

from windrow.monoids.base import Monoid
from windrow.monoids.own import monoid

__all__ = ["Sized", "sized", "too_large"]

#: the number of updates, and what the last of them says
Sized = tuple[int, int]


def _lift(max_size: int) -> Sized:
    return 1, max_size


def _combine(left: Sized, right: Sized) -> Sized:
    # the paper's right.maxSize; the empty window says nothing
    return left[0] + right[0], right[1] or left[1]


def _count(partial: Sized) -> int:
    return partial[0]


def too_large(total: Sized, old: Sized) -> bool:
    """Whether a prefix can go as enough updates would be left."""
    return total[0] - old[0] >= total[1]


sized: Monoid = monoid(
    name="sized", lift=_lift, combine=_combine, lower=_count, identity=(0, 0), compile=False
)
