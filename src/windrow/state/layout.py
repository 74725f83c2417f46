"""Where the blocks of a stored window are, as its manifest says: checked before anything is read or deleted
there.

A level is (level, head, end, runs): pairs [head, end) are the window's, and runs are the first and the last
number of neighbouring blocks in the store, oldest first. Runs that are *dead* are garbage: blocks before the
head of their level.

Invariant: what is wrong raises :class:`CorruptState` and says what. Cost: O(size of the manifest).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from windrow.errors import CorruptState
from windrow.state.checks import require, whole

__all__ = ["NULLS", "TIMES", "Level", "Run", "checked_dead", "checked_levels"]

#: levels that no tree reaches, for what else a window keeps
NULLS, TIMES = 254, 255
#: a level of a tree has half as many nodes as the one below, and no position is beyond this
_MOST_LEVELS = 64
_MOST = 2**62


#: level, first and last number of neighbouring blocks
Run = tuple[int, int, int]


class Level(NamedTuple):
    """What a manifest says of one level."""

    level: int
    head: int
    end: int
    runs: Sequence[tuple[int, int]]


def checked_levels(stored: Any, block: int) -> list[Level]:
    """The levels of a manifest, with so many pairs in a block.

    >>> checked_levels([(0, 4, 9, [(2, 3), (4, 2)])], block=2)
    Traceback (most recent call last):
    windrow.errors.CorruptState: level 0: blocks 4 to 2 ...
    """
    levels = [_checked_level(listed, block) for listed in stored]
    numbers = [level.level for level in levels]
    require(len(set(numbers)) == len(numbers), f"levels {numbers}: one is there twice")
    return levels


def _checked_level(listed: Any, block: int) -> Level:
    number, head, end, runs = listed
    whole("number of a level", number, 0, TIMES)
    require(number < _MOST_LEVELS or number in (NULLS, TIMES), f"level {number}: there are not so many")
    whole(f"head of level {number}", head, 0, _MOST)
    whole(f"end of level {number}", end, head, _MOST)
    before = -1
    for first, last in runs:
        whole(f"level {number}: first block of a run", first, before + 1, _MOST)
        if not (type(last) is int and first <= last <= max(end - 1, 0) // block):
            raise CorruptState(
                f"level {number}: blocks {first} to {last!r:.60} of a level that ends at {end}"
            )
        before = last
    return Level(number, head, end, [tuple(run) for run in runs])


def checked_dead(stored: Any, levels: Iterable[Level], block: int) -> list[Run]:
    """The garbage that a manifest names: blocks of its levels, and none that the window has.

    >>> checked_dead([(0, 1, 2)], [Level(0, 4, 9, [])], block=2)
    Traceback (most recent call last):
    windrow.errors.CorruptState: level 0: blocks 1 to 2 cannot be garbage: the window begins in block 2
    """
    heads = {level.level: level.head // block for level in levels}
    found = []
    for number, first, last in stored:
        require(number in heads, f"garbage of level {number!r:.60}, which there is not")
        whole(f"level {number}: first block of garbage", first, 0, _MOST)
        whole(f"level {number}: last block of garbage", last, first, _MOST)
        if last >= heads[number]:
            raise CorruptState(
                f"level {number}: blocks {first} to {last} cannot be garbage: the window begins in block "
                f"{heads[number]}"
            )
        found.append((number, first, last))
    return found
