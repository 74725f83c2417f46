"""Stores of each kind, and Redis servers, for the tests of stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.redis_server import RedisServer
from windrow.state import MemoryStore, RedisStore, RocksDBStore, Store


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
