"""Partials that are Python objects and come from stored state: those of sketches, whose sizes are part of the
aggregate, are checked against it, also as members of ``together``. What is wrong with others they say
themselves when they combine them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.monoids.base import Monoid

__all__ = ["check_partial", "is_checked"]


def check_partial(monoid: Monoid, partial: Any) -> None:
    """Raise ValueError if a partial is of another size than those of its aggregate.

    >>> from windrow.monoids.sketches import bloom
    >>> check_partial(bloom, np.zeros(3, np.uint64))
    Traceback (most recent call last):
    ValueError: a partial of 'bloom' that is not 256 numbers of type uint64
    """
    if monoid.members:
        _check_members(monoid, partial)
    elif monoid.wide is not None:
        _check_row(monoid, partial)
    elif monoid.check_stored is not None:
        monoid.check_stored(partial)


def is_checked(monoid: Monoid) -> bool:
    """Whether anything is known of the partials of an aggregate.

    >>> from windrow.monoids import median, sum, together
    >>> is_checked(sum), is_checked(together(total=sum, half=median))
    (False, True)
    """
    return bool(monoid.members) or monoid.wide is not None or monoid.check_stored is not None


def _check_members(monoid: Monoid, partial: Any) -> None:
    if not isinstance(partial, tuple) or len(partial) != len(monoid.members):
        raise ValueError(f"a partial of {monoid.name!r} that is not of its members")
    for member, part in zip(monoid.members.values(), partial, strict=True):
        # None stands for a member that has ignored all rows
        if not (part is None and member.nan == "ignore"):
            check_partial(member, part)


def _check_row(monoid: Monoid, row: Any) -> None:
    wide = monoid.wide
    assert wide is not None
    if type(row) is not np.ndarray or row.shape != (wide.width,) or row.dtype != np.dtype(wide.dtype):
        raise ValueError(
            f"a partial of {monoid.name!r} that is not {wide.width} numbers of type {wide.dtype}"
        )
