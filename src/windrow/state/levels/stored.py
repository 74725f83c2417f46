"""Levels in a key-value store: the middle is there, both ends are here ([MTA] 4.1.5 and 5.1).

Pairs are kept in blocks of neighbours, one key a block. What is held here of each level
(:mod:`windrow.state.levels.ends`): the block that is being filled, full ones that wait to be written (the
*buffer*), and those next to the head (the *cache*), which the background reads ahead when half of it is used
up. A pair that is not held is read at once, with all others that are asked for together, in one round trip.
Writing is by checkpoints (:mod:`windrow.state.levels.checkpoints`).

Invariant: held are at most (cache + 2 blocks) pairs a level and a few buffers of pairs in all: O(log n).
Cost: a store call for some hundred pairs; all but misses in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from windrow.errors import CorruptState, StateError
from windrow.state.checks import require, whole
from windrow.state.layout import NULLS, TIMES, Level, checked_dead, checked_levels
from windrow.state.levels import Key, Pair
from windrow.state.levels.blocks import MOST_PAIRS, Block, BlockCodec, PairCheck
from windrow.state.levels.checkpoints import SPILLED, Checkpoints, Metrics
from windrow.state.levels.ends import LevelEnds, Run
from windrow.state.store import Guard, Store, block_key

__all__ = ["NULLS", "TIMES", "StoredLevels"]


def _check_null(pair: Any) -> None:
    whole("position of a null", pair[0], 0, 2**62)


def _check_time(pair: Any) -> None:
    """Times are what can be subtracted, one at a time."""
    is_one = hasattr(pair[0], "__sub__") and not isinstance(pair[0], (set, frozenset, np.ndarray))
    require(is_one, f"a time of type {type(pair[0]).__name__}")


#: of levels that are not of a tree
_CHECKS: dict[int, PairCheck] = {NULLS: _check_null, TIMES: _check_time}


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
        #: what raises if a pair of a tree's level is not one; positions of nulls have a check of their own
        self._check = check
        #: pairs put and given up since the last checkpoint
        self.pending = 0
        self._prefix = prefix
        self._codec = codec
        self._block = block
        self._most_cached = max(1, cache // block)
        self.checkpoints = Checkpoints(store, prefix, codec, guard, self._most_cached)
        self._levels = self.checkpoints.levels

    @property
    def metrics(self) -> Metrics:
        return self.checkpoints.metrics

    # -- reading ---------------------------------------------------------------------------------------------

    def get(self, level: int, position: int) -> Pair:
        at = self._levels.get(level)
        if at is None or not at.head <= position < at.end:
            raise KeyError(f"no pair at level {level}, position {position}: it was dropped, or never put")
        number = position // self._block
        block = at.held.get(number)
        if block is None:
            self._fetch([(at, number), *self._below(level, position)])
            block = at.held[number]
        return self._in_block(block, level, position)

    def _below(self, level: int, position: int) -> list[tuple[LevelEnds, int]]:
        """Blocks with the descendants of a pair, as long as those of a level are in one block.

        A search in a tree reads one pair a level on the way down, and waits for the store once for
        several levels.
        """
        found: list[tuple[LevelEnds, int]] = []
        for down in range(1, min(level if level < NULLS else 0, self._block.bit_length() - 1) + 1):
            at, number = self._levels.get(level - down), (position << down) // self._block
            if at is not None and number not in at.held and at.head_block <= number < at.stored_end(number):
                found.append((at, number))
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
        if not missing:
            return [self.get(level, position) for level, position in keys]
        # what is fetched for one key may push out of the cache what is fetched for another
        fetched = self._fetch(list(missing.values()))
        return [self._pair(fetched, level, position) for level, position in keys]

    def _pair(self, fetched: dict[tuple[int, int], Block], level: int, position: int) -> Pair:
        block = fetched.get((level, position // self._block))
        return self.get(level, position) if block is None else self._in_block(block, level, position)

    def _fetch(self, wanted: list[tuple[LevelEnds, int]]) -> dict[tuple[int, int], Block]:
        """Read blocks that are not held: from what is read ahead, else all at once from the store."""
        fetched: dict[tuple[int, int], Block] = {}
        for at, number in wanted:
            if at.ahead is not None and number <= at.ahead_until:
                at.take_ahead()
            if number in at.raw:
                place, data = (at.level, number), at.raw.pop(number)
                at.held[number] = fetched[place] = self._decoded(place, self._key(*place), data)
        missing = [(at, number) for at, number in wanted if number not in at.held]
        if missing:
            self.metrics.misses += 1
            blocks = self._read([(at.level, number) for at, number in missing])
            for (at, number), block in zip(missing, blocks, strict=True):
                at.trim(self._most_cached - 1)
                at.held[number] = fetched[at.level, number] = block
        return fetched

    def _read(self, places: list[tuple[int, int]]) -> list[Block]:
        keys = [self._key(*place) for place in places]
        found = self.store.get_many(keys)
        self.metrics.blocks_read += len(keys)
        return [self._decoded(*item) for item in zip(places, keys, found, strict=True)]

    def _key(self, level: int, number: int) -> bytes:
        return block_key(self._prefix, level, number)

    def _decoded(self, place: tuple[int, int], key: bytes, data: bytes | None) -> Block:
        where = f"block {place[1]} of level {place[0]}"
        if data is None:
            raise CorruptState(f"{where} is missing from the store: it was deleted from outside, or lost")
        try:
            return self._codec.decode(key, data, self._block, _CHECKS.get(place[0], self._check))
        except StateError as error:
            raise type(error)(f"{where}: {error}") from error

    def _read_ahead(self, at: LevelEnds) -> None:
        """Ask for the blocks after those held at the head, if fewer than half of the cache is left."""
        number = at.head_block
        while number in at.held or number in at.raw:
            number += 1
        end = min(at.head_block + self._most_cached, at.stored_end(number))
        if at.ahead is not None or number - at.head_block >= (self._most_cached + 1) // 2 or number >= end:
            return
        # what is held may not be written yet
        wanted = [n for n in range(number, end) if n not in at.held]
        self.metrics.prefetches += 1
        at.ahead_until = end - 1
        at.ahead = self.store.reader.submit(self._ahead, at.level, wanted)

    def _ahead(self, level: int, numbers: list[int]) -> list[tuple[int, bytes | None]]:
        self.metrics.blocks_read += len(numbers)
        return list(zip(numbers, self.store.get_many([self._key(level, n) for n in numbers]), strict=True))

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
            is_jump = number - at.head_block > self._most_cached
            at.move_head(number)
            if at.ahead is not None and at.ahead.done():
                at.take_ahead()
            if not is_jump:  # after which the search for new results reads what it needs
                self._read_ahead(at)

    def checkpoint(self, key: bytes, manifest: Callable[[Any], bytes], **options: Any) -> None:
        """Begin to write all that changed, and a manifest: ``manifest(layout)`` gives its bytes."""
        self.checkpoints.begin(key, manifest, **options)
        self.pending = 0

    def spill(self, key: bytes) -> None:
        """Begin to write full blocks without a manifest; where they are goes under ``key``."""
        self.checkpoint(key, lambda layout: SPILLED.pack((self._block, layout["levels"]), key), is_spill=True)

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
        self.checkpoints.dead = list(dead)
        tails: list[tuple[LevelEnds, int]] = []
        for level, head, end, runs in levels:
            at = LevelEnds(level, self._block, head, end, head // self._block)
            at.runs.extend([first, last] for first, last in runs)
            self._levels[level] = at
            if end % self._block and end > head:
                tails.append((at, end // self._block))
        blocks = self._read([(at.level, number) for at, number in tails]) if tails else []
        for (at, number), block in zip(tails, blocks, strict=True):
            self._restore_tail(at, number, block)

    def _restore_tail(self, at: LevelEnds, number: int, block: Block) -> None:
        count = at.end % self._block
        if len(block) < count:
            raise CorruptState(
                f"block {number} of level {at.level} has {len(block)} pairs, the manifest {count}: an older "
                f"copy was put back"
            )
        at.tail_block = number
        at.tail = at.held[number] = list(block[:count])

    def give_up(self, spilled: Any) -> None:
        """Delete blocks that were spilled after the manifest that was restored, or before there was one, by a
        window whose blocks may have had another size: that window is lost."""
        garbage: list[Run] = []
        block, levels = spilled
        whole("pairs in a block", block, 1, MOST_PAIRS)
        for level, _, _, runs in checked_levels(levels, block):
            known = self._levels[level].runs if level in self._levels else ()
            last_kept = max((last for _, last in known), default=-1)
            garbage += [(level, max(first, last_kept + 1), last) for first, last in runs if last > last_kept]
        if garbage:
            self.store.writer.submit(self.checkpoints.delete, garbage)
