"""Integers sorted in threads: pieces by NumPy, which are then merged, two and two.

A merge is cut into pieces, too: where the first k of two sorted lists end in each of them is found by a
search, for any k. Cost: O(n log n), all of it shared; with one thread NumPy sorts everything at once.

Source: Green, McColl, Bader, GPU Merge Path (2012).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel
from windrow.threads import are_several, even_pieces, in_threads

__all__ = ["sort_in_pieces"]

_Part = tuple[int, int, int, int, int]


def sort_in_pieces(numbers: Ints) -> Ints:
    """The numbers in order; they may be sorted where they are.

    >>> sort_in_pieces(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    pieces = even_pieces(len(numbers))
    if len(pieces) == 1 or not are_several():
        numbers.sort()
        return numbers
    in_threads(lambda piece: numbers[piece].sort(), pieces)
    spare = np.empty_like(numbers)
    edges = [piece.start for piece in pieces] + [len(numbers)]
    _merge(numbers, 0, 0, 0, 0, 0, spare)  # compiles, before threads do
    while len(edges) > 2:
        in_threads(functools.partial(_merge_part, numbers, spare), list(_parts(edges)))
        numbers, spare = spare, numbers
        edges = [*edges[:-1:2], edges[-1]]
    return numbers


def _parts(edges: list[int]) -> Iterator[_Part]:
    """Which lists are merged, [low, middle) and [middle, high), and the places of the result to fill."""
    for low, middle, high in itertools.zip_longest(edges[:-1:2], edges[1::2], edges[2::2]):
        high = middle if high is None else high
        for piece in even_pieces(high - low):
            yield low, middle, high, low + piece.start, low + piece.stop


def _merge_part(numbers: Ints, out: Ints, part: _Part) -> None:
    _merge(numbers, *part, out)


@kernel
def _merge(numbers: Ints, low: int, middle: int, high: int, first: int, last: int, out: Ints) -> None:
    """The places [first, last) of what two sorted lists, [low, middle) and [middle, high), are together."""
    # of the first k numbers, how many are of the left list
    k = first - low
    least, most = max(0, k - (high - middle)), min(k, middle - low)
    while least < most:
        half = (least + most) // 2
        if numbers[low + half] <= numbers[middle + k - half - 1]:
            least = half + 1
        else:
            most = half
    left, right = low + least, middle + k - least
    for place in range(first, last):
        if right == high or (left < middle and numbers[left] <= numbers[right]):
            out[place] = numbers[left]
            left += 1
        else:
            out[place] = numbers[right]
            right += 1
