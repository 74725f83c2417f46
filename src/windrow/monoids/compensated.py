"""Sums that can be subtracted from without drift.

Subtracting from a running float sum leaves rounding errors behind for good, and one NaN or infinity spoils
it for ever. An *exact sum* is a partial that does neither: (high, low, nans, infs, minus_infs), where high +
low carries twice the precision of a float and the special values are only counted. It has an inverse, so
that SubtractOnEvict may use it; the algorithms that never subtract use the plain, cheaper partials.

Source: Knuth's two-sum (an error-free transformation).
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["ZERO", "ExactSum", "exact", "minus", "plus", "rounded"]

ExactSum = tuple[Any, Any, int, int, int]
ZERO: ExactSum = (0, 0, 0, 0, 0)


def exact(value: Any) -> ExactSum:
    """The partial of one value."""
    if value != value:
        return 0, 0, 1, 0, 0
    if value == math.inf:
        return 0, 0, 0, 1, 0
    if value == -math.inf:
        return 0, 0, 0, 0, 1
    return value, 0, 0, 0, 0


def plus(a: ExactSum, b: ExactSum) -> ExactSum:
    high, error = _two_sum(a[0], b[0])
    high, low = _two_sum(high, error + (a[1] + b[1]))
    return high, low, a[2] + b[2], a[3] + b[3], a[4] + b[4]


def minus(total: ExactSum, part: ExactSum) -> ExactSum:
    high, error = _two_sum(total[0], -part[0])
    high, low = _two_sum(high, error + (total[1] - part[1]))
    return high, low, total[2] - part[2], total[3] - part[3], total[4] - part[4]


def rounded(a: ExactSum) -> Any:
    """The sum as one number: NaN if there is one, or infinities of both signs."""
    if a[2] > 0 or (a[3] > 0 and a[4] > 0):
        return math.nan
    if a[3] > 0:
        return math.inf
    if a[4] > 0:
        return -math.inf
    return a[0] + a[1]


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b rounded, and what rounding lost."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)
