"""Entries of stored state that are bound to their place and to each other; read and verified without loading
the state.

Every entry is bound to its place: the operator or bucket and the entry's name go into its checksum. And the
header lists the checksums of all others, or of pages that do, so that an entry that was exchanged, or put
back as it once was, is an error and never other numbers. That costs 4 bytes an entry and no call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from windrow.engines.kept_rows.entries import is_of_rows
from windrow.engines.kept_rows.stored_rows import listed_rows, walk_pages
from windrow.errors import CorruptState
from windrow.state.checks import making_sense
from windrow.state.codec import checksum_of, unpack

__all__ = [
    "BLOCK",
    "HEADER",
    "ROWS",
    "check_entries",
    "context_of",
    "listed_entries",
    "listed_sums",
    "read_block",
    "read_header",
    "verified",
]

#: kinds of entries
HEADER = "header"
BLOCK = "block"
ROWS = "rows"


def read_header(data: bytes, place: bytes) -> dict[str, Any]:
    """A header as plain values, for reports on state."""
    return dict(unpack(HEADER, data, context_of(place, HEADER)))


def read_block(data: bytes, place: bytes, name: str) -> dict[str, Any]:
    """A block of slices as plain values."""
    return dict(unpack(BLOCK, data, context_of(place, name)))


def context_of(place: bytes, name: str) -> bytes:
    """What an entry is bound to."""
    return b"%b\0%b" % (place, name.encode())


def check_entries(header: bytes, place: bytes, entries: Mapping[str, bytes]) -> None:
    """Raise unless the entries that a header lists are there, whole, and those that belong to it."""
    stored = read_header(header, place)
    with making_sense("the header"):
        sums = listed_sums(stored)
    checked = _CheckedEntries(place, entries, sums)
    for name in sums:
        checked.read_page(name)
    with making_sense("the pages"):
        for part in stored["state"]["ordered"].values():
            for name in walk_pages(part, checked):
                checked.read_page(name)


def verified(kind: str, name: str, data: bytes, place: bytes, checksum: int) -> dict[str, Any]:
    """What an entry holds, if it is the one that its header vouches for."""
    value: dict[str, Any] = unpack(kind, data, context_of(place, name))
    if checksum_of(data) != checksum:
        raise CorruptState(
            f"{kind} {name} is not the one that belongs to its header: one of them was put back to an "
            f"older state, or exchanged. Put back all entries together"
        )
    return value


@dataclass(frozen=True)
class _CheckedEntries:
    """Entries that are verified when they are read."""

    place: bytes
    entries: Mapping[str, bytes]
    sums: dict[str, int]

    def expect(self, sums: Mapping[str, int]) -> None:
        self.sums.update(sums)

    def read_page(self, name: str) -> dict[str, Any]:
        if name not in self.entries:
            raise CorruptState(f"entry {name!r} of {self.place.decode()} is missing: it was deleted, or lost")
        kind = ROWS if is_of_rows(name) else BLOCK
        return verified(kind, name, self.entries[name], self.place, self.sums[name])


def listed_entries(header: dict[str, Any]) -> Iterator[str]:
    """The names of all entries that a header lists."""
    for _, has_whole, *_, name in header["blocks"].values():
        yield from (name, f"{name}w") if has_whole else (name,)
    for rows in header["state"]["ordered"].values():
        yield from listed_rows(rows.get("chunks", ()))


def listed_sums(header: dict[str, Any]) -> dict[str, int]:
    """The checksums of these, by name."""
    return dict(zip(sorted(listed_entries(header)), header["sums"].tolist(), strict=True))
