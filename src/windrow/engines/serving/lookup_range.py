"""What labels ask for: of each key the stretch of time that any of them may see.

It may hold more than the labels see, never less: which events a label sees is decided where it is answered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.engines.frames.retention import Retention
from windrow.rows.key_bytes import key_bytes
from windrow.rows.points import keys_like
from windrow.slicing.finder.relative import bounds_at
from windrow.spec import Spec
from windrow.windows.relative import Bound

__all__ = ["LookupRange"]


@dataclass(frozen=True)
class LookupRange:
    """Keys, each once, and the first and last moment that is asked of each; both are included."""

    keys: list[bytes]
    lows: Ints
    highs: Ints
    #: with ``rows``, so many events before this moment are enough
    nears: Ints
    rows: int

    @classmethod
    def of(
        cls, query: Spec, schema: pa.Schema, labels: pa.Table, times: Ints, at_by: tuple[str, ...]
    ) -> LookupRange:
        """For labels all of which have a time; ``schema``: that of the events."""
        columns = [
            keys_like(schema.field(by).type, by, labels.column(at), at)
            for by, at in zip(query.by, at_by, strict=True)
        ]
        keys = key_bytes(columns, labels.num_rows)
        retention = Retention.of(query)
        lows, highs, nears = _stretches(retention, times)
        if len(keys) == 1:
            return cls(keys, lows, highs, nears, retention.rows)
        numbers: dict[bytes, int] = {}
        places = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int64, len(keys))
        first, near = (_by_key(np.minimum, places, each, END_OF_TIME) for each in (lows, nears))
        last = _by_key(np.maximum, places, highs, START_OF_TIME)
        return cls(list(numbers), first, last, near, retention.rows)

    def __len__(self) -> int:
        return len(self.keys)


def _by_key(extreme: np.ufunc, places: Ints, values: Ints, without: int) -> Ints:
    """The extreme of the values at each place; all places from 0 on occur."""
    found = np.full(int(places.max()) + 1, without, np.int64)
    extreme.at(found, places, values)
    return found


def _stretches(retention: Retention, times: Ints) -> tuple[Ints, Ints, Ints]:
    """The first and the last moment that a point at each time may see; and the near end of frames of rows."""
    lows = [_ends(frame.lower, times, START_OF_TIME) for frame in retention.frames]
    highs = [_ends(frame.upper, times, END_OF_TIME) for frame in retention.frames]
    return np.min(lows, axis=0), np.max(highs, axis=0), np.min(highs, axis=0)


def _ends(bound: Bound | None, times: Ints, without: int) -> Ints:
    return np.full(len(times), without) if bound is None else bounds_at(bound, times)
