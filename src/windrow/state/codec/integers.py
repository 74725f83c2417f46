"""Columns of 64-bit integers in few bytes: keys, times and counts of slices shrink to a fraction.

A column is stored as *parts*: what its values are above the least of them, as multiples of a step (ends of
slices are days apart, say); or, where values never fall, by how much each is above the one before (keys of
sorted slices). Parts take a bit, or 1 to 6 bytes, each: as many as the largest needs. Parts of 3, 5 and 6
bytes are in two planes, low and high bytes, so that both are copied as a whole.

Invariant: what is read has the values that were written; whatever the bytes are, a column of bits becomes 64
times as long, and no other column so much. Cost: some passes over the column, about 10 ns a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.errors import CorruptState
from windrow.state.codec.reading import Reader
from windrow.state.codec.writing import Writer

__all__ = ["read_packed", "write_packed"]

#: the planes of parts by their bytes; 0: parts are bits
_PLANES = {0: (), 1: (1,), 2: (2,), 3: (2, 1), 4: (4,), 5: (4, 1), 6: (4, 2)}
_WIDEST = max(_PLANES)
#: a step is looked for only where these first values have one
_SAMPLE = 64
_MOST = 1 << 63


def write_packed(writer: Writer, array: Any) -> bool:
    """Write a column of int64, which is not empty; False: it would not shrink."""
    least, most = int(array.min()), int(array.max())
    if most - least >= _MOST:
        return False
    if most == least:  # the same value throughout
        data, step, climbs, width = bytes(-(-len(array) // 8)), 1, False, 0
    else:
        parts, step, climbs = _parts(array, least, most)
        width = _width(int(parts.max()))
        if width > _WIDEST:
            return False
        data = _packed(parts, width)
    writer.out += b"P"
    writer.write(least)
    writer.write(step)
    writer.write(climbs)
    writer.length(width)
    writer.length(len(array))
    writer.blob(b"b", data)
    return True


def _parts(array: Any, least: int, most: int) -> tuple[Any, int, bool]:
    """The parts, their step, and whether they are above the values before them."""
    above = array - least
    step = _step(above) if most - least > 1 else 1
    if _width((most - least) // step) > 0:
        rises = np.diff(array, prepend=array[:1])
        if int(rises.min()) >= 0 and _width(int(rises.max())) < _width((most - least) // step):
            return rises, 1, True
    return above if step == 1 else above // step, step, False


def _step(above: Any) -> int:
    if int(np.gcd.reduce(above[:_SAMPLE])) == 1:
        return 1
    return int(np.gcd.reduce(above))


def _width(most: int) -> int:
    return 0 if most <= 1 else -(-most.bit_length() // 8)


def _packed(parts: Any, width: int) -> bytes:
    if width == 0:
        return bytes(np.packbits(parts.astype(np.bool_)))
    found, shift = [], 0
    for nbytes in _PLANES[width]:
        found.append((parts >> shift).astype(f"<u{nbytes}").tobytes())
        shift += 8 * nbytes
    return b"".join(found)


def read_packed(reader: Reader) -> Any:
    """The reverse."""
    least, step, climbs = reader.expect(int), reader.expect(int), reader.expect(bool)
    width, count = reader.length(), reader.length()
    data = reader.expect(bytes)
    if width not in _PLANES or len(data) != (width * count if width else -(-count // 8)):
        raise CorruptState(f"{len(data)} bytes for {count} numbers of {width} bytes each")
    if width == 0 and step == 1 and not climbs and -_MOST <= least < _MOST and not data.strip(b"\0"):
        return np.full(count, least, np.int64)
    parts = _unpacked(data, width, count)
    top = _sum(parts) if climbs else int(parts.max(initial=0)) * step
    if not (1 <= step < _MOST and least >= -_MOST and least + top < _MOST):
        raise CorruptState(f"numbers from {least} on are not 64-bit integers")
    return np.cumsum(parts) + least if climbs else parts * step + least


def _sum(parts: Any) -> int:
    """The sum, which 64 bits may not hold."""
    return (int((parts >> 32).sum()) << 32) + int((parts & 0xFFFFFFFF).sum())


def _unpacked(data: bytes, width: int, count: int) -> Any:
    if width == 0:
        return np.unpackbits(np.frombuffer(data, np.uint8), count=count).astype(np.int64)
    found, start, shift = np.zeros(count, np.int64), 0, 0
    for nbytes in _PLANES[width]:
        plane: Any = np.frombuffer(data, f"<u{nbytes}", count, start)
        found |= plane.astype(np.int64) << shift
        start, shift = start + nbytes * count, shift + 8 * nbytes
    return found
