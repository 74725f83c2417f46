"""The one binary form of all state: versioned, checksummed, the same bytes for the same value, no pickle."""

from windrow.state.codec.form import (
    VERSION,
    Codec,
    checksum_of,
    frame,
    pack,
    records_in,
    register,
    unframe,
    unpack,
)

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
