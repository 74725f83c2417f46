"""Packages that windrow works without, and what to type where one is missing.

windrow is on no package index, so that its extras can only be installed from a clone; the packages
themselves are named instead, which works everywhere. A test compares the list with ``pyproject.toml``.
"""

from __future__ import annotations

import importlib.util

__all__ = ["EXTRAS", "how_to_install", "what_is_missing"]

EXTRAS: dict[str, tuple[str, ...]] = {
    "cli": ("rich>=13",),
    "connect": ("pyspark[connect]>=4.0", "protobuf>=6"),
    "metrics": ("prometheus-client>=0.21",),
    "redis": ("redis>=5",),
    "rocksdb": ("rocksdict>=0.3.23",),
    "serve": ("starlette>=0.45", "uvicorn>=0.34"),
    "spark": ("pyspark>=3.5", "protobuf>=6"),
    "testing": ("hypothesis>=6.120", "pyyaml>=6.0"),
}


def how_to_install(extra: str) -> str:
    """The command that installs what an extra needs.

    >>> how_to_install("spark")
    "pip install 'pyspark>=3.5' 'protobuf>=6'"
    """
    return f"pip install {' '.join(map(repr, EXTRAS[extra]))}"


def what_is_missing(extra: str, *modules: str) -> str | None:
    """The extra and the command that installs it, where one of its modules is not there.

    >>> what_is_missing("redis", "no_such_module")
    "the extra 'redis': pip install 'redis>=5'"
    """
    if all(importlib.util.find_spec(module) is not None for module in modules):
        return None
    return f"the extra {extra!r}: {how_to_install(extra)}"
