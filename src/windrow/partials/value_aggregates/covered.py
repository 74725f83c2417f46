"""Values that say nothing any more: a later slice of the same key says as much.

Which distinct values, bits or registers a window has does not depend on how often they are there. So of
slices that every window to come takes up to the last, the latest one that holds a value is enough; of
HyperLogLog, the latest one with a rank as high, and the latest of so many distinct values that they are too
many to be counted. What is left for a key is about one sketch, however many slices it has.

Source: Chabchoub and Hébrail, Sliding HyperLogLog: estimating cardinality in a data stream over a sliding
window (2010), for registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.partials.value_aggregates.bags import Bag
from windrow.partials.value_aggregates.column import KeptColumn

__all__ = ["without_covered"]


def without_covered(columns: Sequence[KeptColumn], keys: Sequence[Ints]) -> list[KeptColumn]:
    """The same columns of slices, which have these keys, without values that later slices of a key cover. The
    slices of a column lie in order of time for each key, and before those of the next column."""
    first = columns[0]
    values = pa.concat_arrays([column.bag.values for column in columns])
    begins = np.cumsum([0, *(len(column.bag) for column in columns)])
    offsets = np.concatenate(
        [*(c.offsets[:-1] + begin for c, begin in zip(columns, begins[:-1], strict=True)), begins[-1:]]
    )
    owners = np.concatenate(keys)
    latest_first = len(owners) - 1 - np.argsort(owners[::-1], kind="stable")
    needed = np.zeros(len(values), np.bool_)
    for each in first.family.coverings(first.aggregate.monoid, values):
        highest = np.full(each.size, -1)
        _find_needed(latest_first, owners, offsets, each.numbers, each.levels, highest, each.most, needed)
    return [
        _only(column, needed[begin:end])
        for column, begin, end in zip(columns, begins[:-1].tolist(), begins[1:].tolist(), strict=True)
    ]


def _only(column: KeptColumn, needed: Any) -> KeptColumn:
    if needed.all():
        return column
    before = np.concatenate([[0], np.cumsum(needed)])
    bag = Bag(column.bag.values.filter(pa.array(needed)))
    return replace(column, bag=bag, offsets=before[column.offsets])


@kernel
def _find_needed(
    order: Ints, keys: Ints, offsets: Ints, codes: Any, levels: Any, highest: Ints, most: int, needed: Any
) -> None:
    """Which values are above all of their code that came before, slice by slice in this order, key by key,
    and at most so many of a key. ``highest``: of each code, -1."""
    key, found = -1, 0
    for s in order:
        if keys[s] != key:
            key, found = keys[s], 0
        for i in range(offsets[s], offsets[s + 1]):
            level = key * 64 + levels[i]
            if found < most and level > highest[codes[i]]:
                needed[i] = True
                highest[codes[i]] = level
                found += 1
