"""State that was written once and is kept in tests/golden: it is read, and goes on as if never stopped.

State of the present format must be read; that of any other is read, or refused with its format.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support import golden_state as golden
from support.redis_server import RedisServer
from windrow.errors import ChangedQuery, StateError, UnsupportedVersion
from windrow.state import RedisStore, RocksDBStore, Store
from windrow.state.codec import READS, VERSION

T = TypeVar("T")
FORMATS = golden.formats()
STORES = ["rocksdb-closed", "rocksdb-killed", "redis"]


def read(number: int, opened: Callable[[], T]) -> T | None:
    """What is opened; None: it is refused, as state of another format may be."""
    try:
        return opened()
    except (ChangedQuery, StateError) as error:
        refusal = error
    if isinstance(refusal, UnsupportedVersion):
        assert number not in READS, refusal
        assert f"state of format {number}; this windrow reads formats" in str(refusal)
    else:  # quantiles of format 4 were sketches
        assert number == 4, refusal
        assert "quantile(" in str(refusal)
    return None


def check(operator: Any, name: str) -> None:
    """It is the operator of the moment, and gives from then on what one gives that never stopped."""
    counted, following = golden.uninterrupted(name)
    assert golden.counts(operator) == counted
    for found, expected in zip(golden.go_on(operator), following, strict=True):
        assert found == expected


def test_there_is_golden_state_of_the_present_format() -> None:
    assert VERSION in FORMATS, "the format has changed: run tests/golden/make.py"


@pytest.mark.parametrize("name", golden.BEGUN)
def test_snapshots_of_the_present_format_go_on(name: str) -> None:
    data = (golden.folder_of(VERSION) / "snapshots" / f"{name}.state").read_bytes()
    check(golden.plain(name).query.restore(data), name)


@pytest.mark.parametrize("name", golden.QUERIES)
@pytest.mark.parametrize("number", FORMATS)
def test_snapshots_go_on(number: int, name: str) -> None:
    data = (golden.folder_of(number) / "snapshots" / f"{name}.state").read_bytes()
    operator = read(number, lambda: golden.QUERIES[name].restore(data))
    if operator is not None:
        check(operator, name)


@pytest.fixture(params=[(number, kind) for number in FORMATS for kind in STORES], ids=str)
def golden_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, Store]]:
    number, kind = request.param
    folder = golden.folder_of(number)
    if kind == "redis":
        server = request.getfixturevalue("redis_server")
        put_in_redis(server, json.loads(gzip.decompress((folder / "redis.json.gz").read_bytes())))
        store: Store = RedisStore(server.url, namespace="golden", wait=300)
    else:
        store = RocksDBStore(golden.unzip(folder / f"{kind}.zip", tmp_path / "db"))
    yield number, store
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


def test_operators_in_stores_go_on(golden_store: tuple[int, Store]) -> None:
    number, store = golden_store
    for name in golden.IN_STORES:
        operator = read(number, lambda name=name: golden.opened_in(store, name))  # type: ignore[misc]
        if operator is not None:
            check(operator, name)


def test_windows_in_stores_go_on(golden_store: tuple[int, Store]) -> None:
    number, store = golden_store
    for name in golden.WINDOWS:
        window = read(number, lambda name=name: golden.window_in(store, name))  # type: ignore[misc]
        if window is None:
            continue
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
