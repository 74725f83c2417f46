"""The slicer: cuts the time line at the edges of all windows, each shared edge once.

A *slice* is a run of neighbouring rows of one key between two edges. No window starts or ends inside a
slice, so every window is a range of whole slices: rows are folded into slices once, however many windows
there are, and windows are assembled from slices. Only slices that hold a row exist. Where sessions take part,
silence cuts, too: of several gaps only the smallest. Where rows must be combined in order of time, every
moment is a slice of its own.

Invariant: two rows of a key are in one slice if and only if no edge of any window lies between them (and no
gap, and no other cut that was asked for); so the slices are the fewest that serve all windows. Cost: O(1) a
row, O(log edges) per slice. Source: [Scotty] section III.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints
from windrow.compile.cache import kernel
from windrow.partials.ranges import Slices
from windrow.values import lazy
from windrow.windows import Arithmetic, TimeWindow

__all__ = ["Slicer"]


#: edges are listed, rather than computed for each slice, where there are at most so many a row
_LISTED_A_ROW = 4
_FEW_PROGRESSIONS = 3
#: and not where rows times progressions are no more than this
_FEW_COMPUTED = 4096
#: so many edges of a stretch of time are listed whatever the rows are; a calendar, which must be asked for
#: each of them, gives one more for every so many rows
_ASKED_FOR = 64
_ROWS_AN_EDGE = 16
_ANY_NUMBER = 1 << 62
_NO_EDGES: Ints = np.empty(0, np.int64)


class Slicer:
    """Where to cut for a set of windows.

    ``gap``: the smallest gap of the sessions that take part. ``moments``: cut between any two times.
    ``apart``: cut between any two rows, for rows of equal time that something else orders.

    >>> from windrow.windows import Sliding, Tumbling
    >>> slicer = Slicer([Tumbling(10), Sliding(20, slide=5)])
    >>> slicer.progressions
    (Arithmetic(anchor=0, period=5),)
    """

    def __init__(
        self,
        windows: Iterable[TimeWindow],
        gap: int | None = None,
        moments: bool = False,
        apart: bool = False,
    ) -> None:
        self.gap = gap
        self.moments = moments
        self.apart = apart
        self._listed: list[TimeWindow] = []
        found: set[Arithmetic] = set()
        for window in windows:
            progressions = window.edge_progressions()
            if progressions is None:
                self._listed.append(window)
            else:
                found.update(progressions)
        #: the edges as arithmetic progressions, without those that another one contains
        self.progressions = tuple(sorted(_fewest(found)))
        self._anchors = np.array([p.anchor for p in self.progressions], np.int64)
        self._periods = np.array([p.period for p in self.progressions], np.int64)

    def slices(self, times: Ints, runs: Ints, cut_before: int = START_OF_TIME) -> Slices:
        """Cut rows that are sorted by key and time; ``runs`` says where the rows of each key start, and the
        end. Rows before ``cut_before`` are cut at every moment."""
        if self.apart:
            return Slices(np.arange(len(times) + 1), times, runs, times + 1)
        anchors, periods, listed = self._edges(times)
        gap = END_OF_TIME if self.gap is None else self.gap
        cut_before = END_OF_TIME if self.moments else cut_before
        rows, firsts, ends, slice_runs = _cut(times, runs, anchors, periods, listed, gap, cut_before)
        return Slices(rows, firsts, slice_runs, firsts + 1 if self.moments else ends)

    @property
    def cuts_between_rows(self) -> bool:
        """Whether more than edges cuts: silence, or each moment."""
        return self.gap is not None or self.moments or self.apart

    @property
    def only_progression(self) -> Arithmetic | None:
        """The progression that all edges are of; None: there is more than one, or some are listed."""
        return self.progressions[0] if len(self.progressions) == 1 and not self._listed else None

    @lazy
    def plain_progressions(self) -> tuple[Ints, Ints] | None:
        """Anchors and periods of all edges; None: some are listed, or more than edges cuts."""
        return None if self._listed or self.cuts_between_rows else (self._anchors, self._periods)

    def edges_between(self, low: int, high: int, rows: int) -> Ints | None:
        """All edges after low, up to the first after high; None: there are too many for so many rows."""
        most, found = _ASKED_FOR + rows // _ROWS_AN_EDGE, set[int]()
        for window in self._listed:
            edge = window.next_edge(low)
            while edge is not None and len(found) <= most:
                found.add(edge)
                edge = None if edge > high else window.next_edge(edge)
        if len(found) > most:
            return None
        most = _ASKED_FOR + _LISTED_A_ROW * rows
        listed = _listed_progressions(self._anchors, self._periods, low, high, most)
        if len(self.progressions) and not len(listed):
            return None
        edges = np.concatenate([listed, np.array(list(found), np.int64)]) if found else listed
        edges.sort()
        return _distinct(edges, high)

    def next_edge(self, time: int) -> int:
        """The first edge of any window after a time."""
        ahead = [p.next_after(time) for p in self.progressions]
        ahead += [edge for w in self._listed if (edge := w.next_edge(time)) is not None]
        return min(ahead, default=END_OF_TIME)

    def edges_after(self, times: Ints) -> Ints:
        """The first edge of any window after each time."""
        found = np.full(len(times), END_OF_TIME, np.int64)
        anchors, periods, listed = self._edges(times)
        _first_edges(times, anchors, periods, found)
        if len(listed):
            places = np.searchsorted(listed, times, side="right")
            found = np.minimum(found, np.append(listed, END_OF_TIME)[places])
        return found

    def _edges(self, times: Ints) -> tuple[Ints, Ints, Ints]:
        """Edges to be computed (anchors and periods), and edges in a list."""
        few = len(self.progressions)
        if not self._listed and (few <= _FEW_PROGRESSIONS or few * len(times) <= _FEW_COMPUTED):
            return self._anchors, self._periods, _NO_EDGES
        listed = self._listed_edges(times)
        if len(self.progressions) <= _FEW_PROGRESSIONS or not len(times):
            return self._anchors, self._periods, np.array(sorted(listed), np.int64)
        low, high = int(times.min()), int(times.max())
        if int((high - low) // self._periods.min()) > _LISTED_A_ROW * len(times):
            return self._anchors, self._periods, np.array(sorted(listed), np.int64)
        edges = np.unique(_listed_progressions(self._anchors, self._periods, low, high, _ANY_NUMBER))
        if listed:
            edges = np.union1d(edges, np.array(list(listed), np.int64))
        return self._anchors[:0], self._periods[:0], edges

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


def _fewest(progressions: Iterable[Arithmetic]) -> list[Arithmetic]:
    """Without those that another one contains."""
    found = sorted(progressions, key=lambda each: each.period)
    anchors, periods = (np.array([p[k] for p in found], np.int64) for k in range(2))
    return [p for p, is_kept in zip(found, _kept(anchors, periods), strict=True) if is_kept]


@kernel
def _kept(anchors: Ints, periods: Ints) -> Any:
    """Which progressions, by period, are contained in none before; one that is kept contains whatever is
    contained at all."""
    kept = np.ones(len(anchors), np.bool_)
    for i in range(len(anchors)):
        for j in range(i):
            if kept[j] and periods[i] % periods[j] == 0 and (anchors[i] - anchors[j]) % periods[j] == 0:
                kept[i] = False
                break
    return kept


@kernel
def _first_edges(times: Ints, anchors: Ints, periods: Ints, found: Ints) -> None:
    """The first edge of any progression after each time, where it is before what was found."""
    for i in range(len(times)):
        for p in range(len(anchors)):
            found[i] = min(found[i], times[i] + periods[p] - (times[i] - anchors[p]) % periods[p])


@kernel
def _listed_progressions(anchors: Ints, periods: Ints, low: int, high: int, most: int) -> Ints:
    """All edges from the first after low to the first after high, of each progression; none if there are
    about more than so many."""
    count, left = 0, most
    for p in range(len(anchors)):
        left -= (high - low) // periods[p]
        count += (high - low) // periods[p] + 2
        if left < 0:
            return np.empty(0, np.int64)
    found = np.empty(count, np.int64)
    count = 0
    for p in range(len(anchors)):
        edge = low + periods[p] - (low - anchors[p]) % periods[p]
        while edge <= high + periods[p]:
            found[count] = edge
            count += 1
            edge += periods[p]
    return found[:count]


@kernel
def _distinct(edges: Ints, high: int) -> Ints:
    """Sorted edges, each once, up to the first after high."""
    count = 0
    for i in range(len(edges)):
        if count == 0 or edges[i] != edges[count - 1]:
            edges[count] = edges[i]
            count += 1
            if edges[i] > high:
                break
    return edges[:count]


@kernel
def _cut(
    times: Ints,
    runs: Ints,
    anchors: Ints,
    periods: Ints,
    listed: Ints,
    gap: int,
    moments_before: int,
) -> Any:
    """Where slices start, and the end; their first times, and the edges behind them; and where the slices of
    each run start, and the end."""
    rows, ends = np.empty(len(times) + 1, np.int64), np.empty(len(times), np.int64)
    slice_runs = np.zeros(len(runs), np.int64)
    count = 0
    for run in range(len(runs) - 1):
        slice_runs[run] = count
        i = runs[run]
        place = 0
        while i < runs[run + 1]:
            rows[count] = i
            edge = np.int64(END_OF_TIME)  # the first edge after this row
            for p in range(len(anchors)):
                edge = min(edge, times[i] + periods[p] - (times[i] - anchors[p]) % periods[p])
            if place < len(listed) and listed[place] <= times[i]:
                place += np.searchsorted(listed[place:], times[i], side="right")
            if place < len(listed):
                edge = min(edge, listed[place])
            ends[count] = edge
            count += 1
            stop = edge
            if times[i] < moments_before:
                stop = min(stop, times[i] + 1)
            i += 1
            while i < runs[run + 1] and times[i] < stop and times[i] - times[i - 1] <= gap:
                i += 1
    slice_runs[len(runs) - 1] = count
    rows[count] = runs[len(runs) - 1]
    firsts = np.empty(count, np.int64)
    for k in range(count):
        firsts[k] = times[rows[k]]
    return rows[: count + 1].copy(), firsts, ends[:count].copy(), slice_runs
