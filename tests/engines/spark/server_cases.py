"""A Spark Connect server in a process of its own, and clients that know no more of it than ``sc://host:port``.

Run by ``make compat``: servers and clients are processes of their own, and start several times.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support import connect_job
from support.connect_server import ConnectServer
from support.processes import PATIENCE, environment_without_spark, kill_group, spawn, wait_for
from windrow.testing import assert_same_results

BATCHES = 12
#: micro-batches after which the server is killed
KILLED_AFTER = (2, 6)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ConnectServer]:
    found = ConnectServer(tmp_path)
    try:
        yield found
    finally:
        found.kill()


def write_input(folder: Path) -> None:
    (folder / "input").mkdir()
    for number in range(BATCHES):
        path = folder / "input" / f"{number:04}.parquet"
        pq.write_table(connect_job.rows(number, BATCHES), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files by age


def completed(folder: Path) -> int:
    """Micro-batches that are through."""
    return len([path for path in (folder / "checkpoint" / "commits").glob("*") if path.name.isdigit()])


def start_client(server: ConnectServer, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, connect_job.__file__, server.url, str(folder)]
    return spawn(command, environment_without_spark(), folder / "client.log")


def run_until(server: ConnectServer, folder: Path, batches: int) -> None:
    """Kill the server once so many micro-batches are through, and the client, which would go on asking it."""
    server.start()
    client = start_client(server, folder)
    try:
        wait_for("a micro-batch", lambda: completed(folder) >= batches or client.poll() is not None)
        assert client.poll() is None, (folder / "client.log").read_text()[-3_000:]
    finally:
        server.kill()
        kill_group(client)


def test_a_stream_goes_on_exactly_once_after_its_server_was_killed(
    server: ConnectServer, tmp_path: Path
) -> None:
    write_input(tmp_path)
    for batches in KILLED_AFTER:
        run_until(server, tmp_path, batches)
        assert not (tmp_path / "found.parquet").exists()
    assert completed(tmp_path) < BATCHES, "the stream ended before it was killed: give it more micro-batches"
    server.start()
    client = start_client(server, tmp_path)
    try:
        assert client.wait(PATIENCE) == 0, (tmp_path / "client.log").read_text()[-3_000:]
    finally:
        kill_group(client)
    assert_same_results(pq.read_table(tmp_path / "found.parquet"), connect_job.due(BATCHES))
