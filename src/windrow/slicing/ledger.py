"""Which windows have come out already, and how often: the numbers behind ``revision``.

Invariant: sorted by (window, key, start, end), each once. Kept only as long as a window can come out again.
Cost: O(n log n) per batch of results, n being what is kept and what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.slicing.window_lists import Found
from windrow.state.checks import check_column, check_numbers, check_sorted, require
from windrow.values import with_fields

__all__ = ["Ledger"]


@dataclass(frozen=True)
class Ledger:
    """Windows that came out, with the revision that they came out as."""

    found: Found
    revisions: Ints
    #: whether the last that came out was final
    final: Mask

    @classmethod
    def empty(cls) -> Ledger:
        return cls(Found.none(), np.empty(0, np.int64), np.empty(0, np.bool_))

    def __len__(self) -> int:
        return len(self.found)

    @property
    def nbytes(self) -> int:
        return 41 * len(self)

    def check_invariants(self, numbers: Sequence[int], key_count: int) -> None:
        """Of a ledger that comes from outside, for windows of these numbers."""
        found, count = self.found, len(self)
        for name in ("windows", "keys", "starts", "ends"):
            check_column(f"{name} of the ledger", getattr(found, name), count)
        check_column("revisions of the ledger", self.revisions, count)
        check_column("finality of the ledger", self.final, count, np.bool_)
        require(np.isin(found.windows, numbers).all(), "the ledger: windows that the query does not have")
        check_numbers("keys of the ledger", found.keys, 0, max(key_count, 1) - 1)
        check_numbers("revisions of the ledger", self.revisions, 0, END_OF_TIME)
        for edges in (found.starts, found.ends):
            check_numbers("edges of the ledger", edges, START_OF_TIME, END_OF_TIME)
        require((found.starts < found.ends).all(), "the ledger: windows that end before they start")
        check_sorted("the ledger", found.windows, found.keys, found.starts, found.ends, each_once=True)

    def places(self, asked: Found) -> Ints:
        """Where each of these windows is in the ledger; -1: it has not come out. None is asked for twice."""
        both = self.found.joined(asked)
        order = both.order()
        same = both.take(order).same_as_before()
        places = np.full(len(asked), -1, np.int64)
        second = np.flatnonzero(same)
        places[order[second] - len(self)] = order[second - 1]
        return places

    def entered(self, out: Found, is_final: bool) -> tuple[Ledger, Ints, int]:
        """With windows that come out now; the revision of each; and how many had been final before."""
        places = self.places(out)
        known = places >= 0
        revisions = np.where(known, self.revisions[places] + 1 if len(self) else 0, 0)
        corrected = int(self.final[places[known]].sum())
        kept = np.ones(len(self), np.bool_)
        kept[places[known]] = False
        found = self.found.take(kept).joined(out)
        order = found.order()
        ledger = Ledger(
            found.take(order),
            np.concatenate([self.revisions[kept], revisions])[order],
            np.concatenate([self.final[kept], np.full(len(out), is_final)])[order],
        )
        return ledger, revisions, corrected

    def only(self, kept: Any) -> Ledger:
        return Ledger(self.found.take(kept), self.revisions[kept], self.final[kept])

    def with_keys(self, renumbered: Ints) -> Ledger:
        return with_fields(self, found=with_fields(self.found, keys=renumbered[self.found.keys]))
