"""Checkpoints: what makes a stored window durable, one atomic write after the other, in the background.

A checkpoint is the blocks that changed and a manifest of the whole rest, written together. Blocks before the
head are deleted after the manifest that no longer needs them is safe, never before; those that a crash leaves
are named in the manifest and go with the next checkpoint.

Invariant: at every moment the store holds one complete window, that of the last checkpoint. If a checkpoint
fails, those that wait behind it are given up as well, and all their blocks are written by the next one.
"""

from __future__ import annotations

import bisect
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from windrow.errors import StateError
from windrow.state.codec import Codec
from windrow.state.levels.blocks import BlockCodec
from windrow.state.levels.ends import LevelEnds, Run
from windrow.state.store import Guard, Item, Store, block_key

__all__ = ["SPILLED", "Batch", "Checkpoints", "Metrics", "write_batches"]

#: checkpoints under way before an operation waits for one
_MOST_UNDER_WAY = 2
#: keys in one write when blocks are deleted
_DELETED_AT_ONCE = 1024
#: more blocks than this are looked for before they are deleted
_MOST_UNSEEN = 1 << 16

#: what blocks were written since the last manifest
SPILLED = Codec("spilled")


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
class Batch:
    """What one checkpoint of one window writes."""

    owner: Checkpoints
    puts: list[Item]
    blocks: list[tuple[LevelEnds, int]]
    deletes: Sequence[bytes]
    #: blocks to delete afterwards
    dead: list[Run]
    future: Future[None] | None = None


