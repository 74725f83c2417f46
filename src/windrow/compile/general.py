"""One kernel for all small inputs.

A kernel is compiled for what its input has: a mask of nulls or none, an order of rows or none, windows
without values or none. Each mixture is a kernel of its own: a little faster for many rows, and half a second
or more to compile. A small input is given what it lacks, as an array that means the same, so that the first
kernel of an aggregate serves all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["SMALL", "mask_or_none", "places_or_none"]

#: inputs of up to so many rows, or windows, are small
SMALL = 4096

#: what inputs of any such size are given the first part of; nobody writes to it
_NOTHING_MARKED = np.zeros(SMALL, np.bool_)
_OWN_PLACES = np.arange(SMALL, dtype=np.int64)


def mask_or_none(mask: Any, count: int) -> Any:
    """This mask; in place of None, for a small input, one in which nothing is marked.

    >>> mask_or_none(None, 3)
    array([False, False, False])
    >>> mask_or_none(None, 1_000_000) is None
    True
    """
    return _NOTHING_MARKED[:count] if mask is None and count <= SMALL else mask


def places_or_none(places: Any, count: int) -> Any:
    """These places; in place of None, for a small input, each row's own.

    >>> places_or_none(None, 3)
    array([0, 1, 2])
    """
    return _OWN_PLACES[:count] if places is None and count <= SMALL else places
