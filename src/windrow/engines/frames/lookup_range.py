"""What labels ask for: of each key the stretch of time that any of them may see.

It may hold more than the labels see, never less: which events a label sees is decided where it is answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.engines.frames.key_index import codes_of
from windrow.engines.frames.retention import Retention
from windrow.rows.keys import shared_keys
from windrow.rows.points import keys_like
from windrow.slicing.finder.relative import bounds_at
from windrow.spec import Spec
from windrow.windows.relative import Bound

__all__ = ["LookupRange"]


@dataclass(frozen=True)
class LookupRange:
    """Keys, each once, and the first and last moment that is asked of each; both are included."""

    #: in the types of the events
    keys: pa.Table
    codes: Ints
    lows: Ints
    highs: Ints
    #: with ``rows``, so many events before this moment are enough
    nears: Ints
    rows: int
    #: whether these are the very keys of the labels: in the types of the events some may be others
    are_exact: bool = True

    @classmethod
    def of(
        cls, query: Spec, schema: pa.Schema, labels: pa.Table, times: Ints, at_by: tuple[str, ...]
    ) -> LookupRange:
        """For labels all of which have a time; ``schema``: that of the events."""
        kinds = {by: schema.field(by).type for by in query.by}
        pairs = zip(query.by, at_by, strict=True)
        asked = {by: keys_like(kinds[by], by, labels.column(at), at) for by, at in pairs}
        columns = {by: _in_type(column, kinds[by]) for by, column in asked.items()}
        are_exact = all(_are_equal(column, columns[by]) for by, column in asked.items())
        keys, retention = pa.table(columns), Retention.of(query)
        lows, highs, nears = _stretches(retention, times)
        if len(times) > 1:
            keys, (places,) = shared_keys(query.by, [keys if query.by else labels])
            lows, nears = (_by_key(np.minimum, places, each, END_OF_TIME) for each in (lows, nears))
            highs = _by_key(np.maximum, places, highs, START_OF_TIME)
        codes = codes_of(query.by, keys) if query.by else np.zeros(1, np.int64)
        return cls(keys, codes, lows, highs, nears, retention.rows, are_exact)

    def __len__(self) -> int:
        return len(self.codes)

    def where(self, wanted: Mask) -> LookupRange:
        """What is asked of some keys."""
        if wanted.all():
            return self
        some = np.flatnonzero(wanted)
        stretches = (self.lows[some], self.highs[some], self.nears[some])
        keys = self.keys.filter(pa.array(wanted))
        return LookupRange(keys, self.codes[some], *stretches, self.rows, self.are_exact)


def _in_type(column: Any, kind: Any) -> Any:
    """Keys of labels in the type of events' keys; one that no event can have may be any other."""
    if column.type == kind:
        return column
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    try:
        return column.cast(kind, safe=False)
    except pa.ArrowException:
        return pa.array([_value_in(each, kind) for each in column], kind)


def _are_equal(keys: Any, in_type: Any) -> bool:
    """Whether a cast has lost nothing, as far as that is easily told."""
    if in_type.type == keys.type:
        return True
    return not pa.types.is_null(in_type.type) and bool(in_type.cast(keys.type, safe=False).equals(keys))


def _value_in(value: Any, kind: Any) -> Any:
    try:
        return value.cast(kind).as_py()
    except pa.ArrowException:
        return None


def _by_key(extreme: np.ufunc, places: Ints, values: Ints, without: int) -> Ints:
    """The extreme of the values at each place; all places from 0 on occur."""
    found = np.full(int(places.max()) + 1, without, np.int64)
    extreme.at(found, places, values)
    return found


def _stretches(retention: Retention, times: Ints) -> tuple[Ints, Ints, Ints]:
    """The first and the last moment that a point at each time may see; and the near end of frames of rows."""
    lows = [_ends(frame.lower, times, START_OF_TIME) for frame in retention.frames]
    highs = [_ends(frame.upper, times, END_OF_TIME) for frame in retention.frames]
    return reduce(np.minimum, lows), reduce(np.maximum, highs), reduce(np.minimum, highs)


def _ends(bound: Bound | None, times: Ints, without: int) -> Ints:
    return np.full(len(times), without) if bound is None else bounds_at(bound, times)
