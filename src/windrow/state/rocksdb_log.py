"""A look at RocksDB's logs before RocksDB reads them.

RocksDB never returns from opening a database in whose log the type of a record was damaged into one of the
types of recycled logs: one flipped bit is enough. windrow does not recycle logs, so that every type but those
of plain records is damage. Checksums, and everything else, are left to RocksDB.

A log is blocks of 32 KiB; a record, or each part of one that does not fit into its block, is a header of
7 bytes (checksum, length, type) and content. Cost: O(records in the logs), about 1 µs each.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from struct import Struct

from windrow.errors import CorruptState

__all__ = ["check_logs"]

_BLOCK = 32768
_HEADER = Struct("<IHB")
#: nothing yet, whole, first, middle and last
_TYPES = range(5)


def check_logs(folder: str) -> None:
    """Raise if a log has a record of a type that is not written here."""
    for path in sorted(Path(folder).glob("*.log")):
        with contextlib.suppress(OSError), path.open("rb") as file:
            at = 0
            while block := file.read(_BLOCK):
                place = _first_unknown(block)
                if place is not None:
                    raise CorruptState(
                        f"the files in {folder} are damaged: {path.name} has a record of an unknown type at "
                        f"byte {at + place}; put back a copy of the whole folder"
                    )
                at += len(block)


def _first_unknown(block: bytes) -> int | None:
    at = 0
    while at + _HEADER.size <= len(block):
        _, length, kind = _HEADER.unpack_from(block, at)
        if kind not in _TYPES:
            return at
        if kind == 0 and length == 0:  # the rest of the block was not written
            return None
        at += _HEADER.size + length
    return None
