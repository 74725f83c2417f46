"""Stable 64-bit codes of values, for sketches.

Python's own hash differs from process to process; a sketch that is merged with one from another machine, or
read back from a snapshot, needs codes that never change. Numbers go through splitmix64, a bijection on 64
bits, so distinct integers never collide; text and bytes through BLAKE2b.

Invariant: values that are equal in Python have equal codes (``1``, ``1.0`` and ``True``; ``0.0`` and
``-0.0``), and every NaN has the same one. Moments and durations count as the integers that Arrow stores for
them in microseconds (a date: days). :func:`encode_array` gives the same codes for a whole numpy array of
numbers.

Cost: 1 to 2 µs per value; arrays of integers about 10 ns and of floats about 30 ns per value.
Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (OOPSLA 2014).
"""

from __future__ import annotations

import hashlib
import struct
from datetime import date, datetime, time, timedelta
from typing import Any

from windrow.monoids.clock import EPOCH, microseconds, microseconds_since_epoch

__all__ = ["encode", "encode_array"]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
#: keeps the bits of fractions apart from the integers that have the same bits
_FRACTION = 0x5851F42D4C957F2D
_NAN_BITS = 0x7FF8000000000000
_INT64 = 1 << 63


def encode(value: Any) -> int:
    """The code of a number, text, bytes, moment or tuple of these: an unsigned 64-bit integer.

    >>> encode(7) == encode(7.0), encode("7") == encode(b"7")
    (True, False)
    >>> encode("windrow")
    2487038066065795457
    """
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _digest(b"text", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _digest(b"bytes", bytes(value))
    return _other(value)


def encode_array(values: Any) -> Any:
    """The codes of a numpy array, as an array of uint64; vectorised for integers, floats and booleans.

    >>> import numpy as np
    >>> encode_array(np.array([1.5, -0.0])).tolist() == [encode(1.5), encode(0)]
    True
    """
    import numpy as np

    kind = values.dtype.kind
    if kind == "f" and values.dtype.itemsize <= 8:
        return _mixed_array(np, _float_words(np, values.astype(np.float64)))
    if kind in "bi" or (kind == "u" and (values.size == 0 or values.max() < _INT64)):
        return _mixed_array(np, values.astype(np.int64).view(np.uint64))
    return np.fromiter((encode(v) for v in values.tolist()), np.uint64, len(values))


def _mix(word: int) -> int:
    word = (word + _GOLDEN) & _MASK
    word = ((word ^ (word >> 30)) * _FIRST) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND) & _MASK
    return word ^ (word >> 31)


def _mixed_array(np: Any, words: Any) -> Any:
    words = words + np.uint64(_GOLDEN)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_SECOND)
    return words ^ (words >> np.uint64(31))


def _integer(value: int) -> int:
    if -_INT64 <= value < _INT64:
        return _mix(value & _MASK)
    try:
        if int(float(value)) == value:  # equal to a float, which has no other way to be encoded
            return _mix(_bits(float(value)) ^ _FRACTION)
    except OverflowError:
        pass
    return _digest(b"int", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))


def _float(value: float) -> int:
    if -_INT64 <= value < _INT64 and value == int(value):
        return _mix(int(value) & _MASK)
    return _mix((_NAN_BITS if value != value else _bits(value)) ^ _FRACTION)


def _float_words(np: Any, values: Any) -> Any:
    """What :func:`_float` mixes, for an array of float64."""
    is_integer = (values >= -float(_INT64)) & (values < float(_INT64)) & (np.trunc(values) == values)
    bits = np.where(np.isnan(values), np.uint64(_NAN_BITS), values.view(np.uint64)) ^ np.uint64(_FRACTION)
    integers = np.where(is_integer, values, 0.0).astype(np.int64).view(np.uint64)
    return np.where(is_integer, integers, bits)


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _digest(kind: bytes, content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8, person=kind).digest(), "little")


def _other(value: Any) -> int:
    from decimal import Decimal

    if hasattr(value, "dtype") and hasattr(value, "item"):  # a numpy scalar
        return encode(value.item())
    if isinstance(value, datetime):
        return _integer(microseconds_since_epoch(value))
    if isinstance(value, date):
        return _integer(value.toordinal() - EPOCH.toordinal())
    if isinstance(value, time):
        since_midnight = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
        return _integer(microseconds(since_midnight) + value.microsecond)
    if isinstance(value, timedelta):
        return _integer(microseconds(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, tuple):
        return _digest(b"tuple", b"".join(encode(member).to_bytes(8, "little") for member in value))
    if value is None:
        return _digest(b"null", b"")
    raise TypeError(
        f"a {type(value).__name__} has no code that is the same everywhere ({value!r}): "
        f"give a number, text, bytes, a moment or a tuple of these"
    )


def _decimal(value: Any) -> int:
    if value.is_nan():
        return _float(float("nan"))
    if value.is_infinite() or value == float(value):
        return _float(float(value))
    if value == int(value):
        return _integer(int(value))
    return _digest(b"decimal", str(value.normalize()).encode())
