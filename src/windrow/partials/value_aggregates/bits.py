"""A set of small numbers as bits, with a summary above it, for compiled code: one step to the next member, or
to the one before.

``bits`` has a bit per number, ``top`` a bit for each word of it that is not zero. Functions are plain Python
until :func:`windrow.compile.native.jit_for` compiles what calls them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["discard", "empty_bits", "following", "include", "lowest_bit", "preceding"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
#: de Bruijn's sequence: the six bits at its top differ for every shift of it
_SEQUENCE = 0x03F79D71B4CB0A89
_DE_BRUIJN = np.uint64(_SEQUENCE)
_PLACES = np.zeros(64, np.int64)
_PLACES[[((_SEQUENCE << place) & (2**64 - 1)) >> 58 for place in range(64)]] = np.arange(64)


def empty_bits(size: int) -> tuple[Any, Any]:
    """Bits and their summary for numbers below ``size``."""
    words = (size >> 6) + 1
    return np.zeros(words, np.uint64), np.zeros((words >> 6) + 1, np.uint64)


def lowest_bit(word: Any) -> Any:
    """The place of the lowest bit of a word that is not zero.

    >>> lowest_bit(np.uint64(0b1000))
    np.int64(3)
    """
    return _PLACES[((word & (~word + _ONE)) * _DE_BRUIJN) >> np.uint64(58)]


def _highest_bit(word: Any) -> Any:
    for shift in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(shift)
    return _PLACES[((word ^ (word >> _ONE)) * _DE_BRUIJN) >> np.uint64(58)]


def include(bits: Any, top: Any, number: int) -> None:
    word = number >> 6
    bits[word] |= _ONE << np.uint64(number & 63)
    top[word >> 6] |= _ONE << np.uint64(word & 63)


def discard(bits: Any, top: Any, number: int) -> None:
    word = number >> 6
    bits[word] &= ~(_ONE << np.uint64(number & 63))
    if bits[word] == _ZERO:
        top[word >> 6] &= ~(_ONE << np.uint64(word & 63))


def following(bits: Any, top: Any, number: int) -> Any:
    """The least member that is not below a number; there must be one."""
    word = number >> 6
    rest = bits[word] & (_ALL << np.uint64(number & 63))
    if rest != _ZERO:
        return (word << 6) + lowest_bit(rest)
    word += 1
    block = word >> 6
    rest = top[block] & (_ALL << np.uint64(word & 63))
    while rest == _ZERO:
        block += 1
        rest = top[block]
    word = (block << 6) + lowest_bit(rest)
    return (word << 6) + lowest_bit(bits[word])


def preceding(bits: Any, top: Any, number: int) -> Any:
    """The largest member below a number; there must be one."""
    number -= 1
    word = number >> 6
    rest = bits[word] & (_ALL >> np.uint64(63 - (number & 63)))
    if rest != _ZERO:
        return (word << 6) + _highest_bit(rest)
    word -= 1
    block = word >> 6
    rest = top[block] & (_ALL >> np.uint64(63 - (word & 63)))
    while rest == _ZERO:
        block -= 1
        rest = top[block]
    word = (block << 6) + _highest_bit(rest)
    return (word << 6) + _highest_bit(bits[word])
