"""A real Redis server for the tests of stores: installed if it is not there, on a free port of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from windrow.state import MemoryStore, RedisStore, RocksDBStore, Store


def redis_program() -> str:
    """The path of redis-server; installs Debian's package where there is none, or fails and says so."""
    found = shutil.which("redis-server")
    if found is None:
        with (Path(tempfile.gettempdir()) / "windrow-redis-install.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # test processes run side by side
            if shutil.which("redis-server") is None:
                install()
        found = shutil.which("redis-server")
    if found is None:
        pytest.fail("these tests need redis-server and could not install it: apt-get install redis-server")
    return found


def install() -> None:
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["update", "-q"],
        ["install", "-y", "-q", "--no-install-recommends", "redis-server", "openssl"],
    ):
        try:
            subprocess.run(
                [*sudo, "apt-get", *command], env=quiet, check=False, timeout=300, capture_output=True
            )
        except (OSError, subprocess.TimeoutExpired):
            return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A server on loopback that keeps what it confirmed: it can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command: list[str] = [
            redis_program(),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(folder),
        ]
        self._command += ["--appendonly", "yes", "--appendfsync", "no", "--save", "", *options]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.kill()
        pytest.fail(f"redis-server did not start on port {self.port}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


STORES = ["memory", "rocksdb", "redis"]


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """A function that opens an empty store of each kind; all are closed after the test."""
    opened: list[Store] = []

    def make() -> Store:
        name = f"{request.node.name} {len(opened)}"
        if request.param == "redis":
            server = request.getfixturevalue("redis_server")
            opened.append(RedisStore(server.url, namespace=name, wait=300))
        elif request.param == "rocksdb":
            opened.append(RocksDBStore(tmp_path / f"rocks {len(opened)}"))
        else:
            opened.append(MemoryStore())
        return opened[-1]

    if request.param == "redis":
        request.getfixturevalue("redis_server")
    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: Callable[[], Store]) -> Store:
    return make_store()


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """A function that starts a server of the test's own."""
    servers: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        servers.append(RedisServer(tmp_path, *options))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
