"""Ranges in pieces, for threads: neighbours that are aggregated without those of other pieces.

A piece is about as much work as :data:`windrow.threads.PIECE` rows, and depends on the ranges alone. Where
ranges overlap, a piece begins with rows that the one before has seen, too: it is then several times as long
as the widest range, so that little is done twice. Cost: one pass over the ranges; none for one piece.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.threads import even_pieces, in_threads, piece_size

__all__ = ["are_long", "range_parts", "range_pieces", "row_pieces", "widest_range"]

#: pieces of overlapping ranges are so many times as long as the widest of them, at least
_LONGER = 4


def range_pieces(fronts: Ints, stops: Ints, widest: int, overlap: bool) -> list[slice]:
    """Neighbouring ranges [front, stop) in pieces, by how many rows enter and how many results come out.

    >>> stops = np.arange(1, 600_001)
    >>> [piece.stop for piece in range_pieces(np.maximum(stops - 10, 0), stops, 10, overlap=True)]
    [131072, 262139, 393206, 524273, 600000]
    """
    count, most = len(fronts), piece_size(_LONGER * widest if overlap else 0)
    if count * (widest + 1) <= most or (count <= most and _work(fronts, stops) <= most):
        return [slice(0, count)]
    cuts = np.empty(count + 1, np.int64)
    number = _cut(fronts, stops, most, cuts)
    return [slice(first, last) for first, last in itertools.pairwise(cuts[:number].tolist())]


def _work(fronts: Ints, stops: Ints) -> int:
    """How many rows enter and how many results come out."""
    shares = (fronts[:-1] <= fronts[1:]) & (fronts[1:] < stops[:-1]) & (stops[:-1] <= stops[1:])
    entering = stops - fronts
    entering[1:][shares] = (stops[1:] - stops[:-1])[shares]
    return len(fronts) + int(entering.sum())


def row_pieces(count: int, overlap: int) -> list[slice]:
    """Rows in pieces, each of which begins by looking at so many rows before it."""
    return even_pieces(count, _LONGER * overlap)


def range_parts(fronts: Ints, stops: Ints) -> tuple[Ints, Ints, Ints]:
    """Disjoint ranges in parts of about a piece: fronts and stops of the parts, and where those of each
    range begin, and the end.

    >>> fronts, stops, begins = range_parts(np.array([0, 600_000]), np.array([600_000, 600_005]))
    >>> fronts.tolist(), stops.tolist(), begins.tolist()
    ([0, 300000, 600000], [300000, 600000, 600005], [0, 2, 3])
    """
    widths = stops - fronts
    counts = np.maximum(widths // piece_size(), 1)
    begins = np.concatenate([[0], np.cumsum(counts)])
    firsts, widths, numbers = (np.repeat(each, counts) for each in (fronts, widths, counts))
    k = np.arange(begins[-1]) - np.repeat(begins[:-1], counts)
    return firsts + widths * k // numbers, firsts + widths * (k + 1) // numbers, begins


def are_long(widest: int) -> bool:
    """Whether a range of so many rows is cut into parts."""
    return widest >= 2 * piece_size()


def widest_range(fronts: Ints, stops: Ints) -> int:
    """How many rows the widest of ranges [front, stop) holds."""

    def widest(piece: slice) -> int:
        return int(_widest(fronts[piece], stops[piece]))

    return max(in_threads(widest, even_pieces(len(fronts))))


@kernel
def _widest(fronts: Ints, stops: Ints) -> int:
    found: Any = np.int64(0)
    for i in range(len(fronts)):
        found = max(found, stops[i] - fronts[i])
    return found


@kernel
def _cut(fronts: Ints, stops: Ints, most: int, cuts: Ints) -> int:
    """Where pieces begin, and the end; how many numbers that are."""
    cuts[0] = work = 0
    count = 1
    for i in range(len(fronts)):
        whole = 1 + stops[i] - fronts[i]
        more = whole
        if i > cuts[count - 1] and fronts[i - 1] <= fronts[i] < stops[i - 1] <= stops[i]:
            more = 1 + stops[i] - stops[i - 1]
        if work + more > most and i > cuts[count - 1]:
            cuts[count] = i
            count += 1
            work = 0
            more = whole
        work += more
    cuts[count] = len(fronts)
    return count + 1
