"""What every store promises, on each of them; then what is special to one."""

from __future__ import annotations

import os
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme

from support.redis_server import TLSFront
from windrow.state import (
    CorruptState,
    RedisStore,
    RocksDBStore,
    StateError,
    Store,
    StoreUnavailable,
    WindowTaken,
    windows,
)
from windrow.state.redis import InsecureStore


def test_puts_gets_and_deletes(store: Store) -> None:
    items = [(b"\x00\xff key %d" % number, os.urandom(number)) for number in range(50)]
    store.write(items)
    assert store.get_many([key for key, _ in items]) == [value for _, value in items]
    assert store.get_many([b"nothing", items[3][0]]) == [None, items[3][1]]
    store.write([(items[0][0], b"new")], deletes=[items[1][0], b"nothing"], sync=True)
    assert store.get_many([items[0][0], items[1][0]]) == [b"new", None]
    assert store.get_many([]) == []
    store.write([])


def test_scan_gives_the_keys_of_a_prefix_in_order(store: Store) -> None:
    keys = [b"a", b"a*", b"a*1", b"a*2", b"a[1]", b"a\\", b"ab", b"b", b"a*\xff", b"a*\x00"]
    store.write([(key, b"") for key in keys])
    for prefix in (b"", b"a", b"a*", b"a[", b"a\\", b"c", b"b"):
        assert list(store.scan(prefix)) == sorted(key for key in keys if key.startswith(prefix)), prefix


def test_a_guard_must_hold(store: Store) -> None:
    store.write([(b"owner", b"me")])
    store.write([(b"key", b"1")], guards=[(b"owner", b"me")])
    for guard in ((b"owner", b"you"), (b"missing", b"me")):
        with pytest.raises(WindowTaken, match="open it anew"):
            store.write(
                [(b"key", b"2"), (b"other", b"2")], deletes=[b"owner"], guards=[(b"owner", b"me"), guard]
            )
    assert store.get_many([b"key", b"other", b"owner"]) == [b"1", None, b"me"]


def test_threads_may_share_a_store(store: Store) -> None:
    def work(name: int) -> None:
        for number in range(30):
            key = b"%d/%d" % (name, number)
            store.write([(key, key)])
            assert store.get(key) == key

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(store.scan(b""))) == 120


def test_windows_lists_ids(store: Store) -> None:
    import windrow as wr

    for name in ("b", "a", "long " * 40):
        wr.swag.AMTA.open(store, name, wr.sum).close()
    assert sorted(windows(store)) == sorted(["a", "b", "long " * 40])


# -- RocksDB -----------------------------------------------------------------------------------------------


def test_a_folder_is_open_once(tmp_path: Path) -> None:
    with RocksDBStore(tmp_path) as store:
        store.write([(b"key", b"value")])
        with pytest.raises(StoreUnavailable, match="is open already"):
            RocksDBStore(tmp_path)
    with RocksDBStore(tmp_path) as again:
        assert again.get(b"key") == b"value"
    with pytest.raises(StateError, match="closed"):
        again.get(b"key")


@pytest.mark.parametrize("name", ["closed", "LOCK and lock", "No space left"])
def test_errors_are_not_mistaken_for_what_the_folder_is_called(tmp_path: Path, name: str) -> None:
    with RocksDBStore(tmp_path / name) as store:
        store.write([(b"key", b"value")])
    for manifest in (tmp_path / name).glob("MANIFEST-*"):
        manifest.unlink()
    with pytest.raises(CorruptState, match="are damaged"):
        RocksDBStore(tmp_path / name)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    with RocksDBStore(tmp_path, memory=1 << 20) as store:
        for number in range(60):
            store.write([(b"%d" % number, os.urandom(20_000))])
    tables = sorted(tmp_path.glob("*.sst"))
    assert tables
    for table in tables:
        content = bytearray(table.read_bytes())
        for at in range(50, len(content), 501):
            content[at] ^= 0x10
        table.write_bytes(content)

    def read_all() -> None:
        with RocksDBStore(tmp_path) as store:
            store.get_many([b"%d" % number for number in range(60)])

    with pytest.raises(CorruptState, match="damaged"):
        read_all()


def test_rocksdict_is_given_no_way_to_pickle(tmp_path: Path) -> None:
    with RocksDBStore(tmp_path) as store, pytest.raises(Exception, match=r"raw|bytes"):
        store._db.put("text", object())


