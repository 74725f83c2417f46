"""Windows that fire together, with their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.arrays import Ints
from windrow.slicing.window_lists import Found
from windrow.values import with_fields

__all__ = ["Piece"]


@dataclass(frozen=True)
class Piece:
    """Windows that come out together; a retraction has no results."""

    found: Found
    results: Sequence[Any] | None
    revisions: Ints | None
    is_final: bool
    #: how many of them had come out as final before
    corrected: int = 0

    def __len__(self) -> int:
        return len(self.found)

    def take(self, places: Ints) -> Piece:
        results = None if self.results is None else [each.take(pa.array(places)) for each in self.results]
        revisions = None if self.revisions is None else self.revisions[places]
        return with_fields(self, found=self.found.take(places), results=results, revisions=revisions)
