"""Aggregates that pick a row (first, last, max_by and their like), made to work in any order of arrival.

Their results depend on which of two rows is the older. A partial that also carries the time of its row can
tell, so that partials may be combined whatever came first: what was only associative becomes commutative, and
slices need not keep their rows apart. Rows of equal time are told apart by their reference, which grows with
arrival.

The native partial is (there is a row, ..., reference, time): the plain one, with the reference in place of
the value picked, and the time behind it.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from windrow.monoids.base import Monoid

__all__ = ["picked_input", "timed"]


def picked_input(monoid: Monoid) -> int | None:
    """Which input the aggregate picks; None for aggregates that do not pick."""
    return monoid.picks


@functools.lru_cache(maxsize=256)
def timed(monoid: Monoid) -> Monoid:
    """The same pick over (inputs, time), commutative; its result is the reference."""
    choose, lift_row = monoid.combine, monoid.lift
    takes_key = monoid.arity == (2, 2)

    def lift_pair(first: Any, second: Any, time: Any) -> Any:
        return (*lift_row(first, second), time)

    def lift_one(reference: Any, time: Any) -> Any:
        return (*lift_row(reference), time)

    def combine(a: Any, b: Any) -> Any:
        if not a[0]:
            return b
        if not b[0]:
            return a
        if a[-1] < b[-1] or (a[-1] == b[-1] and a[-2] <= b[-2]):
            return a if choose(a[:-1], b[:-1])[-1] == a[-2] else b
        return a if choose(b[:-1], a[:-1])[-1] == a[-2] else b

    def reference_of(partial: Any) -> Any:
        return partial[-2]

    identity_of = monoid.typed_identity
    assert identity_of is not None
    return replace(
        monoid,
        lift=lift_pair if takes_key else lift_one,
        combine=combine,
        lower=reference_of,
        identity=(*monoid.identity, 0),
        typed_identity=lambda *dtypes: (*identity_of(*dtypes[:-1]), 0),
        commutative=True,
        arity=(monoid.arity[0] + 1, monoid.arity[1] + 1),
    )
