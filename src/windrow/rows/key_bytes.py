"""Keys as bytes: equal where keys match by value, whatever the types of their columns.

So an index of keys, or a key of a store, need not know which table asks: int32 and int64, text in any form,
whole numbers that pandas holds as floats, moments of any unit. What counts as one key is said in
:mod:`windrow.rows.key_values`; a null is a key, too.
Cost: about a microsecond per key, in Python.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from windrow.rows.key_values import canonical_value

__all__ = ["key_bytes"]

_NULL = b"n"
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def key_bytes(columns: Sequence[Any], count: int) -> list[bytes]:
    """The bytes of the keys in these arrays, of so many rows; without columns all rows are of one key.

    >>> key_bytes([pa.array([7, None])], 2), key_bytes([pa.array([7.0, 0.5])], 2)[0]
    ([b'i7', b'n'], b'i7')
    >>> key_bytes([pa.array(["a"]), pa.array([1])], 1)
    [b'\\x02\\x00\\x00\\x00sa\\x02\\x00\\x00\\x00i1']
    """
    parts = [_column_bytes(column) for column in columns]
    if len(parts) == 1:
        return parts[0]
    return [b"".join(map(_with_length, key)) for key in zip(*parts, strict=True)] if parts else [b""] * count


def _with_length(part: bytes) -> bytes:
    return len(part).to_bytes(4, "little") + part


def _column_bytes(column: Any) -> list[bytes]:
    values, encode = _values(column)
    return [_NULL if value is None else encode(value) for value in values]


def _values(column: Any) -> tuple[list[Any], Callable[[Any], bytes]]:
    """The values of a column as Python has them, and how one becomes bytes."""
    kind, is_ = column.type, pa.types
    if is_.is_timestamp(kind):
        factor = _NANOSECONDS[kind.unit]
        return column.cast(pa.int64()).to_pylist(), lambda ticks: b"t%d" % (ticks * factor)
    if is_.is_date(kind):
        return column.cast(pa.date64()).cast(pa.int64()).to_pylist(), lambda ticks: b"d%d" % ticks
    if is_.is_duration(kind) or is_.is_time64(kind):
        return column.cast(pa.int64()).to_pylist(), lambda ticks: b"v%d" % ticks
    for is_kind, encode in _ENCODERS:
        if is_kind(kind):
            return column.to_pylist(), encode
    return column.to_pylist(), lambda value: b"o" + repr(canonical_value(value)).encode()


def _whole(value: int) -> bytes:
    return b"i%d" % value


def _float(value: float) -> bytes:
    if math.isnan(value):
        return b"f"
    return _whole(int(value)) if value.is_integer() else b"f" + struct.pack("<d", value)


def _decimal(value: Any) -> bytes:
    text = f"{value:f}"
    return b"m" + (text.rstrip("0").rstrip(".") if "." in text else text).encode()


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: Any) -> bool:
    is_ = pa.types
    return bool(is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_fixed_size_binary(kind))


_ENCODERS: list[tuple[Callable[[Any], bool], Callable[[Any], bytes]]] = [
    (pa.types.is_integer, _whole),
    (pa.types.is_boolean, lambda value: b"b%d" % value),
    (pa.types.is_floating, _float),
    (_is_text, lambda value: b"s" + value.encode()),
    (_is_binary, lambda value: b"x" + value),
    (pa.types.is_decimal, _decimal),
]
