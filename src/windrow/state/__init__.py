"""Where windows are kept: the codec, the store protocols and their implementations.

Names are loaded when they are used, so that ``import windrow`` pays for none of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from windrow.errors import (
    CorruptState,
    StateError,
    StoreFull,
    StoreUnavailable,
    UnstorableValue,
    UnsupportedVersion,
    WindowTaken,
)
from windrow.state.levels import LevelStore, MemoryLevels

if TYPE_CHECKING:
    from windrow.state.codec import pack, unpack
    from windrow.state.memory import MemoryStore
    from windrow.state.redis import RedisStore
    from windrow.state.rocksdb import RocksDBStore
    from windrow.state.store import Store, windows

__all__ = [
    "CorruptState",
    "LevelStore",
    "MemoryLevels",
    "MemoryStore",
    "RedisStore",
    "RocksDBStore",
    "StateError",
    "Store",
    "StoreFull",
    "StoreUnavailable",
    "UnstorableValue",
    "UnsupportedVersion",
    "WindowTaken",
    "pack",
    "unpack",
    "windows",
]

_MODULES = {
    "codec": ("pack", "unpack"),
    "memory": ("MemoryStore",),
    "redis": ("RedisStore",),
    "rocksdb": ("RocksDBStore",),
    "store": ("Store", "windows"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"windrow.state.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
