"""Clients that connect and never ask, hundreds of them: the job goes on, and those who ask are answered."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
import pytest

from support.cli_jobs import write_calls, write_job
from support.live_pages import busy_state, empty_state
from windrow.cli import connections
from windrow.cli.addresses import Address
from windrow.cli.live.server import PageServer
from windrow.cli.show.prometheus import PrometheusEndpoint

DESCRIPTORS = 64
CLIENTS = 300
#: nothing, a part of a request, and one whose rest never comes
HALVES = [
    b"",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
]


@contextlib.contextmanager
def crowd(port: int, count: int = CLIENTS) -> Iterator[list[socket.socket]]:
    """So many clients that have connected, and ask for nothing."""
    with contextlib.ExitStack() as stack:
        found = []
        for k in range(count):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            found.append(client)
            with contextlib.suppress(OSError):
                client.sendall(HALVES[k % len(HALVES)])
        yield found


def is_closed(client: socket.socket) -> bool:
    client.settimeout(0.0)
    try:
        return not client.recv(65_536) or is_closed(client)
    except BlockingIOError:
        return False
    except OSError:
        return True


def wait_for(fact: Callable[[], bool], seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.05)


def answered(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: bytes = answer.read()
        return found


def addresses_in(lines: IO[str]) -> dict[str, str]:
    """What a job has printed: {"metrics": address, "the page": address}."""
    found: dict[str, str] = {}
    while len(found) < 2:
        line = lines.readline()
        assert line, found
        if match := re.match(r"(metrics|the page): (http://\S+)", line):
            found[match[1]] = match[2]
    return found


def test_clients_that_never_ask_do_not_end_the_job(tmp_path: Path) -> None:
    write_calls(tmp_path, files=3)
    job, out = write_job(tmp_path), tmp_path / "out"
    program = f"ulimit -n {DESCRIPTORS} && exec {sys.executable} -m windrow.cli replay {job} --engine local"
    options = f"--speed 1200 --tick 0.3 --out {out} --serve 127.0.0.1:0 --metrics 127.0.0.1:0"
    running = subprocess.Popen(
        ["bash", "-c", f"{program} {options}"], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert running.stderr is not None
    with running, contextlib.ExitStack() as crowds:
        urls = addresses_in(running.stderr)
        for url in urls.values():
            crowds.enter_context(crowd(int(url.split(":")[2].split("/")[0])))
        assert b"windrow" in answered(urls["the page"])
        assert b"windrow_rows_total" in answered(urls["metrics"])
        assert len(os.listdir(f"/proc/{running.pid}/fd")) < DESCRIPTORS - 16
        said = running.stderr.read()
        assert running.wait(60) == 0, said
    assert pq.read_table(out).num_rows > 50
    assert "Traceback" not in said
    for option in ("--serve", "--metrics"):
        (line,) = (line for line in said.splitlines() if line.startswith(option))
        assert line.startswith(f"{option}: 8 connections are open, the limit: ")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServer]:
    found = PageServer(busy_state(tmp_path), Address("127.0.0.1", 0))
    yield found
    found.close()


@pytest.fixture
def endpoint() -> Iterator[PrometheusEndpoint]:
    found = PrometheusEndpoint("calls", Address("127.0.0.1", 0))
    yield found
    found.close()


@pytest.mark.parametrize("which", ["server", "endpoint"])
def test_half_requests_are_dropped_after_seconds(
    which: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 1.0)
    address = request.getfixturevalue(which).address
    with crowd(address.port, 6) as clients:
        for _ in range(4):  # a byte now and then does not help
            with contextlib.suppress(OSError):
                clients[1].sendall(b"x")
            time.sleep(0.2)
        wait_for(lambda: all(map(is_closed, clients)), 4.0)
    assert capfd.readouterr() == ("", "")


def test_clients_that_do_not_read_are_dropped(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 1.0)
    with socket.create_connection(("127.0.0.1", server.address.port)) as client:
        client.settimeout(5.0)
        asking = b"GET /static/live.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100_000
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.sendall(asking)


def test_a_page_that_is_open_stays_when_many_others_connect(tmp_path: Path) -> None:
    said: list[str] = []
    server = PageServer(empty_state(tmp_path), Address("127.0.0.1", 0), note=said.append)
    try:
        with socket.create_connection(("127.0.0.1", server.address.port), timeout=10) as page:
            page.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b"200" in page.recv(65_536)
            with crowd(server.address.port) as clients:
                wait_for(lambda: sum(map(is_closed, clients)) >= CLIENTS - 128)
                assert not is_closed(page)
        assert len(said) == 1
    finally:
        server.close()


@pytest.mark.parametrize("which", ["server", "endpoint"])
@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\xff\xfe\r\n\r\n",
        b"GET  / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /%ff%00?token=%ff HTTP/1.1\r\nHost: \xff\r\nCookie: \xff=\xff\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET /api/timeline?from=9&to=" + b"9" * 5_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /api/keys?limit=x&column=n HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_requests_that_make_no_sense_leave_no_traceback(
    which: str, request_: bytes, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    port = request.getfixturevalue(which).address.port
    for leaves_at_once in (True, False):
        client = socket.create_connection(("127.0.0.1", port), timeout=10)
        with client, contextlib.suppress(OSError):
            client.sendall(request_)
            client.shutdown(socket.SHUT_WR)
            while not leaves_at_once and client.recv(65_536):
                pass
    time.sleep(0.1)
    assert capfd.readouterr() == ("", "")
