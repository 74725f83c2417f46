"""The events and the waiting labels of a bucket, in its entries.

Events are in blocks (:mod:`windrow.engines.serving.held_events`), an entry each, which are written once; a
micro-batch writes the block of its rows, joined with some of those before. The index lists the blocks with
their checksums, and how far the header was when it was written, so that entries that do not belong together
are an error. Cost: a micro-batch that brings events, or lets labels out, reads all blocks of the bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.engines.serving.event_block import EventBlock
from windrow.engines.serving.held_events import HeldEvents
from windrow.engines.stream.persistence.stored_state import Entries
from windrow.errors import ChangedQuery
from windrow.spec import Spec
from windrow.state.checks import making_sense, require, whole
from windrow.state.codec import checksum_of, pack, unpack

__all__ = ["LabelState"]

# names of rows begin with a "c", whatever they are rows of
_INDEX, _BLOCK = "c index", "c events "
_KINDS = {_INDEX: "index of events", _BLOCK: "events"}
_NOTHING: dict[str, Any] = {
    "numbers": [],
    "sums": [],
    "following": 0,
    "settled": 0,
    "added": 0,
    "bytes": 0,
}


@dataclass
class LabelState:
    """What a bucket holds beside its header."""

    entries: Entries
    #: the index as plain values
    _index: dict[str, Any] = field(default_factory=lambda: _NOTHING)
    #: the blocks that are stored and were read, each with its number and checksum
    _stored: list[tuple[EventBlock, int, int]] = field(default_factory=list[tuple[EventBlock, int, int]])
    bytes_read: int = 0
    bytes_written: int = 0

    @property
    def held_bytes(self) -> int:
        """How much the events take in memory, once they are saved."""
        return int(self._index["bytes"])

    # -- reading ---------------------------------------------------------------------------------------------

    def labels(self, columns: pa.Schema, step: int) -> pa.Table:
        """The labels that wait, of a bucket whose header is at this step."""
        with making_sense("the index of events"):
            self._index = dict(self._read(_INDEX, _INDEX))
            is_same = self._index["step"] == step
            require(is_same, "the index of events and the header are of different steps")
            waiting: pa.Table = self._index["labels"]
            require(isinstance(waiting, pa.Table), "labels that wait: not a table")
        if not waiting.schema.equals(columns):
            was, now = (", ".join(f"{f.name} {f.type}" for f in each) for each in (waiting.schema, columns))
            raise ChangedQuery(
                f"the labels had the columns {was}, and have {now}: give them as they were, or start the "
                f"stream with another checkpoint"
            )
        return waiting

    def events(self, query: Spec, schema: pa.Schema) -> HeldEvents:
        """The events that are kept."""
        stored = self._index
        with making_sense("the index of events"):
            numbers, sums = stored["numbers"], stored["sums"]
            whole("number of the next block", stored["following"], 0, 2**62)
            tables = [self._events(number, checksum) for number, checksum in zip(numbers, sums, strict=True)]
            log = HeldEvents.of_tables(query, tables, schema, stored["settled"], stored["added"])
        self._stored = list(zip(log.blocks, numbers, sums, strict=True))
        return log

    def _events(self, number: int, checksum: int) -> pa.Table:
        found = self._read(f"{_BLOCK}{number}", _BLOCK, checksum)
        require(isinstance(found, pa.Table), "events: not a table")
        return found

    def _read(self, name: str, kind: str, checksum: int | None = None) -> Any:
        data = self.entries.block(name)
        self.bytes_read += len(data)
        require(checksum in (None, checksum_of(data)), f"{name} is not the one that the index lists")
        return unpack(_KINDS[kind], data, self._context(name))

    # -- writing ---------------------------------------------------------------------------------------------

    def save(self, log: HeldEvents | None, waiting: pa.Table, step: int) -> None:
        """Write blocks that are new, and the index; delete blocks that are gone. Without a log, events are
        what they were."""
        index = self._index if log is None else self._with_blocks(log)
        index = index | {"step": step, "labels": waiting}
        if index != self._index:
            self._write(_INDEX, _INDEX, index)
        self._index = index

    def _with_blocks(self, log: HeldEvents) -> dict[str, Any]:
        """The index for these events."""
        following, kept = int(self._index["following"]), []
        for block in log.blocks:
            facts = next(((n, checksum) for each, n, checksum in self._stored if each is block), None)
            if facts is None:
                facts = following, self._write(f"{_BLOCK}{following}", _BLOCK, block.table)
                following += 1
            kept.append(facts)
        for _, number, checksum in self._stored:
            if (number, checksum) not in kept:
                self.entries.delete_block(f"{_BLOCK}{number}")
        numbers, sums = [number for number, _ in kept], [checksum for _, checksum in kept]
        counts = {"following": following, "settled": log.settled, "added": log.added, "bytes": log.nbytes}
        return {"numbers": numbers, "sums": sums} | counts

    def _write(self, name: str, kind: str, value: Any) -> int:
        data = pack(_KINDS[kind], value, self._context(name))
        self.bytes_written += len(data)
        self.entries.set_block(name, data)
        return checksum_of(data)

    def _context(self, name: str) -> bytes:
        return b"%b\0%b" % (self.entries.place, name.encode())
