"""64-bit integers: what fits, and what counts as an integer.

Invariant: every time and every duration that enters this package fits in a signed 64-bit integer; what a
window computes from them is exact, as Python integers do not overflow.
"""

from __future__ import annotations

import operator
from typing import SupportsIndex

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
DAY_US = 86_400_000_000


def fit_int64(value: int, what: str) -> int:
    """The value, if it fits in 64 bits.

    >>> fit_int64(2**63, "time 2**63")
    Traceback (most recent call last):
    OverflowError: time 2**63 does not fit in 64 bits: use a smaller one
    """
    if not INT64_MIN <= value <= INT64_MAX:
        raise OverflowError(f"{what} does not fit in 64 bits: use a smaller one")
    return value


def as_integer(value: object, name: str, wanted: str) -> int:
    """The value as a plain integer, numpy's included; booleans and floats are refused.

    >>> as_integer(2.5, "size", "an integer")
    Traceback (most recent call last):
    TypeError: size 2.5 is a float: give an integer
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} {value!r} is a {type(value).__name__}: give {wanted}")
    return fit_int64(operator.index(value), f"{name} {value!r}")


def whole_number(value: object, name: str) -> int:
    """The value as an integer of at least one.

    >>> whole_number(0, "size")
    Traceback (most recent call last):
    ValueError: size 0 is not positive: give at least 1
    """
    number = as_integer(value, name, "a whole number of rows")
    if number < 1:
        raise ValueError(f"{name} {number} is not positive: give at least 1")
    return number
