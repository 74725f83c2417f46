"""Rings of all keys in shared arrays: where the row of a key at a position lies, and the nodes of its tree.

Rows of a key are numbered 0, 1, 2 ... as they are taken; [begin, end) are those that windows may still see. A
key with room for c rows, a power of two, has c places in *leaf columns*, of which position p is the p mod
c-th, and a tree of 2c *nodes* over them, laid out as in FlatFAT: node i has the children 2i and 2i + 1, the
leaves are nodes c to 2c - 1. A node is made once, when the last of its leaves is taken, and read only while
all of its leaves are live. So what a push wrote that was given up is never read. Source: [RA] 5.1.

Invariant: begin <= end <= begin + c for each key; a range of live positions is covered by at most 2 log2 c
nodes, in order of time.
Cost: one combine per row, amortised, and log2 c at most; growing copies nodes and combines nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.arrays import Ints
from windrow.compile.cache import kernel

__all__ = ["Move", "Rings", "each_of"]

#: rows that a key has room for at least
_FEWEST = 2


def each_of(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """List the numbers of all ranges [begin, end), and which range each is of.

    >>> numbers, which = each_of(np.array([3, 7]), np.array([5, 8]))
    >>> numbers.tolist(), which.tolist()
    ([3, 4, 7], [0, 0, 1])
    """
    counts = np.maximum(ends - begins, 0)
    which = np.repeat(np.arange(len(counts)), counts)
    return begins[which] + np.arange(len(which)) - (np.cumsum(counts) - counts)[which], which


@dataclass(frozen=True)
class Move:
    """What moves in arrays of so many places, from where to where; ``anew``: the rest is forgotten."""

    size: int
    old: Ints
    new: Ints
    anew: bool

    def array(self, values: Any) -> Any:
        """Return an array in which values have moved: the same one, if it is long enough."""
        found = values
        if self.anew or self.size > len(values):
            found = np.zeros(self.size, values.dtype)
            if not self.anew:
                found[: len(values)] = values
        found[self.new] = values[self.old]
        return found

    def objects(self, values: list[Any]) -> list[Any]:
        """Return a list in which objects have moved."""
        found: list[Any] = [None] * self.size if self.anew else values + [None] * (self.size - len(values))
        for before, after in zip(self.old.tolist(), self.new.tolist(), strict=True):
            found[after] = values[before]
        return found


class Rings:
    """Begins, ends and rooms by key number; ``top`` is how many leaf places there are in all."""

    def __init__(self) -> None:
        self.begins, self.ends, self._rooms, self._offsets = (np.zeros(0, np.int64) for _ in range(4))
        #: from where on rows are held: begins, as they were when the last step was accepted
        self.floors = np.zeros(0, np.int64)
        self.top, self._size = 0, 0

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def nbytes(self) -> int:
        return 5 * self.begins.nbytes

    @property
    def live(self) -> int:
        """How many rows are live."""
        return int((self.ends - self.begins).sum())

    def leaves(self, keys: Ints, positions: Ints) -> Ints:
        """The places of positions in leaf columns."""
        return self._offsets[keys] + (positions & (self._rooms[keys] - 1))

    def nodes(self, keys: Ints, positions: Ints) -> Ints:
        """The nodes of their leaves."""
        rooms = self._rooms[keys]
        return 2 * self._offsets[keys] + rooms + (positions & (rooms - 1))

    # -- room ------------------------------------------------------------------------------------------------

    def with_keys(self, count: int) -> None:
        """Make the rings of new keys, which have no room yet, and some more, so that a key is copied O(1)
        times."""
        if count > len(self):
            more = np.zeros(max(count - len(self), len(self) // 2), np.int64)
            self._each(lambda column: np.concatenate([column, more]))

    def make_room(self, keys: Ints, counts: Ints) -> tuple[Move, Move] | None:
        """Make room for so many more rows of each key; return how leaf columns and nodes move (None: there is
        room)."""
        held = self.ends[keys] - self.floors[keys]
        tight = held + counts > self._rooms[keys]
        if not tight.any():
            return None
        return self._moved(keys[tight], (held + counts)[tight], self.top)

    def repack(self, alive: Ints) -> tuple[Move, Move]:
        """Keep these keys alone, numbered in this order, each with as much room as it needs."""
        self._each(lambda column: column[alive])
        self.floors = self.begins.copy()
        return self._moved(np.arange(len(alive)), self.ends - self.begins, 0)

    def _each(self, change: Callable[[Ints], Ints]) -> None:
        self.begins, self.ends, self.floors = map(change, (self.begins, self.ends, self.floors))
        self._rooms, self._offsets = change(self._rooms), change(self._offsets)

    def _moved(self, keys: Ints, wanted: Ints, top: int) -> tuple[Move, Move]:
        """Give keys room for so many rows behind ``top``."""
        rooms = 1 << np.ceil(np.log2(np.maximum(wanted, _FEWEST))).astype(np.int64)
        begins, ends = self.floors[keys], self.ends[keys]
        old_rooms, old_offsets = self._rooms[keys], self._offsets[keys]
        offsets = top + np.cumsum(rooms) - rooms
        self._rooms[keys], self._offsets[keys], self.top = rooms, offsets, top + int(rooms.sum())
        anew = not top
        if anew or self.top > self._size:
            self._size = self.top if anew else self.top + self.top // 2
        positions, which = each_of(begins, ends)
        old = old_offsets[which] + (positions & (old_rooms[which] - 1))
        leaves = Move(self._size, old, offsets[which] + (positions & (rooms[which] - 1)), anew)
        froms: list[Ints] = []
        tos: list[Ints] = []
        for level in range(int(np.minimum(old_rooms, rooms).max(initial=1)).bit_length()):
            fits = np.flatnonzero(np.minimum(old_rooms, rooms) >> level > 0)
            numbers, which = each_of(-(-begins[fits] >> level), ends[fits] >> level)
            which = fits[which]
            for found, room, offset in ((froms, old_rooms, old_offsets), (tos, rooms, offsets)):
                width = room[which] >> level
                found.append(2 * offset[which] + width + (numbers & (width - 1)))
        return leaves, Move(2 * self._size, np.concatenate(froms), np.concatenate(tos), anew)

    # -- nodes -----------------------------------------------------------------------------------------------

    def completed(self, keys: Ints, positions: Ints) -> Iterator[tuple[Ints, Ints]]:
        """The nodes that rows at these positions complete, level by level, and the children of each, the left
        one before the right one."""
        level = 0
        while True:
            level += 1
            some = ((positions + 1) & ((1 << level) - 1)) == 0
            if not some.any():
                return
            keys, positions = keys[some], positions[some]
            rooms = self._rooms[keys]
            # a node with leaves that nobody sees is never read
            used = (rooms >> level > 0) & (positions + 1 - (1 << level) >= self.begins[keys])
            if not used.all():
                keys, positions, rooms = keys[used], positions[used], rooms[used]
                if not len(keys):
                    return
            nodes = (rooms + (positions & (rooms - 1))) >> level
            bases = 2 * self._offsets[keys]
            children = np.repeat(bases + 2 * nodes, 2)
            children[1::2] += 1
            yield bases + nodes, children

    def cover(self, keys: Ints, fronts: Ints, stops: Ints) -> tuple[Ints, Ints]:
        """Return the nodes that cover positions [front, stop) of keys, in order of time; and where those of
        each range begin, and the end."""
        rooms, offsets = self._rooms[keys], self._offsets[keys]
        starts = np.zeros(len(keys) + 1, np.int64)
        found = np.empty(int(_most_nodes(stops - fronts).sum()), np.int64)
        count = _cover(rooms, offsets, fronts, stops, starts, found)
        return found[:count], starts

    def first_from(self, column: Ints, keys: Ints, wanted: Ints) -> Ints:
        """Return the first live position of each key whose value in a column, which never falls, is at least
        so much; its end if there is none."""
        found, rooms, offsets = np.empty(len(keys), np.int64), self._rooms[keys], self._offsets[keys]
        _search(column, rooms, offsets, self.begins[keys], self.ends[keys], wanted, found)
        return found


def _most_nodes(lengths: Ints) -> Ints:
    """At least as many nodes as cover so many rows."""
    return np.minimum(lengths, 2 * np.log2(np.maximum(lengths, 1)).astype(np.int64) + 2)


@kernel
def _cover(rooms: Ints, offsets: Ints, fronts: Ints, stops: Ints, starts: Ints, found: Ints) -> int:
    """A range that goes round the end of its ring is a suffix and a prefix of it: [RA] 5.1.2."""
    count = 0
    for k in range(len(rooms)):
        room, base = rooms[k], 2 * offsets[k]
        place, length = fronts[k] & (room - 1), stops[k] - fronts[k]
        while length > 0:
            level, step, most = 0, 1, min(length, room - place)
            while place & (2 * step - 1) == 0 and 2 * step <= most:
                level += 1
                step *= 2
            found[count] = base + ((room + place) >> level)
            count += 1
            length -= step
            place = (place + step) & (room - 1)
        starts[k + 1] = count
    return count


@kernel
def _search(
    column: Ints, rooms: Ints, offsets: Ints, begins: Ints, ends: Ints, wanted: Ints, found: Ints
) -> None:
    for k in range(len(rooms)):
        low, high, mask, value = begins[k], ends[k], rooms[k] - 1, wanted[k]
        while low < high:
            middle = (low + high) >> 1
            if column[offsets[k] + (middle & mask)] < value:
                low = middle + 1
            else:
                high = middle
        found[k] = low
