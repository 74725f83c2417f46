"""Rows of a log that all windows of a step hold, as one partial per key: the *middle* of a reach
(:mod:`windrow.engines.kept_rows.reading`), put between the partials of single rows before it and behind it.

Invariant: each window that is asked for begins before the middle of its key, or where it begins, and ends
behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Ints
from windrow.engines.kept_rows.context import RowsWithContext
from windrow.engines.kept_rows.key_partials import fused, numbered
from windrow.engines.kept_rows.reading import Read
from windrow.partials.partials import Partials
from windrow.spec import Spec

__all__ = ["SharedPartial", "by_key", "middle_of"]


@dataclass(frozen=True)
class SharedPartial:
    """Partials of rows and of the middle, by key and time."""

    partials: Partials
    #: how many rows of each key are in the middle
    held: Ints
    #: before which row of the frame the middle of each key lies
    seams: Ints

    def results(self, keys: Ints, fronts: Ints, stops: Ints) -> list[Any]:
        """A column for each aggregate, for ranges [front, stop) of the frame's rows, each of a key."""
        has = (self.held > 0).astype(np.int64)
        before = (np.cumsum(has) - has)[keys]
        is_inside = (fronts <= self.seams[keys]) & (stops >= self.seams[keys])
        assert (is_inside | (has[keys] == 0)).all(), "a window without the middle"
        return self.partials.results(fronts + before, stops + before + has[keys], "sliding")


def middle_of(query: Spec, taken: RowsWithContext, reach: Read, keys: pa.Table, runs: Ints) -> SharedPartial:
    """The rows of a frame with the middle of a reach between them. ``keys``: those of the frame, and perhaps
    more behind them, whose runs, as ``runs`` says, are empty."""
    frame, count = taken.frame, len(runs) - 1
    aggregates = [aggregate for _, aggregate in query.aggregates]
    single = Partials.of_rows(frame, aggregates, np.arange(len(frame) + 1), taken.unseen)
    codes, middle = by_key(query, keys, count, reach)
    edges = np.zeros(count, np.int64)
    edges[: len(frame.key_rows)] = taken.leading_rows(reach.edge)
    seams = runs[:-1] + edges
    places = np.insert(np.arange(len(frame)), seams[codes], len(frame) + np.arange(len(codes)))
    held = np.zeros(count, np.int64)
    held[codes] = middle.rows
    return SharedPartial(Partials.concat([single, middle]).take(places), held, seams)


def by_key(query: Spec, keys: pa.Table, count: int, reach: Read) -> tuple[Ints, Partials]:
    """The numbers of the keys that are in the middle, sorted, and one partial for each."""
    wholes = [whole for whole, _ in reach.middle]
    codes, parts = [], []
    for numbers, (whole, mask) in zip(numbered(query.by, keys, wholes), reach.middle, strict=True):
        wanted = numbers < count
        places = np.flatnonzero(wanted if mask is None else wanted & mask)
        codes.append(numbers[places])
        parts.append(whole.partials.take(places))
    return fused(np.concatenate(codes), parts)
