"""Levels in a key-value store: the middle is there, both ends are here ([MTA] 4.1.5 and 5.1).

Pairs are kept in blocks of neighbours, one key a block. What is held here of each level: the block that is
being filled, full ones that wait for the background to write them (the *buffer*), and those next to the head
(the *cache*), which the background reads ahead when half of it is used up. A pair that is not held is read at
once, with all others that are asked for together, in one round trip.

What makes a window durable is a *checkpoint*: the blocks that changed and a manifest of the whole rest in one
atomic write. Blocks before the head are deleted after the manifest that no longer needs them is safe, never
before; those that a crash leaves are in the manifest and go when the window is opened again.

Invariant: at every moment the store holds one complete window, that of the last checkpoint. Held here are at
most (cache + 2 blocks) pairs a level, and a few buffers of pairs in all: O(log n).
Cost: a store call for some hundred pairs; all but misses in the background. If a checkpoint fails, those that
wait behind it are given up as well, and all their blocks are written by the next one.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from windrow.state.blocks import Block, BlockCodec
from windrow.state.codec import Codec
from windrow.state.errors import CorruptState, StateError
from windrow.state.levels import Key, Pair
from windrow.state.store import Guard, Store, block_key

__all__ = ["Metrics", "StoredLevels"]

#: checkpoints under way before an operation waits for one
_MOST_UNDER_WAY = 2
#: keys in one write when blocks are deleted
_DELETED_AT_ONCE = 1024

#: what blocks were written since the last manifest
SPILLED = Codec("spilled")

#: level, first and last number of neighbouring blocks
Run = tuple[int, int, int]


@dataclass
class Metrics:
    """What a stored window has asked of its store: round trips, by why."""

    checkpoints: int = 0
    misses: int = 0
    prefetches: int = 0
    blocks_read: int = 0
    blocks_written: int = 0
    blocks_deleted: int = 0

    @property
    def round_trips(self) -> int:
        deletes = -(-self.blocks_deleted // _DELETED_AT_ONCE)
        return self.checkpoints + self.misses + self.prefetches + deletes


@dataclass(slots=True)
class _Level:
    """One level: where it begins and ends, and what of it is held here."""

    number: int
    #: positions [head, end)
    head: int = 0
    end: int = 0
    head_block: int = 0
    #: number of the block that is being filled, and its pairs
    tail_block: int = -1
    tail: list[Any] = field(default_factory=list)
    tail_is_saved: bool = True
    held: dict[int, Block] = field(default_factory=dict)
    #: full blocks that no checkpoint has taken yet
    unsaved: list[int] = field(default_factory=list)
    #: blocks that a checkpoint is writing, and how many checkpoints
    saving: dict[int, int] = field(default_factory=dict)
    #: first and last number of neighbouring blocks that are in the store, oldest first
    runs: deque[list[int]] = field(default_factory=deque)
    ahead: Future[dict[int, Block]] | None = None
    ahead_until: int = -1


@dataclass(slots=True)
class _Checkpoint:
    future: Future[None]
    blocks: list[tuple[_Level, int]]
    dead: list[Run]


class StoredLevels:
    """The levels of one window in a store; :meth:`windrow.swag.AMTA.open` makes one."""

    def __init__(
        self, store: Store, prefix: bytes, codec: BlockCodec, guard: Guard, *, block: int, cache: int
    ) -> None:
        self.store = store
        self.metrics = Metrics()
        #: pairs put and given up since the last checkpoint
        self.pending = 0
        self._prefix = prefix
        self._codec = codec
        self._guard = guard
        self._block = block
        self._most_cached = max(1, cache // block)
        self._levels: dict[int, _Level] = {}
        #: runs of blocks that no manifest needs and that may still be in the store
        self._dead: list[Run] = []
        self._under_way: deque[_Checkpoint] = deque()
        self._is_broken = False

    # -- reading ---------------------------------------------------------------------------------------------

    def get(self, level: int, position: int) -> Pair:
        number, offset = divmod(position, self._block)
        at = self._levels.get(level)
        if at is None or not at.head <= position < at.end:
            raise KeyError(f"no pair at level {level}, position {position}: it was dropped, or never put")
        block = at.held.get(number)
        if block is None:
            self._fetch([(at, number)])
            block = at.held[number]
        pair: Pair = block[offset]
        return pair

    def get_many(self, keys: Iterable[Key]) -> list[Pair]:
        keys = list(keys)
        missing: dict[tuple[int, int], tuple[_Level, int]] = {}
        for level, position in keys:
            number = position // self._block
            at = self._levels.get(level)
            if at is not None and number not in at.held:
                missing[level, number] = at, number
        # what is fetched for one key must not push out what is fetched for another
        fetched = self._fetch(list(missing.values())) if missing else {}
        return [self._pair(fetched, level, position) for level, position in keys]

    def _pair(self, fetched: dict[tuple[int, int], Block], level: int, position: int) -> Pair:
        block = fetched.get((level, position // self._block))
        return self.get(level, position) if block is None else block[position % self._block]

    def _fetch(self, wanted: list[tuple[_Level, int]]) -> dict[tuple[int, int], Block]:
        """Read blocks that are not held: from what is read ahead, else all at once from the store."""
        for at, number in wanted:
            if at.ahead is not None and number <= at.ahead_until:
                self._take_ahead(at)
        missing = [(at, number) for at, number in wanted if number not in at.held]
        fetched: dict[tuple[int, int], Block] = {}
        if missing:
            self.metrics.misses += 1
            blocks = self._read([(at.number, number) for at, number in missing])
            for (at, number), block in zip(missing, blocks, strict=True):
                self._trim(at, room=1)
                at.held[number] = fetched[at.number, number] = block
        return fetched

    def _read(self, blocks: list[tuple[int, int]]) -> list[Block]:
        keys = [block_key(self._prefix, level, number) for level, number in blocks]
        found = self.store.get_many(keys)
        self.metrics.blocks_read += len(keys)
        return [self._decoded(*item) for item in zip(blocks, keys, found, strict=True)]

    def _decoded(self, place: tuple[int, int], key: bytes, data: bytes | None) -> Block:
        where = f"block {place[1]} of level {place[0]}"
        if data is None:
            raise CorruptState(f"{where} is missing from the store: it was deleted from outside, or lost")
        try:
            return self._codec.decode(key, data)
        except StateError as error:
            raise type(error)(f"{where}: {error}") from error

    # -- reading ahead ---------------------------------------------------------------------------------------

    def _read_ahead(self, at: _Level) -> None:
        """Ask for the blocks after those held at the head, if fewer than half of the cache is left."""
        number = at.head_block
        while number in at.held:
            number += 1
        last = min(at.head_block + self._most_cached, self._stored_end(at, number)) - 1
        if at.ahead is not None or number - at.head_block >= (self._most_cached + 1) // 2 or number > last:
            return
        # what is held may not be written yet
        wanted = [(at.number, n) for n in range(number, last + 1) if n not in at.held]
        self.metrics.prefetches += 1
        at.ahead_until = last
        at.ahead = self.store.reader.submit(self._ahead, wanted)

    def _ahead(self, wanted: list[tuple[int, int]]) -> dict[int, Block]:
        blocks = self._read(wanted)
        return {number: block for (_, number), block in zip(wanted, blocks, strict=True)}

    @staticmethod
    def _stored_end(at: _Level, number: int) -> int:
        """The end of the run of stored blocks that a block is in, or the block itself."""
        return next((last + 1 for first, last in at.runs if first <= number <= last), number)

    def _take_ahead(self, at: _Level) -> None:
        """Hold what was read ahead; waits for it. Where that failed, a miss will say so."""
        future, at.ahead = at.ahead, None
        if future is None or future.exception() is not None:
            return
        for number, block in future.result().items():
            if number >= at.head_block:
                at.held.setdefault(number, block)

    def _trim(self, at: _Level, room: int = 0) -> None:
        """Let go of cached blocks that are too many, those furthest from the head first."""
        if len(at.held) + room <= self._most_cached:
            return
        pinned = {at.tail_block, *at.unsaved, *at.saving}
        cached = sorted(number for number in at.held if number not in pinned)
        for number in cached[max(0, self._most_cached - room) :]:
            del at.held[number]

    # -- writing ---------------------------------------------------------------------------------------------

    def put(self, level: int, position: int, pair: Pair) -> None:
        at = self._levels.get(level)
        if at is None:
            at = self._levels[level] = _Level(level)
        number, offset = divmod(position, self._block)
        if number != at.tail_block:
            self._open_block(at, number)
        tail = at.tail
        if offset == len(tail):
            tail.append(pair)
        elif offset < len(tail):
            tail[offset] = pair
        else:
            tail.extend([None] * (offset - len(tail)))
            tail.append(pair)
        at.end = position + 1
        at.tail_is_saved = False
        self.pending += 1

    def put_many(self, items: Iterable[tuple[Key, Pair]]) -> None:
        for (level, position), pair in items:
            self.put(level, position, pair)

    def _open_block(self, at: _Level, number: int) -> None:
        if at.tail_block >= at.head_block and not at.tail_is_saved:
            at.unsaved.append(at.tail_block)
        at.tail_block = number
        at.tail = at.held[number] = []

    def drop(self, level: int, before: int) -> None:
        at = self._levels.get(level)
        if at is None or before <= at.head:
            return
        at.head = before
        at.end = max(at.end, before)
        block = before // self._block
        if block != at.head_block:
            self._move_head(at, block)

    def _move_head(self, at: _Level, block: int) -> None:
        gone = block - at.head_block
        self.pending += self._block
        old, at.head_block = at.head_block, block
        for number in range(old, block) if gone < len(at.held) else [n for n in at.held if n < block]:
            at.held.pop(number, None)
        if at.unsaved:
            at.unsaved = [number for number in at.unsaved if number >= block]
        if at.ahead is not None and at.ahead.done():
            self._take_ahead(at)
        self._read_ahead(at)

    # -- checkpoints -----------------------------------------------------------------------------------------

    def spill(self, key: bytes) -> None:
        """Begin to write full blocks without a manifest; what they are goes under ``key``."""
        self._begin(key, lambda layout: SPILLED.pack(layout["levels"], key), keeps_tails=True)

    def checkpoint(self, key: bytes, manifest: Callable[[Any], bytes], **options: Any) -> None:
        """Begin to write all that changed, and a manifest: ``manifest(layout)`` gives its bytes."""
        self._begin(key, manifest, **options)

    def _begin(
        self,
        key: bytes,
        manifest: Callable[[Any], bytes],
        *,
        sync: bool = False,
        keeps_tails: bool = False,
        deletes: tuple[bytes, ...] = (),
    ) -> None:
        self.settle()
        while len(self._under_way) >= _MOST_UNDER_WAY:
            self._finish_first()
        blocks = list(self._changed(keeps_tails))
        dead: list[Run] = []
        if not keeps_tails:
            self._bury()
            dead = list(self._dead)
        layout = self.layout()
        taken = [(at, number) for at, number, _ in blocks]
        for at, number in taken:
            at.saving[number] = at.saving.get(number, 0) + 1
        self.pending = 0
        self.metrics.checkpoints += 1
        contents = [(at.number, number, pairs) for at, number, pairs in blocks]
        write = functools.partial(self.store.write, deletes=deletes, sync=sync, guard=self._guard)
        future = self.store.writer.submit(self._write, write, contents, key, manifest, layout, dead)
        self._under_way.append(_Checkpoint(future, taken, dead))

    def _changed(self, keeps_tails: bool) -> Iterator[tuple[_Level, int, Block]]:
        for at in self._levels.values():
            for number in at.unsaved:
                yield self._saved(at, number), number, at.held[number]
            at.unsaved = []
            if keeps_tails:
                continue
            if not at.tail_is_saved and at.tail_block >= at.head_block:
                # the tail goes on while the background encodes it
                yield self._saved(at, at.tail_block), at.tail_block, at.tail.copy()
            at.tail_is_saved = True

    @staticmethod
    def _saved(at: _Level, number: int) -> _Level:
        """Note that a block is going to be in the store."""
        if at.runs and at.runs[-1][1] >= number - 1:
            at.runs[-1][1] = max(number, at.runs[-1][1])
        else:
            at.runs.append([number, number])
        return at

    def _bury(self) -> None:
        """Move runs that end before the head to the dead."""
        for at in self._levels.values():
            while at.runs and at.runs[0][0] < at.head_block:
                first, last = at.runs[0]
                self._dead.append((at.number, first, min(last, at.head_block - 1)))
                if last < at.head_block:
                    at.runs.popleft()
                else:
                    at.runs[0][0] = at.head_block

    def _write(
        self,
        write: Callable[..., None],
        blocks: list[tuple[int, int, Block]],
        key: bytes,
        manifest: Callable[[Any], bytes],
        layout: Any,
        dead: list[Run],
    ) -> None:
        """In the background: the checkpoint, then the deletion of what it made superfluous."""
        if self._is_broken:
            raise StateError("an earlier checkpoint failed")
        try:
            puts = [(key, manifest(layout))]
            for level, number, pairs in blocks:
                place = block_key(self._prefix, level, number)
                puts.append((place, self._codec.encode(place, pairs)))
            write(puts)
            self.metrics.blocks_written += len(blocks)
            self._delete(dead)
        except BaseException:
            self._is_broken = True
            raise

    def _delete(self, runs: list[Run]) -> None:
        keys = (block_key(self._prefix, level, n) for level, a, b in runs for n in range(a, b + 1))
        while some := list(itertools.islice(keys, _DELETED_AT_ONCE)):
            self.store.write([], some, guard=self._guard)
            self.metrics.blocks_deleted += len(some)

    def settle(self, *, wait: bool = False) -> None:
        """Take note of checkpoints that are done; raise what went wrong with one."""
        while self._under_way and (wait or self._under_way[0].future.done()):
            self._finish_first()

    def _finish_first(self) -> None:
        first = self._under_way.popleft()
        error = first.future.exception()
        if error is None:
            self._release(first)
            gone = set(first.dead)
            self._dead = [run for run in self._dead if run not in gone]
            return
        failed = [first, *self._under_way]
        self._under_way.clear()
        for each in failed:
            each.future.exception()  # waits: the background gives up those behind the first
            self._take_back(each)
        for each in failed:
            self._release(each)
        self._is_broken = False
        raise error

    def _release(self, done: _Checkpoint) -> None:
        for at, number in done.blocks:
            at.saving[number] -= 1
            if not at.saving[number]:
                del at.saving[number]
        for at in {id(at): at for at, _ in done.blocks}.values():
            self._trim(at)

    def _take_back(self, failed: _Checkpoint) -> None:
        """Let blocks of a checkpoint that failed be written by the next one."""
        for at, number in failed.blocks:
            if number == at.tail_block:
                at.tail_is_saved = False
            elif number >= at.head_block and number not in at.unsaved:
                at.unsaved.append(number)

    # -- the manifest's part ---------------------------------------------------------------------------------

    def layout(self) -> dict[str, Any]:
        """What :meth:`restore` needs: plain values."""
        return {
            "levels": [
                (at.number, at.head, at.end, [tuple(run) for run in at.runs]) for at in self._levels.values()
            ],
            "dead": list(self._dead),
        }

    def restore(self, layout: dict[str, Any]) -> None:
        """Take up what a manifest says; reads the blocks that are not full yet."""
        self._dead = [tuple(run) for run in layout["dead"]]
        partly: list[tuple[_Level, int]] = []
        for number, head, end, runs in layout["levels"]:
            at = _Level(number, head, end, head // self._block)
            at.runs.extend([first, last] for first, last in runs)
            self._levels[number] = at
            if end % self._block and end > head and end // self._block >= at.head_block:
                partly.append((at, end // self._block))
        blocks = self._read([(at.number, number) for at, number in partly]) if partly else []
        for (at, number), block in zip(partly, blocks, strict=True):
            count = at.end % self._block
            if len(block) < count:
                raise CorruptState(
                    f"block {number} of level {at.number} has {len(block)} pairs, the manifest {count}: an "
                    f"older copy was put back"
                )
            at.tail_block = number
            at.tail = at.held[number] = list(block[:count])

    def give_up(self, spilled: list[Any]) -> None:
        """Delete blocks that were spilled after the manifest that was restored: their window is lost."""
        garbage: list[Run] = []
        for number, _, _, runs in spilled:
            known = self._levels[number].runs if number in self._levels else ()
            last_kept = max((last for _, last in known), default=-1)
            garbage += [(number, max(first, last_kept + 1), last) for first, last in runs if last > last_kept]
        if garbage:
            self.store.writer.submit(self._delete, garbage)