# -- Redis -------------------------------------------------------------------------------------------------


def test_namespaces_are_apart(redis_server: Any) -> None:
    with (
        RedisStore(redis_server.url, namespace="one") as one,
        RedisStore(redis_server.url, namespace="two") as two,
    ):
        one.write([(b"key", b"1")])
        two.write([(b"key", b"2")])
        assert (one.get(b"key"), two.get(b"key")) == (b"1", b"2")
        assert list(one.scan(b"")) == [b"key"]


def test_a_server_that_is_not_there_is_an_error_after_the_time_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr("windrow.state.redis.time", clock)
    store = RedisStore("redis://user:secret@127.0.0.1:1/0", wait=0.3)
    slept.clear()
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 did not answer for 0\.3 s") as caught:
        store.get(b"key")
    assert sum(slept) >= 0.3
    assert "secret" not in str(caught.value)


def test_a_network_without_tls_or_password_is_warned_about() -> None:
    def messages(url: str, **options: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            RedisStore(url, socket_connect_timeout=0.05, wait=0, **options)
        return [str(w.message) for w in caught if w.category is InsecureStore]

    # 192.0.2.0/24 is set aside for documents: nobody answers
    assert "without TLS and a password" in messages("redis://192.0.2.1:6379/0")[0]
    assert "without TLS:" in messages("redis://192.0.2.1:6379/0", password="x")[0]
    assert "without a password:" in messages("rediss://192.0.2.1:6379/0")[0]
    assert messages("rediss://:secret@192.0.2.1:6379/0") == []
    assert messages("redis://127.0.0.1:1/0") == []
    assert messages("redis://[::1]:1/0") == []


def test_a_server_that_may_evict_is_warned_about(redis_server: Any) -> None:
    store = RedisStore(redis_server.url)
    try:
        store._client.config_set("maxmemory", "1gb")
        store._client.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.warns(InsecureStore, match="may evict keys"):
            RedisStore(redis_server.url)
    finally:
        store._client.config_set("maxmemory-policy", "noeviction")
        store._client.config_set("maxmemory", "0")


def test_a_wrong_password_is_said_at_once(tmp_path: Path, start_redis: Callable[..., Any]) -> None:
    server = start_redis("--requirepass", "right")
    with RedisStore(server.url, password="right") as store:
        store.write([(b"key", b"value")])
    with (
        RedisStore(server.url, password="wrong") as store,
        pytest.raises(StateError, match="refuses user or password"),
    ):
        store.get(b"key")


def test_tls_with_a_password(tmp_path: Path, start_redis: Callable[..., Any]) -> None:
    key, certificate, vouching = (tmp_path / name for name in ("key.pem", "certificate.pem", "ca.pem"))
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(key)
    issued.cert_chain_pems[0].write_to_path(certificate)
    authority.cert_pem.write_to_path(vouching)
    front = TLSFront(start_redis("--requirepass", "right").port, certificate, key)
    url = f"rediss://127.0.0.1:{front.port}/0"
    with RedisStore(url, password="right", ssl_ca_certs=str(vouching)) as store:
        store.write([(b"key", b"value")])
        assert store.get(b"key") == b"value"
    with (
        RedisStore(url, password="right", wait=0.1) as store,
        pytest.raises(StoreUnavailable, match="CERTIFICATE"),
    ):
        store.get(b"key")  # a certificate that nobody vouches for
    front.close()


def test_a_client_of_your_own(redis_server: Any) -> None:
    import redis

    store = RedisStore(redis.Redis.from_url(redis_server.url), namespace="own")
    store.write([(b"key", b"value")])
    store.close()
    assert store.get(b"key") == b"value"  # it is not the store's to close
    with pytest.raises(ValueError, match="decode_responses=False"):
        RedisStore(redis.Redis.from_url(redis_server.url, decode_responses=True))


@pytest.mark.parametrize(
    "address",
    [
        "redis://:hunter2/x@host:6379/0",
        "redis://:hunter2#x@host:6379/0",
        "redis://:hunter2?x@host:6379/0",
        "redis://me:12#hunter2@host/0",
        "redis://me:hunter2@host:hunter2/0",
        "hunter2://me@host",
    ],
)
def test_the_address_of_a_server_that_cannot_be_read_is_not_shown(address: str) -> None:
    with pytest.raises(ValueError, match="cannot be read: write redis://user:password@host") as caught:
        RedisStore(address)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
