"""Room for the windows that are due, and the windows of one kind found key by key, in threads."""

from __future__ import annotations

import itertools

import numpy as np

from windrow.arrays import END_OF_TIME, START_OF_TIME, Ints, Mask
from windrow.compile.cache import kernel
from windrow.slicing.finder.kernels import find_due, found_in_pieces
from windrow.slicing.finder.kind_columns import Kinds
from windrow.slicing.window_lists import Ranges
from windrow.threads import even_pieces, in_threads

__all__ = ["find_due_in_pieces", "most_due", "stretches"]


#: room is made for so many windows without counting them first
_MOST_ROOM = 4_000_000


def find_due_in_pieces(
    kinds: Kinds, fills: Mask, runs: Ints, times: Ints, low: int, high: int
) -> Ranges | None:
    """The windows of one kind, with the numbers of runs as keys; None: there is only one piece, or there are
    more windows than there is room for, which are to be counted first."""
    pieces = _run_pieces(runs)
    if len(pieces) == 1:
        return None

    def find(piece: slice) -> Ints | None:
        mine, until = runs[piece.start : piece.stop + 1], np.empty(1, np.int64)
        room = np.empty((5, most_due(kinds, mine, times, high - low)), np.int64)
        count = found_in_pieces(find_due, *kinds, fills, mine, times, low, high, until, room)
        return None if count > room.shape[1] else room[:, :count].copy()

    find(slice(0, 0))  # compiles, before threads do
    found = in_threads(find, pieces)
    some = [each for each in found if each is not None]
    if len(some) < len(found):
        return None
    ends = np.cumsum([0, *(each.shape[1] for each in some)])
    columns = np.empty((5, ends[-1]), np.int64)

    def put(number: int) -> None:
        mine = columns[:, ends[number] : ends[number + 1]]
        mine[:] = some[number]
        mine[0] += pieces[number].start

    in_threads(put, range(len(pieces)))
    return Ranges(*columns)


def _run_pieces(runs: Ints) -> list[slice]:
    """Runs in pieces, by how many rows they have."""
    cuts = np.searchsorted(runs, [piece.start for piece in even_pieces(int(runs[-1]))][1:])
    edges = np.unique([0, *cuts, len(runs) - 1]).tolist()
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def stretches(times: Ints, runs: Ints) -> tuple[Ints, Ints]:
    """The first and the last time of each run that is not empty."""
    some = np.flatnonzero(np.diff(runs))
    return times[runs[some]], times[runs[some + 1] - 1]


def most_due(kinds: Kinds, runs: Ints, times: Ints, within: int) -> int:
    """Room for windows that end within a time and hold a slice: for all of them, unless that is very many."""
    sizes, slides, _, heads, tails, _, _ = kinds
    everything = _count_most(sizes, slides, heads, tails, runs, times, min(within, END_OF_TIME))
    return int(everything) if 0 < everything < _MOST_ROOM else 64 + 2 * int(runs[-1] - runs[0])


@kernel
def _count_most(
    sizes: Ints, slides: Ints, heads: Ints, tails: Ints, runs: Ints, times: Ints, within: int
) -> float:
    """How many windows there are at most in all runs, by the time from the first to the last row."""
    first, last = np.int64(END_OF_TIME), np.int64(START_OF_TIME)
    for run in range(len(runs) - 1):
        if runs[run] < runs[run + 1]:
            first, last = min(first, times[runs[run]]), max(last, times[runs[run + 1] - 1])
    found = 0.0
    if first <= last:
        for kind in range(len(sizes)):
            if slides[kind] > 0:
                found += min(last - first + sizes[kind], within) // slides[kind] + 2
            else:
                found += tails[kind] - heads[kind]
    return found * (len(runs) - 1)
