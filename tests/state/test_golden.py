"""State that was written once and is kept in tests/golden is read, and goes on as if never stopped."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import windrow as wr
from support import golden_state as golden
from support.redis_server import RedisServer
from windrow.state import RedisStore, RocksDBStore, StateError, Store

STORES = ["rocksdb-closed", "rocksdb-killed", "redis"]


def check(operator: Any, name: str) -> None:
    """It is the operator of the moment, and gives from then on what one gives that never stopped."""
    counted, following = golden.uninterrupted(name)
    assert golden.counts(operator) == counted
    for found, expected in zip(golden.go_on(operator), following, strict=True):
        assert found == expected


def test_there_is_golden_state_of_the_format() -> None:
    assert golden.FOLDER.exists(), "the format has changed: run tests/golden/make.py"
    assert [*golden.GOLDEN.glob("format-*")] == [golden.FOLDER], "only one format is read"


@pytest.mark.parametrize("name", [*golden.QUERIES, *golden.BEGUN])
def test_snapshots_go_on(name: str) -> None:
    data = (golden.FOLDER / "snapshots" / f"{name}.state").read_bytes()
    check(golden.plain(name).query.restore(data), name)


@pytest.fixture(params=STORES)
def golden_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "redis":
        server = request.getfixturevalue("redis_server")
        put_in_redis(server, json.loads(gzip.decompress((golden.FOLDER / "redis.json.gz").read_bytes())))
        store: Store = RedisStore(server.url, namespace="golden", wait=300)
    else:
        store = RocksDBStore(golden.unzip(golden.FOLDER / f"{request.param}.zip", tmp_path / "db"))
    yield store
    store.close()


def put_in_redis(server: RedisServer, entries: dict[str, str]) -> None:
    """As another program would put back a dump: windrow has no part in it."""
    import redis

    client: Any = redis.Redis.from_url(server.url)
    old = [*client.scan_iter("golden*")]
    if old:
        client.delete(*old)
    client.mset({b64decode(key): b64decode(value) for key, value in entries.items()})
    client.close()


def test_operators_in_stores_go_on(golden_store: Store) -> None:
    for name in golden.QUERIES:
        check(golden.opened_in(golden_store, name), name)


def test_windows_of_partials_are_refused_by_name(golden_store: Store) -> None:
    """Rolling in a store was kept as trees of partials, of which rows cannot be made."""
    query = wr.query(time="t", by=["region", "line"], watermark=10, late="return")
    before = set(golden_store.scan(b""))
    for name in golden.REFUSED:
        stored = query.rolling(60, store=golden_store).agg(n=wr.count())
        with pytest.raises(StateError, match="earlier version, which kept the windows of rolling"):
            stored.open(name=name)
    assert set(golden_store.scan(b"")) == before


def test_windows_in_stores_go_on(golden_store: Store) -> None:
    for name in golden.WINDOWS:
        window = golden.window_in(golden_store, name)
        plain, half = golden.window_without_store(name), golden.WRITTEN * 40
        golden.slide(plain, name, 0, half)
        assert (len(window), window.query()) == (len(plain), plain.query())
        assert golden.slide(window, name, half, 2 * half) == golden.slide(plain, name, half, 2 * half)
        window.close()


def test_the_cases_hold_what_may_go_wrong() -> None:
    """Late rows that nobody has asked for, corrections of results that are out, and retractions."""
    found = {}
    for name in golden.QUERIES:
        operator = golden.plain(name)
        golden.begin(operator)
        found[name] = operator.metrics
    assert found["time-windows"].windows_corrected > 0
    assert found["sessions"].windows_retracted > 0
    assert all(found[name].rows_late > 0 for name in ("sessions-by-row", "data-windows", "rolling-by-time"))
