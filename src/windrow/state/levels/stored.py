"""Levels in a key-value store: the middle is there, both ends are here ([MTA] 4.1.5 and 5.1).

Pairs are kept in blocks of neighbours, one key a block. Held here of each level are the blocks that changed
since the last checkpoint (the *buffer*) and those next to the head (the *cache*). A pair that is not held is
read when it is asked for, in one round trip with all others that are asked for together and, where a window
slides, with the blocks that it comes to next.

A checkpoint is one atomic write: the blocks that changed, a manifest of the whole rest, and the deletion of
blocks before the head. If it fails, nothing has changed, and the next one writes all that it would have.

Invariant: at every moment the store holds one complete window, that of the last checkpoint. Held are at most
cache + 2 blocks of pairs a level, and what changed since then.
Cost: a store call for some hundred pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.errors import CorruptState, StateError
from windrow.state.checks import require, whole
from windrow.state.codec import Codec
from windrow.state.layout import NULLS, TIMES, Level, Run, checked_dead, checked_levels
from windrow.state.levels import Key, Pair
from windrow.state.levels.blocks import Block, BlockCodec, PairCheck
from windrow.state.store import Guard, Item, Store, block_key

__all__ = ["MANIFEST", "Checkpoint", "Metrics", "StoredLevels"]

#: a window's facts, and the rest as bytes, to be read once the facts agree
MANIFEST = Codec("manifest")
#: blocks that one checkpoint deletes, at most: of those between operations, and of a flush
DELETED_AT_ONCE, DELETED_BY_FLUSH = 1024, 1 << 16


def _check_null(pair: Any) -> None:
    whole("position of a null", pair[0], 0, 2**62)


def _check_time(pair: Any) -> None:
    """Times are what can be subtracted, one at a time."""
    is_one = hasattr(pair[0], "__sub__") and not isinstance(pair[0], (set, frozenset, np.ndarray))
    require(is_one, f"a time of type {type(pair[0]).__name__}")


#: of levels that are not of a tree
_CHECKS: dict[int, PairCheck] = {NULLS: _check_null, TIMES: _check_time}


@dataclass
class Metrics:
    """What a stored window has asked of its store: round trips, by why."""

    checkpoints: int = 0
    reads: int = 0
    blocks_read: int = 0
    blocks_written: int = 0
    blocks_deleted: int = 0

    @property
    def round_trips(self) -> int:
        return self.checkpoints + self.reads


@dataclass(slots=True)
class Checkpoint:
    """What one checkpoint of one window writes, and what is to be noted once it is written."""

    guard: Guard
    puts: list[Item]
    deletes: list[bytes]
    written: list[tuple[LevelEnds, int]]
    #: garbage that is left for later checkpoints
    dead: list[Run]


@dataclass(slots=True)
class LevelEnds:
    """One level: positions [head, end), and which of its blocks are held here."""

    level: int
    #: pairs in a block
    block: int
    head: int = 0
    end: int = 0
    #: number of the block that holds the head
    head_block: int = 0
    #: whether the head moves from one block to the next
    is_sliding: bool = True
    #: number of the block that is being filled, and its pairs
    tail_block: int = -1
    tail: list[Any] = field(default_factory=list)
    held: dict[int, Block] = field(default_factory=dict)
    #: held blocks that no checkpoint has written as they are
    changed: set[int] = field(default_factory=set)
    #: first and last number of neighbouring blocks that may be in the store, oldest first
    runs: deque[list[int]] = field(default_factory=deque)

    def put(self, position: int, pair: Pair) -> None:
        """Add a pair at the end; positions may be left out."""
        number, offset = divmod(position, self.block)
        if number != self.tail_block:
            self.tail_block = number
            self.tail = self.held[number] = []
        self.changed.add(number)
        tail = self.tail
        if offset == len(tail):
            tail.append(pair)
        elif offset < len(tail):
            tail[offset] = pair
        else:
            tail.extend([None] * (offset - len(tail)))
            tail.append(pair)
        self.end = position + 1

    def move_head(self, number: int) -> None:
        """Let go of all blocks before a number."""
        gone = range(self.head_block, number)
        self.head_block, self.is_sliding = number, len(gone) == 1
        for block in gone if len(gone) < len(self.held) else [n for n in self.held if n < number]:
            self.held.pop(block, None)
            self.changed.discard(block)

    def trim(self, most: int) -> None:
        """Let go of cached blocks beyond ``most``, those furthest from the head first."""
        if len(self.held) - len(self.changed) <= most:
            return
        pinned = {self.tail_block, *self.changed}
        for number in sorted(number for number in self.held if number not in pinned)[most:]:
            del self.held[number]

    def missing(self, numbers: Iterable[int]) -> list[tuple[LevelEnds, int]]:
        """Blocks of the level that are in the store and not held."""
        runs = [number for number in numbers if number >= self.head_block and number not in self.held]
        return [(self, n) for n in runs if any(first <= n <= last for first, last in self.runs)]

    def note(self, number: int) -> None:
        """Note that a block may be in the store from now on."""
        if self.runs and self.runs[-1][1] >= number - 1:
            self.runs[-1][1] = max(number, self.runs[-1][1])
        else:
            self.runs.append([number, number])

    def bury(self) -> Iterable[Run]:
        """Runs that end before the head: no longer needed."""
        while self.runs and self.runs[0][0] < self.head_block:
            first, last = self.runs[0]
            yield self.level, first, min(last, self.head_block - 1)
            if last < self.head_block:
                self.runs.popleft()
            else:
                self.runs[0][0] = self.head_block


class StoredLevels:
    """The levels of one window in a store; :meth:`windrow.swag.AMTA.open` makes one."""

    def __init__(
        self,
        store: Store,
        prefix: bytes,
        codec: BlockCodec,
        guard: Guard,
        *,
        block: int,
        cache: int,
        check: PairCheck | None = None,
    ) -> None:
        self.store = store
        self.metrics = Metrics()
        #: pairs put and given up since the last checkpoint
        self.pending = 0
        #: what raises if a pair of a tree's level is not one; positions of nulls have a check of their own
        self._check = check
        self._prefix = prefix
        self._codec = codec
        self._guard = guard
        self._block = block
        self._most_cached = max(1, cache // block)
        self._levels: dict[int, LevelEnds] = {}
        #: runs of blocks that no manifest needs and that may still be in the store
        self._dead: list[Run] = []

    # -- reading ---------------------------------------------------------------------------------------------

    def get(self, level: int, position: int) -> Pair:
        at = self._levels.get(level)
        if at is None or not at.head <= position < at.end:
            raise KeyError(f"no pair at level {level}, position {position}: it was dropped, or never put")
        number = position // self._block
        block = at.held.get(number)
        if block is None:
            block = self._fetch([(at, number)], self._needed_next(at, number, position))[level, number]
        return self._in_block(block, level, position)

    def _needed_next(self, at: LevelEnds, number: int, position: int) -> list[tuple[LevelEnds, int]]:
        """Blocks that are likely to be asked for after one: those that a window slides to, and those with the
        descendants of a pair, as long as those of a level are in one block.

        A search in a tree reads one pair a level on the way down, and waits for the store once for several
        levels.
        """
        if number == at.head_block and at.is_sliding:
            return at.missing(range(number + 1, number + self._most_cached))
        found: list[tuple[LevelEnds, int]] = []
        for down in range(1, min(at.level if at.level < NULLS else 0, self._block.bit_length() - 1) + 1):
            if (below := self._levels.get(at.level - down)) is not None:
                found += below.missing([(position << down) // self._block])
        return found

    def _in_block(self, block: Block, level: int, position: int) -> Pair:
        offset = position % self._block
        pair: Pair | None = block[offset] if offset < len(block) else None
        if pair is None:
            raise CorruptState(
                f"block {position // self._block} of level {level} lacks pair {position}: an older copy "
                f"was put back"
            )
        return pair

    def get_many(self, keys: Iterable[Key]) -> list[Pair]:
        keys = list(keys)
        missing: dict[tuple[int, int], tuple[LevelEnds, int]] = {}
        for level, position in keys:
            number = position // self._block
            at = self._levels.get(level)
            if at is not None and number not in at.held:
                missing[level, number] = at, number
        # what is fetched for one key may push out of the cache what is fetched for another
        fetched = self._fetch(list(missing.values())) if missing else {}
        return [self._pair(fetched, level, position) for level, position in keys]

    def _pair(self, fetched: dict[tuple[int, int], Block], level: int, position: int) -> Pair:
        block = fetched.get((level, position // self._block))
        return self.get(level, position) if block is None else self._in_block(block, level, position)

    def _fetch(
        self, wanted: list[tuple[LevelEnds, int]], more: Sequence[tuple[LevelEnds, int]] = ()
    ) -> dict[tuple[int, int], Block]:
        """Read blocks that are not held, in one round trip. What is wrong with one of ``more`` is raised when
        it is wanted itself."""
        self.metrics.reads += 1
        self.metrics.blocks_read += len(wanted) + len(more)
        places = [(at.level, number) for at, number in (*wanted, *more)]
        keys = [block_key(self._prefix, *place) for place in places]
        fetched: dict[tuple[int, int], Block] = {}
        for index, (place, key, data) in enumerate(zip(places, keys, self.store.get_many(keys), strict=True)):
            try:
                fetched[place] = self._decoded(place, key, data)
            except StateError:
                if index < len(wanted):
                    raise
        for (level, number), block in fetched.items():
            self._levels[level].held[number] = block
        for at, _ in (*wanted, *more):
            at.trim(self._most_cached)
        return fetched

    def _decoded(self, place: tuple[int, int], key: bytes, data: bytes | None) -> Block:
        where = f"block {place[1]} of level {place[0]}"
        if data is None:
            raise CorruptState(f"{where} is missing from the store: it was deleted from outside, or lost")
        try:
            return self._codec.decode(key, data, self._block, _CHECKS.get(place[0], self._check))
        except StateError as error:
            raise type(error)(f"{where}: {error}") from error

    # -- writing ---------------------------------------------------------------------------------------------

    def put(self, level: int, position: int, pair: Pair) -> None:
        at = self._levels.get(level)
        if at is None:
            at = self._levels[level] = LevelEnds(level, self._block)
        at.put(position, pair)
        self.pending += 1

    def put_many(self, items: Iterable[tuple[Key, Pair]]) -> None:
        for (level, position), pair in items:
            self.put(level, position, pair)

    def drop(self, level: int, before: int) -> None:
        at = self._levels.get(level)
        if at is None or before <= at.head:
            return
        at.head = before
        at.end = max(at.end, before)
        number = before // self._block
        if number != at.head_block:
            self.pending += self._block
            at.move_head(number)

    def prepare(self, key: bytes, manifest: Callable[[Any], bytes], most_deleted: int) -> Checkpoint:
        """Collect what a checkpoint writes: ``manifest(layout)`` gives the bytes that go under ``key``."""
        levels = self._levels.values()
        self._dead += [run for at in levels for run in at.bury()]
        deletes, dead = self._garbage(most_deleted)
        changed = [(at, number) for at in levels for number in sorted(at.changed)]
        for at, number in changed:
            at.note(number)
        ends = [(at.level, at.head, at.end, [tuple(run) for run in at.runs]) for at in levels]
        puts = [(key, manifest({"levels": ends, "dead": dead}))]
        for at, number in changed:
            place = block_key(self._prefix, at.level, number)
            puts.append((place, self._codec.encode(place, at.held[number])))
        return Checkpoint(self._guard, puts, deletes, changed, dead)

    def _garbage(self, most: int) -> tuple[list[bytes], list[Run]]:
        """The keys of so many superfluous blocks, and the runs of the rest."""
        keys: list[bytes] = []
        rest: list[Run] = []
        for level, first, last in self._dead:
            until = min(last + 1, first + most - len(keys))
            keys += [block_key(self._prefix, level, number) for number in range(first, until)]
            if until <= last:
                rest.append((level, until, last))
        return keys, rest

    def confirm(self, checkpoint: Checkpoint) -> None:
        """Note that a checkpoint is in the store."""
        self.metrics.checkpoints += 1
        self.metrics.blocks_written += len(checkpoint.written)
        self.metrics.blocks_deleted += len(checkpoint.deletes)
        self.pending, self._dead = 0, checkpoint.dead
        for at, number in checkpoint.written:
            at.changed.discard(number)
        for at in self._levels.values():
            at.trim(self._most_cached)

    # -- opening again ---------------------------------------------------------------------------------------

    def checked(self, layout: dict[str, Any]) -> tuple[list[Level], list[Run]]:
        """The levels and the garbage that a manifest names, if they can be those of a window."""
        levels = checked_levels(layout["levels"], self._block)
        for level in levels:
            first = level.runs[0][0] if level.runs else level.head // self._block
            require(first >= level.head // self._block, f"level {level.level}: a run that was given up")
        return levels, checked_dead(layout["dead"], levels, self._block)

    def restore(self, levels: Iterable[Level], dead: Iterable[Run]) -> None:
        """Take up what a manifest says, once it was checked; reads the blocks that are not full yet."""
        self._dead = list(dead)
        tails: list[tuple[LevelEnds, int]] = []
        for level, head, end, runs in levels:
            at = LevelEnds(level, self._block, head, end, head // self._block)
            at.runs.extend([first, last] for first, last in runs)
            self._levels[level] = at
            if end % self._block and end > head:
                tails.append((at, end // self._block))
        blocks = self._fetch(tails) if tails else {}
        for at, number in tails:
            self._restore_tail(at, number, blocks[at.level, number])

    def _restore_tail(self, at: LevelEnds, number: int, block: Block) -> None:
        count = at.end % self._block
        if len(block) < count:
            raise CorruptState(
                f"block {number} of level {at.level} has {len(block)} pairs, the manifest {count}: an older "
                f"copy was put back"
            )
        at.tail_block = number
        at.tail = at.held[number] = list(block[:count])
