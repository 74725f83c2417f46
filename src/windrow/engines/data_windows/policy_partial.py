"""Rows of a key that all its windows hold, as one partial: policies need not see them one by one.

A policy lets go of the oldest rows. So of the rows that are held, the first ones must be at hand; those that
follow are one partial, the *middle*, and behind it are the last ones and the new ones. This is a [MTA] whose
first leaves are rows, and the rest of it one node.

Invariant: before the middle of a key there is a row of it in each window, or :class:`FrontInMiddle` is
raised: then it must be taken apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.partials.partials import Partials
from windrow.partials.plain_column import PlainColumn

__all__ = ["FrontInMiddle", "PolicyMiddle"]


class FrontInMiddle(Exception):
    """A window begins with the middle, or in it."""


@dataclass(frozen=True)
class PolicyMiddle:
    """The middle of some keys of a frame: partials as Python objects, which ``record`` makes one for a policy
    to read."""

    #: the numbers of these keys, sorted
    keys: Ints
    #: before which position of the frame each lies
    seams: Ints
    partials: Partials
    record: Callable[[list[Any]], Any]
    #: how many keys the frame has
    key_count: int

    @cached_property
    def by_place(self) -> dict[int, Any]:
        """The partial that goes in before the row at a position."""
        columns = [self._objects(k) for k in range(len(self.partials.columns))]
        return {
            seam: self.record([objects[i] for objects in columns])
            for i, seam in enumerate(self.seams.tolist())
        }

    def _objects(self, k: int) -> list[Any]:
        column = self.partials.columns[k]
        if column is None:  # it counts rows
            return self.partials.rows.tolist()
        assert isinstance(column, PlainColumn)
        return column.objects

    def rows_beside(self, sizes: Ints, keys: Ints, stops: Ints) -> Ints:
        """How many rows of the frame are in windows of so many items, of which the middle is one."""
        has, seams = np.zeros(self.key_count, np.int64), np.zeros(self.key_count, np.int64)
        has[self.keys], seams[self.keys] = 1, self.seams
        found = sizes - has[keys]
        if ((has[keys] > 0) & (found <= stops - seams[keys])).any():
            raise FrontInMiddle
        return found

    def counts(self, k: int, keys: Ints) -> tuple[Ints, Ints]:
        """How many values, and how many nulls, of an aggregate are in the middle of each of these keys."""
        values, nulls = np.zeros(self.key_count, np.int64), np.zeros(self.key_count, np.int64)
        column, absent = self.partials.columns[k], self.partials.absent
        skipped = None if column is None else column.skipped
        values[self.keys] = self.partials.rows
        if skipped is not None:
            values[self.keys] -= skipped
            none = absent[k] if absent else None
            nulls[self.keys] = skipped if none is None else skipped - none
        return values[keys], nulls[keys]
