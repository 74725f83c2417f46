"""Blocks of pairs as bytes: the unit in which a level is stored.

A block holds neighbouring pairs of one level. Partials that are all floats, all integers of 64 bits, short
texts or tuples of such are written by columns, a few µs for a whole block; others one by one, with their
offsets, and read one by one when asked for. The identity of the aggregate is written as a place, and comes
back as the object.

Layout: epoch u64 (a number for the life of a window, so that a block left over from an earlier one is
noticed) · offset of the first pair u32 · number of pairs u32 · places of identities · columns.
Cost: about 0.1 µs a pair of numbers, 1-2 µs a pair of anything else.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from windrow.errors import CorruptState, StateError
from windrow.state.codec import Codec, frame, unframe
from windrow.state.codec.writing import Writer
from windrow.state.levels import Pair

__all__ = ["MOST_PAIRS", "Block", "BlockCodec", "PairCheck"]

_HEAD = struct.Struct("<QIII")
_KIND = "block"
_MOST_COLUMNS = 64
#: a block is not larger, whatever wrote it
MOST_PAIRS = 65536
_EACH, _TUPLES, _TEXT = b"xts"
#: letters that are read together
_MOST_TEXT = 32768
_FORMATS = {b"d"[0]: ("d", 8), b"q"[0]: ("q", 8), b"?"[0]: ("?", 1)}
#: types whose values need no place of their own: equal means the same
_PLAIN = (int, float, str, bytes, bool, type(None))

#: pairs by their offset in the block; None where there is none
Block = Sequence[Any]
#: raises if a pair that was read is not one of the window's
PairCheck = Callable[[Any], None]


class BlockCodec:
    """Writes and reads the blocks of one window.

    >>> codec = BlockCodec(epoch=7, identity=0, records=())
    >>> data = codec.encode(b"key", [None, (1, 2), (3, 4)])
    >>> codec.decode(b"key", data)[1:]
    [(1, 2), (3, 4)]
    """

    def __init__(self, epoch: int, identity: Any, records: Iterable[type]) -> None:
        self.epoch = epoch
        self.identity = identity
        self._has_places = type(identity) not in _PLAIN
        self.values = Codec(_KIND, records=records, constants=(identity,) if self._has_places else ())
        self.by_number = list(self.values.records.values())
        self._numbers = {record: number for number, record in enumerate(self.by_number, 1)}

    def encode(self, key: bytes, pairs: Sequence[Pair | None]) -> bytes:
        """The stored form of a block, bound to its key."""
        first = 0
        while first < len(pairs) and pairs[first] is None:
            first += 1
        hole = (self.identity, self.identity)
        flat = [side for pair in pairs[first:] for side in (pair or hole)]
        places: list[int] = []
        if self._has_places and type(self.identity) in set(map(type, flat)):
            places = [at for at, side in enumerate(flat) if side is self.identity]
            flat = [side for side in flat if side is not self.identity]
        out = bytearray(_HEAD.pack(self.epoch, first, len(pairs) - first, len(places)))
        out += struct.pack(f"<{len(places)}I", *places)
        self._write(out, flat)
        return frame(_KIND, out, key)

    def _write(self, out: bytearray, values: Sequence[Any]) -> None:
        kinds = set(map(type, values))
        if len(kinds) == 1:
            kind = kinds.pop()
            if kind is float:
                out += b"d"
                out += struct.pack(f"<{len(values)}d", *values)
                return
            if kind is int and min(values) >= -(2**63) and max(values) < 2**63:
                out += b"q"
                out += struct.pack(f"<{len(values)}q", *values)
                return
            if kind is bool:
                out += b"?" + bytes(values)
                return
            if kind is str and self._write_text(out, values):
                return
            if (kind is tuple or kind in self._numbers) and self._write_columns(out, kind, values):
                return
        self._write_each(out, values)

    @staticmethod
    def _write_text(out: bytearray, values: Sequence[str]) -> bool:
        text = "".join(values)
        if len(text) > _MOST_TEXT:
            return False
        content = text.encode("utf-8", "surrogatepass")
        out += struct.pack(f"<cI{len(values)}H", b"s", len(content), *map(len, values))
        out += content
        return True

    def _write_columns(self, out: bytearray, kind: type, values: Sequence[Any]) -> bool:
        width = len(values[0])
        if not 0 < width <= _MOST_COLUMNS or any(len(value) != width for value in values):
            return False
        out += struct.pack("<cHB", b"t", self._numbers.get(kind, 0), width)
        for column in zip(*values, strict=True):
            self._write(out, column)
        return True

    def _write_each(self, out: bytearray, values: Sequence[Any]) -> None:
        writer = Writer(self.values.records, self.values.constants)
        ends = []
        for value in values:
            writer.write(value)
            ends.append(len(writer.out))
        out += b"x"
        out += struct.pack(f"<{len(ends)}I", *ends)
        out += writer.out

    def decode(
        self, key: bytes, data: bytes, most: int = MOST_PAIRS, check: PairCheck | None = None
    ) -> Block:
        """The pairs of a block that was written under this key by this window: so many at most, and each of
        them checked."""
        try:
            return self._decode(unframe(_KIND, data, key), most, check)
        except StateError:
            raise
        except Exception as error:
            raise CorruptState(f"{_KIND}: the content cannot be read: {error}") from error

    def _decode(self, view: memoryview, most: int, check: PairCheck | None) -> Block:
        epoch, first, count, placed = _HEAD.unpack_from(view)
        if epoch != self.epoch:
            raise CorruptState(f"{_KIND}: left over from an earlier window of the same id")
        if first + count > most or placed > 2 * count:
            raise CorruptState(f"{_KIND}: {count} pairs from offset {first} on")
        places = struct.unpack_from(f"<{placed}I", view, _HEAD.size)
        if any(a >= b for a, b in itertools.pairwise((*places, 2 * count))):
            raise CorruptState(f"{_KIND}: identities out of order, or beyond {count} pairs")
        columns = _Columns(self, view, _HEAD.size + 4 * placed)
        rest = 2 * count - placed
        if columns.is_each():
            return _Lazily(first, columns.each(rest), _slots(places, 2 * count), check)
        flat = columns.read(rest)
        if places:
            flat = [self.identity if at < 0 else flat[at] for at in _slots(places, 2 * count)]
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        if check is not None:
            for pair in pairs:
                check(pair)
        return [*[None] * first, *pairs]


def _slots(places: Sequence[int], count: int) -> Sequence[int]:
    """For each partial its number among those written, -1 for an identity."""
    if not places:
        return range(count)
    slots = [0] * count
    for place in places:
        slots[place] = -1
    number = 0
    for at, slot in enumerate(slots):
        if slot == 0:
            slots[at] = number
            number += 1
    return slots


class _Columns:
    """Reads columns one after the other."""

    def __init__(self, codec: BlockCodec, view: memoryview, at: int) -> None:
        self._codec = codec
        self._view = view
        self._at = at

    def is_each(self) -> bool:
        return self._view[self._at] == _EACH

    def read(self, count: int) -> Sequence[Any]:
        tag, self._at = self._view[self._at], self._at + 1
        if tag in _FORMATS:
            letter, size = _FORMATS[tag]
            values = struct.unpack_from(f"<{count}{letter}", self._view, self._at)
            self._at += count * size
            return values
        if tag == _TUPLES:
            return self._tuples(count)
        if tag == _TEXT:
            return self._text(count)
        if tag == _EACH:
            self._at -= 1
            each = self.each(count)
            return [each(number) for number in range(count)]
        raise CorruptState(f"{_KIND}: unknown column {tag}")

    def _text(self, count: int) -> list[str]:
        size, *lengths = struct.unpack_from(f"<I{count}H", self._view, self._at)
        start = self._at + 4 + 2 * count
        self._at = start + size
        text = str(self._view[start : self._at], "utf-8", "surrogatepass")
        ends = [0, *itertools.accumulate(lengths)]
        if ends[-1] != len(text):
            raise CorruptState(f"{_KIND}: {len(text)} letters where {ends[-1]} are stated")
        return [text[start:end] for start, end in itertools.pairwise(ends)]

    def _tuples(self, count: int) -> list[Any]:
        record, width = struct.unpack_from("<HB", self._view, self._at)
        self._at += 3
        rows = list(zip(*[self.read(count) for _ in range(width)], strict=True))
        if not record:
            return rows
        if record > len(self._codec.by_number):
            raise CorruptState(f"{_KIND}: a named tuple that is not known here: the aggregate has changed")
        kind: Any = self._codec.by_number[record - 1]
        return [kind(*row) for row in rows]

    def each(self, count: int) -> Callable[[int], Any]:
        """A function that reads the value of a number."""
        ends = (0, *struct.unpack_from(f"<{count}I", self._view, self._at + 1))
        start = self._at + 1 + 4 * count
        self._at = start + ends[-1]
        body, codec = self._view[start : self._at], self._codec
        if len(body) != ends[-1]:
            raise CorruptState(f"{_KIND}: the content ends early")

        def read(number: int) -> Any:
            if number < 0:
                return codec.identity
            return codec.values.value(body[ends[number] : ends[number + 1]])

        return read


class _Lazily(Sequence[Any]):
    """Pairs that are read when they are asked for, and then kept."""

    def __init__(
        self, first: int, each: Callable[[int], Any], slots: Sequence[int], check: PairCheck | None
    ) -> None:
        self._pairs: list[Any] = [None] * (first + len(slots) // 2)
        self._first = first
        self._each = each
        self._slots = slots
        self._check = check

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, offset: Any) -> Any:
        if isinstance(offset, slice):
            return [self[at] for at in range(*offset.indices(len(self)))]
        pair = self._pairs[offset]
        if pair is None and offset >= self._first:
            at = 2 * (offset - self._first)
            pair = self._each(self._slots[at]), self._each(self._slots[at + 1])
            if self._check is not None:
                self._check(pair)
            self._pairs[offset] = pair
        return pair
