"""The state of an operator in pieces that are read and written by themselves, wherever they are kept.

The *header* holds all but the slices of time windows: watermark, counts, keys, open sessions, rows that wait.
Each block of slices is an entry of its own, and beside it, for the eager store, the partials of the whole
block: a step reads the blocks that its rows fall into and those at the ends of windows that are due, writes
the blocks it changed, and deletes those that nobody needs.

Invariant: what is written is what the operator would snapshot; the codec is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from windrow.engines.stream.plan import Plan
from windrow.engines.stream.snapshot import read_slices, restored_value, slices_state, snapshot_value
from windrow.engines.stream.state import State
from windrow.slicing.slices import HeldSlices
from windrow.slicing.store import Block
from windrow.state.codec import pack, unpack

__all__ = ["Entries", "StoredState", "read_block", "read_header"]

_HEADER = "header"
_BLOCK = "block"


def read_header(data: bytes) -> dict[str, Any]:
    """A header as plain values, for those who look at state."""
    return dict(unpack(_HEADER, data))


def read_block(data: bytes) -> dict[str, Any]:
    """A block of slices as plain values."""
    return dict(unpack(_BLOCK, data))


class Entries(Protocol):
    """Where the header and the blocks are kept."""

    def header(self) -> bytes | None: ...

    def set_header(self, data: bytes) -> None: ...

    def block(self, name: str) -> bytes: ...

    def set_block(self, name: str, data: bytes) -> None: ...

    def delete_block(self, name: str) -> None: ...


@dataclass
class StoredState:
    """An operator's state between steps."""

    entries: Entries
    #: the blocks that are stored, as they were loaded
    _stored: dict[int, Block] = field(default_factory=dict[int, Block])
    _written: bytes | None = None
    bytes_read: int = 0
    bytes_written: int = 0

    def load(self, plan: Plan) -> tuple[Plan, State] | None:
        """The state; None: there is none yet."""
        data = self.entries.header()
        if data is None:
            return None
        self.bytes_read += len(data)
        self._written = data
        stored = unpack(_HEADER, data)

        def blocks(old: Plan, places: Sequence[int | None]) -> dict[int, Block]:
            self._stored = {
                number: self._block(old, places, number, is_fused, has_whole)
                for number, (is_fused, has_whole) in stored["blocks"].items()
            }
            return dict(self._stored)

        return restored_value(plan, stored, blocks)

    def _block(
        self, plan: Plan, places: Sequence[int | None], number: int, is_fused: bool, has_whole: bool
    ) -> Block:
        def load(name: str) -> HeldSlices:
            data = self.entries.block(name)
            self.bytes_read += len(data)
            return read_slices(plan, places, unpack(_BLOCK, data))

        whole = (lambda: load(f"{number}w")) if has_whole else None
        return Block(lambda: load(str(number)), is_fused, whole)

    def save(self, plan: Plan, state: State) -> None:
        """Write what has changed."""
        blocks = {} if state.time is None else dict(state.time.store.blocks)
        eager = state.time is not None and state.time.store.eager
        meta: dict[int, tuple[bool, bool]] = {}
        for number, block in blocks.items():
            changed = self._stored.get(number) is not block
            whole = block.whole() if eager and changed else None
            has_whole = whole is not None if changed else block.has_whole
            meta[number] = (block.is_fused, has_whole)
            if changed:
                self._put(str(number), block.slices)
                if whole is not None:
                    self._put(f"{number}w", whole)
        self._delete_gone(set(blocks))
        value = snapshot_value(plan, state, with_blocks=False)
        data = pack(_HEADER, value | {"blocks": meta})
        if data != self._written:
            self.bytes_written += len(data)
            self.entries.set_header(data)

    def _put(self, name: str, slices: HeldSlices) -> None:
        data = pack(_BLOCK, slices_state(slices))
        self.bytes_written += len(data)
        self.entries.set_block(name, data)

    def _delete_gone(self, kept: set[int]) -> None:
        for number, block in self._stored.items():
            if number not in kept:
                self.entries.delete_block(str(number))
                if block.has_whole:
                    self.entries.delete_block(f"{number}w")
