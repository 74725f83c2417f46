"""The events and the waiting labels of a bucket, in its entries.

Events are in blocks (:mod:`windrow.engines.serving.held_events`), an entry each, which are written once; a
micro-batch writes the block of its rows, joined with some of those before. The index lists the blocks with
their checksums, and how far the header was when it was written, so that entries that do not belong together
are an error. Cost: a micro-batch of a bucket that has events or labels reads all of its blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.engines.serving.event_block import EventBlock
from windrow.engines.serving.held_events import HeldEvents
from windrow.engines.stream.persistence.stored_state import Entries
from windrow.spec import Spec
from windrow.state.checks import making_sense, require, whole
from windrow.state.codec import checksum_of, pack, unpack

__all__ = ["LabelState"]

# names of rows begin with a "c", whatever they are rows of
_INDEX, _BLOCK = "c index", "c events "
_KINDS = {_INDEX: "index of events", _BLOCK: "events"}


@dataclass
class LabelState:
    """What a bucket holds beside its header."""

    entries: Entries
    #: the blocks that are stored, each with its number and checksum
    _stored: list[tuple[EventBlock, int, int]] = field(default_factory=list[tuple[EventBlock, int, int]])
    _following: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def load(
        self, query: Spec, schema: pa.Schema, labels: pa.Schema, step: int
    ) -> tuple[HeldEvents, pa.Table]:
        """The events and the labels that wait, of a bucket whose header is at this step."""
        stored = self._read(_INDEX, _INDEX)
        with making_sense("the index of events"):
            require(stored["step"] == step, "the index of events and the header are of different steps")
            waiting = stored["labels"]
            require(
                isinstance(waiting, pa.Table) and waiting.schema.equals(labels), "labels of other columns"
            )
            numbers, sums = stored["numbers"], stored["sums"]
            self._following = whole("number of the next block", stored["following"], 0, 2**62)
            tables = [self._events(number, checksum) for number, checksum in zip(numbers, sums, strict=True)]
            log = HeldEvents.of_tables(query, tables, schema, stored["settled"], stored["added"])
        self._stored = list(zip(log.blocks, numbers, sums, strict=True))
        return log, waiting

    def _events(self, number: int, checksum: int) -> pa.Table:
        found = self._read(f"{_BLOCK}{number}", _BLOCK, checksum)
        require(isinstance(found, pa.Table), "events: not a table")
        return found

    def _read(self, name: str, kind: str, checksum: int | None = None) -> Any:
        data = self.entries.block(name)
        self.bytes_read += len(data)
        require(checksum in (None, checksum_of(data)), f"{name} is not the one that the index lists")
        return unpack(_KINDS[kind], data, self._context(name))

    def save(self, log: HeldEvents, waiting: pa.Table, step: int) -> None:
        """Write the blocks that are new, and the index; delete blocks that are gone."""
        kept = [self._known(block) or self._put(block) for block in log.blocks]
        for _, number, checksum in self._stored:
            if (number, checksum) not in kept:
                self.entries.delete_block(f"{_BLOCK}{number}")
        value = {
            "step": step,
            "labels": waiting,
            "numbers": [number for number, _ in kept],
            "sums": [checksum for _, checksum in kept],
            "following": self._following,
            "settled": log.settled,
            "added": log.added,
        }
        self._write(_INDEX, _INDEX, value)

    def _known(self, block: EventBlock) -> tuple[int, int] | None:
        """The number and checksum of a block that is stored."""
        return next(((number, checksum) for each, number, checksum in self._stored if each is block), None)

    def _put(self, block: EventBlock) -> tuple[int, int]:
        number, self._following = self._following, self._following + 1
        return number, self._write(f"{_BLOCK}{number}", _BLOCK, block.table)

    def _write(self, name: str, kind: str, value: Any) -> int:
        data = pack(_KINDS[kind], value, self._context(name))
        self.bytes_written += len(data)
        self.entries.set_block(name, data)
        return checksum_of(data)

    def _context(self, name: str) -> bytes:
        return b"%b\0%b" % (self.entries.place, name.encode())
