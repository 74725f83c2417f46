"""The one binary form of all state: versioned, checksummed, the same bytes for the same value, no pickle.

A frame is::

    magic "WRST" · version u8 · length of kind u8 · kind · length of payload u64 · crc32 u32 · payload

The checksum covers all but itself. ``kind`` says what the frame is for ("manifest", "snapshot"), so that one
is never taken for another. The payload is a tagged value (:mod:`windrow.state.codec.writing`).

Invariant: bytes from anywhere decode to the value that was packed, or raise a :class:`StateError`. Nothing in
them is executed, and no more memory is taken than a multiple of their length: for the most part a small one,
64 times for integers that are stored as bits (Arrow data excepted: its own reader decompresses what others
may have compressed).
Cost: O(size); numpy and Arrow data are copied whole, never an element at a time.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any

from windrow.errors import CorruptState, StateError, UnsupportedVersion
from windrow.state.codec.reading import Reader
from windrow.state.codec.specials import register
from windrow.state.codec.writing import Writer

__all__ = [
    "VERSION",
    "Codec",
    "checksum_of",
    "frame",
    "pack",
    "records_in",
    "register",
    "unframe",
    "unpack",
]

MAGIC = b"WRST"
#: the one format that is written and read
VERSION = 8
_TAIL = struct.Struct("<QI")


def frame(kind: str, payload: bytes | bytearray, context: bytes = b"") -> bytes:
    """Payload with header and checksum; ``context`` (a key, say) goes into the checksum, not into the bytes.

    >>> unframe("note", frame("note", b"payload")).tobytes()
    b'payload'
    """
    name = kind.encode()
    if not 0 < len(name) < 256:
        raise ValueError(f"kind {kind!r}: give a name of 1 to 255 bytes")
    head = b"%b%c%c%b%b" % (MAGIC, VERSION, len(name), name, len(payload).to_bytes(8, "little"))
    checksum = zlib.crc32(payload, zlib.crc32(head, zlib.crc32(context)))
    return b"".join((head, checksum.to_bytes(4, "little"), payload))


def unframe(kind: str, data: Any, context: bytes = b"") -> memoryview:
    """The payload of a frame of that kind; anything else is an error that says what is wrong."""
    view = memoryview(data).cast("B")
    if len(view) < len(MAGIC) + 2 or view[:4] != MAGIC:
        what = "is cut short" if MAGIC.startswith(bytes(view[:4])) else "does not begin with windrow's mark"
        raise CorruptState(f"{kind}: {len(view)} bytes that are not windrow state: the frame {what}")
    if view[4] != VERSION:
        raise UnsupportedVersion(
            f"{kind}: state of format {view[4]}; this windrow reads format {VERSION} only: "
            f"use the version that wrote it, or start from the data again"
        )
    start = 6 + view[5] + _TAIL.size
    if len(view) < start:
        raise CorruptState(f"{kind}: the state is cut short: {len(view)} bytes, and {start} are its header")
    length, checksum = _TAIL.unpack(view[start - _TAIL.size : start])
    if len(view) - start != length:
        what = "cut short" if len(view) - start < length else "followed by other bytes, or changed"
        raise CorruptState(
            f"{kind}: the state is {what}: {len(view) - start} bytes of content, {length} stated"
        )
    payload = view[start:]
    if zlib.crc32(payload, zlib.crc32(view[: start - 4], zlib.crc32(context))) != checksum:
        raise CorruptState(f"{kind}: the checksum does not match: the stored bytes were changed or moved")
    found = bytes(view[6 : 6 + view[5]]).decode(errors="replace")
    if found != kind:
        raise CorruptState(f"this is state of kind {found!r} where {kind!r} is expected: wrong key or file")
    return payload


def checksum_of(data: bytes) -> int:
    """The checksum that a frame states: an entry that lists those of others says which versions belong to
    it."""
    start = 6 + data[5] + _TAIL.size
    return int.from_bytes(data[start - 4 : start], "little")


class Codec:
    """Packs values of one kind, and knows types and objects that only its user can name.

    ``records`` are named tuple classes that may occur; others are refused. ``constants`` are objects that are
    stored as a number and come back as the same object (an identity that is compared with ``is``).

    >>> from collections import namedtuple
    >>> Point = namedtuple("Point", "x y")
    >>> codec = Codec("points", records=[Point])
    >>> codec.unpack(codec.pack([Point(1, 2)]))
    [Point(x=1, y=2)]
    """

    __slots__ = ("constants", "kind", "records")

    def __init__(self, kind: str, *, records: Iterable[type] = (), constants: Iterable[Any] = ()) -> None:
        self.kind = kind
        self.records: dict[tuple[str, ...], type] = {
            (record.__name__, *getattr(record, "_fields", ())): record for record in records
        }
        self.constants = tuple(constants)

    def pack(self, value: Any, context: bytes = b"") -> bytes:
        """The frame for a value."""
        return frame(self.kind, self.payload(value), context)

    def unpack(self, data: Any, context: bytes = b"") -> Any:
        """The value in a frame."""
        return self.value(unframe(self.kind, data, context))

    def payload(self, value: Any) -> bytearray:
        """The bytes for a value without a frame."""
        writer = Writer(self.records, self.constants)
        writer.write(value)
        return writer.out

    def value(self, payload: memoryview) -> Any:
        """The value in bytes without a frame."""
        try:
            return Reader(payload, self.records, self.constants).read_all()
        except StateError as error:
            raise type(error)(f"{self.kind}: {error}") from error
        except Exception as error:  # whatever a library says to bytes that it did not write
            raise CorruptState(f"{self.kind}: the content cannot be read: {error}") from error


def records_in(value: Any) -> list[type]:
    """The named tuple classes in a value, such as the identity of an aggregate, whose partials are made of
    them.

    >>> from collections import namedtuple
    >>> [record.__name__ for record in records_in((0, namedtuple("Point", "x y")(1, 2)))]
    ['Point']
    """
    if not isinstance(value, tuple):
        return []
    inner = [record for part in value for record in records_in(part)]
    kind = type(value)
    is_own = kind is not tuple and kind.__module__ != "windrow.monoids.quantiles"
    return [*dict.fromkeys([kind, *inner] if is_own else inner)]


def pack(kind: str, value: Any, context: bytes = b"") -> bytes:
    """A value as bytes. Numbers, text, bytes, dates, lists, tuples, dicts, sets, numpy and Arrow data.

    >>> unpack("example", pack("example", {"n": 3, "seen": {1.5, None}}))["n"]
    3
    >>> pack("example", object())
    Traceback (most recent call last):
    windrow.errors.UnstorableValue: a value of type object has no stored form: use numbers, text, ...
    """
    return Codec(kind).pack(value, context)


def unpack(kind: str, data: Any, context: bytes = b"") -> Any:
    """The value that was packed under the same kind and context.

    >>> unpack("query", pack("rows", 1))
    Traceback (most recent call last):
    windrow.errors.CorruptState: this is state of kind 'rows' where 'query' is expected: ...
    """
    return Codec(kind).unpack(data, context)
