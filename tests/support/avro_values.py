"""Calls as Avro writes them: a record of a time, a region that may be null, and a length."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["SCHEMA", "avro_value"]

SCHEMA = """{"type": "record", "name": "Call", "fields": [
  {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
  {"name": "region", "type": ["null", "string"]},
  {"name": "len", "type": "int"}]}"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def avro_value(call: dict[str, Any]) -> bytes:
    """
    >>> avro_value({"ts": _EPOCH, "region": "up", "len": 64}).hex()
    '00020475708001'
    """
    region = call["region"]
    text = _number(0) if region is None else _number(1) + _number(len(region.encode())) + region.encode()
    return _number((call["ts"] - _EPOCH) // timedelta(microseconds=1)) + text + _number(call["len"])


def _number(value: int) -> bytes:
    """Small numbers are short, whatever their sign: seven bits a byte, the lowest first."""
    rest, found = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])
