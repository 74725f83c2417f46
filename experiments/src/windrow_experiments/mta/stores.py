"""Where the windows of experiments are kept: stores in a temporary folder, and a Redis server of our own.

What is not there is left out, and said: ``redis-server`` on the PATH, and the packages of the stores.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from windrow.state import RedisStore, RocksDBStore, Store

__all__ = ["Places", "ended", "places", "redis_server"]

#: seconds that a Redis server may take to start
_PATIENCE = 120.0


class Places:
    """Makes stores, each fresh, and says which kinds there are."""

    def __init__(self, folder: Path, redis: str | None, missing: list[str]) -> None:
        self.folder = folder
        self.redis = redis
        #: what is left out, and why
        self.missing = missing
        self._count = 0

    def kinds(self) -> dict[str, Callable[[], Store]]:
        """How to make a store, by the name of its kind."""
        found: dict[str, Callable[[], Store]] = {}
        if find_spec("rocksdict"):
            found["RocksDB"] = lambda: RocksDBStore(self.folder / self.fresh())
        if self.redis is not None:
            address = self.redis
            found["Redis"] = lambda: RedisStore(address)
        return found

    def fresh(self) -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"window-{self._count}"

    @property
    def remark(self) -> str:
        """A sentence on what is left out, for the result."""
        return f" Left out: {'; '.join(self.missing)}." if self.missing else ""


@contextlib.contextmanager
def places() -> Iterator[Places]:
    """Stores that live as long as the block."""
    missing = [] if find_spec("rocksdict") else ["RocksDB, as rocksdict is not installed"]
    with tempfile.TemporaryDirectory(prefix="windrow-papers-") as name:
        folder = Path(name)
        (folder / "redis").mkdir()
        with redis_server(folder / "redis") as redis:
            if redis is None:
                missing.append("Redis, as redis-server is not on the PATH or redis is not installed")
            yield Places(folder, redis, missing)


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[str | None]:
    """The address of a server on a free port of loopback that lives as long as the block; None: there is no
    Redis here."""
    program = shutil.which("redis-server")
    if program is None or find_spec("redis") is None:
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def ended(window: Any) -> None:
    """Close a window and its store, if it has one."""
    if hasattr(window, "close"):
        window.close()
        window.store.store.close()
