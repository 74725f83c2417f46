"""Rows as kept values, and their windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints, Mask
from windrow.monoids.base import Aggregate, Monoid
from windrow.partials.ranges import Over
from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.families import FAMILIES, family_of
from windrow.rows.frame import Frame

__all__ = ["kept_of_frame", "kept_results", "kept_values", "sharing_key"]


def kept_results(
    frame: Frame, aggregate: Aggregate, skipped: Mask | None, over: Over, shared: dict[Any, Any] | None = None
) -> Any:
    """A result for each range of rows, in processing order, or None for an aggregate that keeps no values.
    ``shared``: what aggregates with the same :func:`sharing_key` have found out (None: there is no other)."""
    family = family_of(aggregate.monoid, frame.raw(aggregate.inputs[0]).type)
    if family is None:
        return None
    if shared is None:
        bag, before = kept_of_frame(frame, aggregate, skipped)
    else:
        if "bag" not in shared:
            kept, before = kept_of_frame(frame, aggregate, skipped)
            shared["bag"] = replace(kept, memory={}), before
        bag, before = shared["bag"]
    rows = over.as_ranges()
    if before is None:
        return family.answers(aggregate.monoid, bag, rows.fronts, rows.stops)
    return family.answers(aggregate.monoid, bag, before[rows.fronts], before[rows.stops])


def sharing_key(aggregate: Aggregate) -> Any:
    """Equal for aggregates that keep the same values, and can share what is found out about them; None: it
    shares nothing."""
    monoid = aggregate.monoid
    common = None if monoid.keeps is None else FAMILIES[monoid.keeps].shared_by(monoid)
    return None if common is None else (common, aggregate.inputs, aggregate.where, monoid.nulls, monoid.nan)


def kept_of_frame(frame: Frame, aggregate: Aggregate, skipped: Mask | None) -> tuple[Bag, Ints | None]:
    """What an aggregate keeps of the rows of a frame, in processing order, as :func:`kept_values` has it.
    ``skipped`` is a mask of the rows of the table."""
    if skipped is not None and frame.permutation is not None:
        skipped = skipped[frame.permutation]
    return kept_values(aggregate.monoid, frame.column(aggregate.inputs[0]), skipped)


def kept_values(monoid: Monoid, values: Any, skipped: Mask | None) -> tuple[Bag, Ints | None]:
    """What an aggregate keeps of values, and how much lies before each of them, and in all (None: one for
    each value).

    >>> import windrow as wr
    >>> bag, before = kept_values(wr.collect, pa.array([5, None, 6]), np.array([False, True, False]))
    >>> bag.values.to_pylist(), before.tolist()
    ([5, 6], [0, 1, 1, 2])
    """
    family = family_of(monoid, values.type)
    assert family is not None
    before = None
    if skipped is not None:
        before = np.concatenate([[0], np.cumsum(~skipped)])
        values = values.filter(pa.array(~skipped))
    kept = family.kept(monoid, values)
    if len(kept) != len(values):  # so many for each value
        each = len(kept) // len(values)
        before = each * (np.arange(len(values) + 1) if before is None else before)
    return Bag(kept), before
