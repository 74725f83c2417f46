"""Where windows are kept: the codec, the store protocols and their implementations."""

from windrow.state.codec import pack, unpack
from windrow.state.errors import CorruptState, StateError, UnstorableValue, UnsupportedVersion
from windrow.state.levels import LevelStore, MemoryLevels

__all__ = [
    "CorruptState",
    "LevelStore",
    "MemoryLevels",
    "StateError",
    "UnstorableValue",
    "UnsupportedVersion",
    "pack",
    "unpack",
]
