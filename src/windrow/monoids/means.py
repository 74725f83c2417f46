"""Means that keep the digits of values which lie close together.

Moments about a mean are made of distances between means. Of two means at 1e15 a float each leaves one binary
digit of their distance behind the point. So a mean is a pair here: an *origin*, which is the first of its
values, and the mean's distance from it. Values subtract with no more than one rounding, and no distance is
larger than the values are apart. So distances are rounded as if the values were near 0, wherever they are.

Integers of 64 bits and decimals of 30 digits count with all their digits, not as the floats next to them.

Cost: two additions more per combine than a mean that is a single float. Error: that of the same values
with their mean subtracted beforehand, exactly.
Source: Chan, Golub and LeVeque, Algorithms for computing the sample variance (The American Statistician 37,
1983), on shifted data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from windrow.monoids.equality import magnitude, same

__all__ = ["apart", "equal_moments", "mean_of_one"]

#: values beyond it are at a distance from 0: two of them as origins might be too far apart for a float
_FARTHEST_ORIGIN = 2.0**1022
#: an integer of 64 bits without as many of its lowest digits as this has fits a float
_LOWEST_DIGITS = 2**11 - 1
#: below it squares leave the range of floats, and rounding is not relative
_TINY = 1e-150


def mean_of_one(value: Any) -> tuple[float, float]:
    """The mean of a single value: its origin, and the distance from it.

    >>> mean_of_one(0.1), mean_of_one(2**60 + 3), mean_of_one(1e308)
    ((0.1, 0.0), (1.152921504606847e+18, 3.0), (0.0, 1e+308))
    """
    number = float(value)
    origin = number if abs(number) < _FARTHEST_ORIGIN else 0.0
    if isinstance(value, float):
        return origin, number - origin
    return origin, (number - origin) + _rest(value, number)


def apart(a_origin: float, a_distance: float, b_origin: float, b_distance: float) -> float:
    """How much larger one mean is than another.

    >>> apart(*mean_of_one(10**18), *mean_of_one(10**18 + 3))
    3.0
    """
    return ((b_origin - a_origin) + b_distance) - a_distance


def equal_moments(columns: int, *orders: int) -> Callable[[Any, Any, float], bool]:
    """Equality, for the laws, of partials that are a count, the means of some columns, and moments of these
    orders. Which of its values is the origin of a mean makes no difference, and a moment is rounded as that
    power of the values is.
    """
    powers = (1,) * columns + orders

    def whole(partial: Any) -> tuple[Any, ...]:
        means = (partial[k] + partial[k + 1] for k in range(1, 2 * columns, 2))
        return (*means, *partial[1 + 2 * columns :])

    def equal(a: Any, b: Any, largest: float) -> bool:
        x, y = whole(a), whole(b)
        size = magnitude(largest, x[:columns], y[:columns])
        slacks = (1e-9 * math.prod([size] * power) + _TINY for power in powers)
        return bool(a[0] == b[0]) and all(map(same, x, y, slacks))

    return equal


def _rest(value: Any, number: float) -> float:
    """What a value is more than the float next to it."""
    if isinstance(value, int):  # this is compiled
        low = value & _LOWEST_DIGITS
        return (float(value - low) - number) + low
    plain = value.item() if hasattr(value, "item") else value  # of a number of NumPy's
    return float(plain - type(plain)(number)) if number - number == 0.0 else 0.0
