"""The entries of a bucket with a fence: the checksum of the header that was written last, beside it.

Blocks and chunks are vouched for by the header that lists them. The fence vouches for the header: one that
was put back by itself, as it once was, is an error also where all of the state is in it (sessions, few rows),
and so is one that is missing. A bucket that has a header and no fence was written before there were fences;
it gets one with its next header.

What is not noticed: all entries of a bucket put back together, the fence with them. Spark's state store keeps
its versions, with checksums of its own.
Cost: one small read per step, and one small write with each header.
"""

from __future__ import annotations

from typing import Protocol

from windrow.engines.stream.persistence.stored_state import Entries
from windrow.errors import CorruptState
from windrow.state.codec import checksum_of

__all__ = ["BucketEntries", "FencedEntries", "header_checksum"]


class BucketEntries(Entries, Protocol):
    """Where the entries of a bucket are kept, and its fence."""

    def fence(self) -> bytes | None: ...

    def set_fence(self, data: bytes) -> None: ...


class FencedEntries:
    """Entries whose header is that of the last step."""

    def __init__(self, entries: BucketEntries) -> None:
        self.place = entries.place
        self._entries = entries
        self.block, self.set_block, self.delete_block = (
            entries.block,
            entries.set_block,
            entries.delete_block,
        )

    def header(self) -> bytes | None:
        data = self._entries.header()
        if data is None and self._entries.fence() is not None:
            raise CorruptState(
                "the header of a bucket is missing from Spark's state: it was deleted, or lost"
            )
        return data

    def check_header(self, data: bytes) -> None:
        """Raise unless this header, which can be read, is that of the last step."""
        fence = self._entries.fence()
        if fence is not None and fence != header_checksum(data):
            raise CorruptState(
                "the header of a bucket is not that of its last step: it was put back to an older state by "
                "itself, or exchanged. Put back all of the checkpoint together"
            )

    def set_header(self, data: bytes) -> None:
        self._entries.set_header(data)
        self._entries.set_fence(header_checksum(data))


def header_checksum(header: bytes) -> bytes:
    """What a fence says of its header."""
    return checksum_of(header).to_bytes(4, "big")
