"""The values of one line, at every level of detail: [M4] keeps of each stretch of time the first, smallest,
largest and last value, which is all that a column of pixels can show.

Purpose: a year of points is drawn from a few thousand numbers. Invariant: values are in order of time, one
for each time, the latest that was given. A level covers all values up to ``until`` and is made, from there
on, when it is asked for: values that are added, or corrected, cost what lies behind them.
Source: [M4] U. Jugel et al., M4: a visualization-oriented time series data aggregation, PVLDB 7 (2014).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.arrays import Floats, Ints
from windrow.monoids.extremes import M4

__all__ = ["Line", "Points"]

Points = list[tuple[float, float]]

_PER_BUCKET = len(M4._fields)


@dataclass
class _Level:
    """Buckets of one width that begin before ``until``."""

    starts: Ints
    parts: Floats
    until: int


@dataclass
class Line:
    """Values of several columns over one time axis.

    >>> line = Line()
    >>> line.add(np.array([3, 1]), {"n": np.array([30.0, 10.0])})
    >>> line.add(np.array([3]), {"n": np.array([31.0])})
    >>> line.points("n", 0, 9, 100)
    [(1.0, 10.0), (3.0, 31.0)]
    """

    times: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    columns: dict[str, Floats] = field(default_factory=dict[str, Any])
    _levels: dict[tuple[str, int], _Level] = field(default_factory=dict[Any, Any])

    def __len__(self) -> int:
        return len(self.times)

    def add(self, times: Ints, columns: dict[str, Floats]) -> None:
        """Values in any order; NaN: none. Of several for one time the last counts."""
        whole = np.concatenate([self.times, times])
        if len(self.times) and len(times) and times[0] > self.times[-1] and bool(np.all(np.diff(times) > 0)):
            kept: Any = slice(None)
        else:
            order = np.argsort(whole, kind="stable")
            kept = order[np.append(np.diff(whole[order]) != 0, True)]
        before = {name: self.columns.get(name, np.full(len(self.times), np.nan)) for name in columns}
        self.columns = {name: np.concatenate([before[name], columns[name]])[kept] for name in columns}
        self.times = whole[kept]
        self._forget_levels(int(times.min()))

    def _forget_levels(self, since: int) -> None:
        for level in self._levels.values():
            level.until = min(level.until, since)

    def points(self, column: str, low: int, high: int, buckets: int) -> Points:
        """What is to be drawn from low to high: every value, or four for each bucket where there are more
        than twice as many values as buckets. One value to each side is among them, so that a line leaves the
        picture in the right direction."""
        first, last = np.searchsorted(self.times, [low, high + 1])
        first, last = max(int(first) - 1, 0), min(int(last) + 1, len(self.times))
        if last - first <= 2 * buckets:
            return _finite(self.times[first:last], self.columns[column][first:last])
        width = 1 << max((max(high - low, 1) // buckets).bit_length() - 1, 0)
        level = self._level(column, width)
        chosen = slice(*np.searchsorted(level.starts, [low - width, high + 1]))
        middles = np.repeat(level.starts[chosen] + width // 2, _PER_BUCKET)
        return _finite(middles, level.parts[chosen].ravel())

    def _level(self, column: str, width: int) -> _Level:
        none = _Level(np.empty(0, np.int64), np.empty((0, _PER_BUCKET)), -(2**63))
        have = self._levels.get((column, width), none)
        kept = int(np.searchsorted(have.starts, have.until // width * width))
        begin = int(np.searchsorted(self.times, have.until // width * width))
        starts, parts = _buckets(self.times[begin:], self.columns[column][begin:], width)
        until = int(self.times[-1]) + 1
        found = _Level(
            np.concatenate([have.starts[:kept], starts]), np.concatenate([have.parts[:kept], parts]), until
        )
        self._levels[column, width] = found
        return found


def _buckets(times: Ints, values: Floats, width: int) -> tuple[Ints, Floats]:
    """By windrow's own ``m4``, over tumbling windows."""
    import windrow as wr

    valid = np.isfinite(values)
    table = pa.table({"t": times[valid], "v": values[valid]})
    query = wr.query(time="t").window(wr.Tumbling(width)).agg(line=wr.m4("v"))
    found = query.run(table).combine_chunks()
    line = found.column("line").combine_chunks()
    parts = M4(*(np.asarray(line.field(name), np.float64) for name in M4._fields))
    in_order_of_drawing = [parts.first, parts.min, parts.max, parts.last]
    return np.asarray(found.column("window_start"), np.int64), np.stack(in_order_of_drawing, axis=1)


def _finite(times: Ints, values: Floats) -> Points:
    valid = np.isfinite(values)
    return list(zip(times[valid].astype(float).tolist(), values[valid].tolist(), strict=True))