class Checkpoints:
    """The checkpoints of one window, in order."""

    def __init__(self, store: Store, prefix: bytes, codec: BlockCodec, guard: Guard, cached: int) -> None:
        self.store = store
        self.metrics = Metrics()
        self.levels: dict[int, LevelEnds] = {}
        self.guard = guard
        #: runs of blocks that no manifest needs and that may still be in the store
        self.dead: list[Run] = []
        self.is_broken = False
        self._prefix = prefix
        self._codec = codec
        self._most_cached = cached
        self._under_way: deque[Batch] = deque()

    # -- here ------------------------------------------------------------------------------------------------

    def begin(
        self, key: bytes, manifest: Callable[[Any], bytes], *, sync: bool = False, **options: Any
    ) -> None:
        """Write what changed and a manifest, in the background: ``manifest(layout)`` gives its bytes.

        They are encoded here: a thread that does it would take as long, and make this one wait for it.
        """
        while len(self._under_way) >= _MOST_UNDER_WAY:
            self._finish_first()
        batch = self.prepare(key, manifest, **options)
        self.follow(batch, self.store.writer.submit(write_batches, self.store, [batch], sync=sync))

    def prepare(
        self,
        key: bytes,
        manifest: Callable[[Any], bytes],
        *,
        deletes: Sequence[bytes] = (),
        is_spill: bool = False,
    ) -> Batch:
        """Collect what a checkpoint writes; without the tails and what they make superfluous for a spill."""
        self.settle()
        levels = self.levels.values()
        changed = [(at, number, block) for at in levels for number, block in at.changed(is_spill)]
        if not is_spill:
            self.dead += [run for at in levels for run in at.bury()]
        dead = [] if is_spill else list(self.dead)
        batch = Batch(self, [], [(at, number) for at, number, _ in changed], deletes, dead)
        try:
            batch.puts.append((key, manifest(self.layout())))
            for at, number, block in changed:
                place = block_key(self._prefix, at.level, number)
                batch.puts.append((place, self._codec.encode(place, block)))
        except BaseException:
            self._take_back([batch])
            raise
        self.metrics.checkpoints += 1
        return batch

    def follow(self, batch: Batch, future: Future[None]) -> None:
        """Note that a batch is on its way."""
        batch.future = future
        self._under_way.append(batch)

    def settle(self, *, wait: bool = False) -> None:
        """Take note of checkpoints that are done; raise what went wrong with one."""
        while self._under_way and (wait or _is_done(self._under_way[0])):
            self._finish_first()

    def _finish_first(self) -> None:
        first = self._under_way.popleft()
        error = _error(first)
        if error is None:
            self._release(first)
            gone = set(first.dead)
            self.dead = [run for run in self.dead if run not in gone]
            return
        failed = [first, *self._under_way]
        self._under_way.clear()
        for batch in failed:
            _error(batch)  # waits: the background gives up those behind the first
        self._take_back(failed)
        self.is_broken = False
        raise error

    def _take_back(self, failed: list[Batch]) -> None:
        """Let the next checkpoint write the blocks of those that failed."""
        for batch in failed:
            for at, number in batch.blocks:
                at.take_back(number)
        for batch in failed:
            self._release(batch)

    def _release(self, batch: Batch) -> None:
        for at, number in batch.blocks:
            at.written(number)
        for at in {at.level: at for at, _ in batch.blocks}.values():
            at.trim(self._most_cached)

    def layout(self) -> dict[str, Any]:
        """Where all blocks are, as plain values: the levels' part of the manifest."""
        levels = [(at.level, at.head, at.end, [tuple(run) for run in at.runs]) for at in self.levels.values()]
        return {"levels": levels, "dead": list(self.dead)}

    # -- in the background -----------------------------------------------------------------------------------

    def delete(self, runs: list[Run]) -> None:
        """Delete the blocks of these runs. Very many are looked for first: runs are what a manifest says, and
        the time that this takes is to depend on what is stored."""
        keys: Iterator[bytes]
        if sum(last - first + 1 for _, first, last in runs) <= _MOST_UNSEEN:
            numbers = ((level, n) for level, a, b in runs for n in range(a, b + 1))
            keys = (block_key(self._prefix, *number) for number in numbers)
        else:
            keys = self._stored_in(runs)
        while some := list(itertools.islice(keys, _DELETED_AT_ONCE)):
            self.store.write([], some, guards=[self.guard])
            self.metrics.blocks_deleted += len(some)

    def _stored_in(self, runs: list[Run]) -> Iterator[bytes]:
        """The keys of those blocks of some runs that are in the store."""
        for level in sorted({level for level, _, _ in runs}):
            ends = sorted((first, last) for number, first, last in runs if number == level)
            firsts = [first for first, _ in ends]
            # the last block of the runs that begin before or with each one
            lasts = list(itertools.accumulate((last for _, last in ends), max))
            for key in self.store.scan(b"%b%c" % (self._prefix, level)):
                number = int.from_bytes(key[-8:], "big")
                place = bisect.bisect_right(firsts, number) - 1
                if place >= 0 and number <= lasts[place]:
                    yield key


def write_batches(
    store: Store,
    batches: Sequence[Batch],
    puts: Sequence[Item] = (),
    *,
    deletes: Sequence[bytes] = (),
    guards: Sequence[Guard] = (),
    sync: bool = False,
) -> None:
    """Write the checkpoints of one or more windows, and more, in one atomic write, then delete what is
    superfluous."""
    owners = [batch.owner for batch in batches]
    if any(owner.is_broken for owner in owners):
        raise StateError("an earlier checkpoint failed")
    try:
        items = [item for batch in batches for item in batch.puts]
        dead = [key for batch in batches for key in batch.deletes]
        conditions = [*guards, *(owner.guard for owner in owners)]
        store.write([*items, *puts], [*dead, *deletes], sync=sync, guards=conditions)
        for batch in batches:
            batch.owner.metrics.blocks_written += len(batch.blocks)
            batch.owner.delete(batch.dead)
    except BaseException:
        for owner in owners:
            owner.is_broken = True
        raise


def _is_done(batch: Batch) -> bool:
    return batch.future is None or batch.future.done()


def _error(batch: Batch) -> BaseException | None:
    return None if batch.future is None else batch.future.exception()
