"""The slicer: cuts the time line at the edges of all windows, each shared edge once.

A *slice* is a run of neighbouring rows of one key between two edges. No window starts or ends inside a
slice, so every window is a range of whole slices: rows are folded into slices once, however many windows
there are, and windows are assembled from slices. Only slices that hold a row exist.

Invariant: two rows of a key are in one slice if and only if no edge of any window lies between them; so the
slices are the fewest that serve all windows. Cost: O(1) a row, O(edges) a slice. Source: [Scotty] section
III.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.windows import Arithmetic, TimeWindow

__all__ = ["Slicer", "Slices"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Slices:
    """Slices of rows that are sorted by key and time."""

    #: where the rows of each slice start, and the end
    rows: Ints
    #: a time inside each slice: that of its first row
    times: Ints
    #: where the slices of each key start, and the end
    runs: Ints
    #: partials of aggregates over the slices, by aggregate: folded once for all windows
    partials: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False)

    def __len__(self) -> int:
        return len(self.times)


class Slicer:
    """Where to cut for a set of windows.

    >>> from windrow.windows import Sliding, Tumbling
    >>> slicer = Slicer([Tumbling(10), Sliding(20, slide=5)])
    >>> slicer.progressions
    (Arithmetic(anchor=0, period=5),)
    """

    def __init__(self, windows: Iterable[TimeWindow]) -> None:
        self._listed: list[TimeWindow] = []
        found: set[Arithmetic] = set()
        for window in windows:
            progressions = window.edge_progressions()
            if progressions is None:
                self._listed.append(window)
            else:
                found.update(progressions)
        #: the edges as arithmetic progressions, without those that another one contains
        self.progressions = tuple(
            sorted(p for p in found if not any(_contains(o, p) for o in found if o != p))
        )

    def slices(self, times: Ints, runs: Ints) -> Slices:
        """Cut rows that are sorted by key and time; ``runs`` says where the rows of each key start, and the
        end."""
        anchors = np.array([p.anchor for p in self.progressions], np.int64)
        periods = np.array([p.period for p in self.progressions], np.int64)
        listed = np.array(sorted(self._listed_edges(times)), np.int64)
        rows = np.empty(len(times) + 1, np.int64)
        slice_runs = np.zeros(len(runs), np.int64)
        count = _cut(times, runs, anchors, periods, listed, rows, slice_runs)
        rows = rows[: count + 1].copy()
        return Slices(rows, times[rows[:-1]], slice_runs)

    def _listed_edges(self, times: Ints) -> set[int]:
        """Edges of calendar windows and fixed bands: those next to some row."""
        found: set[int] = set()
        moments = np.unique(times) if self._listed else times
        for window in self._listed:
            i = 0
            while i < len(moments):
                edge = window.next_edge(int(moments[i]))
                if edge is None:
                    break
                found.add(edge)
                i = int(np.searchsorted(moments, edge))
        return found


def _contains(coarse: Arithmetic, fine: Arithmetic) -> bool:
    """Whether every member of the second is one of the first."""
    return fine.period % coarse.period == 0 and (fine.anchor - coarse.anchor) % coarse.period == 0


@njit(cache=True, nogil=True)
def _cut(
    times: Ints, runs: Ints, anchors: Ints, periods: Ints, listed: Ints, rows: Ints, slice_runs: Ints
) -> int:
    count = 0
    for run in range(len(runs) - 1):
        slice_runs[run] = count
        i = runs[run]
        while i < runs[run + 1]:
            rows[count] = i
            count += 1
            edge = np.int64(2**63 - 1)  # the first edge after this row
            for p in range(len(anchors)):
                edge = min(edge, times[i] + periods[p] - (times[i] - anchors[p]) % periods[p])
            place = np.searchsorted(listed, times[i], side="right")
            if place < len(listed):
                edge = min(edge, listed[place])
            while i < runs[run + 1] and times[i] < edge:
                i += 1
    slice_runs[len(runs) - 1] = count
    rows[count] = runs[len(runs) - 1]
    return count
