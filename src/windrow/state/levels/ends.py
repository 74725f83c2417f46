"""One level of a stored tree: where it begins and ends, and which of its blocks are held here.

Held are the block that is being filled (the tail), full blocks that are not written yet or are being written
(they are *pinned*), and blocks next to the head (the cache). Anything else is in the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from windrow.state.levels import Pair
from windrow.state.levels.blocks import Block

__all__ = ["LevelEnds", "Run"]

#: level, first and last number of neighbouring blocks
Run = tuple[int, int, int]


@dataclass(slots=True)
class LevelEnds:
    """The ends of one level; positions [head, end)."""

    level: int
    #: pairs in a block
    block: int
    head: int = 0
    end: int = 0
    #: number of the block that holds the head
    head_block: int = 0
    #: number of the block that is being filled, and its pairs
    tail_block: int = -1
    tail: list[Any] = field(default_factory=list)
    tail_is_saved: bool = True
    held: dict[int, Block] = field(default_factory=dict)
    #: full blocks that no checkpoint has taken yet
    unsaved: list[int] = field(default_factory=list)
    #: blocks that checkpoints are writing, and how many of them
    saving: dict[int, int] = field(default_factory=dict)
    #: first and last number of neighbouring blocks that are in the store or on the way, oldest first
    runs: deque[list[int]] = field(default_factory=deque)
    #: blocks that were read ahead and are not decoded yet
    raw: dict[int, bytes] = field(default_factory=dict)
    #: what is being read ahead, and up to which block
    ahead: Future[list[tuple[int, bytes | None]]] | None = None
    ahead_until: int = -1

    def put(self, position: int, pair: Pair) -> None:
        """Add a pair at the end; positions may be left out."""
        number, offset = divmod(position, self.block)
        if number != self.tail_block:
            self._open_block(number)
        tail = self.tail
        if offset == len(tail):
            tail.append(pair)
        elif offset < len(tail):
            tail[offset] = pair
        else:
            tail.extend([None] * (offset - len(tail)))
            tail.append(pair)
        self.end = position + 1
        self.tail_is_saved = False

    def _open_block(self, number: int) -> None:
        if self.tail_block >= self.head_block and not self.tail_is_saved:
            self.unsaved.append(self.tail_block)
        self.tail_block = number
        self.tail = self.held[number] = []

    def move_head(self, number: int) -> None:
        """Let go of all blocks before a number."""
        gone = number - self.head_block
        old, self.head_block = self.head_block, number
        for block in range(old, number) if gone < len(self.held) else [n for n in self.held if n < number]:
            self.held.pop(block, None)
        if self.raw:
            self.raw = {block: data for block, data in self.raw.items() if block >= number}
        if self.unsaved:
            self.unsaved = [block for block in self.unsaved if block >= number]

    def trim(self, most: int) -> None:
        """Let go of cached blocks beyond ``most``, those furthest from the head first."""
        if len(self.held) <= most:
            return
        pinned = {self.tail_block, *self.unsaved, *self.saving}
        for number in sorted(number for number in self.held if number not in pinned)[max(0, most) :]:
            del self.held[number]

    def take_ahead(self) -> None:
        """Keep what was read ahead; waits for it. Where that failed, a miss will say so."""
        future, self.ahead = self.ahead, None
        if future is None or future.exception() is not None:
            return
        for number, data in future.result():
            if number >= self.head_block and number not in self.held and data is not None:
                self.raw[number] = data

    def stored_end(self, number: int) -> int:
        """The end of the run of stored blocks that a block is in; the block itself if it is in none."""
        return next((last + 1 for first, last in self.runs if first <= number <= last), number)

    # -- what a checkpoint does ------------------------------------------------------------------------------

    def changed(self, keeps_tail: bool) -> Iterator[tuple[int, Block]]:
        """The blocks to write, by number; they count as saved from here on."""
        for number in self.unsaved:
            self._note(number)
            yield number, self.held[number]
        self.unsaved = []
        if keeps_tail:
            return
        if not self.tail_is_saved and self.tail_block >= self.head_block:
            self._note(self.tail_block)
            yield self.tail_block, self.tail
        self.tail_is_saved = True

    def _note(self, number: int) -> None:
        self.saving[number] = self.saving.get(number, 0) + 1
        if self.runs and self.runs[-1][1] >= number - 1:
            self.runs[-1][1] = max(number, self.runs[-1][1])
        else:
            self.runs.append([number, number])

    def bury(self) -> Iterator[Run]:
        """Runs that end before the head: no longer needed."""
        while self.runs and self.runs[0][0] < self.head_block:
            first, last = self.runs[0]
            yield self.level, first, min(last, self.head_block - 1)
            if last < self.head_block:
                self.runs.popleft()
            else:
                self.runs[0][0] = self.head_block

    def written(self, number: int) -> None:
        """A checkpoint that took a block has ended."""
        self.saving[number] -= 1
        if not self.saving[number]:
            del self.saving[number]

    def take_back(self, number: int) -> None:
        """A checkpoint failed: let the next one write its block."""
        if number == self.tail_block:
            self.tail_is_saved = False
        elif number >= self.head_block and number not in self.unsaved:
            self.unsaved.append(number)
