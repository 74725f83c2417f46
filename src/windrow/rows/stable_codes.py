"""Codes of keys that are the same on every machine and in every run: state that is spread by them is found
again.

Numbers go through splitmix64 (:mod:`windrow.monoids.hashing`), text and bytes through FNV-1a first; equal
keys (``0.0`` and ``-0.0``, any two NaN) have equal codes.

Cost: about 25 ns per key, and 1 ns per byte of text. Keys that are nested are read by Python: microseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.compile.cache import kernel
from windrow.monoids.hashing import encode, encode_array
from windrow.rows.columns import plain_array
from windrow.rows.key_values import canonical_value

__all__ = ["Codes", "stable_codes"]

Codes = npt.NDArray[np.uint64]

_INT64 = pa.int64()
_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_NULL = np.uint64(encode(None))


def stable_codes(keys: pa.Table) -> Codes:
    """The code of each row's key; without columns there is no row.

    >>> (stable_codes(pa.table({"key": ["a", "b", None, "a"]})) % np.uint64(8)).tolist()
    [7, 4, 0, 7]
    """
    codes: Codes = np.zeros(keys.num_rows, np.uint64)
    for column in keys.columns:
        codes = encode_array((codes * _PRIME ^ _codes(column)).view(np.int64))
    return codes


def _codes(column: Any) -> Codes:
    array = plain_array(column)
    kind = array.type
    if _has_bytes(kind):
        codes = _codes_of_bytes(*_bytes(array))
    elif pa.types.is_floating(kind):
        codes = encode_array(array.fill_null(0).to_numpy(zero_copy_only=False))
    elif pa.types.is_primitive(kind) and not pa.types.is_interval(kind):
        codes = _integers(array).view(np.uint64)
    else:
        codes = np.array([encode(repr(canonical_value(value))) for value in array.to_pylist()], np.uint64)
    if array.null_count:
        codes = np.where(np.asarray(array.is_null()), _NULL, codes)
    return codes


def _integers(array: Any) -> npt.NDArray[np.int64]:
    """Integers, truth values, dates, times and durations as the integers that they are stored as."""
    if array.type == _INT64 and not array.null_count:
        return np.asarray(array)
    if not pa.types.is_boolean(array.type) and array.type.bit_width == 32:
        array = array.view(pa.int32())
    elif array.type.bit_width == 64:
        array = array.view(pa.int64())
    return np.asarray(array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _has_bytes(kind: Any) -> bool:
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_decimal,
    )
    return any(test(kind) for test in tests)


def _bytes(array: Any) -> tuple[Any, Any]:
    """The bytes of all values, and where those of each start, with the end."""
    kind, count = array.type, len(array)
    *_, data = array.buffers()
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind):
        return content, (np.arange(count + 1) + array.offset) * (kind.bit_width // 8)
    if not count:
        return content, np.zeros(1, np.int64)
    width = np.int64 if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else np.int32
    starts = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + count + 1]
    return content, starts.astype(np.int64)


@kernel
def _codes_of_bytes(content: Any, starts: Any) -> Any:
    codes = np.empty(len(starts) - 1, np.uint64)
    for i in range(len(codes)):
        code = _BASIS
        for k in range(starts[i], starts[i + 1]):
            code = (code ^ np.uint64(content[k])) * _PRIME
        codes[i] = code
    return codes
