"""kill -9 at random moments, again and again: the window is what was confirmed, and goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import windrow as wr
from support.chaos_counts import counted, how_many
from windrow.state import RedisStore, StoreUnavailable

#: how many times as many kills as here
MORE = how_many("WINDROW_CHAOS_WINDOW_KILLS", 1)
LOOP = Path(__file__).parent / "crash_loop.py"


def crash(kind: str, place: Any, kills: int, durability: str) -> str:
    name = "RocksDB" if kind == "rocksdb" else "Redis"
    with counted(f"Windows (AMTA) on {name}, process killed") as tally:
        done = subprocess.run(
            [sys.executable, str(LOOP), kind, str(place), str(kills), durability],
            capture_output=True,
            text=True,
        )
        tally.add(kills, kills if done.returncode == 0 else 0)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("durability", "kills"), [("buffered", 50), ("flush", 10), ("each", 8)])
def test_killed_on_disk(tmp_path: Path, durability: str, kills: int) -> None:
    report = crash("rocksdb", tmp_path / "db", MORE * kills, durability)
    assert report.startswith(f"{MORE * kills} kills")
    assert int(report.split()[2]) > 20


@pytest.mark.parametrize(("durability", "kills"), [("buffered", 25), ("flush", 8)])
def test_killed_on_redis(start_redis: Callable[..., Any], durability: str, kills: int) -> None:
    report = crash("redis", start_redis().url, MORE * kills, durability)
    assert int(report.split()[2]) > 20


def test_a_redis_that_is_away_for_a_while(
    start_redis: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operations wait and go on, and nothing is lost."""
    server = start_redis()
    store = RedisStore(server.url, wait=600)
    window = wr.swag.AMTA.open(store, "w", wr.sum, buffer=16, cache=8, block=4)
    for number in range(200):
        window.insert(number)
    window.flush()
    server.kill()
    waits = _come_back(server, monkeypatch, after=5)
    for number in range(200, 400):
        window.insert(number)
        window.evict()
    assert window.query() == sum(range(200, 400))
    window.flush()
    assert len(waits) >= 5
    window.close()
    assert wr.swag.AMTA.open(store, "w", wr.sum).query() == sum(range(200, 400))
    store.close()


def _come_back(server: Any, monkeypatch: pytest.MonkeyPatch, after: int) -> list[float]:
    """Let the server start again when operations have waited for it so many times; how long each waited."""
    waits: list[float] = []
    turn = threading.Lock()

    def wait(seconds: float) -> None:
        with turn:
            waits.append(seconds)
            if len(waits) == after:
                server.start()
        time.sleep(seconds)

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=wait)
    monkeypatch.setattr("windrow.state.redis.time", clock)
    return waits


def test_a_redis_that_stays_away_is_an_error_after_the_time_allowed(start_redis: Callable[..., Any]) -> None:
    server = start_redis()
    store = RedisStore(server.url, wait=0.3, socket_timeout=600)
    window = wr.swag.AMTA.open(store, "w", wr.sum, durability="flush")
    for number in range(100):
        window.insert(number)
    window.flush()
    server.kill()
    window.insert(100)
    with pytest.raises(StoreUnavailable, match=r"did not answer for 0\.3 s"):
        window.flush()
    server.start()
    assert wr.swag.AMTA.open(RedisStore(server.url), "w", wr.sum, durability="flush").query() == sum(
        range(100)
    )
    store.close()
